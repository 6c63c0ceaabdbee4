/* SPDX-License-Identifier: Apache-2.0 */
/* All lock directories of one session, and what the session keeps for all its contenders:
 * the lists on which they wait to be created or deleted, their number, and the budget of
 * their paths.
 *
 * The directories are in a hash table by their paths, and in a list in the order in which
 * they were added. Locks of several kinds may use one path, each with a directory of its
 * own. Each bucket is a chain. The links and the hash are
 * members of the directory, so adding one allocates nothing except buckets. */
#ifndef UVZK_DIRECTORIES_H
#define UVZK_DIRECTORIES_H

#include <string.h>

#include "base/expected_sequences.h"
#include "base/list.h"
#include "engine/session.h"

struct uvzk__contender;
struct uvzk__directory_kind;
struct uvzk__queue;
struct uvzk__shared_path;

/* The bytes of all paths of a session's znodes. The closeSession transaction contains the
 * paths of all ephemeral znodes of the session, and a server cannot read back a
 * transaction of more than 2 MB (ZOOKEEPER-4306). */
#define UVZK__NODE_BYTES_MAX 1500000U

/* The first 13 characters of the UUID are the same in all names of a session: 48 of the
 * 122 random bits. So the session recognizes its own znodes in every listing (listing.c). */
#define UVZK__UUID_PREFIX_TEXT 13U

/* The hash table of one session. */
struct uvzk__catalogue {
    struct uvzk__link all;        /* all directories, the oldest first */
    struct uvzk__queue **buckets; /* owned; NULL: no directory was added yet */
    uint32_t bucket_count;        /* a power of two */
    uint32_t count;               /* directories in the table */
};

/* The part of a directory that directories.c keeps. */
struct uvzk__catalogue_entry {
    struct uvzk__link in_all; /* on catalogue->all */
    struct uvzk__queue *next; /* in its bucket; NULL: the last one */
    uint32_t hash;            /* of the path */
};

struct uvzk__directories {
    const struct uvzk__contender_user *contender_user; /* contender.h */
    struct uvzk__catalogue catalogue;
    /* The directory that creates missing parents first (parents.c); NULL: none. */
    struct uvzk__queue *parents_creator;
    struct uvzk__link behind_creator; /* directories that wait for parents_creator */
    struct uvzk__link contenders;     /* all contenders of the session */
    struct uvzk__link to_settle;      /* directories in which something has changed */
    struct uvzk__link to_create;      /* contenders for the next multis, creates.h */
    struct uvzk__link to_delete;      /* contenders to be deleted, delete_batch.h */
    struct uvzk__link delete_later;   /* postponed until the next round, delete_batch.h */
    struct uvzk__timer delete_retry;  /* armed when deletes found no memory */
    unsigned create_batches_in_flight, delete_batches_in_flight; /* multis */
    uint32_t readers_granted_early;                              /* in all directories */
    uint64_t mixed_kinds; /* contenders that came after one of another kind */
    /* How often the changed directories have been settled. A sighting counts for one
     * settling only (freshness.h). */
    uint32_t settle_count;
    /* The greatest sizes of all contenders' paths together, and the limit for that:
     * UVZK__NODE_BYTES_MAX, or less in a test. */
    uint64_t node_bytes, node_bytes_max;
    uint64_t contender_count;   /* contenders of the session, orphans included */
    uint64_t undeletable_count; /* how many of them are undeletable (acl_retry.h) */
    bool no_persistent_watches; /* the port has refused one (mirror.h) */
    struct uvzk__expected_sequences expected_sequences;
    char uuid_prefix
        [UVZK__UUID_PREFIX_TEXT]; /* of the first name; a leading NUL before that */
};

/* Initializes the struct, which must be all zeros. Its memory belongs to the session. The
 * user's callbacks are not copied. */
void uvzk__directories_init(struct uvzk__directories *,
                            const struct uvzk__contender_user *);

