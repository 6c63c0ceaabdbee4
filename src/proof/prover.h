/* Sends the requests that prove ownership, and acts when proof fails. */
#ifndef UVZK_PROVER_H
#define UVZK_PROVER_H

#include "proof/witness.h"
#include "state.h"

void uvzk__prover_init(struct uvzk__client *);

/* (Re)arms the moments of the next proof and of the end of validity. */
void uvzk__prover_schedule(struct uvzk__client *);

/* A server has answered a request: what that proves. */
void uvzk__prover_answered(struct uvzk__client *, const struct uvzk__rpc *, bool write);

/* In reach again: asks sooner than a period from now, so that the next grant finds
 * the proof fresh. */
void uvzk__prover_refresh(struct uvzk__client *);

/* Whether the validity has run out at this moment; if so every hold is lost. */
void uvzk__prover_check(struct uvzk__client *);

/* ------------------------------------------------------------ the witnesses */

/* It is first in line, or is going to be together with that one, but the session is not
 * proved, or its znode has not been seen lately: asks for a proof now, or when the one under
 * way has been answered; after a rest if one that named it has come to nothing. Nothing if
 * it is held. */
void uvzk__prover_want(struct uvzk__client *, struct uvzk__witness *);
/* Whether it does so. */
static inline bool uvzk__prover_is_wanted(const struct uvzk__witness *witness)
{
    return !witness->held && !uvzk__list_empty(&witness->link);
}
/* No longer; nothing if it is held. */
void uvzk__prover_unwant(struct uvzk__witness *);

/* It is held: proofs name it from now on. */
void uvzk__prover_hold(struct uvzk__client *, struct uvzk__witness *);
void uvzk__prover_let_go(struct uvzk__client *, struct uvzk__witness *);

#endif
