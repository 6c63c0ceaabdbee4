#include "recipes/leases.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/listing.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "directory/watermark_watch.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "recipes/direct_lease.h"
#include "recipes/lease_batch.h"
#include "recipes/lease_offers.h"
#include "recipes/shared_ticket.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

static struct uvzk__lease_request *request_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_with_leases);
}

/* ------------------------------------------------------------------- counting */

/* Whether all of its leases stand, a listing behind them has come, and it has not been
 * counted; or only when there might be more than now. */
static bool needs_count(const struct uvzk__lease_request *request)
{
    return !uvzk__claim_is_given_up(request->claim) &&
           (request->direct
                ? uvzk__direct_lease_is_counted(request)
                : uvzk__view_stamp(&request->leases->freshness) > request->made_stamp) &&
           (!uvzk__lease_request_is_counted(request) ||
            request->max(request->claim) < request->max_when_counted) &&
           uvzk__lease_request_complete(request);
}

/* Whether it has leases, or may have. */
static bool has_begun(const struct uvzk__lease_request *request)
{
    return !uvzk__claim_is_given_up(request->claim) && uvzk__lease_request_begun(request);
}

/* The last such one in line; or NULL. */
static struct uvzk__lease_request *
last_that(struct uvzk__queue *queue, bool (*is_it)(const struct uvzk__lease_request *))
{
    for (struct uvzk__link *link = uvzk__leases(queue)->with_leases.prev;
         link != &uvzk__leases(queue)->with_leases; link = link->prev) {
        if (is_it(request_at(link))) {
            return request_at(link);
        }
    }
    return NULL;
}

/* It waits on, for as long as its ticket stands, or that of the one that it follows. */
static void withdraw(struct uvzk__lease_request *request)
{
    if (request->direct) {
        uvzk__direct_lease_withdraw(request);
        return;
    }
    int status = request->ticket == NULL && !uvzk__lease_request_is_sharer(request)
                     ? UVZK_EDELETED
                     : uvzk__lease_request_return(
                           request, uvzk__lease_request_lease_count(request), true);

    uvzk__lease_request_emptied(request);
    if (status != 0) {
        uvzk__lease_request_forbid_handover(request);
        uvzk__claim_end(request->claim, status);
    }
}

/* Until there are no more than there may be, or it has none itself: those behind it go
 * first, counted or not, or they would be granted before it. False: what one of them has
 * is not known yet. */
static bool withdraw_surplus(struct uvzk__lease_request *request, uint64_t *out)
{
    struct uvzk__lease_request *last = NULL;

    while (last != request && *out > request->max(request->claim)) {
        last = last_that(request->leases, has_begun);
        if (!uvzk__lease_request_none_in_flight(last)) {
            return false;
        }
        *out -= uvzk__lease_request_leases_out(last);
        withdraw(last);
    }
    return true;
}

/* Whoever else makes leases counts after that, and sees ours. So those of ours may hold
 * that there is room for beside all that the listing has shown; the others go, and hold
 * nothing meanwhile. */
static void count_made(struct uvzk__queue *queue)
{
    struct uvzk__lease_request *request = last_that(queue, needs_count);
    uint64_t out = request == NULL ? 0 : uvzk__leases_out(queue);

    while (request != NULL && withdraw_surplus(request, &out)) {
        if (!uvzk__claim_is_given_up(request->claim)) { /* it could not wait on */
            uvzk__lease_request_counted(request);
        }
        request = last_that(queue, needs_count);
    }
}

/* ------------------------------------------------------------------- granting */

static void grant(struct uvzk__lease_request *request, bool early)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (early) {
            uvzk__contender_set_granted_early(lease);
        }
        uvzk__contender_grant(lease);
    }
    uvzk__lease_request_granted(request);
    uvzk__claim_grant(request->claim, request->fencing_token);
    uvzk__ticket_granted(request);
}

/* All stand, but it is a while since that was seen, or the session is not proved. */
static void request_proof(struct uvzk__lease_request *request)
{
    struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    while (lease != NULL && uvzk__contender_request_proof(lease)) {
        lease = uvzk__next_lease(lease);
    }
}

static bool just_seen(const struct uvzk__lease_request *request)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!uvzk__is_just_seen(lease)) {
            return false;
        }
    }
    return true;
}

