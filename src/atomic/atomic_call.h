/* One call on an atomic long, from the request to its callback. The calls of an atomic long
 * wait in its list and are carried out one after the other; the first one is the current
 * call. This struct keeps what is known about the call. */
#ifndef UVZK_ATOMIC_CALL_H
#define UVZK_ATOMIC_CALL_H

#include "engine/session.h"

struct uvzk__atomic_long;

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

/* Makes a call and appends it to the list. NULL: out of memory. */
struct uvzk__atomic_call *uvzk__atomic_call_new(struct uvzk__link *calls, uvzk_req_t *,
                                                uvzk_req_cb, enum uvzk__atomic_kind,
                                                int64_t operand, int64_t expected);

/* The first call of the list; NULL: none. */
struct uvzk__atomic_call *uvzk__atomic_call_first(const struct uvzk__link *calls);

/* The call begins, or its promoted phase does. */
void uvzk__atomic_call_begin(struct uvzk__session *, struct uvzk__atomic_call *);
void uvzk__atomic_call_promote(struct uvzk__session *, struct uvzk__atomic_call *);

/* A write of the present phase was sent, and was perhaps carried out. */
void uvzk__atomic_call_count(struct uvzk__atomic_call *);

/* The outcome is known: removes the call from the list. Its callback runs at the end of
 * the turn, and the call is freed. */
void uvzk__atomic_call_decide(struct uvzk__session *, struct uvzk__atomic_call *,
                              int status);

#endif
