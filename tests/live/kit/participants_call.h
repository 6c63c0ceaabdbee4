/* The participants of a lock, asked for once. */
#ifndef PARTICIPANTS_CALL_H
#define PARTICIPANTS_CALL_H

#include <stddef.h>

#include "world.h"

#define PARTICIPANTS_CALL_PATHS 32

struct participants_call {
    uvzk_participants_t request;
    int told;
    size_t count, holding;
    char paths[PARTICIPANTS_CALL_PATHS][HOLD_PATH_MAX]; /* the first ones */
};

/* Asks, and waits for the answer, which must be one. */
void participants_call_run(struct participants_call *participants, struct world *world,
                           uvzk_lock_t *lock);

#endif
