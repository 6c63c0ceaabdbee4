/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who deletes znodes by hand at any moment, in some histories of each kind
 * (HISTORY_STRIKES): soon after they were created, one by one or several at once, and now
 * and then.
 *
 * The znodes of locks and elections are contenders'. A znode that stands behind another one that it has to wait for is a waiter's. Whoever
 * deletes it ends a wait, and nothing else may come of it. The znode of somebody who holds,
 * or may hold, is deleted too where `ends_hold` is set. That hold protects nobody any
 * more, nor does what its client hands on by this znode until it knows
 * (docs/promise.md): the history leaves this client's holds there out of its checks for
 * STRIKES_UNKNOWN session timeouts. All others are checked as ever.
 *
 * Other znodes have names of their own (strikes_add_named): of a value, a number, a barrier,
 * its members and its `ready`, persistent nodes, members of groups, and locks with a fixed
 * name. They are struck soon after they were created or set.
 *
 * The random numbers are not the simulation's. So histories without this kind stay as they
 * are, and a history is the same for each seed. */
#ifndef UVZK_HISTORY_STRIKES_H
#define UVZK_HISTORY_STRIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seeded.h"
#include "sim.h"

#define STRIKES_DIRECTORIES 6
#define STRIKES_PLANNED 16
#define STRIKES_UNKNOWN 2U

struct struck_directory {
    char path[128];
    uint32_t in_order;    /* strikes_add */
    bool never_the_first; /* who may hold is never struck */
    bool named;           /* strikes_add_named */
    bool holds;           /* ... who has such a znode may hold */
    int32_t counter;      /* the number of the next child, when it was last looked at */
    int64_t mzxid;        /* named: the newest of a child, likewise */
};

struct strikes {
    struct sim *sim; /* NULL: nobody strikes */
    struct seeded random;
    uint32_t reach_ms; /* how long after its create a znode is struck */
    uint64_t next_ms;  /* when a znode of any age is struck */
    struct struck_directory directories[STRIKES_DIRECTORIES];
    size_t count;
    struct {
        size_t directory;
        int64_t which; /* the znode's number, or if it is named its czxid */
        uint64_t at_ms;
    } planned[STRIKES_PLANNED];
    size_t planned_count;
    bool holders; /* those who may hold are struck, too */
    uint64_t deleted;
    /* To be set by the history: */
    void *context;
    /* Returns true if this znode is to be left alone. May be NULL. */
    bool (*spares)(void *context, const char *path);
    /* The znode at this path has been struck. May be NULL. */
    void (*struck)(void *context, const char *path);
    /* The znode of somebody who may hold, of this session, is about to be deleted in this
     * directory. NULL: none is. */
    void (*ends_hold)(void *context, size_t directory, int64_t session_id);
};

/* Strikes if the seed has HISTORY_STRIKES. */
void strikes_begin(struct strikes *strikes, struct sim *sim, uint64_t seed,
                   uint32_t timeout_ms);
/* in_order: so many of those with the smallest numbers may hold, and the others wait for
 * them; 0: all may hold. */
void strikes_add(struct strikes *strikes, const char *directory, uint32_t in_order,
                 bool never_the_first);
/* All children, whatever their names. holds: only as those who may hold are struck. */
void strikes_add_named(struct strikes *strikes, const char *directory, bool holds);
/* After each event of the simulation. */
void strikes_step(struct strikes *strikes);
/* Whether, by the order of its directory, a znode may hold: it waits for nobody. At most so
 * many may hold together, or all readers. */
bool strikes_may_hold(const char *const *names, size_t count, const char *name,
                      uint32_t most);
/* The number at the end of the name. */
long strikes_number(const char *name);

#endif
