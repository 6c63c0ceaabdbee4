/* SPDX-License-Identifier: Apache-2.0 */
/* The prover of a session (prover.h). It passes every reply to the rule of proof.h, and
 * sends a request of its own when the session's other requests do not prove enough: a
 * multi of checks if there is a candidate or a hold, otherwise a sync. At valid_until it
 * ends all holds.
 *
 * lifecycle.c passes in the session's events, round.c the replies and the connections,
 * contender.c the candidates and the holders. Two timers do the work: `touch` sends the
 * requests, `expiry` ends the holds. */
#include "proof/prover.h"

#include <inttypes.h>
#include <string.h>

#include "engine/barrier.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/validity.h"

/* A proof request checks up to 1,000 candidates and up to 128 held znodes; the next
 * requests check the others, in rotation. The limit of bytes keeps the request well below
 * what a server reads (1 MB). */
#define CANDIDATES_A_PROOF 1000U
#define HELD_A_PROOF 128U
#define BYTES_A_PROOF (256U * 1024U)

/* The bytes of an op in a request, without its path. */
#define OP_BYTES 20U

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__PROVER_, RESTING, ASKING),
    UVZK__STATE(UVZK__PROVER_, ASKING, RESTING),
};

/* A request in flight needs a session. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__prover *prover = object;

    return prover->state == UVZK__PROVER_RESTING ||
           prover->session->connection.session_id != 0;
}

const struct uvzk__machine uvzk__prover_machine =
    UVZK__MACHINE("proof request", table, struct uvzk__prover, state, invariant_holds);

/* Owned by the request in flight; freed in its reply. */
struct proof_request {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    uint64_t stamp;       /* of its submission */
    size_t count, bytes;  /* the ops, and about how long the request is */
    struct uvzk__op *ops; /* one check for each subject; NULL: there was no subject */
    struct uvzk__proof_subject **subjects; /* by op; valid until `release` */
};

static struct uvzk__proof_subject *subject_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__proof_subject, link);
}

static uint64_t prover_period(const struct uvzk__session *session)
{
    return uvzk__proof_period(&session->prover->proof);
}

static uint32_t prover_mode(const struct uvzk__session *session)
{
    return session->prover->proof.mode;
}

/* Sets the time of the next proof request or sync. */
static void touch_at(struct uvzk__session *session, uint64_t at_ms)
{
    uvzk__timer_set(session, &session->prover->touch, at_ms);
}

const struct uvzk__proof *uvzk__prover_proof(const struct uvzk__session *session)
{
    return &session->prover->proof;
}

uint64_t uvzk__prover_proofs(const struct uvzk__session *session)
{
    return session->prover->proof_count;
}

void uvzk__prover_connected(struct uvzk__session *session, uint32_t timeout_ms,
                            bool fresh, uint64_t opened_ms)
{
    struct uvzk__proof *proof = &session->prover->proof;
    uint32_t before_ms = proof->timeout_ms;
    uint32_t least_ms = uvzk__port_least_timeout(session->port);

    if (least_ms != 0 && least_ms < timeout_ms) {
        timeout_ms = least_ms; /* granted on a connection that the loop never heard of */
    }
    if (!fresh && timeout_ms < before_ms) {
        uvzk__log(session, UVZK_LOG_WARN, "proof",
                  "this server ends the session after %" PRIu32 " ms instead of %" PRIu32
                  " ms: holds are valid for a shorter time from now on",
                  timeout_ms, before_ms);
    }
    uvzk__proof_connected(proof, timeout_ms, fresh, opened_ms);
    if (!uvzk__proof_possible(proof)) {
        uvzk__log(session, UVZK_LOG_ERROR, "proof",
                  "a session of %" PRIu32 " ms is too short for a tick of %" PRIu32
                  " ms: ownership cannot be proved",
                  timeout_ms, proof->tick_ms);
    }
}

void uvzk__prover_suspended(struct uvzk__session *session)
{
    uvzk__proof_suspended(&session->prover->proof, uvzk__now(session));
    uvzk__prover_schedule(session);
}

void uvzk__prover_ended(struct uvzk__session *session)
{
    uvzk__proof_ended(&session->prover->proof);
}

/* -------------------------------------------------------------- the requests */

/* Every candidate is reported to, not only those that were checked: the session may be
 * proved now, so their directories are settled again. */
