/* The other members of a group, as one of them knows them: each has an entry from the listing
 * that shows its znode to the first listing that does not, and a shared value that follows
 * its data. Its znode counts as deleted when that value or a listing shows it, whichever
 * is first.
 *
 * A group may be larger than what a session may watch (watch.h). An entry for which
 * there is no room has no value: its data are not known, and only a listing says that its
 * znode is deleted. */
#ifndef UVZK_GROUP_ENTRIES_H
#define UVZK_GROUP_ENTRIES_H

#include <stdbool.h>

#include "base/table.h"
#include "uvzk.h"

struct uvzk__group_member;

struct uvzk__group_entry {
    struct uvzk__group_member *member; /* that knows it */
    UT_hash_handle hh;                 /* in entries->known, by the id */
    uvzk_shared_value_t value;         /* initialized if there is a home */
    /* The session of the value, in whose budget it has a share; NULL: there was no room. */
    struct uvzk__session *home;
    size_t path_length; /* of the znode, namespace included */
    int64_t told_mzxid; /* what the user was told last; 0: no data */
    bool told;          /* the user was told that it is a member */
    bool listed;        /* in the last listing */
    bool answered;      /* its data were read, or the read was refused, or it was gone */
    bool exists;        /* as far as its data tell */
    bool dropped;       /* it is in no table, and its value closes */
    char id[];
};

/* Part of a group member. */
struct uvzk__group_entries {
    uvzk_client_t *client;
    char *path;                      /* of the group, below the namespace */
    struct uvzk__group_entry *known; /* a uthash by id */
    uvzk_group_entry_t *shown;       /* memory for what uvzk_group_member_list returns */
    size_t capacity; /* of `shown`; always enough for all, and for itself */
    size_t
        unwatched; /* listed members for whose watch there is no room; of the last tell */
};

/* ------------------------------------------------------------ for this room alone */

/* Copies the path and makes room for the member itself. Returns 0 or UV_ENOMEM. free:
 * forgets everything. */
int uvzk__group_entries_init(struct uvzk__group_entries *, uvzk_client_t *,
                             const char *path);
void uvzk__group_entries_free(struct uvzk__group_entries *);

/* The names of all children, the member's own one among them. Returns 0 or UV_ENOMEM; then
 * some entries may be missing until the next listing. */
int uvzk__group_entries_list(struct uvzk__group_member *, const char *const *names,
                             size_t count);
/* Returns true if the data of all listed entries have been read once. */
bool uvzk__group_entries_are_read(const struct uvzk__group_entries *);
/* Records the current entries as told, drops entries that are no longer listed, and
 * follows others in their place. Returns true if they differ from the entries that were
 * reported before. */
bool uvzk__group_entries_tell(struct uvzk__group_entries *);
/* The member is closed: drops all entries. */
void uvzk__group_entries_drop_all(struct uvzk__group_entries *);
/* How many of the reported entries have no data, because there is no room for a watch. */
size_t uvzk__group_entries_unwatched(const struct uvzk__group_entries *);
/* Adds those that are members now to `shown`, after the first `count`. Returns how many
 * there are then. */
size_t uvzk__group_entries_show(const struct uvzk__group_entries *, size_t count);

#endif
