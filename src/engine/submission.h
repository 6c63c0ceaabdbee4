/* SPDX-License-Identifier: Apache-2.0 */
/* Sending requests, and the first step with each reply: recording what it proves.
 *
 * Each request has a stamp, its number in the session. Comparing stamps tells which of
 * two requests was sent first, and comparing a stamp with session->connected_stamp tells
 * whether a request was sent on the present connection. */
#ifndef UVZK_SUBMISSION_H
#define UVZK_SUBMISSION_H

#include "base/outcome.h"
#include "engine/port.h"
#include "engine/size_limit.h"
#include "engine/turn.h"

struct uvzk__session;

/* One for each session. */
struct uvzk__submissions {
    uint64_t stamp; /* of the latest request; grows by one with each */
    uint64_t requests[UVZK__RPC_KINDS]; /* sent so far, by enum uvzk__rpc_kind */
    struct uvzk__timer backoff_timer;   /* ends the backoff */
    bool backing_off;                   /* uvzk__may_send() is false until it runs */
    struct uvzk__size_limit size_limit;
};

/* Returns how many requests of a kind have been sent so far. */
static inline uint64_t uvzk__requests(const struct uvzk__submissions *submissions,
                                      enum uvzk__rpc_kind kind)
{
    return submissions->requests[kind];
}

/* Returns true if requests may be sent now: the session is connected, its barrier is open
 * (barrier.h), it is not backing off, its port is not closing, and no invariant of its
 * client is broken. */
bool uvzk__may_send(const struct uvzk__session *);

/* Fills in the kind, the path and the reply callback of a request, and clears all other
 * fields (version: -1, any version). The caller sets those that it needs. The path is not
 * copied: it must stay valid until the reply. */
void uvzk__rpc_prepare(struct uvzk__rpc *, enum uvzk__rpc_kind, const char *path,
                       uvzk__reply_cb);
/* Sends the request. Its reply comes later, never inside this call (port.h, 1 and 2). The
 * stamp of the request is submissions.stamp of the session right after the call. */
void uvzk__submit(struct uvzk__session *, struct uvzk__rpc *);

/* Each reply callback calls this function first. It records what the reply proves, and
 * backs off if the server is overloaded or memory has run out. write: the request was a
 * write. */
void uvzk__answered(struct uvzk__session *, const struct uvzk__rpc *, int status,
                    bool write);

/* Returns true if a status is the server's answer to the request, and not a failure on
 * the way. */
bool uvzk__is_answer(int status);

/* uvzk__may_send() returns false for 100 ms. Afterwards the barrier is sent if it is
 * closed, and the turn hook `resume` runs. Does nothing if the session is backing off
 * already. Proof requests are sent during a backoff, too (proof/prover.c). */
void uvzk__back_off(struct uvzk__session *);

#endif
