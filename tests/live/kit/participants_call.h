/* SPDX-License-Identifier: Apache-2.0 */
/* One call of uvzk_lock_participants and its result. */
#ifndef PARTICIPANTS_CALL_H
#define PARTICIPANTS_CALL_H

#include <stddef.h>

#include "world.h"

#define PARTICIPANTS_CALL_PATHS 32

struct participants_call {
    uvzk_req_t request;
    int told;
    /* All participants, and how many of them hold the lock. */
    size_t count, holding;
    char paths[PARTICIPANTS_CALL_PATHS][HOLD_PATH_MAX]; /* the first paths */
};

/* Makes the call, waits for its callback, and asserts that its status is 0. */
void participants_call_run(struct participants_call *participants, struct world *world,
                           uvzk_lock_t *lock);

#endif
