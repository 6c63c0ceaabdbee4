/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a contender (contender.h draws it), from the request to acquire until
 * its znode is known to be gone.
 *
 * The idea: uvzk__contender_update runs after each event of the znode. It gives the
 * contender up if the znode is no longer wanted, puts it on the list of its directory on
 * which it belongs now, reports to the claim, and has the next request sent
 * (contender_request.h). The other moves are the contender's own: it is granted, a grant
 * is taken back, and a delete is refused. The counts of the directory (contender_counts)
 * change with the state and nowhere else. */
#include "directory/contender.h"

#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/invariant.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "proof/validity.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__CONTENDER_, WAITING, GRANTED_EARLY, HOLDING, GIVEN_UP),
    UVZK__STATE(UVZK__CONTENDER_, GRANTED_EARLY, HOLDING, WAITING, GIVEN_UP),
    UVZK__STATE(UVZK__CONTENDER_, HOLDING, WAITING, GIVEN_UP),
    UVZK__STATE(UVZK__CONTENDER_, GIVEN_UP, UNDELETABLE, ENDED),
    UVZK__STATE(UVZK__CONTENDER_, UNDELETABLE, ENDED),
    UVZK__FINAL(UVZK__CONTENDER_, ENDED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__contender *contender = object;
    enum uvzk__node_state node = contender->node.state;

    switch (contender->state) {
    case UVZK__CONTENDER_WAITING:
        return contender->node.wanted;
    case UVZK__CONTENDER_GRANTED_EARLY:
    case UVZK__CONTENDER_HOLDING:
        return node == UVZK__NODE_STANDING; /* and so it is wanted */
    case UVZK__CONTENDER_GIVEN_UP:
        return !contender->node.wanted;
    case UVZK__CONTENDER_UNDELETABLE:
        return node == UVZK__NODE_DELETING;
    default:
        return node == UVZK__NODE_GONE;
    }
}

/* The state after an event of the znode. */
static enum uvzk__contender_state state_of(const struct uvzk__contender *contender)
{
    return contender->node.wanted || uvzk__contender_is_given_up(contender)
               ? contender->state
               : UVZK__CONTENDER_GIVEN_UP;
}

/* The list on which it belongs, by its state and its znode's. */
static enum uvzk__contender_list list_of(const struct uvzk__contender *contender)
{
    if (!uvzk__node_has_place(&contender->node)) {
        return UVZK__ON_UNPLACED;
    }
    if (contender->node.state == UVZK__NODE_DELETING) {
        return UVZK__ON_DELETING;
    }
    return uvzk__contender_holds(contender) ? UVZK__ON_HOLDERS : UVZK__ON_WAITERS;
}

/* ------------------------------------------------------------------- its moves */

static void count_grants(struct uvzk__contender *contender, bool held_before,
                         bool early_before)
{
    struct uvzk__contender_counts *counts = &contender->queue->counts;
    struct uvzk__directories *directories = contender->queue->session->directories;
    bool early = contender->state == UVZK__CONTENDER_GRANTED_EARLY;
    bool shared = contender->kind->shared;

    counts->writers_held += uvzk__contender_holds(contender) && !shared;
    counts->writers_held -= held_before && !shared;
    counts->early_grants += early;
    counts->early_grants -= early_before;
    directories->readers_granted_early += early && shared;
    directories->readers_granted_early -= early_before && shared;
}

/* A node in PARENTS or UNKNOWN waits for a request that the directory sends.
 * counted_asking remembers whether this contender is counted already. */
static void count_asking(struct uvzk__contender *contender)
{
    enum uvzk__node_state state = contender->node.state;
    bool asks = state == UVZK__NODE_PARENTS || state == UVZK__NODE_UNKNOWN;

    contender->queue->counts.asking += asks;
    contender->queue->counts.asking -= contender->counted_asking;
    contender->counted_asking = asks;
}

const struct uvzk__machine uvzk__contender_machine =
    UVZK__MACHINE("contender", table, struct uvzk__contender, state, invariant_holds);

/* Called for each change of the node's state too: then the contender's state may stay the
 * same, but the count of those that ask may change, and what must hold is checked. */
static void move_and_count(struct uvzk__contender *contender,
                           enum uvzk__contender_state state)
{
    struct uvzk__session *session = contender->queue->session;
    bool held = uvzk__contender_holds(contender);
    bool early = contender->state == UVZK__CONTENDER_GRANTED_EARLY;

