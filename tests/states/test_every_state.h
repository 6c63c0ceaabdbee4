/* SPDX-License-Identifier: Apache-2.0 */
/* The scenes of test_every_state.c: one client whose requests pass through every state of
 * a recipe by a script, in a simulation that goes the same way each time.
 *
 *   script ...  moment  moment  moment  ...  moment
 *                                 |
 *                                 `-- an ending, of one request, of the lock, of the
 *                                     client, of the session; the script goes no further
 *                                          |
 *                                          v
 *               everybody is answered, nothing is left, others get the lock at once
 *
 * A moment is the end of an event of the simulation, of a call by the script, or the begin
 * of a callback. */
#ifndef UVZK_TEST_EVERY_STATE_H
#define UVZK_TEST_EVERY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "claim/acquisition.h"
#include "claim/lock.h"
#include "client/create.h"
#include "directory/queue.h"
#include "hold.h"
#include "process.h"
#include "proof/prover.h"
#include "ticker.h"
#include "world.h"

#define SCENE_LOCKS 5
#define SCENE_PARTS 8
#define SCENE_DIRECTORIES 6
#define SCENE_FOREIGNERS 4
#define SCENE_NOBODY (-1)

struct scene;
struct cue;

/* The locks that one client has open. */
struct lock_set {
    uvzk_lock_t *locks[SCENE_LOCKS]; /* in the order in which they may be closed */
    size_t count;
    uvzk_lock_t own[SCENE_LOCKS];
    uvzk_rwlock_t rwlock;
    uvzk_shared_count_t permits;
    bool has_permits; /* closed after the locks */
};

struct recipe {
    const char *name;
    void (*open)(struct lock_set *, uvzk_client_t *);
    const struct cue *script;
    size_t cues;
    const char *directories[SCENE_DIRECTORIES]; /* of the contenders' znodes */
    size_t closable;                            /* so many locks, the first ones */
    int probe; /* the lock that keeps everybody else out */
    uint32_t probe_leases;
    unsigned tuning;
    bool revocable; /* all who ask may be asked */
};

extern const struct recipe recipes[];
extern const size_t recipe_count;

/* One line of a script. */
struct cue {
    uint64_t at_ms;
    void (*act)(struct scene *, const struct cue *);
    int part;
    int lock;
    int number;       /* leases, permits, a directory, a foreign node */
    bool owner;       /* the one owner of the scene asks */
    bool once;        /* it is tried once */
    const char *path; /* the directory of a foreign node, whose name ends so */
    const char *end;
    void (*trouble)(struct process *);
};

/* One request. */
struct part {
    struct hold hold;
    int lock;
    bool once;
    bool undecided, granted_by_then; /* when the ending came */
    bool queued_by_then;             /* it had a znode, or perhaps one */
};

enum scope { OF_PENDING, OF_HELD, OF_LOCK, OF_CLIENT };

struct ending {
    const char *name;
    enum scope scope;
    void (*apply)(struct scene *, int target); /* a part, or a lock, or nobody */
    int told;                                  /* to whoever waits or holds: this, */
    int also_told;                             /* or, to some, this */
    uint64_t lasts_ms;                         /* all is quiet some seconds later */
    bool later;                                /* it comes with the next turn */
};

struct scene {
    const struct recipe *recipe;
    struct world world; /* its data is the scene */
    struct ticker ticker;
    struct process process;
    struct lock_set set;
    int lock_closed[SCENE_LOCKS]; /* callbacks */
    bool lock_closing[SCENE_LOCKS];
    struct part parts[SCENE_PARTS];
    struct world_path foreign_nodes[SCENE_FOREIGNERS];
    size_t next_cue;
    uint64_t moments; /* so far */
    const struct ending *ending;
    int target;
    uint64_t ends_at; /* the moment of the ending */
    bool ended;
    int64_t blocks;                    /* allocated before */
    void (*at_moment)(struct scene *); /* may be NULL */
    void *data;                        /* the test's own */
    char what[128];                    /* recipe, ending and moment */
};

/* Makes the world and the client, which is not started, with its locks. ending: NULL for
 * none. */
void scene_open(struct scene *, const struct recipe *, const struct ending *ending,
                int target, uint64_t ends_at, bool trace);

/* Plays the script up to its end, or to the ending, which is applied. */
void scene_play(struct scene *);

/* After it: everybody is answered, nothing is left, the locks can be had. Frees all. */
void scene_close(struct scene *);

/* What is behind the handles; NULL when there is nothing any more. */
struct uvzk__session *scene_session(const struct scene *);
struct uvzk__acquisition *scene_acquisition(const struct scene *, int part);

/* Returns true if it may be released. */
bool part_held(const struct part *);

/* A cue's verb: asks for the lock. */
void part_ask(struct scene *, const struct cue *);
void scene_close_lock(struct scene *, int lock);

#endif
