/* SPDX-License-Identifier: Apache-2.0 */
/* The znodes that proof requests check (prover.h), and the interface through which the
 * prover reports the results. directory/contender.c implements it. */
#ifndef UVZK_PROOF_SUBJECT_H
#define UVZK_PROOF_SUBJECT_H

#include "base/list.h"
#include "engine/port.h"

/* One znode that proof requests check: that of a contender that holds, or of a candidate,
 * which is a contender that waits for a proof. A member of the contender. */
struct uvzk__proof_subject {
    struct uvzk__link link; /* on prover->held, on prover->candidates, or on neither */
    bool held;              /* the contender has been granted */
    bool requested;  /* of a candidate: a proof request that checks it has been sent */
    bool unreadable; /* held: its check was refused, so proof requests leave it out */
};

/* The functions for the subjects; the same ones for all subjects of a session. */
struct uvzk__proof_subject_kind {
    /* Returns the path of the znode. */
    const char *(*path)(struct uvzk__proof_subject *);
    /* Fills in the op that checks the znode. From now on the subject and its path stay
     * valid until `release`, even if the contender ends meanwhile. */
    void (*add_check)(struct uvzk__proof_subject *, struct uvzk__op *);
    /* The results of the check. The contender may have ended by then.
     * stands: the request with this stamp has shown that the znode exists.
     * missing: the znode does not exist.
     * refused: the znode of a candidate may not be read. */
    void (*stands)(struct uvzk__proof_subject *, uint64_t stamp);
    void (*missing)(struct uvzk__proof_subject *);
    void (*refused)(struct uvzk__proof_subject *, int status);
    /* The request has been answered. The prover no longer uses the subject for it. */
    void (*release)(struct uvzk__proof_subject *);
    /* For each candidate: a proof request has been answered, with whatever status. */
    void (*answered)(struct uvzk__proof_subject *);
    /* The validity of a held subject has ended. The prover has removed it from its
     * list. */
    void (*expired)(struct uvzk__proof_subject *);
};

#endif
