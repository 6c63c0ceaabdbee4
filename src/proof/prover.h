/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the requests that prove ownership, and ends the holds when no proof arrives in
 * time.
 *
 *   RESTING --- the touch timer runs: a proof request, or a sync --> ASKING
 *      ^                                                               |
 *      `--- answered: the checked subjects learn what was shown -------'
 *
 * A session has at most one such request in flight. A candidate that asks for a proof
 * meanwhile, and is not checked by that request, is checked by the next one. */
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

/* One for each session. */
struct uvzk__prover {
    struct uvzk__session *session;
    struct uvzk__proof proof;
    const struct uvzk__proof_subject_kind *subject_kind;
    struct uvzk__link held;       /* subjects whose contenders are granted */
    struct uvzk__link candidates; /* subjects that wait for a proof before their grant */
    struct uvzk__timer expiry;    /* armed while something is held: runs at valid_until */
    struct uvzk__timer touch;     /* sends the next proof request or sync */
    uint64_t proof_count;         /* requests sent only for proofs */
    uint8_t state;                /* enum uvzk__prover_state */
};

/* The prover is part of the session's memory. kind: not copied. mode, tick_ms:
 * proof.h. */
void uvzk__prover_init(struct uvzk__session *, const struct uvzk__proof_subject_kind *,
                       uint32_t mode, uint32_t tick_ms);

/* Returns how many requests have been sent only for proofs. */
uint64_t uvzk__prover_proofs(const struct uvzk__session *);

/* The events of the session; lifecycle.c calls these functions (proof.h). */
void uvzk__prover_connected(struct uvzk__session *, uint32_t timeout_ms, bool fresh,
                            uint64_t opened_ms);
void uvzk__prover_suspended(struct uvzk__session *);
void uvzk__prover_ended(struct uvzk__session *);

/* Sets the timers for the next proof request and for the end of the validity. */
void uvzk__prover_schedule(struct uvzk__session *);

/* A server has answered a request: records what the answer proves. write: a quorum has
 * accepted the request. */
void uvzk__prover_answered(struct uvzk__session *, const struct uvzk__rpc *, bool write);

/* There is a new connection, and its barrier is open: sends a request sooner than a
 * period from now, so that the proof is fresh at the next grant. */
void uvzk__prover_refresh(struct uvzk__session *);

/* Ends every hold of the session if the validity has ended. */
void uvzk__prover_check(struct uvzk__session *);
/* Does the same for each session of the client. */
void uvzk__provers_check(struct uvzk__session *);

/* ------------------------------------------------------------ the proof subjects */

/* Makes the subject a candidate, which asks for a proof. Called for a contender that is
 * next in line, or becomes next together with another one, when the session is not proved
 * or the znode has not been seen recently. The request is sent now, or when the one in
 * flight has been answered. If a request that checked this candidate did not lead to a
 * grant, the next one is sent after a pause (uvzk__proof_retry). A held subject stays
 * held; the call may then only make the next request earlier. */
void uvzk__prover_request(struct uvzk__session *, struct uvzk__proof_subject *);
/* Returns true if the subject is a candidate. */
static inline bool
uvzk__prover_is_requested(const struct uvzk__proof_subject *proof_subject)
{
    return !proof_subject->held && !uvzk__list_empty(&proof_subject->link);
}
/* The subject is no longer a candidate. Does nothing if it is held. */
void uvzk__prover_cancel(struct uvzk__proof_subject *);

/* The contender has been granted: proof requests check its znode from now on. The second
 * function ends that. */
void uvzk__prover_add_held(struct uvzk__session *, struct uvzk__proof_subject *);
void uvzk__prover_remove_held(struct uvzk__session *, struct uvzk__proof_subject *);

/* ------------------------------------------------------------ for this room alone */

/* Returns the session's proof (validity.h compares it with the clock). */
const struct uvzk__proof *uvzk__prover_proof(const struct uvzk__session *);

#endif
