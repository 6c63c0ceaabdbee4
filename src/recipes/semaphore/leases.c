/* Counts and grants the leases of one lease directory (leases.h). settle() at the end of
 * this file is called each time something has changed in the directory, and does all
 * steps in order: count the created leases, create more, grant, withdraw offers, list.
 *
 * The one idea: a lease is created first and counted afterwards, by a listing that was
 * sent after the create. Any client that creates a lease later sees this one when it
 * counts. So no more leases are held than the maximum, even if two clients create leases
 * at the same time; the surplus is withdrawn before it is held. */
#include "recipes/semaphore/leases.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_proof.h"
#include "directory/foreign_nodes.h"
#include "directory/listing.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "directory/watermark_watch.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/validity.h"
#include "recipes/semaphore/direct_lease.h"
#include "recipes/semaphore/lease_batch.h"
#include "recipes/semaphore/lease_offers.h"
#include "recipes/semaphore/shared_ticket.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

static struct uvzk__lease_request *request_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_with_leases);
}

/* ------------------------------------------------------------------- counting */

/* [P1] A lease counts only by a listing that was sent after its create, so two clients
 * that create at once see each other. Whether all of its leases exist, they can be
 * counted now, and they have not been counted yet, or only with a greater maximum than
 * the current one. They can be counted if the view is from a listing that was sent after
 * their creates. */
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

/* Whether the lease request waits and has, or may have, leases. */
static bool has_begun(const struct uvzk__lease_request *request)
{
    return !uvzk__claim_is_given_up(request->claim) && uvzk__lease_request_begun(request);
}

/* The last lease request in line for which the function returns true, or NULL. */
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

/* Deletes all leases of the lease request, which goes on waiting with its own ticket or
 * as a ticket sharer. It has neither if a grant was taken back after its ticket had been
 * passed on or released: then it has no place in line, and its claim ends with
 * UVZK_EDELETED. */
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

/* Withdraws leases until there are no more than the maximum, or until this lease request
 * has none itself. The lease requests behind it lose theirs first, counted or not, so
 * that none of them is granted before it. False: a create of one of them is still in
 * flight, so it is not known what it has. */
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

/* Any other client that creates leases lists after that and sees the local leases. So
 * local lease requests may hold as far as there is room beside all leases that the
 * listing has shown. The leases of the others are withdrawn, and nothing is held by them.
 * Begins with the last lease request in line, because the last ones are withdrawn. */
static void count_made(struct uvzk__queue *queue)
{
    struct uvzk__lease_request *request = last_that(queue, needs_count);
    uint64_t out = request == NULL ? 0 : uvzk__leases_out(queue);

    while (request != NULL && withdraw_surplus(request, &out)) {
        /* withdraw() may have ended the claim. */
        if (!uvzk__claim_is_given_up(request->claim)) {
            uvzk__lease_request_counted(request);
        }
        request = last_that(queue, needs_count);
    }
}

/* ------------------------------------------------------------------- granting */

/* The ticket is passed on or released last: its delete checks the leases that are granted
 * early. */
static void grant(struct uvzk__lease_request *request, bool early)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        uvzk__contender_grant(lease, early);
    }
    uvzk__lease_request_granted(request);
    uvzk__claim_grant(request->claim, request->fencing_token);
    uvzk__ticket_granted(request);
}

/* All leases exist, but no request has just shown them, or the session is not proved. If
 * no proof is possible, uvzk__contender_request_proof ends the claim and returns false;
 * the lease request may have been freed then. */
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

/* Whether a ticket is being deleted. Its delete frees places for early grants, so the
 * lease request waits for the reply instead of requesting a proof. */
static bool early_check_pending(const struct uvzk__lease_request *request)
{
    const struct uvzk__queue *locks =
        uvzk__queue_find(request->claim->session, UVZK__EXCLUSIVE,
                         uvzk__leases(request->leases)->locks_path->text);

    return request->handed_over && request->wanted <= UVZK__EARLY_GRANTS_MAX &&
           locks != NULL && !uvzk__ring_empty(&locks->deleting);
}

