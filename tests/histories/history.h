/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients in one simulated ensemble, each with several actors
 * that acquire, hold, re-enter, release, cancel and time out at random on a few
 * lock paths, while faults happen. A seed decides everything.
 *
 * Checked after every event, of the holds that are valid at that instant:
 *   exclusion   who may not hold together does not (each recipe has its rule); but not of
 *               a client whose own holder's znode was deleted by hand a short time ago
 *   told        who has lost a hold hears of it
 * at every callback:
 *   tokens      they grow from grant to grant, as the recipe promises
 *   pace        nobody sends the same requests again and again without a pause
 *   answers     each request ends exactly once, in a legal order of callbacks
 * and at the end, when the faults have stopped and everyone has let go:
 *   liveness    everybody has been answered
 *   residue     no contender's znode, no watch, no contender in memory
 *
 *   history.c         from the seed to the verdict
 *   history_parts.h   what it consists of, and what a recipe is to it
 *   history_sim.h     the ensemble, as the seed has it
 *   history_transport.h  how its clients reach it
 *   history_client_slot.c    processes: opened, closed, opened anew
 *   history_worker.c   what actors do, and what they are told
 *   history_future.c  the same by futures
 *   history_checks.c  what must hold whatever the recipe
 *   history_foreign_clients.c  other libraries' clients beside ours
 *   history_node_deleter.c  somebody who deletes znodes by hand
 *   history_strikes.c  ... at any moment, in other kinds of histories, too
 *   history_operator.c  somebody who deletes what closed clients have left
 *   history_counters.c  directories in which thousands of millions have stood
 *   history_revocation.c  somebody who asks holders for their holds
 *   history_hold_limit.c  holds that are given back by themselves
 *   history_<recipe>.c */
#ifndef UVZK_HISTORY_H
#define UVZK_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"
#include "history_transport.h"

struct recipe;
extern const struct recipe recipe_mutex;
extern const struct recipe recipe_rwlock;
extern const struct recipe recipe_semaphore;
extern const struct recipe recipe_semaphore_mutex;
extern const struct recipe recipe_multilock;
extern const struct recipe recipe_exclusive_driver;
extern const struct recipe recipe_leases_driver;
extern const struct recipe recipe_mixed_kinds;

struct history_options {
    const struct recipe *recipe;
    unsigned tuning; /* UVZK__TUNE_* */
    bool faults;
    bool verbose; /* every line of the trace to stderr, as it happens */
};

struct history_result {
    uint64_t steps, requests;
    uint64_t
        lost_txn_overlaps; /* moments at which two held, one of them forgotten by a leader, or
                           not known to the other: nobody told of a removal */
    uint64_t faults;       /* that happened at random (sim_fault_count) */
    uint64_t grants, refusals, losses, releases;
    uint64_t reentries;     /* of the grants: re-entries, and reads under a write */
    uint64_t shared_grants; /* of the grants: while somebody else held validly */
    uint64_t kept_reads;    /* reads that stayed when their write was released */
    uint64_t cohort_grants; /* of the grants: with the znode, and the token, of another */
    uint64_t deadlocks;     /* upgrades, all refused */
    uint64_t nodes_deleted;
    uint64_t resized;        /* a semaphore's shared count */
    uint64_t multi_grants;   /* of the grants: more than one lease, or lock */
    uint64_t foreign_grants; /* grants of other libraries */
    uint64_t remote_grants;  /* of the grants: in another session than the lock's home */
    uint64_t high_counters;  /* counters that were brought near their end */
    uint64_t exhausted;      /* of the refusals: by a number that is worn out */
    uint64_t persistent;  /* of the grants: by persistent znodes, among others or alone */
    uint64_t revoked;     /* times that a ticket was told that others want it */
    uint64_t other_kinds; /* of the refusals: another kind of lock came first */
    uint64_t given_back;  /* of the losses: by max_hold_ms */
    uint64_t trace_hash;
    char failure[HISTORY_FAILURE_SIZE]; /* empty: all is well */
};

/* On failure the trace's last lines have been printed to stderr. */
void history_run(uint64_t seed, const struct history_options *options,
                 struct history_result *result);

const char *history_recipe_name(const struct recipe *recipe);

/* What the histories of this recipe should have seen and have not; NULL: nothing. */
const char *history_unseen(const struct recipe *recipe, const struct history_result *sum);

#endif
