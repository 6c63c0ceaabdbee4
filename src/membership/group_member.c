/* SPDX-License-Identifier: Apache-2.0 */
/* Group members (group_member.h): the other members, as one of them knows them; then the
 * calls of the user, and the order in which the parts end. Each listing is handed on to the
 * entries, which are asked what has changed; the shared values call back here. */
#include "membership/group_member.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "engine/log.h"
#include "engine/turn.h"
#include "engine/watch.h"
#include "membership/persistent_node.h"
#include "value/shared_value.h"

/* ----------------------------------------------------------------------- the others */

/* Copies the path and makes room for the member itself. Returns 0 or UV_ENOMEM. */
static int group_entries_init(struct uvzk__group_entries *entries, uvzk_client_t *client,
                              const char *path)
{
    entries->client = client;
    entries->path = uvzk__strdup(path);
    entries->shown = uvzk__calloc(1, sizeof(entries->shown[0]));
    entries->capacity = 1;
    return entries->path == NULL || entries->shown == NULL ? UV_ENOMEM : 0;
}

/* Forgets everything. */
static void group_entries_free(struct uvzk__group_entries *entries)
{
    struct uvzk__group_entry *entry, *next;

    /* Those without a value. */
    HASH_ITER(hh, entries->known, entry, next)
    {
        HASH_DEL(entries->known, entry);
        uvzk__free(entry);
    }
    uvzk__free(entries->path);
    uvzk__free(entries->shown);
}

static void free_memory(struct uvzk__group_member *member)
{
    group_entries_free(&member->entries);
    uvzk__free(member->id);
    uvzk__free(member);
}

/* A part has ended. Frees the memory after the last one. */
static void group_member_part_ended(struct uvzk__group_member *member)
{
    if (--member->parts == 0) {
        free_memory(member);
    }
}

/* The facts about the others have changed: the user is told at the end of the turn, if
 * they then differ from what was told last. */
static void group_member_note(struct uvzk__group_member *member)
{
    if (!member->closing) {
        uvzk__notify_later(member->session, &member->notification);
    }
}

/* ------------------------------------------------------------------------ one entry */

/* Only a missing znode says that it is gone. What is refused or unreachable from the first is
 * listed without data; later it stays what it was. */
static void value_told(uvzk_shared_value_t *value, int status)
{
    struct uvzk__group_entry *entry = value->data;

    if (status == 0 || status == UVZK_ENOAUTH || !entry->answered) {
        entry->exists = true;
    }
    if (status == UVZK_ENONODE) {
        entry->exists = false;
    }
    entry->answered = true;
    group_member_note(entry->member);
}

static void free_entry(struct uvzk__group_entry *entry)
{
    struct uvzk__group_member *member = entry->member;

    uvzk__free(entry);
    group_member_part_ended(member);
}

static void value_closed(uvzk_shared_value_t *value)
{
    free_entry(value->data);
}

/* Removes it from the table. Its memory is freed when its value is closed. */
static void group_entries_forget(struct uvzk__group_entries *entries,
                                 struct uvzk__group_entry *entry)
{
    if (!entry->dropped) {
        entry->dropped = true;
        HASH_DEL(entries->known, entry);
        if (entry->home != NULL) {
            uvzk__watch_budget_give_share(entry->home, entry->path_length);
        }
    }
}

static void group_entries_drop(struct uvzk__group_entries *entries,
                               struct uvzk__group_entry *entry)
{
    group_entries_forget(entries, entry);
    if (entry->home != NULL) {
        (void)uvzk_shared_value_close(&entry->value, value_closed);
    } else {
        uvzk__free(entry);
    }
}

/* Its client has ended before its value was closed. */
static void client_gone(uvzk_shared_value_t *value)
{
    struct uvzk__group_entry *entry = value->data;

    group_entries_forget(&entry->member->entries, entry);
    free_entry(entry);
}

