/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and grants the leases of one lease directory (leases.h). leases_settle() at the
 * end of this file is called each time something has changed in the directory, and does
 * all steps in order: count the created leases, create more, grant, withdraw offers, list.
 *
 * The one idea: a lease is created first and counted afterwards, by a listing that was
 * sent after the create. Any client that creates a lease later sees this one when it
 * counts. So no more leases are held than the maximum, even if two clients create leases
 * at the same time; the surplus is withdrawn before it is held. */
#include "locks/semaphore/leases.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "directory/settle/listing.h"
#include "directory/settle/other_kinds_check.h"
#include "directory/watermark.h"
#include "locks/mutex.h"
#include "proof/validity.h"

struct uvzk__queue *uvzk__leases_locks(const struct uvzk__queue *queue)
{
    return uvzk__queue_find(queue->session, &uvzk__exclusive,
                            uvzk__leases(queue)->locks_path->text);
}

/* --------------------------------------------------------------------------- offers */

/* An offer is a claim that has been given up and still has its leases; its link is in the
 * directory's list `offers`. semaphore.c makes offers. They are taken, and the rest is
 * withdrawn, each time the lease directory is settled. */

static struct uvzk__claim *offer_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__claim, link);
}

static bool next_is_ours(const struct uvzk__queue *queue)
{
    return uvzk__next_is_ours(queue->session, &uvzk__exclusive,
                              uvzk__leases(queue)->locks_path->text);
}

/* The first offer whose leases all exist and have the data that the claim wants, or
 * NULL. */
static struct uvzk__claim *offer_for(struct uvzk__lease_request *request)
{
    struct uvzk__link *head = &uvzk__leases(request->leases)->offers;

    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        struct uvzk__claim *offer = offer_at(link);
        if (uvzk__lease_request_all_stand(uvzk__lease_request_of(offer)) &&
            uvzk__claim_same_data(offer, request->claim)) {
            return offer;
        }
    }
    return NULL;
}

void uvzk__leases_take_offers(struct uvzk__lease_request *request)
{
    struct uvzk__claim *offer;
    uint32_t have = uvzk__lease_request_lease_count(request);

    while (have < request->wanted && (offer = offer_for(request)) != NULL) {
        struct uvzk__contender *lease = uvzk__first_lease(offer);
        uvzk__claim_detach(lease); /* frees the offer with its last lease */
        uvzk__claim_attach(request->claim, lease);
        /* If another client deletes the ticket, the claim ends. With a new ticket at the
         * tail it would wait for contenders that wait for the leases it has. */
        if (request->ticket != NULL) {
            uvzk__ticket_forbid_recreate(request->ticket);
        }
        uvzk__lease_request_take_over(request, uvzk__ticket_begin_use(request));
        have++;
    }
}

/* Leases are offered only if all of them exist, and a local claim has the ticket or is
 * next for it. An unreadable directory (a check got UVZK_ENOAUTH) makes no offers,
 * because the ticket's delete could not check the leases. */
bool uvzk__leases_offer(struct uvzk__claim *claim)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(claim);
    struct uvzk__queue *queue = request->leases;

    if (!uvzk__tuned(claim->session, UVZK__TUNE_LEASE_HANDOVER) ||
        request->ticket != NULL || queue->unreadable || claim->contender_count == 0 ||
        claim->contender_count != uvzk__lease_request_lease_count(request) ||
        !uvzk__lease_request_all_stand(request) ||
        (uvzk__leases(queue)->ticket.holder == NULL && !next_is_ours(queue))) {
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__contender_holds(lease)) {
            uvzk__contender_ungrant(lease);
        }
    }
    uvzk__list_append(&uvzk__leases(queue)->offers, &claim->link);
    uvzk__queue_settle_later(queue);
    return true;
}

/* A ticket holder that still lacks leases has just taken the offers that it can use,
 * unless a batch is in flight. */