    count_asking(contender);
    uvzk__move_or_stay(session, &uvzk__contender_machine, contender, state);
    count_grants(contender, held, early);
}

/* The contender is on the list of the waiters: uses what is known of the nodes before its
 * place, or requests a listing. */
static void use_place(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    /* Deletes that were sent before its place was known may be of nodes before it. */
    uvzk__deletes_so_far(contender);
    if (!contender->predecessors_known && uvzk__needs_no_listing(contender)) {
        uvzk__contender_set_predecessors_known(contender);
        if (uvzk__blocker(queue, contender) == NULL) {
            uvzk__contender_set_unblocked(contender, contender->create_stamp);
        }
        uvzk__last_seen_set(contender, contender->create_stamp);
    }
    if (!contender->predecessors_known &&
        contender->create_stamp > queue->freshness.newest_create_stamp) {
        uvzk__freshness_want_listing(queue, contender->create_stamp);
    }
}

/* Moves the contender, and puts it on the list on which it then belongs. Contenders that
 * stay unplaced keep their order, in which they are created (creates.h). */
static void contender_become(struct uvzk__contender *contender,
                             enum uvzk__contender_state state)
{
    if (contender->list == UVZK__ON_UNPLACED && !uvzk__node_has_place(&contender->node)) {
        move_and_count(contender, state);
        return;
    }
    uvzk__queue_leave(contender);
    move_and_count(contender, state);
    uvzk__queue_join(contender, list_of(contender));
    if (contender->list == UVZK__ON_WAITERS) {
        use_place(contender);
    }
}

/* If it held before the last move and no longer holds: its claim no longer counts the
 * grant, and no proof request checks it. */
static void end_hold(struct uvzk__contender *contender, bool held)
{
    struct uvzk__session *session = uvzk__session_of(contender);

    if (held && !uvzk__contender_holds(contender)) {
        uvzk__user_of(contender)->hold_ended(contender);
        uvzk__prover_remove_held(session, &contender->proof_subject);
    }
}

/* --------------------------------------------------------- its beginning, its end */

static void free_contender(struct uvzk__contender *contender)
{
    uvzk__own_watch_free(contender);
    uvzk__free(contender->timer);
    uvzk__free(contender);
}

static struct uvzk__contender *alloc_contender(struct uvzk__queue *queue,
                                               const struct uvzk__contender_kind *kind,
                                               void *extra, size_t room)
{
    struct uvzk__contender *contender =
        uvzk__calloc(1, offsetof(struct uvzk__contender, path) + room);

    if (contender == NULL) {
        return NULL;
    }
    uvzk__node_init(&contender->node);
    contender->queue = queue;
    contender->kind = kind;
    contender->extra = extra;
    uvzk__list_init(&contender->in_claim);
    uvzk__list_init(&contender->in_session);
    uvzk__list_init(&contender->in_queue);
    uvzk__list_init(&contender->proof_subject.link);
    return contender;
}

/* Adds a contender to its session, and to the list of its directory. path_size: the
 * greatest size of a path there. */
static void add_contender(struct uvzk__contender *contender, size_t path_size)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__session *session = queue->session;

    session->directories->node_bytes += path_size;
    session->directories->contender_count++;
    queue->counts.contenders++;
    contender->first_attempt_ms = uvzk__now(session);
    uvzk__list_append(&session->directories->contenders, &contender->in_session);
    uvzk__queue_join(contender, list_of(contender));
}

/* By whether the session's own server shows the znode, and whether it is a reader's. */
static const struct uvzk__contender_kind orphans[2][2] = {
    {{.name_prefix = "", .orphan = true, .not_shown = true},
     {.name_prefix = "", .orphan = true, .not_shown = true, .shared = true}},
    {{.name_prefix = "", .orphan = true},
     {.name_prefix = "", .orphan = true, .shared = true}},
};

/* The node moves like one whose create is answered when the contender is no longer
 * wanted: from CREATING to DELETING at once. The contender therefore begins in
 * GIVEN_UP. */
struct uvzk__contender *uvzk__contender_new_orphan(struct uvzk__queue *queue,
                                                   const char *name,
                                                   struct uvzk__place place, bool shared,
                                                   bool shown)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct uvzk__contender *contender =
        alloc_contender(queue, &orphans[shown][shared], NULL, size);

    if (contender == NULL) {
        return NULL;
    }
    (void)uvzk__path_join_into(contender->path, queue->path->text, name);
    contender->state = UVZK__CONTENDER_GIVEN_UP;
    add_contender(contender, uvzk__contender_path_size(queue));
    uvzk__node_sent(&contender->node);
    uvzk__node_unwanted(&contender->node);
    uvzk__node_created(&contender->node, 0, place);
    uvzk__contender_update(contender);
    return contender;
}