/* path: below the namespace. Returns 0, or why the znode cannot be followed. */
static int follow_path(struct uvzk__group_entry *entry, const char *path)
{
    uvzk_client_t *client = entry->member->entries.client;
    char *full = uvzk__path_join(uvzk__namespace_of(client->impl), path);

    if (full == NULL) {
        return UV_ENOMEM;
    }
    struct uvzk__session *home = uvzk__home_of(client->impl, full);
    int status = UVZK_ELIMIT;
    entry->path_length = strlen(full);
    if (uvzk__watch_budget_take_share(home, entry->path_length)) {
        status = uvzk__shared_value_follow(client, &entry->value, path, value_told);
        if (status == 0) {
            entry->home = home;
        } else {
            uvzk__watch_budget_give_share(home, entry->path_length);
        }
    }
    uvzk__free(full);
    return status;
}

static int group_entries_follow(struct uvzk__group_entry *entry)
{
    char *path = uvzk__path_join(entry->member->entries.path, entry->id);
    int status = path == NULL ? UV_ENOMEM : follow_path(entry, path);

    uvzk__free(path);
    if (status == 0) {
        entry->member->parts++;
        entry->value.data = entry;
        uvzk__shared_value_set_client_gone(&entry->value, client_gone);
    }
    return status;
}

static struct uvzk__group_entry *new_entry(struct uvzk__group_member *member,
                                           const char *id)
{
    size_t length = strlen(id);
    struct uvzk__group_entry *entry = uvzk__calloc(1, sizeof(*entry) + length + 1);

    if (entry != NULL) {
        entry->member = member;
        memcpy(entry->id, id, length + 1);
        HASH_ADD_KEYPTR(hh, member->entries.known, entry->id, length, entry);
        /* An allocation failed, that of the hash table. */
        if (entry->hh.tbl == NULL) {
            uvzk__free(entry);
            entry = NULL;
        }
    }
    return entry;
}

/* Returns 0 or UV_ENOMEM. A name that no client of this library may use is left out: its path
 * is too long, or no text. One without room for a watch is a member whose data are not
 * known. */
static int group_entries_add(struct uvzk__group_member *member, const char *id)
{
    struct uvzk__group_entry *entry = new_entry(member, id);
    int status = entry == NULL ? UV_ENOMEM : group_entries_follow(entry);

    if (status == 0 || status == UVZK_ELIMIT) {
        entry->listed = true;
        entry->answered = entry->exists = status == UVZK_ELIMIT;
    } else if (entry != NULL) {
        group_entries_forget(&member->entries, entry);
        uvzk__free(entry);
    }
    return status == UV_ENOMEM ? UV_ENOMEM : 0;
}

/* ------------------------------------------------------------------- the listing */

/* Room for all entries that there are, for one more for each name, and for the member
 * itself. */
static int make_room(struct uvzk__group_entries *entries, size_t count)
{
    size_t capacity = HASH_COUNT(entries->known) + count + 1;

    if (capacity > entries->capacity) {
        void *shown = uvzk__realloc(entries->shown, capacity * sizeof(entries->shown[0]));
        if (shown == NULL) {
            return UV_ENOMEM;
        }
        entries->shown = shown;
        entries->capacity = capacity;
    }
    return 0;
}

/* The names of all children, the member's own one among them. Returns 0 or UV_ENOMEM; then
 * some entries may be missing until the next listing. */
static int group_entries_list(struct uvzk__group_member *member, const char *const *names,
                              size_t count)
{
    struct uvzk__group_entries *entries = &member->entries;
    struct uvzk__group_entry *entry, *next;
    int status = make_room(entries, count);

    if (status != 0) {
        return status;
    }
    HASH_ITER(hh, entries->known, entry, next)
    {
        entry->listed = false;
    }
    for (size_t i = 0; i < count; i++) {
        HASH_FIND_STR(entries->known, names[i], entry);
        if (entry != NULL) {
            entry->listed = true;
        } else if (strcmp(names[i], member->id) != 0 &&
                   group_entries_add(member, names[i]) != 0) {
            status = UV_ENOMEM;
        }
    }
    return status;
}

/* ---------------------------------------------------------------- what is told */

/* Returns true if the data of all listed entries have been read once. */
static bool group_entries_are_read(const struct uvzk__group_entries *entries)
{
    const struct uvzk__group_entry *entry, *next;

    HASH_ITER(hh, entries->known, entry, next)
    {
        if (entry->listed && !entry->answered) {
            return false;
        }
    }
    return true;
}

static bool is_member(const struct uvzk__group_entry *entry)
{
    return entry->listed && entry->exists;
}

