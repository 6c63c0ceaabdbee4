/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic long (Curator's DistributedAtomicLong): the calls on one number, which are
 * carried out one after the other, in one session. The machine is about the current call:
 *
 *              .--> CATCHING_UP ---.   a quorum has accepted the barrier: then it reads
 *              |--> READING -------|
 *              |--> CREATING ------|   the znode or an ancestor is missing
 *              |--> WRITING -------|
 *    IDLE -----|--> FINDING_OUT ---|--> IDLE
 *              |--> PAUSING -------|   between two tries, as the retry policy says
 *              |--> ACQUIRING -----|   the mutex of the promoted phase
 *              `--> RELEASING -----'   that mutex, after the end of the call
 *
 * The calls wait in its list; the first one is the current call. The call stores its next
 * step, so after a lost connection it continues where it was, on the next connection.
 *
 * The server may lag, so a read decides that a call changes nothing only if the call has
 * caught up. The leader decides on a write, because it compares the version. */
#ifndef UVZK_ATOMIC_LONG_H
#define UVZK_ATOMIC_LONG_H

#include "atomic/atomic_number.h"
#include "base/machine.h"
#include "engine/node_create.h"
#include "engine/session.h"
#include "engine/session_object.h"
#include "engine/znode_owner.h"

enum uvzk__atomic_state {
    UVZK__ATOMIC_IDLE, /* nothing is under way */
    UVZK__ATOMIC_CATCHING_UP,
    UVZK__ATOMIC_READING,
    UVZK__ATOMIC_CREATING,
    UVZK__ATOMIC_WRITING,
    UVZK__ATOMIC_FINDING_OUT,
    UVZK__ATOMIC_PAUSING,
    UVZK__ATOMIC_ACQUIRING,
    UVZK__ATOMIC_RELEASING
};

extern const struct uvzk__machine uvzk__atomic_machine;

/* What a call is. */
enum uvzk__atomic_kind {
    UVZK__ATOMIC_GET,
    UVZK__ATOMIC_ADD,
    UVZK__ATOMIC_COMPARE_AND_SET,
    UVZK__ATOMIC_TRY_SET,
    UVZK__ATOMIC_FORCE_SET,
    UVZK__ATOMIC_INITIALIZE
};

/* What the current call sends next, when requests may be sent. */
enum uvzk__atomic_step {
    UVZK__ATOMIC_READ,     /* the znode, as the server shows it */
    UVZK__ATOMIC_CATCH_UP, /* the barrier, then the znode: see `caught_up` */
    UVZK__ATOMIC_WRITE,    /* without a reading: force_set and create */
    UVZK__ATOMIC_FIND_OUT  /* whether the write whose reply was lost took place */
};

/* One call, from the request to its callback: what is known about it. */
struct uvzk__atomic_call {
    struct uvzk__link
        link; /* in the calls of its atomic long; alone once it is decided */
    struct uvzk__notification notification;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    int64_t operand;  /* the delta, or the new value */
    int64_t expected; /* of COMPARE_AND_SET */
    int status;       /* for the callback, once it is decided */
    uvzk_atomic_value_t value;
    uint64_t began_ms; /* the present phase */
    uint32_t retries;  /* of the present phase, as the policy counts */
    uint8_t kind;      /* enum uvzk__atomic_kind */
    uint8_t step;      /* enum uvzk__atomic_step */
    bool begun;        /* it is the current call */
    bool promoted;     /* it is in the promoted phase */
    /* A quorum has accepted a transaction of this session since the call, or the phase,
     * began, so the server has applied everything that was committed before that. From
     * now on its reads may decide the call. */
    bool caught_up;
    struct uvzk__stat over; /* of the znode over which it writes, as it was read */
};

/* The mutex of the promoted phase (atomic_try.h). */
struct uvzk__atomic_promotion {
    uvzk_mutex_t mutex; /* impl is NULL: there is no promoted phase */
    uvzk_hold_t hold;
    int64_t timeout_ms;
    uvzk_retry_policy_t retry;
    bool holding; /* from the grant until the hold is lost or released */
};

struct uvzk__atomic_long {
    /* The user's struct. It refers to this one until the close callback. */
    uvzk_atomic_long_t *handle;
    struct uvzk__session *session; /* the home session of the path */
    struct uvzk__session_object object;
    struct uvzk__link calls; /* struct uvzk__atomic_call: not decided yet */
    char *path;              /* namespace included */
    uvzk_retry_policy_t retry;
    struct uvzk__atomic_promotion promotion;
    struct uvzk__rpc rpc; /* under way from CATCHING_UP to FINDING_OUT */
    struct uvzk__node_create create;
    unsigned char bytes[UVZK__ATOMIC_BYTES]; /* what the request under way writes */
    struct uvzk__timer pause;                /* runs in PAUSING */
    struct uvzk__notification notification;  /* of the close */
    uvzk_atomic_long_close_cb close_cb;
    struct uvzk__znode_owner owner; /* from the first change */
    uint8_t state;                  /* enum uvzk__atomic_state */
    bool closing;
    bool ended; /* it is closed, and is freed when its request is answered */
};

/* The session of an initialized atomic long, else NULL. */
struct uvzk__session *uvzk__atomic_long_session(const uvzk_atomic_long_t *);

/* ------------------------------------------------------------ for this room alone */

/* Carries out the next step that is possible: of the current call, or of the end of the
 * call before. May free the struct if it has ended. */
void uvzk__atomic_pump(struct uvzk__atomic_long *);

/* The first call of the list; NULL: none. */
struct uvzk__atomic_call *uvzk__atomic_call_first(const struct uvzk__link *calls);

/* The promoted phase of the call begins. */
void uvzk__atomic_call_promote(struct uvzk__session *, struct uvzk__atomic_call *);

/* A write of the present phase was sent, and was perhaps carried out. */
void uvzk__atomic_call_count(struct uvzk__atomic_call *);

/* The outcome is known: removes the call from the list. Its callback runs at the end of
 * the turn, and the call is freed. */
void uvzk__atomic_call_decide(struct uvzk__session *, struct uvzk__atomic_call *,
                              int status);

#endif