static bool offers_are_awaited(const struct uvzk__queue *queue)
{
    const struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;
    bool served = holder == NULL || uvzk__lease_request_complete(holder);
    bool batch_pending = uvzk__leases(queue)->batches.in_flight != NULL;

    return (holder != NULL && !uvzk__ticket_others_counted(queue)) ||
           (served && next_is_ours(queue)) ||
           ((served || batch_pending) && uvzk__ticket_has_next_sharer(queue));
}

/* Deletes the offered leases that no local claim is going to take. While this is not
 * known, because the leases of other clients have not been counted, all leases that exist
 * stay offered. */
static void leases_withdraw_offers(struct uvzk__queue *queue)
{
    struct uvzk__link offers, *link;

    if (uvzk__list_empty(&uvzk__leases(queue)->offers)) {
        return;
    }
    bool awaited = offers_are_awaited(queue);
    uvzk__list_move(&uvzk__leases(queue)->offers, &offers);
    while ((link = uvzk__list_take(&offers)) != NULL) {
        if (awaited &&
            uvzk__lease_request_all_stand(uvzk__lease_request_of(offer_at(link)))) {
            uvzk__list_append(&uvzk__leases(queue)->offers, link);
        } else {
            uvzk__claim_withdraw(offer_at(link));
        }
    }
}

/* ------------------------------------------------------------------- counting */

uint64_t uvzk__leases_out(const struct uvzk__queue *queue)
{
    uint64_t count =
        uvzk__queue_optional(queue)->foreign_nodes.leases + queue->counts.contenders;

    for (const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);
         each != NULL; each = uvzk__next_in(&queue->unplaced, each)) {
        enum uvzk__node_needs needs = uvzk__node_needs(&each->node);
        count -= needs == UVZK__NEEDS_CREATE || needs == UVZK__NEEDS_PARENTS;
    }
    return count;
}

/* [P1] A lease counts only by a listing that was sent after its create, so two clients
 * that create at once see each other. Whether all leases of the lease request exist and
 * can be counted now: the view is from a listing that was sent after their creates. */
static bool can_count(const struct uvzk__lease_request *request)
{
    return (request->direct ? uvzk__direct_lease_is_counted(request)
                            : request->leases->freshness.view_stamp >
                                  uvzk__lease_request_create_stamp(request)) &&
           uvzk__lease_request_complete(request);
}

/* Returns true if they have not been counted yet, or only with a greater maximum than the
 * current one, and can be counted now. */
static bool needs_count(const struct uvzk__lease_request *request)
{
    return (request->state == UVZK__LEASE_REQUEST_UNCOUNTED ||
            (request->state == UVZK__LEASE_REQUEST_COUNTED &&
             request->max(request->claim) < request->max_when_counted)) &&
           can_count(request);
}

/* Returns true if the lease request waits and has, or may have, leases. */
static bool has_begun(const struct uvzk__lease_request *request)
{
    return !uvzk__lease_request_ended(request) && uvzk__lease_request_begun(request);
}

/* The last lease request in line for which the function returns true, or NULL. */
static struct uvzk__lease_request *
last_that(struct uvzk__queue *queue, bool (*is_it)(const struct uvzk__lease_request *))
{
    const struct uvzk__link *head = &uvzk__leases(queue)->requests.with_leases;

    for (struct uvzk__link *link = head->prev; link != head; link = link->prev) {
        if (is_it(uvzk__lease_request_at(link))) {
            return uvzk__lease_request_at(link);
        }
    }
    return NULL;
}

/* It has neither a ticket nor a share in one if a grant was taken back after its ticket
 * had been passed on or released: then it has no place in line. */
void uvzk__leases_withdraw(struct uvzk__lease_request *request)
{
    if (request->direct) {
        uvzk__direct_lease_leave(request);
    }
    int status = request->ticket == NULL && !uvzk__lease_request_is_sharer(request)
                     ? UVZK_EDELETED
                     : uvzk__lease_request_delete_all(request);

    if (status == 0) {
        uvzk__lease_request_withdrawn(request);
    } else {
        uvzk__lease_request_end(request); /* there are too many leases to offer them */
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
        uvzk__leases_withdraw(last);
    }
    return true;
}