/* The transaction that wrote what is known of its data; 0: nothing is known. */
static int64_t mzxid_of(const struct uvzk__group_entry *entry)
{
    struct uvzk__stat stat;

    if (entry->home == NULL) {
        return 0;
    }
    (void)uvzk__shared_value_known(&entry->value, &stat);
    return stat.mzxid;
}

/* Returns true if it is a member whose data are not followed because there is no room. */
static bool is_unwatched(const struct uvzk__group_entry *entry)
{
    struct uvzk__stat stat;

    return is_member(entry) &&
           (entry->home == NULL ||
            uvzk__shared_value_known(&entry->value, &stat) == UVZK_ELIMIT);
}

/* Those that have gone may have left room. */
static void follow_others(struct uvzk__group_entries *entries)
{
    struct uvzk__group_entry *entry, *next;

    HASH_ITER(hh, entries->known, entry, next)
    {
        if (entry->home == NULL && group_entries_follow(entry) == 0) {
            entry->answered = false;
        }
    }
}

/* Records the current entries as told, drops entries that are no longer listed, and
 * follows others in their place. Returns true if they differ from the entries that were
 * reported before. */
static bool group_entries_tell(struct uvzk__group_entries *entries)
{
    struct uvzk__group_entry *entry, *next;
    bool changed = false;

    entries->unwatched = 0;
    HASH_ITER(hh, entries->known, entry, next)
    {
        bool member = is_member(entry);
        int64_t mzxid = mzxid_of(entry);
        if (member != entry->told || (member && mzxid != entry->told_mzxid)) {
            changed = true;
        }
        entry->told = member;
        entry->told_mzxid = mzxid;
        entries->unwatched += is_unwatched(entry);
        if (!entry->listed) {
            group_entries_drop(entries, entry);
        }
    }
    if (entries->unwatched > 0) {
        follow_others(entries);
    }
    return changed;
}

/* How many of the reported entries have no data, because there is no room for a watch. */
static size_t group_entries_unwatched(const struct uvzk__group_entries *entries)
{
    return entries->unwatched;
}

/* The member is closed: drops all entries. */
static void group_entries_drop_all(struct uvzk__group_entries *entries)
{
    struct uvzk__group_entry *entry, *next;

    HASH_ITER(hh, entries->known, entry, next)
    {
        group_entries_drop(entries, entry);
    }
}

/* Adds those that are members now to `shown`, after the first `count`. Returns how many
 * there are then. */
static size_t group_entries_show(const struct uvzk__group_entries *entries, size_t count)
{
    const struct uvzk__group_entry *entry, *next;

    HASH_ITER(hh, entries->known, entry, next)
    {
        uvzk_group_entry_t *shown = &entries->shown[count];
        if (!is_member(entry)) {
            continue;
        }
        *shown = (uvzk_group_entry_t){.id = entry->id, .mzxid = mzxid_of(entry)};
        if (shown->mzxid != 0) {
            (void)uvzk_shared_value_get(&entry->value, &shown->data, &shown->length,
                                        NULL);
        }
        count++;
    }
    return count;
}

/* ------------------------------------------------------------------- the parts */

/* The user's struct is the user's again. */
static void leave_handle(struct uvzk__group_member *member)
{
    uvzk__list_remove(&member->notification.link);
    if (member->handle != NULL) {
        member->handle->impl = NULL;
        member->handle = NULL;
    }
}

static void node_client_gone(uvzk_persistent_node_t *node)
{
    struct uvzk__group_member *member = node->data;

    leave_handle(member);
    group_member_part_ended(member);
}

static void children_client_gone(struct uvzk__children_listener *listener)
{
    struct uvzk__group_member *member =
        UVZK__CONTAINER_OF(listener, struct uvzk__group_member, children);

    leave_handle(member);
    group_member_part_ended(member);
}

static void node_closed(uvzk_persistent_node_t *node, int status)
{
    struct uvzk__group_member *member = node->data;
    uvzk_group_member_t *handle = member->handle;
    uvzk_group_member_close_cb close_cb = member->close_cb;

    leave_handle(member);
    group_member_part_ended(member);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle, status);
    }
    uvzk__end_tell(listener, status);
}