static bool may_grant_early(const struct uvzk__lease_request *request)
{
    return request->handed_over &&
           uvzk__early_grants(&request->leases->counts) + request->wanted <=
               UVZK__EARLY_GRANTS_MAX;
}

/* Whether a ticket's delete is under way, which will check those granted early. */
static bool early_check_pending(const struct uvzk__lease_request *request)
{
    const struct uvzk__queue *locks =
        uvzk__queue_find(request->claim->session, UVZK__EXCLUSIVE,
                         uvzk__leases(request->leases)->locks_path->text);

    return request->handed_over && request->wanted <= UVZK__EARLY_GRANTS_MAX &&
           locks != NULL && !uvzk__ring_empty(&locks->deleting);
}

/* What was handed on is granted early, though it has just been seen: somebody may have
 * deleted it between that and the delete of the ticket, which lets the next one in, and
 * checks it. True if it could be granted. If not, and it is not only a matter of credit, or
 * of those ahead of it, a proof is wanted. */
static bool grant_or_prove(struct uvzk__lease_request *request, bool first)
{
    struct uvzk__session *session = request->claim->session;
    bool proved = uvzk__prover_grants(session);
    bool seen = just_seen(request), early = may_grant_early(request);

    if (proved && first && (seen || early)) {
        grant(request, early);
        return true;
    }
    if (!proved || (!seen && !early_check_pending(request))) {
        request_proof(request);
    }
    return false;
}

/* Its ticket was deleted by somebody else, and it stands at the tail again, or will: others
 * are served before it. Or that ticket may not serve it any more. */
static bool lost_its_place(const struct uvzk__lease_request *request)
{
    const struct uvzk__contender *ticket = uvzk__lease_request_ticket(request);

    if (ticket == NULL) {
        return uvzk__lease_request_is_sharer(request);
    }
    return uvzk__node_state(&ticket->node) != UVZK__NODE_STANDING ||
           uvzk__node_place(&ticket->node).czxid != request->fencing_token ||
           uvzk__ticket_is_used_up(request) ||
           (uvzk__lease_request_is_sharer(request) && !uvzk__ticket_may_share(request));
}

/* In the order of their tokens: nobody is granted before another one that has begun to
 * have leases, though they may have to be asked for once more. */
static void grant_complete(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__leases(queue)->with_leases.next;
    bool first = true;

    while (link != &uvzk__leases(queue)->with_leases) {
        struct uvzk__lease_request *request = request_at(link);
        link = link->next;
        if (uvzk__claim_is_given_up(request->claim)) {
            continue;
        }
        if (!has_begun(request)) {
            first = first && (uvzk__lease_request_lease_count(request) == 0 ||
                              lost_its_place(request));
        } else if (!uvzk__lease_request_complete(request)) {
            first = false;
        } else if (lost_its_place(request)) {
            withdraw(request);
        } else {
            first = uvzk__lease_request_is_counted(request) &&
                    grant_or_prove(request, first) && first;
        }
    }
}

/* ----------------------------------------------------------------- the ticket holder */

/* Whether others' leases were listed since `locks` is ours; and, counted: nothing has
 * been heard of any that has gone since. */
static bool others_counted(const struct uvzk__queue *queue)
{
    return uvzk__view_stamp(&queue->freshness) >
           uvzk__leases(queue)->ticket_holder->ticket->queue->held_stamp;
}

static bool counted(const struct uvzk__queue *queue)
{
    return others_counted(queue) && !uvzk__is_stale(&queue->freshness);
}

/* The one of ours that is served next: by the same ticket; or behind that one in `locks`,
 * with nobody else between, unless the follower that is next has come before; or NULL. */
