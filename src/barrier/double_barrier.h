/* SPDX-License-Identifier: Apache-2.0 */
/* A double barrier (Curator's DistributedDoubleBarrier), as its user sees it: all members
 * enter when enough of them exist, and leave when all of them leave.
 *
 *   OUTSIDE --> ENTERING --> INSIDE --> LEAVING --> OUTSIDE
 *                  |           | |         ^
 *                  |           | `-> LOST -'   its session has ended: a leave is told so
 *                  v           v
 *                OUTSIDE     OUTSIDE   given up, failed or closed
 *
 * Each enter makes a member (member.h), which may outlive it: its znode is deleted in the
 * background. */
#ifndef UVZK_DOUBLE_BARRIER_H
#define UVZK_DOUBLE_BARRIER_H

#include "barrier/barrier_object.h"
#include "base/machine.h"

enum uvzk__double_barrier_state {
    UVZK__DOUBLE_BARRIER_OUTSIDE,  /* next: ENTERING */
    UVZK__DOUBLE_BARRIER_ENTERING, /* next: INSIDE OUTSIDE */
    UVZK__DOUBLE_BARRIER_INSIDE,   /* next: LEAVING LOST OUTSIDE */
    UVZK__DOUBLE_BARRIER_LEAVING,  /* next: OUTSIDE */
    UVZK__DOUBLE_BARRIER_LOST      /* next: LEAVING */
};

extern const struct uvzk__machine uvzk__double_barrier_machine;

struct uvzk__barrier_member;

struct uvzk__double_barrier {
    /* Its only call is the enter or the leave, until its callback. The notification is of
     * the loss, or once it is closing of that. */
    struct uvzk__barrier_object object;
    uvzk_double_barrier_t *handle;
    struct uvzk__barrier_member *member; /* except when OUTSIDE or LOST */
    uvzk_double_barrier_lost_cb lost_cb; /* may be NULL, and so may close_cb */
    uvzk_double_barrier_close_cb close_cb;
    uint32_t quantity;
    int lost;      /* why it is LOST */
    uint8_t state; /* enum uvzk__double_barrier_state */
    bool undone;   /* the enter is cancelled, although its outcome was 0 already */
};

/* The session of an initialised barrier, else NULL. */
struct uvzk__session *uvzk__double_barrier_session(const uvzk_double_barrier_t *);

#endif