static void touch_candidates(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;
    struct uvzk__link *link;

    for (link = prover->candidates.next; link != &prover->candidates; link = link->next) {
        prover->subject_kind->answered(subject_at(link));
    }
}

static void free_proof_request(struct proof_request *proof_request)
{
    if (proof_request != NULL) {
        uvzk__free(proof_request->ops);
        uvzk__free(proof_request->subjects);
        uvzk__free(proof_request);
    }
}

/* Returns a request with room for all subjects that it may check; NULL: out of memory. */
static struct proof_request *new_proof_request(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;
    struct proof_request *proof_request = uvzk__calloc(1, sizeof(*proof_request));
    size_t room = uvzk__list_length(&prover->candidates, CANDIDATES_A_PROOF) +
                  uvzk__list_length(&prover->held, HELD_A_PROOF);

    if (proof_request == NULL) {
        return NULL;
    }
    proof_request->session = session;
    if (room > 0) {
        proof_request->ops = uvzk__calloc(room, sizeof(proof_request->ops[0]));
        proof_request->subjects =
            uvzk__calloc(room, sizeof(struct uvzk__proof_subject *));
        if (proof_request->ops == NULL || proof_request->subjects == NULL) {
            free_proof_request(proof_request);
            return NULL;
        }
    }
    return proof_request;
}

/* The check of this subject has failed, and with it the whole multi. A held subject that
 * may not be read is left out of later requests, because otherwise the checks of all
 * others would fail every time. A candidate that may not be read cannot be proved. */
static void check_failed(struct uvzk__session *session,
                         struct uvzk__proof_subject *proof_subject, int status)
{
    struct uvzk__prover *prover = session->prover;

    if (status == UVZK_ENONODE) {
        prover->subject_kind->missing(proof_subject);
    } else if (proof_subject->held) {
        proof_subject->unreadable = true;
    } else {
        prover->subject_kind->refused(proof_subject, status);
    }
}

/* A server checks the ops in their order, so the ops before the one that failed have
 * passed. */
static void report_standing(const struct proof_request *proof_request, size_t passed)
{
    for (size_t i = 0; i < passed; i++) {
        proof_request->session->prover->subject_kind->stands(proof_request->subjects[i],
                                                             proof_request->stamp);
    }
}

static void proof_request_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct proof_request *proof_request =
        UVZK__CONTAINER_OF(rpc, struct proof_request, rpc);
    struct uvzk__session *session = proof_request->session;
    struct uvzk__prover *prover = session->prover;
    int status = reply->status;

    /* RESTING comes first, because uvzk__answered schedules the next request. */
    uvzk__move(prover->session, &uvzk__prover_machine, prover, UVZK__PROVER_RESTING);
    uvzk__answered(session, rpc, status, rpc->kind == UVZK__RPC_MULTI);
    if (session->observer != NULL && status == 0) {
        uvzk__histogram_add(&session->observer->metrics.proof,
                            uvzk__now(session) - rpc->sent_ms);
    }
    if (status == 0) {
        report_standing(proof_request, proof_request->count);
    } else if ((status == UVZK_ENONODE || status == UVZK_ENOAUTH) &&
               reply->failed_op < proof_request->count) {
        check_failed(session, proof_request->subjects[reply->failed_op], status);
        report_standing(proof_request, reply->failed_op);
        touch_at(session, uvzk__now(session)); /* the ops after it are not checked yet */
    }
    for (size_t i = 0; i < proof_request->count; i++) {
        prover->subject_kind->release(proof_request->subjects[i]);
    }
    /* Frees rpc as well. */
    free_proof_request(proof_request);
    touch_candidates(session);
}

/* Adds the check of one subject to the request. */
static void add_check(struct proof_request *proof_request,
                      struct uvzk__proof_subject *proof_subject)
{
    struct uvzk__op *op = &proof_request->ops[proof_request->count];

    proof_request->session->prover->subject_kind->add_check(proof_subject, op);
    proof_subject->requested = true;
    proof_request->subjects[proof_request->count++] = proof_subject;
    proof_request->bytes += strlen(op->path) + OP_BYTES;
}

/* Adds up to `most` subjects from the head of the list, and moves them to its tail, so
 * that the next request begins with others. */