/* ------------------------------------------------------------------- reporting */

static void node_changed(uvzk_persistent_node_t *node, int status)
{
    const struct uvzk__group_member *member = node->data;

    if (member->joined_cb != NULL) {
        member->joined_cb(member->handle, status);
    }
}

/* Once, until all are watched again. */
static void warn_unwatched(const struct uvzk__group_member *member)
{
    uvzk__log(
        member->session, UVZK_LOG_WARN, "session",
        "the group %s has more members than this client may watch: the data of %zu are "
        "not known: set options.sessions, or increase it",
        member->entries.path, group_entries_unwatched(&member->entries));
}

/* Records what the user is told next. Returns true if that is news. A list is reported
 * when the data of all its members have been read once, so members that come together are
 * reported together. */
static bool update_told(struct uvzk__group_member *member)
{
    if (member->status == UV_EAGAIN ||
        (member->status == 0 && !group_entries_are_read(&member->entries))) {
        return false;
    }
    bool changed = member->status == 0 && group_entries_tell(&member->entries);
    int status = member->status;
    if (status == 0 && group_entries_unwatched(&member->entries) > 0) {
        status = UVZK_ELIMIT;
    }
    if (status == UVZK_ELIMIT && status != member->told) {
        warn_unwatched(member);
    }
    changed = changed || status != member->told;
    member->told = status;
    return changed;
}

static void group_member_tell(struct uvzk__notification *notification)
{
    struct uvzk__group_member *member =
        UVZK__CONTAINER_OF(notification, struct uvzk__group_member, notification);

    if (!member->closing && !uvzk__session_is_closing(member->session) &&
        update_told(member) && member->members_cb != NULL) {
        member->members_cb(member->handle, member->told);
    }
}

static struct uvzk__group_member *of_listener(struct uvzk__children_listener *listener)
{
    return UVZK__CONTAINER_OF(listener, struct uvzk__group_member, children);
}

static int group_member_listed(struct uvzk__children_listener *listener,
                               const char *const *names, size_t count)
{
    struct uvzk__group_member *member = of_listener(listener);
    int status = group_entries_list(member, names, count);

    if (status == 0) {
        member->status = 0;
        group_member_note(member);
    }
    return status;
}

static void group_member_refused(struct uvzk__children_listener *listener, int status)
{
    of_listener(listener)->status = status;
    group_member_note(of_listener(listener));
}

/* ----------------------------------------------------------------- init, close */

static int check_id(const char *id)
{
    bool bad = id[0] == '\0' || strchr(id, '/') != NULL || strcmp(id, ".") == 0 ||
               strcmp(id, "..") == 0;

    return uvzk__refuse_if(UVZK_EPATH,
                           bad ? "id: empty, \".\", \"..\" or with a '/'" : NULL);
}

static int group_member_check(const uvzk_client_t *client,
                              const uvzk_group_member_t *handle, const char *path,
                              const char *id)
{
    int status = uvzk__refuse_if(UV_EINVAL, id == NULL ? "id is NULL" : NULL);

    if (status == 0) {
        status = uvzk__check_init(client, "the member", handle,
                                  handle == NULL ? NULL : handle->impl, path);
    }
    if (status == 0) {
        status = uvzk__znode_owner_check_open(client->impl, path, UVZK__NEEDS_ZNODE);
    }
    return status != 0 ? status : check_id(id);
}

/* Nothing refers to it yet. NULL: out of memory. */
static struct uvzk__group_member *new_member(uvzk_client_t *client, const char *path,
                                             const char *id)
{
    struct uvzk__group_member *member = uvzk__calloc(1, sizeof(*member));

    if (member == NULL) {
        return NULL;
    }
    uvzk__list_init(&member->notification.link);
    member->notification.notify_cb = group_member_tell;
    member->node.data = member;
    member->children.listed_cb = group_member_listed;
    member->children.refused_cb = group_member_refused;
    member->children.client_gone_cb = children_client_gone;
    member->status = member->told = UV_EAGAIN;
    member->parts = 2; /* the node and the listener */
    member->id = uvzk__strdup(id);
    if (group_entries_init(&member->entries, client, path) != 0 || member->id == NULL) {
        free_memory(member);
        return NULL;
    }
    return member;
}

