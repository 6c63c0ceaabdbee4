/* SPDX-License-Identifier: Apache-2.0 */
/* A pending acquire of a connection, then its hold.
 *
 *      WAITING --- granted ---> HELD --- release, or the program is gone ---> RELEASING
 *         |                      |  |                                       ^     |
 *         |                      |  | the connection is cut off,           |     |
 *         |                      |  v the daemon ends                      |     |
 *         |                      | EXPIRING --- release, or told_until ----+     |
 *         |                      |  |            has passed                       |
 *         | not granted          |  | lost                                        |
 *         |                      v  v                                             v
 *         +--------------------> OVER <-------------------------------------------+
 *
 * EXPIRING: the program must stop, but may not know it yet. It may believe in the hold
 * until told_until, the last validity that it was told. The lock must not be released
 * before that, because another client could be granted it. */
#ifndef SERVED_HOLD_H
#define SERVED_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include <uvzk.h>

#include "base/machine.h"
#include "serve/served_request.h"
#include "serve/table.h"

enum served_hold_state {
    SERVED_HOLD_WAITING,   /* next: HELD OVER */
    SERVED_HOLD_HELD,      /* next: EXPIRING RELEASING OVER */
    SERVED_HOLD_EXPIRING,  /* next: RELEASING OVER */
    SERVED_HOLD_RELEASING, /* next: OVER */
    SERVED_HOLD_OVER       /* final */
};

extern const struct uvzk__machine served_hold_machine;

struct served_connection;

struct served_hold {
    UT_hash_handle hh;
    UT_hash_handle waiting; /* WAITING: of the connection's table, if it is there */
    uvzk_hold_t hold;
    uint8_t state; /* enum served_hold_state */
    struct served_connection *connection;
    struct served_lock *lock; /* NULL: multilock */
    struct served_multilock *multilock;
    enum served_kind kind;      /* of `lock` */
    size_t counted;             /* as so many holds of the connection: how many locks */
    struct served_owner *owner; /* NULL: no re-entry */
    int64_t number;             /* by which the program names the hold */
    int64_t request_id;         /* of the acquire, then of the release; -1: no answer */
    uint64_t received;          /* when the acquire was read (CLOCK_MONOTONIC, ns) */
    uint64_t granted;           /* when it was granted, by the same clock; 0: not yet */
    int64_t slot; /* in which its validity can be read while it is HELD; SERVED_NO_SLOT */
    uint64_t
        told_until; /* the greatest valid_until that was sent, or could be read in the
                            slot; CLOCK_BOOTTIME, ms */
    bool cancelled; /* by its program */
    struct served_hold *prev, *next; /* EXPIRING: of the daemon's list */
};

/* Carry out a request of this connection, and answer it now or later. */
void served_hold_acquire(struct served_connection *, const struct served_request *);
void served_hold_cancel(struct served_connection *, const struct served_request *);
void served_hold_release(struct served_connection *, const struct served_request *);
void served_hold_valid(struct served_connection *, const struct served_request *);
void served_hold_verify(struct served_connection *, const struct served_request *);

/* Shows the present validity of what is held in its slots. */
void served_holds_tell(struct served_connection *);

/* Returns the hold with this number, if it is held. NULL: it never was, has ended, or is
 * about to end. */
uvzk_hold_t *served_hold_held(const struct served_connection *, int64_t number);

/* The connection has ended: cancels what waits, and releases what is held: at once, or,
 * if the program may believe in it, as soon as that is safe. */
void served_holds_end(struct served_connection *, bool believed);

/* The daemon ends: cancels what waits, and tells the program so, and that what is held is
 * lost. */
void served_holds_expire(struct served_connection *);

/* told_until has passed. */
void served_hold_expired(struct served_hold *);

#endif
