/* The part of a contender in proofs, and its end with its session or its directory. The
 * prover (proof/prover.h) proves that the session lives and that the znodes of certain
 * contenders exist. */
#ifndef UVZK_CONTENDER_PROOF_H
#define UVZK_CONTENDER_PROOF_H

#include "directory/contender.h"

/* Requests a proof of its session and of its node. False: no proof is possible, because
 * the session timeout is too short for the servers' tick. The contender has then ended
 * with UVZK_EPROOF, and may be freed. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* The callbacks by which proof requests check contenders (proof_subject.h). */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

/* Ends with this code the wanted contenders of the directory that are unplaced and whose
 * nodes are in this state, or all its waiters. A contender whose node is UNKNOWN stays
 * until a search has decided whether the node exists, but its claim has ended. */
void uvzk__end_unplaced(struct uvzk__queue *, enum uvzk__node_state, int code);
void uvzk__end_waiters(struct uvzk__queue *, int code);

/* The session has ended, with this code. A persistent node outlives the session,
 * unless the code is UVZK_ECLOSED. */
void uvzk__contender_session_ended(struct uvzk__contender *, int code);

#endif
