/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls with a request of the caller (uvzk_req_t) have in common: how they are
 * checked, and how they end. */
#ifndef UVZK_REQ_H
#define UVZK_REQ_H

#include "uvzk.h"

struct uvzk__session;

/* How requests of different calls differ. */
struct uvzk__req_kind {
    /* uvzk_req_cancel. */
    int (*cancel)(uvzk_req_t *);
};

/* Who owns a request in the caller's place: a future, which has handed it out. */
struct uvzk__req_owner {
    /* The only callback with which the request may be used. */
    uvzk_req_cb cb;
    /* The call with the request is under way, in this session; or it was refused. */
    void (*begun)(uvzk_req_t *, struct uvzk__session *);
    void (*refused)(uvzk_req_t *, int status);
};

/* Returns the code with which a call is refused because of its request or its callback,
 * or 0. */
int uvzk__req_check(const uvzk_req_t *, uvzk_req_cb);

/* Returns a request that each call refuses with this code, UV_EINVAL, UV_EBUSY or
 * UV_ENOMEM: it stands for one that could not be handed out. */
uvzk_req_t *uvzk__req_that_fails(int status);

/* What a public function with a request returns: tells the owner of the request, if there
 * is one, how the call has begun. Returns the status. */
int uvzk__req_begun(uvzk_req_t *, struct uvzk__session *, int status);

/* The call is under way. call: what belongs to the request. kind: NULL: the call cannot be
 * cancelled. */
void uvzk__req_begin(uvzk_req_t *, void *call, const struct uvzk__req_kind *kind);

/* The result of a call that has found nothing. */
uvzk_result_t uvzk__result_of_nothing(void);

/* The call is over: the request is the caller's again, and its callback runs. result:
 * NULL: the call has found nothing. */
void uvzk__req_end(uvzk_req_t *, uvzk_req_cb, int status, const uvzk_result_t *result);

#endif
