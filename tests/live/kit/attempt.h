/* An acquire whose every callback is written down: how often, with what, and
 * in which order among all attempts of the process. */
#ifndef ATTEMPT_H
#define ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define ATTEMPT_UNTOLD 9999 /* a status nobody has told yet */

struct attempt {
    uvzk_hold_t request;
    int queued, acquired, lost, released; /* callbacks so far */
    uint64_t ahead;                       /* told when queued */
    int status, lost_reason, release_status;
    int granted_turn;     /* 1 for the first grant of the process, and so on */
    int ended_turn;       /* likewise, of the FINAL callback */
    int64_t token;        /* at the grant */
    bool release_at_once; /* set before: releases inside the grant's callback */
};

/* Sets everything to "nothing told" and starts it. What uvzk_lock_acquire
 * says. options may be NULL; its queued_cb is replaced. */
int attempt_start(struct attempt *attempt, uvzk_mutex_t *mutex,
                  const uvzk_acquire_options_t *options);
/* Without a timeout, with an owner (or NULL). */
int attempt_start_for(struct attempt *attempt, uvzk_mutex_t *mutex, void *owner);
/* Without an owner, with a timeout. */
int attempt_start_within(struct attempt *attempt, uvzk_mutex_t *mutex,
                         int64_t timeout_ms);
int attempt_release(struct attempt *attempt);

/* Run the loop of the mutex until it is so; false: too late. */
bool attempt_wait_granted(uv_loop_t *loop, struct attempt *attempt);
bool attempt_wait_queued(uv_loop_t *loop, struct attempt *attempt);
bool attempt_wait_told(uv_loop_t *loop, struct attempt *attempt); /* any status */
bool attempt_wait_lost(uv_loop_t *loop, struct attempt *attempt);
bool attempt_wait_released(uv_loop_t *loop, struct attempt *attempt);
/* Releases and waits for the outcome, which must be 0. */
bool attempt_release_and_wait(uv_loop_t *loop, struct attempt *attempt);

/* Granted, and not ended since. */
bool attempt_holds(const struct attempt *attempt);
/* Its callbacks are a whole story: one acquire callback, and after a grant one
 * of lost and released. */
bool attempt_is_over(const struct attempt *attempt);

#endif
