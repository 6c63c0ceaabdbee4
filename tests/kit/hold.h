/* SPDX-License-Identifier: Apache-2.0 */
/* A hold of the tests: one acquire of any lock, and a record of all its callbacks. The
 * same file serves both kits: the world and its processes are simulated (sim/kit) or real
 * (live/kit), and each kit compiles hold.c with its own world.h.
 *
 *   pending ─► over            the acquire has failed
 *   pending ─► held ─► over    lost, or released by the test
 *
 * A hold that is over may be used for another acquire. Each callback checks the
 * following, and the test fails otherwise: it comes once, and in a legal order; after a
 * failure, a loss or a release no callback comes; a call that was refused has done
 * nothing; a granted hold is valid. A world ends only when all of its holds are over. */
#ifndef UVZK_KIT_HOLD_H
#define UVZK_KIT_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define HOLD_NO_STATUS 9999 /* a status that no callback has reported yet */
#define HOLD_PATH_MAX 256

struct process;

struct hold {
    uvzk_hold_t request;
    struct process *process;
    uvzk_lock_t *lock;
    void *owner;
    uint32_t leases;   /* at least 1 */
    struct hold *next; /* in the world's list of holds that are not over */
    struct hold **at;  /* the pointer to this hold in that list */
    bool accepted, releasing;
    /* How often each callback has run: acquire, queued, lost, release. */
    int answered, queued, lost, released;
    int revoked;                        /* counted by the test's own callback */
    uvzk_req_t verify_request;          /* of hold_verify */
    int verified, verify_status;        /* how often its callback ran; its last status */
    int status, reason, release_status; /* of the acquire, the loss, the release */
    uint64_t ahead;                     /* of the queued callback */
    uint64_t answered_ms, lost_ms, released_ms; /* when these callbacks ran */
    /* Counted over all holds of the world: the number of this grant, and the number of
     * this end; 1 for the first. */
    int granted_turn, ended_turn;
    int64_t token;            /* at the grant */
    char path[HOLD_PATH_MAX]; /* of its first znode, at the grant */
    /* hold_ask() resets these. Set them when it has returned, before any callback. */
    void (*hook)(
        struct hold *); /* called inside each callback but the queued one; or NULL */
    void (*queued_hook)(struct hold *); /* called inside the queued callback; or NULL */
    bool release_at_once;               /* release inside the callback of the grant */
    void *data;                         /* the test's own */
};

/* Calls uvzk_lock_acquire and returns its result. lock: NULL: the mutex of the process.
 * options: NULL: the defaults; its queued_cb is replaced. */
int hold_ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
             const uvzk_acquire_options_t *options);
/* The functions below that begin an acquire assert that the call is accepted. These two
 * acquire the mutex of the process. */
void hold_begin(struct hold *hold, struct process *process, int64_t timeout_ms);
void hold_begin_for(struct hold *hold, struct process *process, void *owner,
                    int64_t timeout_ms);
/* These two acquire another lock. The first one takes `leases` leases of it. The second
 * one is for this owner, and without a timeout. */
void hold_begin_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   uint32_t leases, int64_t timeout_ms);
void hold_begin_on_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                       void *owner);
/* These begin an acquire and wait until it is granted. hold_take uses the mutex of the
 * process. In the functions below that have a `lock`, NULL means that mutex. */
void hold_take(struct hold *hold, struct process *process);
void hold_take_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                  uint32_t leases);
void hold_take_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   void *owner);
/* Begins an acquire and waits until the queued callback has run. Only for a world in
 * which world_has_queued_cb() is true. */
void hold_queue(struct hold *hold, struct process *process, uvzk_lock_t *lock);
/* Begins an acquire and waits until its callback has run with this status. */
void hold_try(struct hold *hold, struct process *process, uvzk_lock_t *lock,
              int64_t timeout_ms, int status);
/* Begins an acquire that must end with UV_ETIMEDOUT because others are ahead of it. If
 * the time runs out before the client knows who is ahead (UVZK_ENOTQUEUED, UVZK_EPROOF),
 * tries again with twice the time, until the time is at least WORLD_TIMEOUT_MS. */
void hold_expect_timeout_with(struct hold *hold, struct process *process,
                              uvzk_lock_t *lock, uvzk_acquire_options_t options);
void hold_expect_timeout(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                         uint32_t leases, int64_t timeout_ms);

/* Asserts that the acquire callback runs within `ms`, and that its status is this one, or
 * 0. */
void hold_await_status(struct hold *hold, uint64_t ms, int status);
void hold_await(struct hold *hold, uint64_t ms);
/* Asserts that the queued callback runs. */
void hold_await_queued(struct hold *hold);
/* Asserts that the acquire callback runs within `ms`, with any status. Does not wait if
 * the call was refused. */
void hold_await_answer(struct hold *hold, uint64_t ms);
/* Asserts that the lost callback runs within `ms` with this reason. */
void hold_await_lost(struct hold *hold, uint64_t ms, int reason);
/* Asserts that the release callback runs within `ms` with this status. */
void hold_await_released(struct hold *hold, uint64_t ms, int status);
/* Waits until the acquire callback of one of the two has run. Asserts that it is granted,
 * and returns that hold. */
struct hold *hold_await_first(struct hold *one, struct hold *other, uint64_t ms);

/* Calls uvzk_hold_release and returns its result. */
int hold_ask_release(struct hold *hold);
/* The same, and asserts that the call is accepted. */
void hold_release(struct hold *hold);
/* Calls uvzk_hold_cancel, and asserts that the call is accepted. */
void hold_cancel(struct hold *hold);
/* Releases a hold that is held, unless it is being released; cancels a pending one. */
void hold_release_or_cancel(struct hold *hold);
/* Releases, and waits until the release callback has run with status 0. */
void hold_give_back(struct hold *hold);
/* Waits until the acquire is granted, then gives it back. */
void hold_acquire_release(struct hold *hold, uint64_t ms);
/* Waits until the acquire callback has run. If the hold is held then, releases it and
 * waits for the release callback. */
void hold_finish(struct hold *hold, uint64_t ms);

bool hold_pending(const struct hold *hold); /* accepted, no acquire callback yet */
bool hold_holds(const struct hold *hold);   /* granted, and not over */
bool hold_over(const struct hold *hold);    /* after the last callback, or refused */

/* Calls uvzk_hold_verify, and asserts that its callback runs within `ms` with this
 * status. */
void hold_verify(struct hold *hold, uint64_t ms, int verify_status);

/* A callback for calls that are refused: the test fails if it runs. */
void hold_unexpected_cb(uvzk_hold_t *request, int status);

#endif