/* Any other client that creates leases lists after that and sees the local leases. Local
 * lease requests may therefore hold leases as long as these and all leases that the
 * listing has shown fit within the maximum. The leases of the other requests are
 * withdrawn, and never counted as held. Begins with the last lease request in line,
 * because the last ones are withdrawn. */
static void count_made(struct uvzk__queue *queue)
{
    struct uvzk__lease_request *request = last_that(queue, needs_count);
    uint64_t out = request == NULL ? 0 : uvzk__leases_out(queue);

    while (request != NULL && withdraw_surplus(request, &out)) {
        /* Its leases may have been withdrawn, and its claim may have ended. */
        if (request->state == UVZK__LEASE_REQUEST_UNCOUNTED ||
            request->state == UVZK__LEASE_REQUEST_COUNTED) {
            uvzk__lease_request_counted(request);
        }
        request = last_that(queue, needs_count);
    }
}

/* ------------------------------------------------------------------- granting */

/* The ticket is passed on or released last: its delete checks the leases that are granted
 * early. */
static void leases_grant(struct uvzk__lease_request *request, bool early)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        uvzk__contender_grant(lease, early);
    }
    uvzk__other_kinds_granted(request->leases);
    uvzk__ticket_count_grant(request);
    uvzk__lease_request_granted(request);
    uvzk__claim_grant(request->claim, request->fencing_token);
    uvzk__ticket_granted(request);
}

/* Fencing tokens grow from grant to grant, so a ticket that another client has deleted
 * must not be used: that client lets others in, which get greater tokens. While a
 * connection lasts, the multi that creates the leases checks the ticket. If its reply is
 * lost, the leases may be found on the next connection, long after the ticket was
 * deleted. So a ticket counts only if the present connection has shown it. */
static bool ticket_is_seen(const struct uvzk__lease_request *request)
{
    const struct uvzk__contender *ticket = uvzk__ticket_of(request);

    return ticket == NULL || uvzk__is_seen_on_connection(ticket);
}

/* Requests what is missing for the grant: the session is not proved, or no request has just
 * shown the leases, or the present connection has not shown the ticket. If no proof is
 * possible, uvzk__contender_request_proof ends the claim and returns false; the lease
 * request may have been freed then. */
static void request_proof(struct uvzk__lease_request *request)
{
    struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    if (!ticket_is_seen(request)) {
        uvzk__lease_batch_check_ticket(request->leases, uvzk__ticket_of(request));
    }
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
           request->leases->counts.early_grants + request->wanted <=
               UVZK__EARLY_GRANTS_MAX;
}

/* Returns true if a ticket is being deleted. Its delete frees places for early grants, so
 * the lease request waits for the reply instead of requesting a proof. */
static bool early_check_pending(const struct uvzk__lease_request *request)
{
    const struct uvzk__queue *locks = uvzk__leases_locks(request->leases);

    return request->handed_over && request->wanted <= UVZK__EARLY_GRANTS_MAX &&
           locks != NULL && !uvzk__ring_empty(&locks->deleting);
}

/* [P1] Returns true if no contender of another kind came before any of its leases.
 * Otherwise its claim ends, or will be decided when a reading has shown it. The lease
 * request may have been freed when this returns false. */
static bool kinds_let(struct uvzk__lease_request *request)
{
    struct uvzk__queue *queue = request->leases;
    enum uvzk__kinds_check found = UVZK__KINDS_ALONE;

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim);
         lease != NULL && found == UVZK__KINDS_ALONE; lease = uvzk__next_lease(lease)) {
        found = uvzk__other_kinds_check_lease(lease, !request->direct);
    }
    if (found == UVZK__KINDS_NOT_KNOWN) {
        uvzk__other_kinds_read(queue, uvzk__lease_request_create_stamp(request));
        return false;
    }
    int code = found == UVZK__KINDS_ALONE ? 0 : uvzk__other_kinds_met(queue, found);
    if (code != 0) {
        uvzk__lease_request_end(request); /* its leases are not offered to others */
        uvzk__claim_end(request->claim, code);
    }
    return code == 0;
}

