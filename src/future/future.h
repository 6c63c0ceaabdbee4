/* SPDX-License-Identifier: Apache-2.0 */
/* A future: the result of one call as an object, made of the public functions and their
 * callbacks. Its status, which is what the user sees, is set once, when it leaves
 * PENDING. The other states are about the call below it.
 *
 *   NEW --- the call has begun
 *     |
 *   PENDING --- the call has ended -------------------------> OVER
 *     |  \                                                     ^ ^
 *     |   `--- it has something to keep -------> HOLDING ------' |
 *     |                                            |  it is lost |
 *     `------------ given up ---> LEAVING <--------'             |
 *                                    `------ the call has ended -'
 *
 * NEW: it has been handed out, with its request or inside a function, and is not in use for
 * the user. If the call is refused, it is freed. HOLDING: an acquire has its hold, a
 * combination has its winners. OVER: nothing is under way. The future is freed when it is
 * OVER, has been dropped and has no references. */
#ifndef UVZK_FUTURE_H
#define UVZK_FUTURE_H

#include "base/machine.h"
#include "engine/session.h"

enum uvzk__future_state {
    UVZK__FUTURE_NEW,     /* next: PENDING */
    UVZK__FUTURE_PENDING, /* next: HOLDING LEAVING OVER */
    UVZK__FUTURE_HOLDING, /* next: LEAVING OVER */
    UVZK__FUTURE_LEAVING, /* next: OVER */
    UVZK__FUTURE_OVER     /* final */
};

extern const struct uvzk__machine uvzk__future_machine;

struct uvzk__future;

/* How the futures of different calls differ. Each member may be NULL. */
struct uvzk__future_kind {
    /* The future is LEAVING: ends the call, or gives back what the future keeps. Returns
     * true if that is done. If it returns false or is NULL, uvzk__future_over() will be
     * called later. */
    bool (*withdraw)(struct uvzk__future *);
    /* The future is dropped while HOLDING: detaches it from what it keeps, and the future
     * is OVER. NULL: a dropped future is given up. */
    void (*leave)(struct uvzk__future *);
    /* The future is freed: frees what it keeps outside of its own memory. */
    void (*freed)(struct uvzk__future *);
    /* Of a combination only. part_done: a part is done. part_lost: a part that was done
     * with 0 has lost what it kept. part_gone: a part is dropped, or becomes a part of
     * another combination. */
    void (*part_done)(struct uvzk__future *, struct uvzk__future *part);
    void (*part_lost)(struct uvzk__future *, struct uvzk__future *part, int reason);
    void (*part_gone)(struct uvzk__future *, struct uvzk__future *part);
    /* Of a future that is done with 0: whether it still has what it keeps. NULL: it
     * cannot lose that. */
    bool (*holds)(const struct uvzk__future *);
    bool outlives; /* it waits for the end of its client, and outlives the client */
};

struct uvzk__future {
    uvzk_future_t *handle;         /* the user's struct; NULL once dropped */
    struct uvzk__session *session; /* NULL once its client has ended */
    const struct uvzk__future_kind *kind;
    struct uvzk__link of_session; /* in the `all` of the session's futures */
    struct uvzk__link thens; /* callbacks that the user has added and that have not run */
    /* Runs the callbacks. */
    struct uvzk__notification notification;
    /* Of uvzk_future_deadline. */
    struct uvzk__timer deadline;
    struct uvzk__future *combination; /* the combination that it is a part of, or NULL */
    size_t index;                     /* of the part in that combination */
    int status;                       /* UV_EAGAIN while PENDING */
    uint8_t state;                    /* enum uvzk__future_state; NEW at first */
    uint8_t depth; /* of combinations inside one another; 0: no combination */
    uint8_t refs;  /* it is not freed before this is 0 */
    bool listed;   /* it has been seen in the list of parts of the running call */
};

/* The kind of calls that cannot be cancelled and keep nothing but a status. */
extern const struct uvzk__future_kind uvzk__future_plain;

/* One for each session. */
struct uvzk__futures {
    /* The futures of this session that have not been freed. */
    struct uvzk__link all;
};

void uvzk__futures_init(struct uvzk__futures *);
/* The client ends, after all callbacks have run: the futures that the user still has lose
 * their session. */
void uvzk__futures_session_gone(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Makes a future of `size` bytes, which begin with struct uvzk__future, for this handle.
 * The handle does not refer to it yet. Returns 0, UV_EINVAL, UV_EBUSY or UV_ENOMEM. */
int uvzk__future_new(uvzk_future_t *, const struct uvzk__future_kind *, size_t size,
                     struct uvzk__future **);
/* Passes on what the call has returned. 0: from now on the handle is in use. Otherwise the
 * future is freed. Returns the status. The session must not be NULL if the status is
 * 0. */
int uvzk__future_begun(struct uvzk__future *, struct uvzk__session *, int status);

/* Called from a callback of the call: the call has ended, or what the future kept is
 * lost. Runs the user's callbacks if the future was PENDING. The future may have been
 * freed when it returns. */
void uvzk__future_over(struct uvzk__future *, int status);

/* The future is not freed between ref and unref. Used around user callbacks, which may
 * drop it. */
void uvzk__future_ref(struct uvzk__future *);
void uvzk__future_unref(struct uvzk__future *);

/* Makes the combination at least one level deeper than its part. */
static inline void uvzk__future_contains(struct uvzk__future *whole,
                                         const struct uvzk__future *part)
{
    if (part->depth >= whole->depth) {
        whole->depth = (uint8_t)(part->depth + 1);
    }
}

/* The future of a handle; NULL if the handle is not in use. */
struct uvzk__future *uvzk__future_of(const uvzk_future_t *);
/* The same, but NULL also if the future is of another kind or is not done with 0. */
struct uvzk__future *uvzk__future_done(const uvzk_future_t *,
                                       const struct uvzk__future_kind *);

/* Called from a callback of the call, in PENDING: the future is done with 0, and has
 * something to keep. Runs the user's callbacks. */
void uvzk__future_holding(struct uvzk__future *);

/* Cancels the call of a PENDING future, which is done with this status, or gives back
 * what a HOLDING future keeps. Does nothing in other states. */
void uvzk__future_give_up(struct uvzk__future *, int status);

#endif