static struct uvzk__lease_request *
next_to_serve(struct uvzk__queue *queue, struct uvzk__lease_request *request,
              const struct uvzk__lease_request *waiting)
{
    const struct uvzk__contender *own =
        request == uvzk__leases(queue)->ticket_holder ? NULL : request->ticket;
    struct uvzk__queue *locks = uvzk__leases(queue)->ticket_holder->ticket->queue;
    struct uvzk__link *link = own == NULL
                                  ? uvzk__ring_first(&locks->waiters)
                                  : uvzk__ring_next(&locks->waiters, &own->in_queue);
    const struct uvzk__contender *ticket = link == NULL ? NULL : contender_at(link);
    struct uvzk__lease_request *sharer = uvzk__ticket_next_sharer(request);

    if (sharer != NULL) {
        return sharer;
    }

    if (!(queue->session->tuning & UVZK__TUNE_LOCAL_HANDOVER) || ticket == NULL ||
        uvzk__contender_leases(ticket) != queue || ticket->given_up ||
        uvzk__node_state(&ticket->node) != UVZK__NODE_STANDING ||
        !ticket->predecessors_known || uvzk__blocker(locks, ticket) != NULL) {
        return NULL;
    }
    struct uvzk__lease_request *next = uvzk__lease_request_of(ticket->claim);
    return waiting != NULL && waiting->arrival < next->arrival ? NULL : next;
}

/* The ticket holder has to wait: for those of ours that go, for others, or for the
 * count. */
static void wait_for_room(struct uvzk__queue *queue)
{
    uvzk__queue_want_children_watch(
        queue, uvzk__queue_optional(queue)->foreign_nodes.leases > 0);
    if (counted(queue)) {
        uvzk__claim_end_try_once(uvzk__leases(queue)->ticket_holder->claim);
    }
}

/* With fewer leases than there were, those that are let go are not handed on. */
static bool may_hand_on(const struct uvzk__queue *queue,
                        const struct uvzk__lease_request *request, uint64_t out)
{
    return others_counted(queue) && out <= request->max(request->claim) &&
           !queue->unreadable;
}

/* Leases are made for the ticket holder and those that follow it, in order, for as
 * long as there seems to be room. */
static void create_leases(struct uvzk__queue *queue)
{
    struct uvzk__lease_batch *batch = NULL;
    uint64_t out = uvzk__leases_out(queue);
    struct uvzk__lease_request *request = uvzk__leases(queue)->ticket_holder;
    const struct uvzk__lease_request *waiting = uvzk__first_sharer(queue);

    if (!uvzk__claim_is_given_up(request->claim) && !uvzk__lease_request_begun(request) &&
        uvzk__ticket_is_used_up(request)) {
        uvzk__ticket_release(request);
        return;
    }
    while (request != NULL && !uvzk__claim_is_given_up(request->claim) &&
           uvzk__lease_request_none_in_flight(request)) {
        if (may_hand_on(queue, request, out)) {
            uvzk__leases_take_offers(request);
        }
        if (!uvzk__lease_request_complete(request)) {
            uint32_t lacking = request->wanted - uvzk__lease_request_leases_out(request);
            if (out + lacking > request->max(request->claim)) {
                break;
            }
            if (!uvzk__may_send(queue->session) || uvzk__queue_is_backing_off(queue) ||
                !uvzk__lease_batch_plan(&batch, request)) {
                break;
            }
            out += lacking;
        } else if (!uvzk__lease_request_is_counted(request)) {
            break; /* how many there are will be known soon */
        }
        if (uvzk__lease_request_is_sharer(request)) {
            waiting = uvzk__next_sharer(request);
        }
        request = next_to_serve(queue, request, waiting);
    }
    if (batch == NULL && request == uvzk__leases(queue)->ticket_holder &&
        request != NULL && !uvzk__claim_is_given_up(request->claim) &&
        uvzk__lease_request_none_in_flight(request) &&
        !uvzk__lease_request_complete(request)) {
        wait_for_room(queue);
    }
    uvzk__lease_batch_send(batch);
}

void uvzk__leases_ticket_held(struct uvzk__lease_request *request)
{
    uvzk__leases_set_ticket_holder(request->leases, request);
    uvzk__leases_set_ticket_held(request->leases, uvzk__now(request->claim->session));
    uvzk__queue_settle_later(request->leases);
}

void uvzk__leases_ticket_lost(struct uvzk__lease_request *request)
{
    if (uvzk__leases(request->leases)->ticket_holder == request) {
        uvzk__leases_set_ticket_holder(request->leases, NULL);
        uvzk__queue_want_children_watch(request->ticket->queue, false);
        uvzk__queue_settle_later(request->ticket->queue);
    }
    uvzk__queue_settle_later(request->leases);
}