int uvzk__contender_new(struct uvzk__queue *queue,
                        const struct uvzk__contender_kind *kind, void *extra,
                        struct uvzk__contender **out)
{
    struct uvzk__session *session = queue->session;
    size_t path_size = uvzk__contender_path_size(queue);

    uvzk__queue_settle_later(queue); /* frees it if it stays empty after an error */
    if (session->directories->node_bytes + path_size >
        session->directories->node_bytes_max) {
        return uvzk__refuse(UVZK_ELIMIT,
                            "the session's budget of znodes, 1500000 bytes of their "
                            "paths, is spent: set options.sessions, or set it higher");
    }
    struct uvzk__contender *contender = alloc_contender(
        queue, kind, extra,
        uvzk__contender_path_room(queue->kind, path_size,
                                  kind->name_prefix != NULL ? kind->name_prefix : extra));
    if (contender == NULL) {
        return UV_ENOMEM;
    }
    int status = uvzk__contender_new_name(contender);
    if (status != 0) {
        uvzk__free(contender);
        return status;
    }
    add_contender(contender, path_size);
    *out = contender;
    return 0;
}

/* The node is GONE: removes the contender from its claim, session and directory. From
 * now on contender->session is set instead of contender->queue, because the directory
 * may be freed while requests that point to the contender are in flight. */
static void contender_finish(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__session *session = queue->session;

    uvzk__user_of(contender)->over(contender);
    uvzk__own_watch_end(contender);
    uvzk__contender_cancel_back_off(contender);
    uvzk__list_remove(&contender->in_session);
    uvzk__list_remove(&contender->in_batch);
    session->directories->node_bytes -= uvzk__contender_path_size(queue);
    session->directories->contender_count--;
    queue->counts.contenders--;
    uvzk__queue_leave(contender);
    move_and_count(contender, UVZK__CONTENDER_ENDED);
    contender->session = session;
    if (contender->refs == 0) {
        free_contender(contender);
    }
}

/* The node has just become unwanted. Ends the hold, the proof and the request for a
 * position, and reports to the claim. One that pauses is GONE, and contender_finish ends
 * the pause. */
static void give_up(struct uvzk__contender *contender, bool held, int code)
{
    end_hold(contender, held);
    uvzk__prover_cancel(&contender->proof_subject);
    uvzk__contender_want_no_position(contender);
    uvzk__user_of(contender)->ended(contender, code);
}

/* A contender that is given up stays on its list when its node is GONE: it ends next. */
void uvzk__contender_update(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    bool given_up = uvzk__contender_is_given_up(contender);
    bool held = uvzk__contender_holds(contender);

    /* A node does not know its client, so an illegal move of it is reported here. */
    if (contender->node.illegal != 0) {
        uvzk__illegal_move(uvzk__session_of(contender), &uvzk__node_machine,
                           contender->node.illegal - 1U, contender->node.state);
    }
    if (!uvzk__expect(uvzk__session_of(contender),
                      contender->state != UVZK__CONTENDER_ENDED,
                      "contender: an event after its end")) {
        return;
    }
    if (!given_up || contender->node.state != UVZK__NODE_GONE) {
        contender_become(contender, state_of(contender));
    }
    uvzk__queue_settle_later(queue);
    /* Its claim's other contenders are granted when their directory is settled. */
    if (uvzk__contender_admits_to(contender) != NULL) {
        uvzk__queue_settle_later(uvzk__contender_admits_to(contender));
    }
    if (!given_up && uvzk__contender_is_given_up(contender)) {
        give_up(contender, held, contender->node.status);
    }
    if (contender->node.state == UVZK__NODE_GONE) {
        contender_finish(contender);
    } else {
        uvzk__contender_pump(contender);
    }
}

void uvzk__contender_withdraw(struct uvzk__contender *contender)
{
    uvzk__node_unwanted(&contender->node);
    uvzk__contender_update(contender);
}