/* Grants the lease request if it is the first one (first), the session is proved, the
 * ticket is seen, and the leases are known to exist or may be granted early. Leases that
 * were handed over are granted early even if they have just been seen: another client may
 * delete them before the ticket is deleted, and the ticket's delete lets the next client
 * in. So that delete checks them. Returns whether it was granted. Otherwise requests a
 * proof, unless only the limit of early grants or an earlier lease request is in the
 * way. */
static bool grant_or_prove(struct uvzk__lease_request *request, bool first)
{
    struct uvzk__session *session = request->claim->session;

    if (!kinds_let(request)) {
        return false;
    }
    bool proved = uvzk__may_be_granted(session);
    bool seen = just_seen(request), early = may_grant_early(request);
    bool ticket_seen = ticket_is_seen(request);

    if (proved && first && ticket_seen && (seen || early)) {
        leases_grant(request, early);
        return true;
    }
    if (!proved || !ticket_seen || (!seen && !early_check_pending(request))) {
        request_proof(request);
    }
    return false;
}

/* Grants in the order of the tokens. No lease request is granted before another one that
 * has begun to get leases, even if that one has to create them once more. One that has
 * only some of its leases and has lost its place gives them up: it creates the others when
 * its new ticket holds `locks`, and the ticket that does so now may be that of a lease
 * request which waits for it. */
static void grant_complete(struct uvzk__queue *queue)
{
    const struct uvzk__link *head = &uvzk__leases(queue)->requests.with_leases;
    struct uvzk__link *link = head->next;
    bool first = true;

    while (link != head) {
        struct uvzk__lease_request *request = uvzk__lease_request_at(link);
        link = link->next;
        if (uvzk__lease_request_ended(request)) {
            continue;
        }
        /* A lease request whose creates have failed keeps its turn while its ticket is
         * valid. */
        if (!has_begun(request)) {
            first = first && uvzk__ticket_place_is_lost(request);
        } else if (uvzk__ticket_place_is_lost(request) &&
                   uvzk__lease_request_none_in_flight(request)) {
            uvzk__leases_withdraw(request);
        } else if (!uvzk__lease_request_complete(request)) {
            first = false;
        } else {
            first = uvzk__lease_request_is_counted(request) &&
                    grant_or_prove(request, first) && first;
        }
    }
}

/* ------------------------------------------------------------------ requests */

static void leases_init(struct uvzk__queue *queue)
{
    uvzk__list_init(&uvzk__leases(queue)->offers);
    uvzk__lease_requests_init(&uvzk__leases(queue)->requests);
}

void uvzk__leases_set_locks_path(struct uvzk__queue *queue,
                                 struct uvzk__shared_path *locks_path)
{
    struct uvzk__lease_directory *directory = uvzk__leases(queue);

    if (directory->locks_path == NULL) {
        directory->locks_path = uvzk__shared_path_ref(locks_path);
    }
}

bool uvzk__leases_agree(const struct uvzk__queue *queue, uint32_t fixed_max)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(queue);

    return directory->requests.count == 0 || directory->fixed_max == fixed_max ||
           directory->fixed_max == 0 || fixed_max == 0;
}

void uvzk__leases_set_fixed_max(struct uvzk__queue *queue, uint32_t fixed_max)
{
    uvzk__leases(queue)->fixed_max = fixed_max;
}

/* A ticket whose delete the ACL refuses may outlive the lease directory. From now on it
 * must not refer to the directory. */
static void detach_tickets(struct uvzk__queue *queue)
{
    const struct uvzk__queue *locks = uvzk__leases_locks(queue);

    for (struct uvzk__contender *each = locks == NULL ? NULL
                                                      : uvzk__first_in(&locks->deleting);
         each != NULL; each = uvzk__next_in(&locks->deleting, each)) {
        if (uvzk__contender_admits_to(each) == queue) {
            uvzk__contender_admit_nowhere(each);
        }
    }
}

