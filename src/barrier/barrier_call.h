/* One call of the user on a barrier, from the call to its callback: a set, a remove, a
 * wait, an enter or a leave.
 *
 *   PENDING --> DECIDED    its outcome is known: the callback runs at the end of the turn
 *      |         ^ |
 *      `--> GIVEN_UP       cancelled, or out of time: its owner cleans up before it ends
 *                          the call. An enter can be cancelled until its callback runs */
#ifndef UVZK_BARRIER_CALL_H
#define UVZK_BARRIER_CALL_H

#include "base/machine.h"
#include "engine/session.h"

enum uvzk__barrier_call_state {
    UVZK__BARRIER_CALL_PENDING,  /* next: GIVEN_UP DECIDED */
    UVZK__BARRIER_CALL_GIVEN_UP, /* next: DECIDED */
    UVZK__BARRIER_CALL_DECIDED   /* next: GIVEN_UP */
};

extern const struct uvzk__machine uvzk__barrier_call_machine;

/* The first member of the struct of each kind of call. */
struct uvzk__barrier_call {
    struct uvzk__session *session;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    struct uvzk__link siblings; /* in the barrier's list of calls */
    struct uvzk__notification notification;
    struct uvzk__timer timeout;
    /* It is GIVEN_UP: its owner cleans up, and calls uvzk__barrier_call_end at once or
     * later. NULL: such a call can neither be cancelled nor run out of time. */
    void (*given_up_cb)(struct uvzk__barrier_call *);
    /* Returns true if a call that is DECIDED with 0 can still be given up. NULL: it
     * cannot. */
    bool (*can_be_undone)(const struct uvzk__barrier_call *);
    /* The callback is about to run: the owner frees the call, or remembers to do so. */
    void (*over_cb)(struct uvzk__barrier_call *);
    int status;    /* GIVEN_UP: why; DECIDED: for the callback */
    uint8_t state; /* enum uvzk__barrier_call_state */
};

/* Returns the code with which a call is refused, or 0. timeout_ms: UVZK_WAIT_FOREVER for
 * a call that has none. */
int uvzk__barrier_call_check(const uvzk_req_t *, uvzk_req_cb, int64_t timeout_ms);

/* Fills in a call that the caller has allocated with zeros and whose given_up_cb and
 * over_cb it has set, and adds it to `calls`. */
void uvzk__barrier_call_begin(struct uvzk__barrier_call *, struct uvzk__session *,
                              struct uvzk__link *calls, uvzk_req_t *, int64_t timeout_ms,
                              uvzk_req_cb);

/* The same for a call that sends requests. Returns false if a server has refused the
 * client's credentials: then the call ends with UVZK_EAUTH. */
bool uvzk__barrier_call_begin_to_send(struct uvzk__barrier_call *, struct uvzk__session *,
                                      struct uvzk__link *calls, uvzk_req_t *,
                                      int64_t timeout_ms, uvzk_req_cb);

/* The outcome is this, unless the call has an outcome already. */
void uvzk__barrier_call_end(struct uvzk__barrier_call *, int status);

/* Ends all calls of a list with this code. */
void uvzk__barrier_calls_end(struct uvzk__link *calls, int status);

/* Frees all calls of a list without a callback, when their client has ended. */
void uvzk__barrier_calls_free(struct uvzk__link *calls);

#endif
