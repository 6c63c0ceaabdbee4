/* Sends the requests that prove ownership, and acts when proof fails. */
#ifndef UVZK_PROVER_H
#define UVZK_PROVER_H

#include "state.h"

void uvzk__prover_init(struct uvzk__client *);

/* (Re)arms the moments of the next proof and of the end of validity. */
void uvzk__prover_schedule(struct uvzk__client *);

/* In reach again: asks sooner than a period from now, so that the next grant finds
 * the proof fresh. */
void uvzk__prover_refresh(struct uvzk__client *);

/* A contender is first in line, or is going to be together with that one, but the session
 * is not proved, or its node has not been seen lately: asks for a proof now, or when the one
 * under way has been answered; after a rest if one that named it has come to nothing. It is
 * granted by its queue's settle() once the proof is there. */
void uvzk__prover_want(struct uvzk__contender *);

/* The same, unless no proof can ever come: then it is false, the contender ends with
 * UVZK_EPROOF, and may be gone afterwards. */
bool uvzk__prover_want_or_end(struct uvzk__contender *);

/* Valid or not: takes a contender that is no longer first off the list. */
void uvzk__prover_unwant(struct uvzk__contender *);

/* Whether the validity has run out at this moment; if so every hold is lost. */
void uvzk__prover_check(struct uvzk__client *);

#endif
