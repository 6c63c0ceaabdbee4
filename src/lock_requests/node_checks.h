/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether all the znodes of a claim exist: a multi with a check of each znode,
 * followed by the caller's operations, if there are any. A quorum must accept a multi, so
 * a reply of 0 proves the session too. Without further operations, many znodes are
 * checked by several multis, one after the other, because one with thousands of checks
 * may be too long for a server.
 *
 *   made --- send ---> under way --- replied ---> done(), then freed
 *                        ^  |
 *                        `--' more checks are left */
#ifndef UVZK_NODE_CHECKS_H
#define UVZK_NODE_CHECKS_H

#include "claim/claim.h"

struct uvzk__node_checks;

/* Called once, with the result. status: the reply's, with two changes. UVZK_ENONODE from
 * one of the checks becomes UVZK_EDELETED. UVZK_EEXPIRED is reported only if the session
 * that ended owned one of the znodes; otherwise it becomes UVZK_ECONNLOSS. failed: the
 * index of the failed operation among those after the checks; SIZE_MAX if none of them
 * failed. */
typedef void (*uvzk__node_checks_done)(struct uvzk__node_checks *,
                                       const struct uvzk__reply *, int status,
                                       size_t failed);

struct uvzk__node_checks {
    struct uvzk__rpc rpc;
    struct uvzk__session *session; /* the session that sends the checks */
    uvzk__node_checks_done done;
    void *data;           /* for the caller's use */
    struct uvzk__op *ops; /* the checks, then the operations */
    /* Of the checks, in their order; each is referenced. */
    struct uvzk__contender **contenders;
    size_t count;     /* how many checks there are */
    size_t checked;   /* how many of them earlier requests have answered */
    size_t extra_ops; /* how many operations follow the checks */
    uint64_t stamp;   /* of the request under way (submission.h) */
    /* One of the znodes is ephemeral and belongs to `session`. */
    bool ends_with_session;
};

/* Makes the checks of all contenders of the claim and of its members, without tickets,
 * with room for `room` more operations after them. NULL: out of memory. */
struct uvzk__node_checks *uvzk__node_checks_new(struct uvzk__claim *, size_t room);

/* At most this many checks are in a request that has no other operations. */
#define UVZK__NODE_CHECKS_MAX 256U

/* Sends the checks, and after them `behind` operations that the caller has filled in.
 * done() is called once, never inside this call. The struct is freed after done() has
 * returned. */
void uvzk__node_checks_send(struct uvzk__node_checks *, size_t behind,
                            uvzk__node_checks_done done, void *data);

/* Frees checks that have not been sent. */
void uvzk__node_checks_free(struct uvzk__node_checks *);

#endif
