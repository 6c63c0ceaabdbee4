/* The part of a contender in proofs. The prover (proof/prover.h) proves that the session
 * lives and that the znodes of certain contenders exist. */
#ifndef UVZK_CONTENDER_PROOF_H
#define UVZK_CONTENDER_PROOF_H

#include "directory/contender.h"

/* Requests a proof of its session and of its node. False: no proof is possible, because
 * the session timeout is too short for the servers' tick. The contender has then ended
 * with UVZK_EPROOF, and may be freed. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* The callbacks by which proof requests check contenders (proof_subject.h). */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

#endif
