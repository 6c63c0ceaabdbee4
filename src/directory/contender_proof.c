/* The part of a contender in proofs, and its end with its session or its directory. The
 * prover (prover.h) checks the znodes of contenders that hold, and of
 * candidates, and reports each result here. A missing znode is passed to the contender's
 * machine, and so is the end of the validity.
 *
 * A proof request keeps a reference to each contender that it checks. So a contender may
 * have ended when these functions are called, and then nothing happens. */
#include "directory/contender_proof.h"

#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "proof/prover.h"
#include "proof/validity.h"

static struct uvzk__contender *of_subject(struct uvzk__proof_subject *proof_subject)
{
    return UVZK__CONTAINER_OF(proof_subject, struct uvzk__contender, proof_subject);
}

static const char *path_of(struct uvzk__proof_subject *proof_subject)
{
    return of_subject(proof_subject)->path;
}

static void add_check(struct uvzk__proof_subject *proof_subject, struct uvzk__op *op)
{
    uvzk__contender_check_op(of_subject(proof_subject), op);
    uvzk__contender_ref(of_subject(proof_subject));
}

static void contender_proof_release(struct uvzk__proof_subject *proof_subject)
{
    uvzk__contender_unref(of_subject(proof_subject));
}

static void contender_proof_stands(struct uvzk__proof_subject *proof_subject,
                                   uint64_t stamp)
{
    if (of_subject(proof_subject)->state != UVZK__CONTENDER_ENDED) {
        uvzk__last_seen_set(of_subject(proof_subject), stamp);
    }
}

static void contender_proof_missing(struct uvzk__proof_subject *proof_subject)
{
    if (of_subject(proof_subject)->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_missing(of_subject(proof_subject));
    }
}

static void contender_proof_refused(struct uvzk__proof_subject *proof_subject, int status)
{
    if (of_subject(proof_subject)->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_end(of_subject(proof_subject), status);
    }
}

static void contender_proof_answered(struct uvzk__proof_subject *proof_subject)
{
    uvzk__queue_settle_later(of_subject(proof_subject)->queue);
}

/* The proof has expired. A hold of which the user was told is lost. A grant of which the
 * user was not told yet is taken back, and the contender waits again. */
static void contender_proof_expired(struct uvzk__proof_subject *proof_subject)
{
    struct uvzk__contender *contender = of_subject(proof_subject);

    if (uvzk__user_of(contender)->grant_notified(contender)) {
        uvzk__contender_end(contender, UVZK_EPROOF);
    } else {
        uvzk__contender_ungrant(contender);
    }
}

const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects = {
    .path = path_of,
    .add_check = add_check,
    .stands = contender_proof_stands,
    .missing = contender_proof_missing,
    .refused = contender_proof_refused,
    .release = contender_proof_release,
    .answered = contender_proof_answered,
    .expired = contender_proof_expired,
};

bool uvzk__contender_request_proof(struct uvzk__contender *contender)
{
    const struct uvzk__session *session = uvzk__session_of(contender);
    /* Without a connection it is not known which session timeout the servers will
     * grant. */
    bool possible = !uvzk__is_connected(session) || uvzk__can_ever_be_granted(session);

    if (possible) {
        uvzk__prover_request(uvzk__session_of(contender), &contender->proof_subject);
    } else {
        uvzk__contender_end(contender, UVZK_EPROOF);
    }
    return possible;
}

/* ------------------------------------------------- its session, its directory has ended */

void uvzk__contender_session_ended(struct uvzk__contender *contender, int code)
{
    contender->predecessors_known = false;
    uvzk__own_watch_lost(contender);
    if (contender->persistent && code != UVZK_ECLOSED) {
        return; /* its node still exists, and no request is in flight */
    }
    uvzk__node_session_ended(&contender->node, code);
    uvzk__contender_update(contender);
}

void uvzk__end_unplaced(struct uvzk__queue *queue, enum uvzk__node_state state, int code)
{
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        /* One that is not wanted has been reported already. */
        if (each->node.state == state && each->node.wanted) {
            uvzk__contender_end(each, code);
        }
    }
}

void uvzk__end_waiters(struct uvzk__queue *queue, int code)
{
    for (struct uvzk__contender *each = uvzk__first_in(&queue->waiters), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->waiters, each);
        uvzk__contender_end(each, code);
    }
}