static void add_subjects(struct proof_request *proof_request, struct uvzk__link *head,
                         size_t most)
{
    for (size_t left = uvzk__list_length(head, most); left > 0; left--) {
        struct uvzk__proof_subject *proof_subject = subject_at(head->next);
        const char *path =
            proof_request->session->prover->subject_kind->path(proof_subject);
        if (proof_request->bytes + strlen(path) + OP_BYTES > BYTES_A_PROOF) {
            return;
        }
        uvzk__list_append(head, uvzk__list_take(head));
        if (!proof_subject->held || !proof_subject->unreadable) {
            add_check(proof_request, proof_subject);
        }
    }
}

/* Sends a proof request if there is a candidate, or with UVZK_PROOF_QUORUM a hold.
 * Otherwise sends a sync, which the leader answers without a quorum. The sync is the W of
 * the next grant (proof.h), so the grant need not wait for another request. */
static void send_proof(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;
    struct proof_request *proof_request = new_proof_request(session);

    if (proof_request == NULL) {
        touch_at(session, uvzk__now(session) + uvzk__proof_retry(&prover->proof));
        return;
    }
    add_subjects(proof_request, &prover->candidates, CANDIDATES_A_PROOF);
    if (prover_mode(session) == UVZK_PROOF_QUORUM) {
        add_subjects(proof_request, &prover->held, HELD_A_PROOF);
    }
    bool holds = prover_mode(session) == UVZK_PROOF_QUORUM &&
                 !uvzk__list_empty(&prover->held); /* even if none of them may be read */
    if (proof_request->count > 0 || holds) {
        /* A multi without ops is a transaction, too, so it also proves the session. */
        uvzk__rpc_prepare(&proof_request->rpc, UVZK__RPC_MULTI, NULL,
                          proof_request_replied);
        proof_request->rpc.ops = proof_request->ops;
        proof_request->rpc.op_count = proof_request->count;
        prover->proof_count++;
    } else {
        uvzk__rpc_prepare(&proof_request->rpc, UVZK__RPC_SYNC, "/",
                          proof_request_replied);
        /* With UVZK_PROOF_SYNC, a sync counts as a proof. */
        prover->proof_count += prover_mode(session) == UVZK_PROOF_SYNC;
    }
    uvzk__move(prover->session, &uvzk__prover_machine, prover, UVZK__PROVER_ASKING);
    uvzk__submit(session, &proof_request->rpc);
    proof_request->stamp = session->submissions.stamp;
}

/* Runs once a period, and earlier for candidates. A backoff of the session does not stop
 * proof requests. With UVZK_PROOF_NONE, requests are sent only for candidates. */
static void touch_due(struct uvzk__timer *timer)
{
    struct uvzk__prover *prover = UVZK__CONTAINER_OF(timer, struct uvzk__prover, touch);
    struct uvzk__session *session = prover->session;

    if (!uvzk__is_connected(session) || session->barrier.state != UVZK__BARRIER_OPEN ||
        uvzk__session_port_is_closing(session)) {
        return; /* uvzk__prover_refresh begins again after the barrier's reply */
    }
    bool proves = prover_mode(session) != UVZK_PROOF_NONE;
    if (proves) {
        touch_at(session, uvzk__now(session) + prover_period(session));
    }
    if (prover->state == UVZK__PROVER_RESTING &&
        (proves || !uvzk__list_empty(&prover->candidates))) {
        send_proof(session);
    }
}

/* -------------------------------------------------------------- the moments */

/* If the validity has been extended meanwhile, this only sets the timer again. */
static void expiry_due(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__prover, expiry)->session;

    uvzk__prover_check(session);
    uvzk__prover_schedule(session);
}

void uvzk__prover_init(struct uvzk__session *session,
                       const struct uvzk__proof_subject_kind *kind, uint32_t mode,
                       uint32_t tick_ms)
{
    struct uvzk__prover *prover = session->prover;

    prover->session = session;
    prover->subject_kind = kind;
    uvzk__proof_init(&prover->proof, mode, tick_ms);
    uvzk__list_init(&prover->held);
    uvzk__list_init(&prover->candidates);
    prover->touch.due = touch_due;
    prover->expiry.due = expiry_due;
}

/* The next request is sent a period after this call; while something is held, a period
 * after the last committed request, because a sync does not prove a hold. The timer is
 * only moved to an earlier time: each run of touch_due sets it again. */