/* The session's directory of this kind and path, or NULL. */
struct uvzk__queue *uvzk__queue_find(const struct uvzk__session *,
                                     const struct uvzk__directory_kind *,
                                     const char *path);

/* Something has changed: the directory, or each directory of the session, is settled in
 * the next round of the turn. */
void uvzk__queue_settle_later(struct uvzk__queue *);
void uvzk__queues_settle_later(struct uvzk__session *);

/* Chooses the session of the client through which a znode is read. node_path: the full
 * path of the znode, as a contender has it. Returns the session that created the znode,
 * because the server of another session may lag and not show it yet. If no session of
 * this client created it, returns the first session that has a connection, or the given
 * session if none has. */
struct uvzk__session *uvzk__session_of_node(struct uvzk__session *,
                                            const char *node_path);

/* Returns true if a contender is left whose end a closing client waits for. It does not
 * wait for undeletable contenders: the end of the session removes their znodes. */
static inline bool
uvzk__directories_have_pending(const struct uvzk__directories *directories)
{
    return directories->contender_count > directories->undeletable_count;
}

/* The directory that was added first, and the one that was added after this one. NULL:
 * there is none. */
struct uvzk__queue *uvzk__catalogue_first(const struct uvzk__catalogue *);
struct uvzk__queue *uvzk__catalogue_next(const struct uvzk__catalogue *,
                                         const struct uvzk__queue *);

/* Calls act for each contender of the session. act may free the contender that it gets,
 * but no other. */
void uvzk__for_each_contender(struct uvzk__session *,
                              void (*act)(struct uvzk__contender *, int), int code);

/* ------------------------------------------------------------ for this room alone */

/* Returns true if a contender of this session has, or may get, this name in a directory
 * of this path, whatever its kind. unplaced: contenders whose place is not known count
 * too. */
bool uvzk__directories_have_name(const struct uvzk__session *, const char *directory,
                                 const char *name, bool unplaced);

/* The contender of this directory that has this name and a place; one that has no place
 * yet, and this name up to the number. NULL: there is none. Those that are being deleted
 * are searched first, because a mirror asks about a name when its znode has gone. */
struct uvzk__contender *uvzk__placed_named(const struct uvzk__queue *, const char *name);
struct uvzk__contender *uvzk__unplaced_named(const struct uvzk__queue *,
                                             const char *name);

/* The counts of the conditions below. before: the condition was true before this change;
 * now: it is true from now on. The first two: a batch of creates, or of deletes, is in
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

/* The struct must be all zeros. */
void uvzk__catalogue_init(struct uvzk__catalogue *);
/* Frees the buckets, but not the directories. Call it when the table is empty. */
void uvzk__catalogue_free(struct uvzk__catalogue *);

/* The directory of this kind and path, or NULL. The hash is uvzk__path_hash(path). */
struct uvzk__queue *uvzk__catalogue_find(const struct uvzk__catalogue *,
                                         const struct uvzk__directory_kind *,
                                         const char *path, uint32_t hash);

/* Adds a directory whose kind and path are not in the table yet. The table does not own
 * it. Returns 0, or UV_ENOMEM, which changes nothing. */
int uvzk__catalogue_add(struct uvzk__catalogue *, struct uvzk__queue *);
/* Removes a directory that is in the table. Does not free it. */
void uvzk__catalogue_remove(struct uvzk__catalogue *, struct uvzk__queue *);

/* The session's directories of this path, of any kind: the first one, and the next one of
 * the same path. NULL: there is none. */
struct uvzk__queue *uvzk__first_at(const struct uvzk__session *, const char *path);

struct uvzk__queue *uvzk__next_at(const struct uvzk__queue *);

static inline bool
uvzk__directories_is_own_uuid(const struct uvzk__directories *directories,
                              const char *uuid)
{
    return memcmp(directories->uuid_prefix, uuid, UVZK__UUID_PREFIX_TEXT) == 0;
}

#endif