static void leases_freed(struct uvzk__queue *queue)
{
    detach_tickets(queue);
    uvzk__shared_path_unref(uvzk__leases(queue)->locks_path);
}

static bool in_use(const struct uvzk__queue *queue)
{
    return uvzk__leases(queue)->requests.count > 0 ||
           uvzk__leases(queue)->locks_listing.pending;
}

static void watches_lost(struct uvzk__queue *queue)
{
    if (uvzk__queue_optional(queue)->predecessor.path != NULL) {
        uvzk__freshness_set_stale(queue); /* a lease may have been deleted unnoticed */
    }
}

/* The leases cannot be listed or watched, so the ticket holder would wait without end. */
static void leases_refused(struct uvzk__queue *queue, int status)
{
    const struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;

    if (holder != NULL) {
        uvzk__claim_end(holder->claim, status);
    }
}

/* A listing is needed to count created leases; with the pipeline it is sent after their
 * creates without waiting for the reply. A ticket holder that finds no room needs one
 * too, if the view is old, or if the listing must arm a watch on the children. */
static bool wants_listing(const struct uvzk__queue *queue)
{
    const struct uvzk__lease_batches *batches = &uvzk__leases(queue)->batches;
    bool pipeline = uvzk__tuned(queue->session, UVZK__TUNE_PIPELINE);
    bool made = batches->stamp > queue->freshness.view_stamp &&
                (batches->in_flight == NULL || pipeline);

    return ((made || uvzk__direct_lease_wants_listing(queue)) &&
            (uvzk__unsearchable_may(queue) || !uvzk__ring_empty(&queue->waiters))) ||
           queue->blocked_long || uvzk__lease_batch_wants_listing(queue);
}

/* The ticket holder has waited for room for a session timeout. Another client may have
 * deleted its ticket, and then others create leases: each of them may wait for those of
 * the other. No other request shows the ticket meanwhile. */
static void check_ticket_of_blocked(struct uvzk__queue *queue)
{
    const struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;

    if (queue->blocked_long && holder != NULL) {
        uvzk__lease_batch_check_ticket(queue, holder->ticket);
    }
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
        check_ticket_of_blocked(queue);
        uvzk__listing_start(queue);
    }
}

/* The stamp of the newest create of a lease, if there are lease requests; else 0. */
static uint64_t newest_create(const struct uvzk__queue *queue)
{
    const struct uvzk__lease_requests *requests = &uvzk__leases(queue)->requests;
    uint64_t made = uvzk__leases(queue)->batches.stamp;
    uint64_t directly =
        requests->direct == NULL ? 0 : uvzk__lease_request_create_stamp(requests->direct);

    return requests->count == 0 ? 0 : directly > made ? directly : made;
}

static void leases_settle(struct uvzk__queue *queue)
{
    uvzk__queue_want_children_watch(queue, false);
    uvzk__direct_lease_settle(queue);
    uvzk__ticket_create_new(queue);
    count_made(queue);
    uvzk__lease_batch_settle(queue);
    grant_complete(queue);
    leases_withdraw_offers(queue);
    uvzk__watermark_send_watch(queue);
    /* Before the listing, so that both have been answered when the leases are counted. */
    uvzk__other_kinds_read(queue, newest_create(queue));
    send_request(queue);
    uvzk__direct_lease_list_locks(queue);
}

static const struct uvzk__name_prefix name_prefixes[] = {{UVZK__LEASE_PREFIX, false},
                                                         {NULL, false}};

const struct uvzk__directory_kind uvzk__lease_directory = {
    .name_prefixes = name_prefixes,
    .counted = true,
    .kinds_elsewhere = UVZK__KINDS_ABOVE,
    .extra_size = sizeof(struct uvzk__lease_directory),
    .init = leases_init,
    .freed = leases_freed,
    .settle = leases_settle,
    .in_use = in_use,
    .watches_lost = watches_lost,
    .refused = leases_refused,
};
