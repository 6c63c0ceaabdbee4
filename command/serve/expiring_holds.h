/* SPDX-License-Identifier: Apache-2.0 */
/* The holds that are released as soon as their programs can no longer believe in them,
 * and the timer that waits for the first of them. */
#ifndef EXPIRING_HOLDS_H
#define EXPIRING_HOLDS_H

#include <stdint.h>

#include <uv.h>

struct served_hold;

struct expiring_holds {
    uv_timer_t timer;
    uint64_t first; /* when the first of them expires, or earlier; CLOCK_BOOTTIME, ms */
    struct served_hold *holds;
};

void expiring_holds_init(struct expiring_holds *, uv_loop_t *);
/* Calls served_hold_expired when the hold's told_until has passed. */
void expiring_holds_add(struct expiring_holds *, struct served_hold *);
/* Their programs have ended: calls served_hold_expired for all of them. */
void expiring_holds_end(struct expiring_holds *);
/* Does nothing if the hold is not in the list. */
void expiring_holds_remove(struct expiring_holds *, struct served_hold *);

#endif
