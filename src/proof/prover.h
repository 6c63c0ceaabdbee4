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
#include "engine/session.h"
#include "proof/proof.h"
#include "proof/proof_subject.h"

enum uvzk__prover_state {
    UVZK__PROVER_RESTING, /* next: ASKING */
    UVZK__PROVER_ASKING   /* next: RESTING */
};

extern const struct uvzk__machine uvzk__prover_machine;

/* Of a client. */
struct uvzk__prover {
    struct uvzk__session *session;
    struct uvzk__proof proof;
    const struct uvzk__proof_subject_kind *subject_kind;
    struct uvzk__link held;       /* told or about to be told that they hold */
    struct uvzk__link candidates; /* first in line, waiting for a proof */
    struct uvzk__timer expiry;    /* valid_until of what is held */
    struct uvzk__timer touch;     /* next proof, or touch of the session */
    uint64_t proof_count;
    uint8_t state; /* enum uvzk__prover_state */
};

void uvzk__prover_init(struct uvzk__session *, const struct uvzk__proof_subject_kind *,
                       uint32_t mode, uint32_t tick_ms);

/* Until when what is held is known to be ours; whether something may be granted now; and
 * whether it ever may, in a session of this length (proof.h). */
uint64_t uvzk__prover_valid_until(const struct uvzk__session *);
bool uvzk__prover_grants(struct uvzk__session *);
bool uvzk__prover_possible(const struct uvzk__session *);

/* How many requests have been sent that were for proofs alone. */
uint64_t uvzk__prover_proofs(const struct uvzk__session *);

/* The session's events (proof.h). */
void uvzk__prover_connected(struct uvzk__session *, uint32_t timeout_ms, bool fresh,
                            uint64_t opened_ms);
void uvzk__prover_suspended(struct uvzk__session *);
void uvzk__prover_ended(struct uvzk__session *);

/* (Re)arms the moments of the next proof and of the end of validity. */
void uvzk__prover_schedule(struct uvzk__session *);

/* A server has answered a request: what that proves. */
void uvzk__prover_answered(struct uvzk__session *, const struct uvzk__rpc *, bool write);

/* In reach again: asks sooner than a period from now, so that the next grant finds
 * the proof fresh. */
void uvzk__prover_refresh(struct uvzk__session *);

/* Whether the validity has run out at this moment; if so every hold is lost. */
void uvzk__prover_check(struct uvzk__session *);
/* In each session of the client. */
void uvzk__provers_check(struct uvzk__session *);

/* ------------------------------------------------------------ the proof subjects */

/* It is first in line, or is going to be together with that one, but the session is
 * not proved, or its znode has not been seen lately: asks for a proof now, or when the
 * one under way has been answered; after a rest if one that named it has come to
 * nothing. Nothing if it is held. */
void uvzk__prover_request(struct uvzk__session *, struct uvzk__proof_subject *);
/* Whether it does so. */
static inline bool
uvzk__prover_is_requested(const struct uvzk__proof_subject *proof_subject)
{
    return !proof_subject->held && !uvzk__list_empty(&proof_subject->link);
}
/* No longer; nothing if it is held. */
void uvzk__prover_cancel(struct uvzk__proof_subject *);

/* It is held: proofs name it from now on. */
void uvzk__prover_add_held(struct uvzk__session *, struct uvzk__proof_subject *);
void uvzk__prover_remove_held(struct uvzk__session *, struct uvzk__proof_subject *);

#endif