static int follow_children(struct uvzk__group_member *member,
                           struct uvzk__session *session)
{
    char *full = uvzk__path_join(uvzk__namespace_of(session), member->entries.path);

    if (full == NULL) {
        return UV_ENOMEM;
    }
    member->session = uvzk__home_of(session, full);
    int status =
        uvzk__children_listener_begin(member->session, &member->children, full, 0);
    uvzk__free(full);
    return status;
}

static int keep_node(struct uvzk__group_member *member, const void *data, size_t length)
{
    char *path = uvzk__path_join(member->entries.path, member->id);

    if (path == NULL) {
        return UV_ENOMEM;
    }
    int status = uvzk_persistent_node_init(member->entries.client, &member->node, path,
                                           UVZK_PERSISTENT_NODE_EPHEMERAL, data, length,
                                           node_changed);
    uvzk__free(path);
    if (status == 0) {
        uvzk__persistent_node_set_client_gone(&member->node, node_client_gone);
    }
    return status;
}

int uvzk_group_member_init(uvzk_client_t *client, uvzk_group_member_t *handle,
                           const char *path, const char *id, const void *data,
                           size_t length, uvzk_group_member_change_cb joined_cb,
                           uvzk_group_member_change_cb members_cb)
{
    int status = group_member_check(client, handle, path, id);

    if (status != 0) {
        return status;
    }
    struct uvzk__group_member *member = new_member(client, path, id);
    if (member == NULL) {
        return UV_ENOMEM;
    }
    member->handle = handle;
    member->joined_cb = joined_cb;
    member->members_cb = members_cb;
    status = follow_children(member, client->impl);
    if (status == 0) {
        status = keep_node(member, data, length);
        if (status != 0) {
            uvzk__children_listener_end(&member->children);
        }
    }
    if (status != 0) {
        free_memory(member);
        return status;
    }
    uvzk__children_listener_list(&member->children); /* a refused one has sent nothing */
    handle->impl = member;
    return 0;
}

int uvzk_group_member_set_data(uvzk_group_member_t *handle, const void *data,
                               size_t length)
{
    struct uvzk__group_member *member = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the member is NULL");
    }
    if (member == NULL) {
        return uvzk__refuse(UVZK_ECLOSED, "the member is not initialised");
    }
    return uvzk_persistent_node_set_data(&member->node, data, length);
}

int uvzk_group_member_close(uvzk_group_member_t *handle,
                            uvzk_group_member_close_cb close_cb)
{
    struct uvzk__group_member *member = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the member is NULL");
    }
    if (member == NULL || member->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the member is closing, or not initialised");
    }
    member->closing = true;
    member->close_cb = close_cb;
    uvzk__end_begin(&handle->end, member->session);
    uvzk__children_listener_end(&member->children);
    group_member_part_ended(member); /* the node is left */
    group_entries_drop_all(&member->entries);
    return uvzk_persistent_node_close(&member->node, node_closed);
}

/* --------------------------------------------------------------------- the list */

static int by_id(const void *left, const void *right)
{
    const uvzk_group_entry_t *one = left, *other = right;

    return strcmp(one->id, other->id);
}

int uvzk_group_member_list(const uvzk_group_member_t *handle,
                           const uvzk_group_entry_t **members, size_t *count)
{
    const struct uvzk__group_member *member = handle == NULL ? NULL : handle->impl;

    if (handle == NULL || members == NULL || count == NULL) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "the member is NULL"
                                                      : "members or count is NULL");
    }
    if (member == NULL || member->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "the member is closing, or not initialised");
    }
    uvzk_group_entry_t *own = &member->entries.shown[0];
    *own = (uvzk_group_entry_t){.id = member->id, .mzxid = 0};
    uvzk__persistent_node_data(&member->node, &own->data, &own->length);
    *count = group_entries_show(&member->entries, 1);
    *members = member->entries.shown;
    qsort(own, *count, sizeof(*own), by_id);
    return 0;
}

struct uvzk__session *uvzk__group_member_session(const uvzk_group_member_t *handle)
{
    const struct uvzk__group_member *member = handle == NULL ? NULL : handle->impl;

    return member == NULL ? NULL : uvzk__persistent_node_session(&member->node);
}
