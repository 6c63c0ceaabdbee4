/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a session's proof with the clock (validity.h). All other files ask these
 * functions whether a hold is valid. */
#include "proof/validity.h"

#include "engine/turn.h"
#include "proof/prover.h"

/* [P2] A shorter session timeout counts as soon as the C client's thread knows it, even if
 * the loop is late (port.h, 12). */
uint64_t uvzk__validity_end(const struct uvzk__session *session)
{
    return uvzk__proof_valid_until_given(uvzk__prover_proof(session),
                                         uvzk__port_least_timeout(session->port));
}

bool uvzk__validity_lasts(struct uvzk__session *session, uint64_t end_ms)
{
    return end_ms > uvzk__now(session);
}

bool uvzk__is_valid(struct uvzk__session *session)
{
    return uvzk__validity_lasts(session, uvzk__validity_end(session));
}

/* The proof alone does not know of a shorter timeout of which the loop has not heard. A hold
 * that is granted by it would be taken back at once, again and again. */
bool uvzk__may_be_granted(struct uvzk__session *session)
{
    uint64_t now = uvzk__now(session);

    return !uvzk__is_broken(session) && uvzk__validity_end(session) > now &&
           uvzk__proof_grants(uvzk__prover_proof(session), now);
}

bool uvzk__can_ever_be_granted(const struct uvzk__session *session)
{
    return uvzk__proof_possible(uvzk__prover_proof(session));
}
