/* Sends the requests that prove ownership, and acts when proof fails.
 *
 *   RESTING --- its moment has come: a proof, or a touch ---> ASKING
 *      ^                                                        |
 *      `--- answered: who was named learns what was shown ------'
 *
 * One at a time; whoever wants a proof meanwhile and is not named has the next one. */
#ifndef UVZK_PROVER_H
#define UVZK_PROVER_H

#include "base/machine.h"
#include "engine/client.h"
#include "proof/proof.h"
#include "proof/witness.h"

enum uvzk__proof_request {
    UVZK__PROOF_RESTING, /* next: ASKING */
    UVZK__PROOF_ASKING   /* next: RESTING */
};

extern const struct uvzk__machine uvzk__proof_request_machine;

/* Of a client. */
struct uvzk__prover {
    struct uvzk__client *client;
    struct uvzk__proof proof;
    const struct uvzk__witness_kind *witnesses;
    struct uvzk__link held;       /* told or about to be told that they hold */
    struct uvzk__link candidates; /* first in line, waiting for a proof */
    struct uvzk__timed expiry;    /* valid_until of what is held */
    struct uvzk__timed touch;     /* next proof, or touch of the session */
    uint64_t proof_count;
    uint8_t request; /* enum uvzk__proof_request */
};

void uvzk__prover_init(struct uvzk__client *, const struct uvzk__witness_kind *,
                       uint32_t mode, uint32_t tick_ms);

/* Until when what is held is known to be ours; whether something may be granted now; and
 * whether it ever may, in a session of this length (proof.h). */
uint64_t uvzk__prover_valid_until(const struct uvzk__client *);
bool uvzk__prover_grants(struct uvzk__client *);
bool uvzk__prover_possible(const struct uvzk__client *);

/* How many requests have been sent that were for proofs alone. */
uint64_t uvzk__prover_proofs(const struct uvzk__client *);

/* The session's events (proof.h). */
void uvzk__prover_connected(struct uvzk__client *, uint32_t timeout_ms, bool fresh,
                            uint64_t opened_ms);
void uvzk__prover_suspended(struct uvzk__client *);
void uvzk__prover_ended(struct uvzk__client *);

/* (Re)arms the moments of the next proof and of the end of validity. */
void uvzk__prover_schedule(struct uvzk__client *);

/* A server has answered a request: what that proves. */
void uvzk__prover_answered(struct uvzk__client *, const struct uvzk__rpc *, bool write);

/* In reach again: asks sooner than a period from now, so that the next grant finds
 * the proof fresh. */
void uvzk__prover_refresh(struct uvzk__client *);

/* Whether the validity has run out at this moment; if so every hold is lost. */
void uvzk__prover_check(struct uvzk__client *);
/* In each session of the client. */
void uvzk__provers_check(struct uvzk__client *);

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
