/* What proofs (prover.h) are about. */
#ifndef UVZK_PROOF_SUBJECT_H
#define UVZK_PROOF_SUBJECT_H

#include "base/list.h"
#include "engine/port.h"

/* One znode that proofs are about: of somebody who holds, or who waits for a proof. */
struct uvzk__proof_subject {
    struct uvzk__link link; /* on session->prover->held or ->candidates */
    bool held;
    bool requested;  /* a candidate: a proof has been sent that names it */
    bool unreadable; /* held: a check of it was refused, so that it is left out */
};

/* What becomes of it, for all of a client. */
struct uvzk__proof_subject_kind {
    const char *(*path)(struct uvzk__proof_subject *);
    /* The op that checks its znode, into a request: it stays until it is dismissed. */
    void (*add_check)(struct uvzk__proof_subject *, struct uvzk__op *);
    /* The request with this stamp has shown its znode; or that there is none; or that a
     * candidate's may not be read. The witness may be over by then. */
    void (*stands)(struct uvzk__proof_subject *, uint64_t stamp);
    void (*missing)(struct uvzk__proof_subject *);
    void (*refused)(struct uvzk__proof_subject *, int status);
    void (*release)(struct uvzk__proof_subject *);
    /* A candidate: a proof has been answered, in whatever way. */
    void (*answered)(struct uvzk__proof_subject *);
    /* Held: the validity has run out. It is off the list. */
    void (*expired)(struct uvzk__proof_subject *);
};

static inline void uvzk__proof_subject_init(struct uvzk__proof_subject *proof_subject)
{
    uvzk__list_init(&proof_subject->link);
}

#endif