void uvzk__contender_end(struct uvzk__contender *contender, int code)
{
    bool held = uvzk__contender_holds(contender);

    uvzk__contender_ref(contender); /* give_up calls the claim */
    if (!uvzk__contender_is_given_up(contender)) {
        uvzk__node_unwanted(&contender->node);
        contender_become(contender, state_of(contender));
        give_up(contender, held, code);
    }
    if (contender->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_update(contender);
    }
    uvzk__contender_unref(contender);
}

void uvzk__contender_ref(struct uvzk__contender *contender)
{
    contender->refs++;
}

void uvzk__contender_unref(struct uvzk__contender *contender)
{
    if (!uvzk__expect(uvzk__session_of(contender), contender->refs > 0,
                      "contender: one reference too few")) {
        return;
    }
    contender->refs--;
    if (contender->refs == 0 && contender->state == UVZK__CONTENDER_ENDED) {
        free_contender(contender);
    }
}

/* ------------------------------------------------------------------- its grant */

void uvzk__contender_grant(struct uvzk__contender *contender, bool early)
{
    uvzk__contender_want_no_position(contender);
    /* The claim is called last: it must find the contender among the holders. */
    contender_become(contender,
                     early ? UVZK__CONTENDER_GRANTED_EARLY : UVZK__CONTENDER_HOLDING);
    uvzk__prover_add_held(uvzk__session_of(contender), &contender->proof_subject);
    uvzk__user_of(contender)->granted(contender);
}

void uvzk__contender_checked(struct uvzk__contender *contender)
{
    if (contender->state == UVZK__CONTENDER_GRANTED_EARLY) {
        move_and_count(contender, UVZK__CONTENDER_HOLDING);
    }
}

void uvzk__contender_ungrant(struct uvzk__contender *contender)
{
    bool held = uvzk__contender_holds(contender);

    contender_become(contender, UVZK__CONTENDER_WAITING);
    end_hold(contender, held);
    uvzk__queue_settle_later(contender->queue);
    uvzk__user_of(contender)->ungranted(contender);
}

void uvzk__contender_set_undeletable(struct uvzk__contender *contender)
{
    move_and_count(contender, UVZK__CONTENDER_UNDELETABLE);
}

/* ---------------------------------------------------------- its znode is not shown */

/* A waiter may get a new node at the tail of the queue, if the retry policy allows it. So
 * may one that is granted and only admits, because its claim still waits. Any other hold
 * is lost. */
static void contender_gone(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    uint64_t now = uvzk__now(session);
    uint64_t random = 0, sleep_ms = 0;

    /* Others may have been granted past the node: earlier sightings in this directory no
     * longer count (freshness.h). */
    uvzk__foreign_node_gone(contender->queue);
    (void)uvzk__random(session, &random, sizeof(random));
    bool waits = !uvzk__contender_holds(contender) || contender->kind->admits;
    bool again = waits && !contender->kind->once &&
                 uvzk__retry_allow(&session->retry, contender->attempts++,
                                   now - contender->first_attempt_ms, random, &sleep_ms);
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

void uvzk__contender_missing(struct uvzk__contender *contender)
{
    if (contender->node.state == UVZK__NODE_STANDING) {
        uvzk__contender_log_deleted(contender);
        contender_gone(contender);
    }
}

/* The orphan's delete shows who has deleted the node: at the end of the session, its server
 * may report the deletion of the session's nodes first. A node that a lock driver has named
 * has no orphan: another client may have a node of the same name by now. */
void uvzk__contender_not_shown(struct uvzk__contender *contender)
{
    struct uvzk__contender *orphan = NULL;

    uvzk__node_not_shown(&contender->node);
    if (contender->node.state == UVZK__NODE_STANDING &&
        !uvzk__is_driver_defined(contender->queue->kind)) {
        orphan = uvzk__contender_new_orphan(
            contender->queue, uvzk__path_name(contender->path), contender->node.place,
            contender->kind->shared, false);
    }
    if (orphan == NULL) {
        uvzk__contender_missing(contender);
        return;
    }
    /* The reading that did not show the node has at most this stamp. divergence.c compares
     * it with the start of the connection. */
    uvzk__contender_set_create_stamp(orphan, uvzk__session_of(orphan)->submissions.stamp);
    contender_gone(contender);
}

/* ------------------------------------------------------------------ in proofs
 *
 * The prover (prover.h) checks the znodes of contenders that hold, and of candidates, and
 * reports each result here. A missing znode is passed to the contender's machine, and so is
 * the end of the validity. A proof request keeps a reference to each contender that it
 * checks. So a contender may have ended when these functions are called, and then nothing
 * happens. */

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
