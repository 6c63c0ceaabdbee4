/* The other members of a group (group_entries.h). group_member.c hands on each listing and
 * asks what has changed; the shared values call back here. */
#include "membership/group_entries.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "engine/watch.h"
#include "membership/group_member.h"
#include "value/shared_value.h"

int uvzk__group_entries_init(struct uvzk__group_entries *entries, uvzk_client_t *client,
                             const char *path)
{
    entries->client = client;
    entries->path = uvzk__strdup(path);
    entries->shown = uvzk__calloc(1, sizeof(entries->shown[0]));
    entries->capacity = 1;
    return entries->path == NULL || entries->shown == NULL ? UV_ENOMEM : 0;
}

void uvzk__group_entries_free(struct uvzk__group_entries *entries)
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

/* ------------------------------------------------------------------- one entry */

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
    uvzk__group_member_note(entry->member);
}

static void free_entry(struct uvzk__group_entry *entry)
{
    struct uvzk__group_member *member = entry->member;

    uvzk__free(entry);
    uvzk__group_member_part_ended(member);
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

int uvzk__group_entries_list(struct uvzk__group_member *member, const char *const *names,
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

bool uvzk__group_entries_are_read(const struct uvzk__group_entries *entries)
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

bool uvzk__group_entries_tell(struct uvzk__group_entries *entries)
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

size_t uvzk__group_entries_unwatched(const struct uvzk__group_entries *entries)
{
    return entries->unwatched;
}

void uvzk__group_entries_drop_all(struct uvzk__group_entries *entries)
{
    struct uvzk__group_entry *entry, *next;

    HASH_ITER(hh, entries->known, entry, next)
    {
        group_entries_drop(entries, entry);
    }
}

size_t uvzk__group_entries_show(const struct uvzk__group_entries *entries, size_t count)
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
