/* Group members (group_member.h): the calls of the user, and the order in which the parts
 * end. */
#include "membership/group_member.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "engine/log.h"
#include "engine/turn.h"
#include "membership/persistent_node.h"
#include "value/shared_value.h"

/* ------------------------------------------------------------------- the parts */

static void free_memory(struct uvzk__group_member *member)
{
    uvzk__group_entries_free(&member->entries);
    uvzk__free(member->id);
    uvzk__free(member);
}

void uvzk__group_member_part_ended(struct uvzk__group_member *member)
{
    if (--member->parts == 0) {
        free_memory(member);
    }
}

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
    uvzk__group_member_part_ended(member);
}

static void children_client_gone(struct uvzk__children_listener *listener)
{
    struct uvzk__group_member *member =
        UVZK__CONTAINER_OF(listener, struct uvzk__group_member, children);

    leave_handle(member);
    uvzk__group_member_part_ended(member);
}

static void node_closed(uvzk_persistent_node_t *node, int status)
{
    struct uvzk__group_member *member = node->data;
    uvzk_group_member_t *handle = member->handle;
    uvzk_group_member_close_cb close_cb = member->close_cb;

    leave_handle(member);
    uvzk__group_member_part_ended(member);
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

void uvzk__group_member_note(struct uvzk__group_member *member)
{
    if (!member->closing) {
        uvzk__notify_later(member->session, &member->notification);
    }
}

/* Once, until all are watched again. */
static void warn_unwatched(const struct uvzk__group_member *member)
{
    uvzk__log(
        member->session, UVZK_LOG_WARN, "session",
        "the group %s has more members than this client may watch: the data of %zu are "
        "not known: set options.sessions, or increase it",
        member->entries.path, uvzk__group_entries_unwatched(&member->entries));
}

/* Records what the user is told next. Returns true if that is news. A list is reported
 * when the data of all its members have been read once, so members that come together are
 * reported together. */
static bool update_told(struct uvzk__group_member *member)
{
    if (member->status == UV_EAGAIN ||
        (member->status == 0 && !uvzk__group_entries_are_read(&member->entries))) {
        return false;
    }
    bool changed = member->status == 0 && uvzk__group_entries_tell(&member->entries);
    int status = member->status;
    if (status == 0 && uvzk__group_entries_unwatched(&member->entries) > 0) {
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
    int status = uvzk__group_entries_list(member, names, count);

    if (status == 0) {
        member->status = 0;
        uvzk__group_member_note(member);
    }
    return status;
}

static void group_member_refused(struct uvzk__children_listener *listener, int status)
{
    of_listener(listener)->status = status;
    uvzk__group_member_note(of_listener(listener));
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
    if (uvzk__group_entries_init(&member->entries, client, path) != 0 ||
        member->id == NULL) {
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
    uvzk__group_member_part_ended(member); /* the node is left */
    uvzk__group_entries_drop_all(&member->entries);
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
    *count = uvzk__group_entries_show(&member->entries, 1);
    *members = member->entries.shown;
    qsort(own, *count, sizeof(*own), by_id);
    return 0;
}

struct uvzk__session *uvzk__group_member_session(const uvzk_group_member_t *handle)
{
    const struct uvzk__group_member *member = handle == NULL ? NULL : handle->impl;

    return member == NULL ? NULL : uvzk__persistent_node_session(&member->node);
}
