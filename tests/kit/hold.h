/* One acquire of any lock and what comes of it, with all that it is told written down.
 * The same in both kits: a world and its processes are simulated (sim/kit) or real
 * (live/kit), and each kit compiles this with its own.
 *
 *   asked ── refused ─────────────────────────────────┐
 *     └───── granted ── lost, or released by the test ─┴─ over: may be asked for again
 *
 * Checked at every callback, or the test fails: each comes once and in a legal order; a
 * refusal, a loss and a release are final; a refused call has done nothing; what is
 * granted is valid. A world ends only when all of its holds are over. */
#ifndef UVZK_KIT_HOLD_H
#define UVZK_KIT_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define HOLD_NO_STATUS 9999 /* a status nobody has told yet */
#define HOLD_PATH_MAX 256

struct process;

struct hold {
    uvzk_hold_t request;
    struct process *process;
    uvzk_lock_t *lock;
    void *owner;
    uint32_t leases;   /* at least 1 */
    struct hold *next; /* of those of the world that are not over */
    struct hold **at;  /* what points to it there */
    bool accepted, releasing;
    int answered, queued, lost, released; /* callbacks */
    int revoked;                          /* counted by the test's own callback */
    uvzk_verify_t verify_request;         /* of hold_verify, and what it is told */
    int verified, verdict;
    int status, reason, release_status; /* told when answered, lost, released */
    uint64_t ahead;                     /* told when queued */
    uint64_t answered_ms, lost_ms, released_ms;
    int granted_turn, ended_turn; /* 1 for the first of the world, and so on */
    int64_t token;                /* at the grant */
    char path[HOLD_PATH_MAX];     /* of its first znode, at the grant */
    /* To be set when the call is made, which no callback comes before: */
    void (*hook)(
        struct hold *); /* inside each callback but the queued one; may be NULL */
    void (*queued_hook)(struct hold *); /* inside the queued one; may be NULL */
    bool release_at_once;               /* inside the grant's callback */
    void *data;                         /* the test's own */
};

/* What uvzk_lock_acquire says. lock: NULL for the mutex of the process. options: NULL for
 * the defaults; data and queued_cb are replaced. */
int hold_ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
             const uvzk_acquire_options_t *options);
/* Of the process's mutex; the call must be accepted, as below. */
void hold_begin(struct hold *hold, struct process *process, int64_t timeout_ms);
void hold_begin_for(struct hold *hold, struct process *process, void *owner,
                    int64_t timeout_ms);
/* Of another lock: so many leases; of this owner, without a timeout. */
void hold_begin_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   uint32_t leases, int64_t timeout_ms);
void hold_begin_on_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                       void *owner);
/* Begins, waits for the grant and asserts it. */
void hold_take(struct hold *hold, struct process *process);
void hold_take_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                  uint32_t leases);
/* The same with a lock, NULL being the mutex: of this owner; until it is told its place
 * behind others, where the world tells of queues; until it is answered with this status. */
void hold_take_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   void *owner);
void hold_queue(struct hold *hold, struct process *process, uvzk_lock_t *lock);
void hold_try(struct hold *hold, struct process *process, uvzk_lock_t *lock,
              int64_t timeout_ms, int status);
/* Until its time runs out behind others, so many leases wanted: this time, or longer where
 * it has run out before it was known who is before it. */
void hold_expect_timeout_with(struct hold *hold, struct process *process,
                              uvzk_lock_t *lock, uvzk_acquire_options_t options);
void hold_expect_timeout(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                         uint32_t leases, int64_t timeout_ms);

/* Waits for the answer; asserts that it comes within so many ms and is this one; 0. */
void hold_await_status(struct hold *hold, uint64_t ms, int status);
void hold_await(struct hold *hold, uint64_t ms);
void hold_await_queued(struct hold *hold);
/* For the answer, whatever it is. Nothing is waited for if the call was refused. */
void hold_await_answer(struct hold *hold, uint64_t ms);
/* For the loss, of this reason; for the outcome of the release, this one. */
void hold_await_lost(struct hold *hold, uint64_t ms, int reason);
void hold_await_released(struct hold *hold, uint64_t ms, int status);
/* Until one of the two is answered, which it returns: granted. */
struct hold *hold_await_first(struct hold *one, struct hold *other, uint64_t ms);

/* What uvzk_hold_release says; and the same where it must be accepted. */
int hold_ask_release(struct hold *hold);
void hold_release(struct hold *hold);
void hold_cancel(struct hold *hold);
/* Releases what is held, unless it is being released; cancels what is pending. */
void hold_release_or_cancel(struct hold *hold);
/* Releases, and waits for the outcome, which must be 0. */
void hold_give_back(struct hold *hold);
/* Waits for the grant, and gives it back. */
void hold_acquire_release(struct hold *hold, uint64_t ms);
/* Whatever has become of it: waits for the answer, and gives back what was granted. */
void hold_finish(struct hold *hold, uint64_t ms);

bool hold_pending(const struct hold *hold); /* accepted, and not answered */
bool hold_holds(const struct hold *hold);   /* granted, and not over */
bool hold_over(const struct hold *hold);    /* told everything, or never accepted */

/* Asks uvzk_hold_verify, and asserts that it is answered, within so many ms, like this. */
void hold_verify(struct hold *hold, uint64_t ms, int verdict);

/* The callback of a call that is refused. */
void hold_unexpected_cb(uvzk_hold_t *request, int status);

#endif
