/* The part of a contender in proofs, and when a reading does not show its znode. The prover (proof/prover.h) proves that the session
 * lives and that the znodes of certain contenders exist. */
#ifndef UVZK_CONTENDER_PROOF_H
#define UVZK_CONTENDER_PROOF_H

#include "directory/contender.h"

/* Requests a proof of its session and of its node. False: no proof is possible, because
 * the session timeout is too short for the servers' tick. The contender has then ended
 * with UVZK_EPROOF, and may be freed. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* Another client deleted its node, according to the quorum: a hold is lost. A waiter or a
 * ticket creates a new node if the retry policy allows it.
 *
 * not_shown: only this session's server says so, by a reading that does not show the
 * node, or by a watch. Usually the node is gone. But if the server has diverged, the
 * node still exists on the other servers, and no contender would want it. So it is
 * also deleted as an orphan: the delete finds nothing, or shows that this server has
 * diverged (divergence.h). */
void uvzk__contender_missing(struct uvzk__contender *);
void uvzk__contender_not_shown(struct uvzk__contender *);

/* The callbacks by which proof requests check contenders (proof_subject.h). */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

#endif
