/* A request that asks whether all the znodes of a claim stand: a multi with a check
 * of each, and with more operations behind them if need be. A quorum must agree to
 * it, so it proves the session too. With nothing behind the checks there are several
 * such requests, one after the other, if the znodes are many: one of thousands may be
 * too long for a server.
 *
 *   made --- called ---> under way --- replied ---> done(), then freed
 *                          ^  |
 *                          `--' there are more to be called */
#ifndef UVZK_ROLLCALL_H
#define UVZK_ROLLCALL_H

#include "claim/claim.h"

struct uvzk__rollcall;

/* status: the reply's. ENONODE of one of the checks is UVZK_EDELETED here; UVZK_EEXPIRED is
 * of a session that one of the znodes ends with, else it is UVZK_ECONNLOSS. failed:
 * index among the operations behind the checks, SIZE_MAX when none is to blame. */
typedef void (*uvzk__rollcall_done)(struct uvzk__rollcall *, const struct uvzk__reply *,
                                    int status, size_t failed);

struct uvzk__rollcall {
    struct uvzk__rpc rpc;
    struct uvzk__client *client; /* one of the sessions that the znodes are in */
    uvzk__rollcall_done done;
    void *data;                          /* the caller's */
    struct uvzk__op *ops;                /* the checks, then room for those behind */
    struct uvzk__contender **contenders; /* pinned */
    size_t count;                        /* of checks */
    size_t called;                       /* of those, answered by earlier requests */
    size_t behind;                       /* operations after the checks */
    uint64_t stamp;                      /* of the submission */
    bool ends_with_session; /* one of them does, with that in which it is asked */
};

/* A rollcall of those of the claim's contenders that are not tickets, with room for so
 * many operations more behind the checks. NULL when out of memory. */
struct uvzk__rollcall *uvzk__rollcall_new(struct uvzk__claim *, size_t room);

/* So many checks at most in a request that has nothing behind them. */
#define UVZK__ROLLCALL_CHECKS 256U

/* Sends it, with so many operations behind the checks; done() is called when it is over. */
void uvzk__rollcall_send(struct uvzk__rollcall *, size_t behind, uvzk__rollcall_done done,
                         void *data);

/* Frees one that has not been sent. */
void uvzk__rollcall_free(struct uvzk__rollcall *);

#endif
