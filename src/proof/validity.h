/* SPDX-License-Identifier: Apache-2.0 */
/* The validity of a session's holds: when it ends, whether it has ended, and whether a
 * contender may be granted. No other file compares a proof with the clock. proof.h says
 * what a proof is, prover.c requests proofs and ends the holds when the validity ends. */
#ifndef UVZK_VALIDITY_H
#define UVZK_VALIDITY_H

#include "engine/session.h"

/* Returns the time in ms until which holds of the session are valid; 0: no hold is valid;
 * UINT64_MAX: UVZK_PROOF_NONE while connected. */
uint64_t uvzk__validity_end(const struct uvzk__session *);

/* Returns true if a validity with this end has not ended: reads the clock. */
bool uvzk__validity_lasts(struct uvzk__session *, uint64_t end_ms);

/* Returns true if holds of the session are valid now. */
bool uvzk__is_valid(struct uvzk__session *);

/* The first function returns true if a contender of the session may be granted now; the
 * second, if one can ever be granted with this session timeout (proof.h). */
bool uvzk__may_be_granted(struct uvzk__session *);
bool uvzk__can_ever_be_granted(const struct uvzk__session *);

#endif
