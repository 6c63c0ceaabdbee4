/* All lock directories of a client, and the contenders in them. */
#ifndef UVZK_DIRECTORIES_H
#define UVZK_DIRECTORIES_H

#include <string.h>

#include "directory/catalogue.h"
#include "directory/recollection.h"
#include "engine/client.h"

/* closeSession carries the paths of all ephemerals in one transaction, and a
 * server cannot read back one of more than 2 MB (ZOOKEEPER-4306). */
#define UVZK__NODE_BYTES_MAX 1500000U

/* So many characters of a UUID's text are the same in all names of a session's: 48 bits of
 * 122, so that it knows its own wherever a listing shows them (view.c). */
#define UVZK__TAG_TEXT 13U

struct uvzk__directories {
    const struct uvzk__contender_user *contender_user; /* contender.h */
    struct uvzk__catalogue catalogue;
    struct uvzk__queue *scout; /* goes ahead in a new place, parents.c */
    struct uvzk__link behind_scout;
    struct uvzk__link contenders;
    struct uvzk__link dirty;        /* queues in which something has changed */
    struct uvzk__link unmade;       /* contenders to be made, making.h */
    struct uvzk__link doomed;       /* contenders to be deleted, sweep.h */
    struct uvzk__link put_off;      /* of these, until the next round, sweep.h */
    struct uvzk__timed sweep_retry; /* after deletes found no memory */
    unsigned makings_under_way, sweeps_under_way;
    uint32_t readers_on_credit; /* in all directories */
    uint32_t settlings;         /* how often all touched queues have been settled */
    uint64_t node_bytes, node_bytes_most; /* UVZK__NODE_BYTES_MAX, or less in a test */
    uint64_t contender_count;
    uint64_t undeletable_count; /* of these, undeletable.h */
    struct uvzk__recollection recollection;
    char tag[UVZK__TAG_TEXT]; /* the first name has drawn it; "": none has yet */
};

/* Its memory is the client's. */
void uvzk__directories_init(struct uvzk__directories *,
                            const struct uvzk__contender_user *);

/* Who goes ahead; NULL: nobody. */
static inline void uvzk__directories_scout(struct uvzk__directories *directories,
                                           struct uvzk__queue *scout)
{
    directories->scout = scout;
}

/* The text of a new UUID, of 36 characters, becomes this session's. Its own znodes go with the
 * session; what is left of another one is not taken for this one's. */
static inline void uvzk__directories_mark(struct uvzk__directories *directories,
                                          char *uuid)
{
    if (directories->tag[0] == '\0') {
        memcpy(directories->tag, uuid, UVZK__TAG_TEXT);
    } else {
        memcpy(uuid, directories->tag, UVZK__TAG_TEXT);
    }
}
static inline bool uvzk__directories_marked(const struct uvzk__directories *directories,
                                            const char *uuid)
{
    return memcmp(directories->tag, uuid, UVZK__TAG_TEXT) == 0;
}
static inline void uvzk__directories_mark_anew(struct uvzk__directories *directories)
{
    directories->tag[0] = '\0';
}

/* A contender has come, or gone, whose path has room for so many bytes. */
static inline void uvzk__directories_joined(struct uvzk__directories *directories,
                                            size_t bytes)
{
    directories->node_bytes += bytes;
    directories->contender_count++;
}
static inline void uvzk__directories_left(struct uvzk__directories *directories,
                                          size_t bytes)
{
    directories->node_bytes -= bytes;
    directories->contender_count--;
}

/* Whether one of them is to be heard of: who is undeletable stands until the session ends. */
static inline bool uvzk__directories_await(const struct uvzk__directories *directories)
{
    return directories->contender_count > directories->undeletable_count;
}

/* A making is under way, or no longer; a sweep. */
static inline void uvzk__directories_making(struct uvzk__directories *directories,
                                            bool before, bool now)
{
    directories->makings_under_way += (unsigned)now - (unsigned)before;
}
static inline void uvzk__directories_swept(struct uvzk__directories *directories,
                                           bool before, bool now)
{
    directories->sweeps_under_way += (unsigned)now - (unsigned)before;
}
/* A contender is undeletable, or no longer. */
static inline void uvzk__directories_undeletable(struct uvzk__directories *directories,
                                                 bool before, bool now)
{
    directories->undeletable_count += (uint64_t)now - (uint64_t)before;
}
/* A reader is on credit, or no longer. */
static inline void uvzk__directories_credited(struct uvzk__directories *directories,
                                              bool before, bool now)
{
    directories->readers_on_credit += (uint32_t)now - (uint32_t)before;
}

#endif
