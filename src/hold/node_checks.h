/* A request that asks whether all the znodes of a claim stand: a multi with a check
 * of each, and with more operations behind them if need be. A quorum must agree to
 * it, so it proves the session too. With nothing behind the checks there are several
 * such requests, one after the other, if the znodes are many: one of thousands may be
 * too long for a server.
 *
 *   made --- called ---> under way --- replied ---> done(), then freed
 *                          ^  |
 *                          `--' there are more to be called */
#ifndef UVZK_NODE_CHECKS_H
#define UVZK_NODE_CHECKS_H

#include "claim/claim.h"

struct uvzk__node_checks;

/* status: the reply's. ENONODE of one of the checks is UVZK_EDELETED here; UVZK_EEXPIRED is
 * of a session that one of the znodes ends with, else it is UVZK_ECONNLOSS. failed:
 * index among the operations behind the checks, SIZE_MAX when none is to blame. */
typedef void (*uvzk__node_checks_done)(struct uvzk__node_checks *,
                                       const struct uvzk__reply *, int status,
                                       size_t failed);

struct uvzk__node_checks {
    struct uvzk__rpc rpc;
    struct uvzk__session *session; /* one of the sessions that the znodes are in */
    uvzk__node_checks_done done;
    void *data;                          /* the caller's */
    struct uvzk__op *ops;                /* the checks, then room for those behind */
    struct uvzk__contender **contenders; /* pinned */
    size_t count;                        /* of checks */
    size_t checked;                      /* of those, answered by earlier requests */
    size_t extra_ops;                    /* operations after the checks */
    uint64_t stamp;                      /* of the submission */
    bool ends_with_session; /* one of them does, with that in which it is asked */
};

/* A rollcall of those of the claim's contenders that are not tickets, with room for so
 * many operations more behind the checks. NULL when out of memory. */
struct uvzk__node_checks *uvzk__node_checks_new(struct uvzk__claim *, size_t room);

/* So many checks at most in a request that has nothing behind them. */
#define UVZK__NODE_CHECKS_MAX 256U

/* Sends it, with so many operations behind the checks; done() is called when it is over. */
void uvzk__node_checks_send(struct uvzk__node_checks *, size_t behind,
                            uvzk__node_checks_done done, void *data);

/* Frees one that has not been sent. */
void uvzk__node_checks_free(struct uvzk__node_checks *);

#endif
