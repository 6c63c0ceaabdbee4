/* The part of a contender in proofs, and what happens when a reading does not show its
 * znode. The prover (prover.h) checks the znodes of contenders that hold, and of
 * candidates, and reports each result here. A missing znode is passed to the contender's
 * machine, and so is the end of the validity.
 *
 * A proof request keeps a reference to each contender that it checks. So a contender may
 * have ended when these functions are called, and then nothing happens. */
#include "directory/contender_proof.h"

#include "base/path.h"
#include "base/retry.h"
#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "proof/validity.h"

/* ---------------------------------------------------------- its znode is not shown */

/* A waiter may get a new node at the tail of the queue, if the retry policy allows it. So
 * may one that is granted and only admits, because its claim still waits. Any other hold
 * is lost. */
void uvzk__contender_missing(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    uint64_t now = uvzk__now(session);
    uint64_t random = 0, sleep_ms = 0;

    if (uvzk__node_state(&contender->node) != UVZK__NODE_STANDING) {
        return;
    }
    /* Others may have been granted past the node: earlier sightings in this directory
     * do not count any more (freshness.h). */
    uvzk__foreign_node_gone(contender->queue);
    (void)uvzk__random(session, &random, sizeof(random));
    bool waits = !uvzk__contender_holds(contender) || contender->kind->admits;
    bool again = waits && !contender->kind->once &&
                 uvzk__retry_allow(uvzk__retry_policy_of(session), contender->attempts++,
                                   now - contender->first_attempt_ms, random, &sleep_ms);
    uvzk__log(session, UVZK_LOG_WARN, "directory", "%s was deleted by another client",
              contender->path);
    if (again && uvzk__contender_holds(contender)) {
        uvzk__contender_ungrant(contender);
    }
    uvzk__prover_cancel(&contender->proof_subject);
    uvzk__own_watch_node_gone(contender);
    uvzk__node_missing(&contender->node, again);
    if (again) {
        uvzk__contender_back_off(contender, sleep_ms);
    }
    uvzk__contender_update(contender);
}

/* A node that a lock driver has named is not deleted as an orphan: another client may
 * have a node of the same name by now. */
void uvzk__contender_not_shown(struct uvzk__contender *contender)
{
    if (uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
        !uvzk__is_driver_defined(contender->queue->kind)) {
        struct uvzk__contender *orphan =
            uvzk__contender_new_orphan(contender->queue, uvzk__path_name(contender->path),
                                       uvzk__node_place(&contender->node),
                                       uvzk__contender_is_shared(contender), false);
        if (orphan != NULL) {
            /* The reading that did not show the node has at most this stamp. divergence.c
             * compares it with the start of the connection. */
            uvzk__contender_set_create_stamp(orphan,
                                             uvzk__stamp(uvzk__session_of(orphan)));
        }
    }
    uvzk__contender_missing(contender);
}

/* -------------------------------------------------------------------- its proofs */

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

static void release(struct uvzk__proof_subject *proof_subject)
{
    uvzk__contender_unref(of_subject(proof_subject));
}

static void stands(struct uvzk__proof_subject *proof_subject, uint64_t stamp)
{
    if (!uvzk__contender_has_ended(of_subject(proof_subject))) {
        uvzk__last_seen_set(of_subject(proof_subject), stamp);
    }
}

static void missing(struct uvzk__proof_subject *proof_subject)
{
    if (!uvzk__contender_has_ended(of_subject(proof_subject))) {
        uvzk__contender_missing(of_subject(proof_subject));
    }
}

static void refused(struct uvzk__proof_subject *proof_subject, int status)
{
    if (!uvzk__contender_has_ended(of_subject(proof_subject))) {
        uvzk__contender_end(of_subject(proof_subject), status);
    }
}

static void answered(struct uvzk__proof_subject *proof_subject)
{
    uvzk__queue_settle_later(of_subject(proof_subject)->queue);
}

/* The proof has expired. A hold of which the user was told is lost. A grant of which the
 * user was not told yet is taken back, and the contender waits again. */
static void expired(struct uvzk__proof_subject *proof_subject)
{
    struct uvzk__contender *contender = of_subject(proof_subject);

    if (uvzk__directories(uvzk__session_of(contender))
            ->contender_user->grant_notified(contender)) {
        uvzk__contender_end(contender, UVZK_EPROOF);
    } else {
        uvzk__contender_ungrant(contender);
    }
}

const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects = {
    .path = path_of,
    .add_check = add_check,
    .stands = stands,
    .missing = missing,
    .refused = refused,
    .release = release,
    .answered = answered,
    .expired = expired,
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
