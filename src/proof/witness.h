/* What proofs (prover.h) are about. */
#ifndef UVZK_WITNESS_H
#define UVZK_WITNESS_H

#include "base/list.h"
#include "engine/port.h"

/* One znode that proofs are about: of somebody who holds, or who waits for a proof. */
struct uvzk__witness {
    struct uvzk__link link; /* on client->prover->held or ->candidates */
    bool held;
    bool inquired;   /* a candidate: a proof has been sent that names it */
    bool unreadable; /* held: a check of it was refused, so that it is left out */
};

/* What becomes of it, for all of a client. */
struct uvzk__witness_kind {
    const char *(*path)(struct uvzk__witness *);
    /* The op that checks its znode, into a request: it stays until it is dismissed. */
    void (*call)(struct uvzk__witness *, struct uvzk__op *);
    /* The request with this stamp has shown its znode; or that there is none; or that a
     * candidate's may not be read. The witness may be over by then. */
    void (*stands)(struct uvzk__witness *, uint64_t stamp);
    void (*missing)(struct uvzk__witness *);
    void (*refused)(struct uvzk__witness *, int status);
    void (*dismiss)(struct uvzk__witness *);
    /* A candidate: a proof has been answered, in whatever way. */
    void (*answered)(struct uvzk__witness *);
    /* Held: the validity has run out. It is off the list. */
    void (*lapsed)(struct uvzk__witness *);
};

static inline void uvzk__witness_init(struct uvzk__witness *witness)
{
    uvzk__list_init(&witness->link);
}

#endif