/* ------------------------------------------------------------------ requests */

static void init(struct uvzk__queue *queue)
{
    uvzk__list_init(&uvzk__leases(queue)->offers);
    uvzk__list_init(&uvzk__leases(queue)->with_leases);
    uvzk__list_init(&uvzk__leases(queue)->ticket_sharers);
}

/* Tickets that may not be deleted outlive the leases. */
static void detach_tickets(struct uvzk__queue *queue)
{
    const struct uvzk__queue *locks = uvzk__queue_find(
        queue->session, UVZK__EXCLUSIVE, uvzk__leases(queue)->locks_path->text);

    for (struct uvzk__link *link = locks == NULL ? NULL
                                                 : uvzk__ring_first(&locks->deleting);
         link != NULL; link = uvzk__ring_next(&locks->deleting, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (uvzk__contender_leases(contender) == queue) {
            uvzk__contender_set_ticket(contender, NULL);
        }
    }
}

static void freed(struct uvzk__queue *queue)
{
    detach_tickets(queue);
    uvzk__shared_path_unref(uvzk__leases(queue)->locks_path);
}

static bool in_use(const struct uvzk__queue *queue)
{
    return uvzk__leases(queue)->lease_requests > 0 ||
           uvzk__leases(queue)->locks_read_pending;
}

static void watches_lost(struct uvzk__queue *queue)
{
    if (uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor) != NULL) {
        uvzk__freshness_set_stale(queue); /* arming it does not tell what has gone */
    }
}

static void refused(struct uvzk__queue *queue, int status)
{
    if (uvzk__leases(queue)->ticket_holder != NULL) {
        uvzk__claim_end(uvzk__leases(queue)->ticket_holder->claim, status);
    }
}

/* What has been made is counted, in the pipeline without waiting for the reply; and
 * the ticket holder that finds no room wants to know how things are. */
static bool wants_listing(const struct uvzk__queue *queue)
{
    bool pipeline = queue->session->tuning & UVZK__TUNE_PIPELINE;
    bool waits = uvzk__leases(queue)->ticket_holder != NULL &&
                 uvzk__leases(queue)->batch == NULL &&
                 uvzk__lease_request_none_in_flight(uvzk__leases(queue)->ticket_holder) &&
                 !uvzk__lease_request_complete(uvzk__leases(queue)->ticket_holder);

    bool made = uvzk__leases(queue)->made_stamp > uvzk__view_stamp(&queue->freshness) &&
                (uvzk__leases(queue)->batch == NULL || pipeline);

    return ((made || uvzk__direct_lease_wants_listing(queue)) &&
            (uvzk__unsearchable_may(queue) || !uvzk__ring_empty(&queue->waiters))) ||
           queue->blocked_long ||
           (waits && (!counted(queue) ||
                      (queue->wants_children_watch &&
                       uvzk__predecessor_watched(
                           &uvzk__queue_optional(queue)->predecessor) == NULL)));
}

static void send_request(struct uvzk__queue *queue)
{
    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    if (!queue->wants_children_watch) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_wants_search(queue) || wants_listing(queue)) {
        uvzk__listing_start(queue);
    }
}

static void settle(struct uvzk__queue *queue)
{
    uvzk__queue_want_children_watch(queue, false);
    uvzk__direct_lease_settle(queue);
    uvzk__ticket_create_new(queue);
    count_made(queue);
    if (uvzk__leases(queue)->ticket_holder != NULL &&
        uvzk__leases(queue)->batch == NULL) {
        create_leases(queue);
    }
    grant_complete(queue);
    uvzk__leases_withdraw_offers(queue, uvzk__leases(queue)->ticket_holder != NULL &&
                                            !others_counted(queue));
    uvzk__watermark_send_watch(queue);
    send_request(queue);
    uvzk__direct_lease_read_locks(queue);
}

const struct uvzk__directory_kind uvzk__lease_directory = {
    .directory_order = UVZK__COUNTED,
    .extra_size = sizeof(struct uvzk__lease_directory),
    .init = init,
    .freed = freed,
    .settle = settle,
    .in_use = in_use,
    .watches_lost = watches_lost,
    .refused = refused,
};
