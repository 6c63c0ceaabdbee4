/* The participants of a lock, asked for once. */
#ifndef LISTING_H
#define LISTING_H

#include <stddef.h>

#include "world.h"

#define LISTING_PATHS 32

struct listing {
    uvzk_participants_t request;
    int told;
    size_t count, holding;
    char paths[LISTING_PATHS][HOLD_PATH_MAX]; /* the first ones */
};

/* Asks, and waits for the answer, which must be one. */
void listing_take(struct listing *listing, struct world *world, uvzk_lock_t *lock);

#endif
