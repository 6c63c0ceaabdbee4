/* All lock directories of a client, and the contenders in them. */
#ifndef UVZK_DIRECTORIES_H
#define UVZK_DIRECTORIES_H

#include <string.h>

#include "directory/catalogue.h"
#include "directory/expected_sequences.h"
#include "engine/session.h"

/* closeSession carries the paths of all ephemerals in one transaction, and a
 * server cannot read back one of more than 2 MB (ZOOKEEPER-4306). */
#define UVZK__NODE_BYTES_MAX 1500000U

/* So many characters of a UUID's text are the same in all names of a session's: 48 bits of
 * 122, so that it knows its own wherever a listing shows them (view.c). */
#define UVZK__UUID_PREFIX_TEXT 13U

struct uvzk__directories {
    const struct uvzk__contender_user *contender_user; /* contender.h */
    struct uvzk__catalogue catalogue;
    struct uvzk__queue *parents_creator; /* goes ahead in a new place, parents.c */
    struct uvzk__link behind_creator;
    struct uvzk__link contenders;
    struct uvzk__link to_settle;     /* queues in which something has changed */
    struct uvzk__link to_create;     /* contenders to be made, create_batch.h */
    struct uvzk__link to_delete;     /* contenders to be deleted, delete_batch.h */
    struct uvzk__link delete_later;  /* of these, until the next round, delete_batch.h */
    struct uvzk__timer delete_retry; /* after deletes found no memory */
    unsigned create_batches_in_flight, delete_batches_in_flight;
    uint32_t readers_granted_early; /* in all directories */
    uint32_t settle_count;          /* how often all touched queues have been settled */
    uint64_t node_bytes, node_bytes_max; /* UVZK__NODE_BYTES_MAX, or less in a test */
    uint64_t contender_count;
    uint64_t undeletable_count; /* of these, undeletable.h */
    struct uvzk__expected_sequences expected_sequences;
    char uuid_prefix
        [UVZK__UUID_PREFIX_TEXT]; /* the first name has drawn it; "": none has yet */
};

/* Its memory is the client's. */
void uvzk__directories_init(struct uvzk__directories *,
                            const struct uvzk__contender_user *);

/* Who goes ahead; NULL: nobody. */
static inline void
uvzk__directories_set_parents_creator(struct uvzk__directories *directories,
                                      struct uvzk__queue *creator)
{
    directories->parents_creator = creator;
}

/* The text of a new UUID, of 36 characters, becomes this session's. Its own znodes go
 * with the session; what is left of another one is not taken for this one's. */
static inline void
uvzk__directories_apply_uuid_prefix(struct uvzk__directories *directories, char *uuid)
{
    if (directories->uuid_prefix[0] == '\0') {
        memcpy(directories->uuid_prefix, uuid, UVZK__UUID_PREFIX_TEXT);
    } else {
        memcpy(uuid, directories->uuid_prefix, UVZK__UUID_PREFIX_TEXT);
    }
}
static inline bool
uvzk__directories_is_own_uuid(const struct uvzk__directories *directories,
                              const char *uuid)
{
    return memcmp(directories->uuid_prefix, uuid, UVZK__UUID_PREFIX_TEXT) == 0;
}
static inline void
uvzk__directories_reset_uuid_prefix(struct uvzk__directories *directories)
{
    directories->uuid_prefix[0] = '\0';
}

/* A contender has come, or gone, whose path has room for so many bytes. */
static inline void uvzk__directories_add_contender(struct uvzk__directories *directories,
                                                   size_t bytes)
{
    directories->node_bytes += bytes;
    directories->contender_count++;
}
static inline void
uvzk__directories_remove_contender(struct uvzk__directories *directories, size_t bytes)
{
    directories->node_bytes -= bytes;
    directories->contender_count--;
}

/* Whether one of them is to be heard of: who is undeletable stands until the session
 * ends. */
static inline bool
uvzk__directories_have_pending(const struct uvzk__directories *directories)
{
    return directories->contender_count > directories->undeletable_count;
}

/* A create batch is under way, or no longer; a delete batch. */
static inline void
uvzk__directories_count_create_batch(struct uvzk__directories *directories, bool before,
                                     bool now)
{
    directories->create_batches_in_flight += (unsigned)now - (unsigned)before;
}
static inline void
uvzk__directories_count_delete_batch(struct uvzk__directories *directories, bool before,
                                     bool now)
{
    directories->delete_batches_in_flight += (unsigned)now - (unsigned)before;
}
/* A contender is undeletable, or no longer. */
static inline void
uvzk__directories_count_undeletable(struct uvzk__directories *directories, bool before,
                                    bool now)
{
    directories->undeletable_count += (uint64_t)now - (uint64_t)before;
}
/* A reader is granted early, or no longer. */
static inline void
uvzk__directories_count_early_reader(struct uvzk__directories *directories, bool before,
                                     bool now)
{
    directories->readers_granted_early += (uint32_t)now - (uint32_t)before;
}

#endif