static void schedule_touch(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;
    uint64_t now = uvzk__now(session), at = now + prover_period(session);

    if (!uvzk__list_empty(&prover->held) && prover->state == UVZK__PROVER_RESTING) {
        uint64_t due = prover->proof.proved_ms + prover_period(session);
        at = due < now ? now : due;
    }
    if (!uvzk__deadline_is_armed(&prover->touch.deadline) ||
        prover->touch.deadline.at_ms > at) {
        touch_at(session, at);
    }
}

void uvzk__prover_schedule(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;

    if (uvzk__is_connected(session) && prover_mode(session) != UVZK_PROOF_NONE) {
        schedule_touch(session);
    }
    uint64_t until = uvzk__validity_end(session);

    /* UINT64_MAX: UVZK_PROOF_NONE while connected. */
    if (uvzk__list_empty(&prover->held) || until == UINT64_MAX) {
        uvzk__timer_clear(session, &prover->expiry);
    } else if (!uvzk__deadline_is_armed(&prover->expiry.deadline) ||
               prover->expiry.deadline.at_ms != until) {
        uvzk__timer_set(session, &prover->expiry, until);
    }
}

void uvzk__prover_answered(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                           bool write)
{
    enum uvzk__ack_level ack = UVZK__ACK_SERVER; /* a read */

    if (write ||
        (rpc->kind == UVZK__RPC_SYNC && prover_mode(session) == UVZK_PROOF_SYNC)) {
        ack = UVZK__ACK_QUORUM;
    } else if (rpc->kind == UVZK__RPC_SYNC) {
        ack = UVZK__ACK_LEADER;
    }
    uvzk__proof_answered(&session->prover->proof, rpc->sent_ms, uvzk__now(session), ack);
    uvzk__prover_schedule(session);
}

void uvzk__prover_refresh(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;

    if (!uvzk__list_empty(&prover->candidates)) {
        touch_at(session, uvzk__now(session));
    } else if (prover_mode(session) != UVZK_PROOF_NONE) {
        /* Requests that have waited for the connection are sent first. A write among them
         * proves as much. */
        touch_at(session, uvzk__now(session) + uvzk__proof_retry(&prover->proof));
    }
    uvzk__prover_schedule(session);
}

/* ------------------------------------------------------------ the proof subjects */

void uvzk__prover_request(struct uvzk__session *session,
                          struct uvzk__proof_subject *proof_subject)
{
    struct uvzk__prover *prover = session->prover;
    uint64_t at = uvzk__now(session);

    if (uvzk__list_empty(&proof_subject->link)) {
        uvzk__list_append(&prover->candidates, &proof_subject->link);
        proof_subject->requested = false;
    } else if (proof_subject->requested) {
        /* A request that checked this candidate did not lead to a grant. */
        at += uvzk__proof_retry(&prover->proof);
    } /* else no request has checked it yet: the next one does */
    if (prover->state == UVZK__PROVER_RESTING && uvzk__is_connected(session) &&
        (!uvzk__deadline_is_armed(&prover->touch.deadline) ||
         prover->touch.deadline.at_ms > at)) {
        touch_at(session, at);
    }
}

void uvzk__prover_cancel(struct uvzk__proof_subject *proof_subject)
{
    if (!proof_subject->held) {
        uvzk__list_remove(&proof_subject->link);
    }
}

void uvzk__prover_add_held(struct uvzk__session *session,
                           struct uvzk__proof_subject *proof_subject)
{
    uvzk__list_remove(&proof_subject->link);
    proof_subject->held = true;
    proof_subject->unreadable = false;
    uvzk__list_append(&session->prover->held, &proof_subject->link);
    uvzk__prover_schedule(session);
}

void uvzk__prover_remove_held(struct uvzk__session *session,
                              struct uvzk__proof_subject *proof_subject)
{
    proof_subject->held = false;
    uvzk__list_remove(&proof_subject->link);
    uvzk__prover_schedule(session);
}

/* [P2] When the validity ends, every hold of the session is lost, whatever the state of
 * the connection is. */
void uvzk__prover_check(struct uvzk__session *session)
{
    struct uvzk__prover *prover = session->prover;
    struct uvzk__link held, *link;

    if (uvzk__is_valid(session)) {
        return;
    }
    /* Taken off the list first, because `expired` may add and remove held subjects. */
    uvzk__list_move(&prover->held, &held);
    while ((link = uvzk__list_take(&held)) != NULL) {
        prover->subject_kind->expired(subject_at(link));
    }
}

void uvzk__provers_check(struct uvzk__session *session)
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__prover_check(session->client->sessions[i]);
    }
}
