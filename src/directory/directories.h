/* All lock directories of one session, and what the session keeps for all its contenders:
 * the lists on which they wait to be created or deleted, their number, and the budget of
 * their paths. directory.c initializes the struct. */
#ifndef UVZK_DIRECTORIES_H
#define UVZK_DIRECTORIES_H

#include <string.h>

#include "directory/catalogue.h"
#include "directory/watermark.h"
#include "engine/session.h"

/* The bytes of all paths of a session's znodes. The closeSession transaction contains the
 * paths of all ephemeral znodes of the session, and a server cannot read back a
 * transaction of more than 2 MB (ZOOKEEPER-4306). */
#define UVZK__NODE_BYTES_MAX 1500000U

/* The first 13 characters of the UUID are the same in all names of a session: 48 of the
 * 122 random bits. So the session recognizes its own znodes in every listing (view.c). */
#define UVZK__UUID_PREFIX_TEXT 13U

struct uvzk__directories {
    const struct uvzk__contender_user *contender_user; /* contender.h */
    struct uvzk__catalogue catalogue;
    /* The directory that creates missing parents first (parents.c); NULL: none. */
    struct uvzk__queue *parents_creator;
    struct uvzk__link behind_creator; /* directories that wait for parents_creator */
    struct uvzk__link contenders;     /* all contenders of the session */
    struct uvzk__link to_settle;      /* directories in which something has changed */
    struct uvzk__link to_create;      /* contenders for the next multis, create_batch.h */
    struct uvzk__link to_delete;      /* contenders to be deleted, delete_batch.h */
    struct uvzk__link delete_later;   /* postponed until the next round, delete_batch.h */
    struct uvzk__timer delete_retry;  /* armed when deletes found no memory */
    unsigned create_batches_in_flight, delete_batches_in_flight; /* multis */
    uint32_t readers_granted_early;                              /* in all directories */
    /* How often the changed directories have been settled. A sighting counts for one
     * settling only (freshness.h). */
    uint32_t settle_count;
    /* The greatest sizes of all contenders' paths together, and the limit for that:
     * UVZK__NODE_BYTES_MAX, or less in a test. */
    uint64_t node_bytes, node_bytes_max;
    uint64_t contender_count;   /* contenders of the session, orphans included */
    uint64_t undeletable_count; /* how many of them are undeletable (acl_retry.h) */
    struct uvzk__expected_sequences expected_sequences;
    char uuid_prefix
        [UVZK__UUID_PREFIX_TEXT]; /* of the first name; a leading NUL before that */
};

/* Initializes the struct, which must be all zeros. Its memory belongs to the session. The
 * user's callbacks are not copied. */
void uvzk__directories_init(struct uvzk__directories *,
                            const struct uvzk__contender_user *);

/* NULL: no directory is the parents creator any more. */
static inline void
uvzk__directories_set_parents_creator(struct uvzk__directories *directories,
                                      struct uvzk__queue *creator)
{
    directories->parents_creator = creator;
}

/* Writes the session's prefix into the text of a new UUID (36 characters). The first UUID
 * of a session provides the prefix. uuid_prefix is reset when the session has ended, so
 * that znodes which are left of an earlier session are not taken for znodes of this
 * one. */
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

/* A contender has been added, or has ended. bytes: the greatest size of its path. */
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

/* Whether a contender is left whose end a closing client waits for. It does not wait for
 * undeletable contenders: the end of the session removes their znodes. */
static inline bool
uvzk__directories_have_pending(const struct uvzk__directories *directories)
{
    return directories->contender_count > directories->undeletable_count;
}

/* The counts of the conditions below. before: whether it was so before this change; now:
 * whether it is so from now on. The first two: a batch of creates, or of deletes, is in
 * flight. */
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
/* A contender is undeletable. */
static inline void
uvzk__directories_count_undeletable(struct uvzk__directories *directories, bool before,
                                    bool now)
{
    directories->undeletable_count += (uint64_t)now - (uint64_t)before;
}
/* A reader is granted early. */
static inline void
uvzk__directories_count_early_reader(struct uvzk__directories *directories, bool before,
                                     bool now)
{
    directories->readers_granted_early += (uint32_t)now - (uint32_t)before;
}

#endif