/* Grants the lease request if it is the first one (first), the session is proved, and its
 * leases are known to exist or may be granted early. Leases that were handed over are
 * granted early even if they have just been seen: another client may delete them before
 * the ticket is deleted, and the ticket's delete lets the next client in. So that delete
 * checks them. Returns whether it was granted. Otherwise requests a proof, unless only
 * the limit of early grants or an earlier lease request is in the way. */
static bool grant_or_prove(struct uvzk__lease_request *request, bool first)
{
    struct uvzk__session *session = request->claim->session;
    bool proved = uvzk__may_be_granted(session);
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

/* Whether the lease request may not be granted under its ticket any more. Either another
 * client has deleted the ticket: a new one is at the tail, or will be, and other
 * contenders are served first. Or the ticket may not serve this lease request
 * (shared_ticket.h). */
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

/* Grants in the order of the tokens. No lease request is granted before another one that
 * has begun to get leases, even if that one has to create them once more. */
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
        /* A lease request whose creates have failed keeps its turn while its ticket is
         * valid. */
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

/* Whether a listing that was sent after `locks` became this client's has shown the leases
 * of other clients. Since then no other client can have held `locks` and created
 * leases. */
static bool others_counted(const struct uvzk__queue *queue)
{
    return uvzk__view_stamp(&queue->freshness) >
           uvzk__leases(queue)->ticket_holder->ticket->queue->held_stamp;
}

/* Whether that is so, and no event since then has reported a change of the children. */
static bool counted(const struct uvzk__queue *queue)
{
    return others_counted(queue) && !uvzk__is_stale(&queue->freshness);
}

/* The local lease request that gets leases next, or NULL. It is the next ticket sharer of
 * the ticket holder. If there is none, it is the lease request whose ticket is next in
 * `locks`, with no other client's contender before it, unless the waiting ticket sharer
 * arrived earlier: that one must not be overtaken. */
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
        uvzk__contender_leases(ticket) != queue || uvzk__contender_is_given_up(ticket) ||
        uvzk__node_state(&ticket->node) != UVZK__NODE_STANDING ||
        !ticket->predecessors_known || uvzk__blocker(locks, ticket) != NULL) {
        return NULL;
    }
    struct uvzk__lease_request *next = uvzk__lease_request_of(ticket->claim);
    return waiting != NULL && waiting->arrival < next->arrival ? NULL : next;
}

/* There is no room for the ticket holder's leases. If other clients have leases, a watch
 * on the children reports when one is deleted. UVZK_TRY_ONCE ends only when the count is
 * certain. */
static void wait_for_room(struct uvzk__queue *queue)
{
    uvzk__queue_want_children_watch(
        queue, uvzk__queue_optional(queue)->foreign_nodes.leases > 0);
    if (counted(queue)) {
        uvzk__claim_end_try_once(uvzk__leases(queue)->ticket_holder->claim);
    }
}

/* Whether offered leases may be handed over. If the maximum has been lowered below the
 * number of leases, leases that are released are deleted instead. */
static bool may_hand_on(const struct uvzk__queue *queue,
                        const struct uvzk__lease_request *request, uint64_t out)
{
    return others_counted(queue) && out <= request->max(request->claim) &&
           !queue->unreadable;
}

/* Gives leases to the ticket holder and to the lease requests that follow it, in order,
 * for as long as there seems to be room: offered leases first, and new ones by one batch.
 * The loop ends at the first lease request that cannot get all of its leases, because a
 * later one must not be served before it. */
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
            break; /* the listing that counts them is under way */
        }
        /* `waiting`: the first ticket sharer that this loop has not served. */
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

/* A ticket whose delete the ACL refuses may outlive the lease directory. It must not
 * refer to the directory any more. */
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
        uvzk__freshness_set_stale(queue); /* a lease may have been deleted unnoticed */
    }
}

/* The leases cannot be listed or watched, so the ticket holder would wait without end. */
static void refused(struct uvzk__queue *queue, int status)
{
    if (uvzk__leases(queue)->ticket_holder != NULL) {
        uvzk__claim_end(uvzk__leases(queue)->ticket_holder->claim, status);
    }
}

/* A listing is needed to count created leases; with the pipeline it is sent behind their
 * creates without waiting for the reply. A ticket holder that finds no room needs one
 * too, if the view is old or a watch on the children is to be armed by it. */
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
