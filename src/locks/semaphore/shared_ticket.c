/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which local lease requests share a ticket, which of them gets the ticket next,
 * and when the ticket is released (shared_ticket.h). leases.c asks whom the ticket may
 * serve and reports grants; semaphore.c makes ticket sharers and reports the ends of
 * claims and tickets.
 *
 * Two rules limit the sharing. Lease requests that exclude one another never get the same
 * token. Once another client's contender is known to be behind the ticket, that contender
 * waits only for the requests in progress. */
#include "locks/semaphore/shared_ticket.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/turn.h"
#include "locks/mutex.h"
#include "locks/semaphore/lease_request.h"
#include "locks/semaphore/leases.h"

static struct uvzk__lease_request *ticket_holder_of(const struct uvzk__queue *leases)
{
    return uvzk__leases(leases)->ticket.holder;
}

/* --------------------------------------------------------------- its use until now */

/* The lease request under whose ticket this one gets leases; NULL: there is none. */
static struct uvzk__lease_request *owner_of(const struct uvzk__lease_request *request)
{
    return uvzk__lease_request_is_sharer(request) ? ticket_holder_of(request->leases)
           : request->ticket != NULL              ? uvzk__lease_request_of(request->claim)
                                                  : NULL;
}

struct uvzk__contender *uvzk__ticket_of(const struct uvzk__lease_request *request)
{
    const struct uvzk__lease_request *owner = owner_of(request);

    return owner == NULL ? NULL : owner->ticket;
}

/* What the ticket has been used for. All 0 if there is no ticket, or if it has not been
 * used since its znode was created. */
static struct uvzk__ticket_use use_of(const struct uvzk__lease_request *request)
{
    const struct uvzk__lease_request *owner = owner_of(request);

    return owner != NULL &&
                   owner->ticket_use.fencing_token == owner->ticket->node.place.czxid
               ? owner->ticket_use
               : (struct uvzk__ticket_use){0};
}

int64_t uvzk__ticket_begin_use(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *owner = owner_of(request);
    struct uvzk__ticket_use *use = &owner->ticket_use;

    *use = use_of(owner);
    use->fencing_token = owner->ticket->node.place.czxid;
    if (request->wanted > use->most_wanted) {
        use->most_wanted = request->wanted;
    }
    return use->fencing_token;
}

void uvzk__ticket_count_grant(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *owner = owner_of(request);

    if (owner != NULL) {
        owner->ticket_use.grants++;
    }
}

void uvzk__ticket_held(struct uvzk__lease_request *request)
{
    uvzk__leases(request->leases)->ticket.holder = request;
    uvzk__leases(request->leases)->ticket.held_ms = uvzk__now(request->claim->session);
    uvzk__queue_settle_later(request->leases);
}

void uvzk__ticket_lost(struct uvzk__lease_request *request)
{
    if (ticket_holder_of(request->leases) == request) {
        uvzk__leases(request->leases)->ticket.holder = NULL;
        uvzk__queue_want_children_watch(request->ticket->queue, false);
        uvzk__queue_settle_later(request->ticket->queue);
    }
    uvzk__queue_settle_later(request->leases);
}

bool uvzk__ticket_others_counted(const struct uvzk__queue *leases)
{
    return leases->freshness.view_stamp >
           ticket_holder_of(leases)->ticket->queue->held_stamp;
}

/* ------------------------------------------------------------- whom it may serve */

/* Returns true if the lease request and another one that wants `wanted` leases exclude
 * one another: together they want more leases than the maximum. */
static bool shared_ticket_excludes(const struct uvzk__lease_request *request,
                                   uint32_t wanted)
{
    return (uint64_t)request->wanted + wanted > request->max(request->claim);
}

/* A request that excludes another one of its own size needs a token of its own in any
 * case. Otherwise it is compared with the last lease request that has a ticket. */
bool uvzk__ticket_should_share(const struct uvzk__lease_request *request)
{
    const struct uvzk__lease_request *last =
        uvzk__leases(request->leases)->requests.last_ticket;

    return uvzk__tuned(request->claim->session, UVZK__TUNE_SHARED_TICKET) &&
           !shared_ticket_excludes(request, request->wanted) &&
           (last == NULL ? uvzk__first_sharer(request->leases) != NULL
                         : !shared_ticket_excludes(request, last->wanted));
}

/* Returns true if a ticket that was used in this way may not serve the lease request. */
static bool shared_ticket_conflicts(const struct uvzk__lease_request *request,
                                    struct uvzk__ticket_use ticket_use)
{
    return shared_ticket_excludes(request, request->wanted) ||
           shared_ticket_excludes(request, ticket_use.most_wanted);
}

bool uvzk__ticket_is_used_up(const struct uvzk__lease_request *request)
{
    struct uvzk__ticket_use ticket_use = use_of(request);

    return (ticket_use.grants > 0 || uvzk__lease_request_is_sharer(request)) &&
           shared_ticket_conflicts(request, ticket_use);
}

/* Returns true if the next local contender behind this ticket has to be served before
 * this ticket sharer: it is a ticket whose lease request arrived earlier. A contender
 * that is not a ticket of this semaphore, or that is given up, counts too. */
static bool came_first(const struct uvzk__contender *ticket,
                       const struct uvzk__lease_request *sharer)
{
    const struct uvzk__queue *locks = ticket->queue;
    const struct uvzk__contender *next = ticket->list == UVZK__ON_WAITERS
                                             ? uvzk__next_in(&locks->waiters, ticket)
                                             : uvzk__first_in(&locks->waiters);

    return next != NULL &&
           (uvzk__contender_admits_to(next) != sharer->leases ||
            uvzk__contender_is_given_up(next) ||
            uvzk__lease_request_of(next->claim)->arrival < sharer->arrival);
}

static bool limit_reached(const struct uvzk__queue *leases)
{
    return use_of(ticket_holder_of(leases)).grants >= UVZK__TICKET_GRANTS ||
           uvzk__now(leases->session) - uvzk__leases(leases)->ticket.held_ms >=
               UVZK__TICKET_MS;
}

/* A ticket sharer that has begun to get leases is served in any case. Before the first
 * grant of the ticket others may be added even if another client's contender is behind
 * it, because they share the first multi and cost that contender no time. */
bool uvzk__ticket_may_share(const struct uvzk__lease_request *sharer)
{
    const struct uvzk__queue *leases = sharer->leases;
    const struct uvzk__contender *ticket = ticket_holder_of(leases)->ticket;

    if (uvzk__lease_request_begun(sharer)) {
        return true;
    }
    return !uvzk__ticket_is_used_up(sharer) && !came_first(ticket, sharer) &&
           (use_of(ticket_holder_of(leases)).grants == 0 ||
            (!uvzk__has_foreign_contenders(ticket->queue) && !limit_reached(leases)));
}

struct uvzk__lease_request *
uvzk__ticket_next_sharer(const struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *next =
        request == ticket_holder_of(request->leases) ? uvzk__first_sharer(request->leases)
        : uvzk__lease_request_is_sharer(request)     ? uvzk__next_sharer(request)
                                                     : NULL;

    return next != NULL && uvzk__ticket_may_share(next) ? next : NULL;
}

bool uvzk__ticket_has_next_sharer(const struct uvzk__queue *leases)
{
    return ticket_holder_of(leases) != NULL &&
           uvzk__ticket_next_sharer(ticket_holder_of(leases)) != NULL;
}

bool uvzk__ticket_place_is_lost(const struct uvzk__lease_request *request)
{
    const struct uvzk__contender *ticket = uvzk__ticket_of(request);

    if (ticket == NULL) {
        return uvzk__lease_request_is_sharer(request);
    }
    return ticket->node.state != UVZK__NODE_STANDING ||
           ticket->node.place.czxid != request->fencing_token ||
           uvzk__ticket_is_used_up(request) ||
           (uvzk__lease_request_is_sharer(request) && !uvzk__ticket_may_share(request));
}

/* ------------------------------------------------------------------- passing it on */

static const struct uvzk__contender_kind ticket_kind = {
    .name_prefix = UVZK__MUTEX_PREFIX,
    .admits = true,
};

static const struct uvzk__contender_kind ticket_once_kind = {
    .name_prefix = UVZK__MUTEX_PREFIX,
    .admits = true,
    .once = true,
};

void uvzk__ticket_forbid_recreate(struct uvzk__contender *ticket)
{
    uvzk__contender_set_kind(ticket, &ticket_once_kind);
}

/* The ticket becomes a contender of the other claim. The claim of `from` may have been
 * freed when this returns. While the ticket holds `locks`, a watch on the children of
 * `locks` is wanted, unless another client's contender is known already. */
static void pass_ticket(struct uvzk__lease_request *from, struct uvzk__lease_request *to)
{
    struct uvzk__queue *leases = from->leases;
    struct uvzk__contender *ticket = from->ticket;
    struct uvzk__ticket_use *use = &to->ticket_use;

    *use = use_of(from);
    uvzk__lease_request_pass_ticket(from, to);
    if (ticket_holder_of(leases) == from) {
        uvzk__leases(leases)->ticket.holder = to;
        uvzk__queue_want_children_watch(ticket->queue,
                                        !uvzk__has_foreign_contenders(ticket->queue));
        uvzk__queue_settle_later(ticket->queue);
    }
    /* As in uvzk__leases_take_offers. */
    if (to->handed_over) {
        uvzk__ticket_forbid_recreate(ticket);
    } else {
        uvzk__contender_set_kind(ticket, &ticket_kind);
    }
    uvzk__contender_want_no_position(ticket);
    uvzk__queue_settle_later(leases);
    uvzk__claim_detach(ticket);
    uvzk__claim_attach(to->claim, ticket);
}

/* The ticket sharer that gets the ticket of this granted lease request, or NULL: the
 * ticket is released. The ticket holder's delete checks the leases that are granted
 * early, of which there is a limit. If the next request's leases might exceed the limit,
 * the delete has to come first. The ticket of another lease request, which was granted
 * together with the ticket holder, waits behind the ticket holder's. */
static struct uvzk__lease_request *next_in_turn(const struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *next = uvzk__first_sharer(request->leases);

    if (next == NULL) {
        return NULL;
    }
    bool begun = uvzk__lease_request_begun(next);
    if (request == ticket_holder_of(request->leases)) {
        bool checked =
            request->leases->counts.early_grants + next->wanted <= UVZK__EARLY_GRANTS_MAX;
        return uvzk__ticket_may_share(next) && (checked || begun) ? next : NULL;
    }
    return begun || shared_ticket_conflicts(next, use_of(request)) ||
                   came_first(request->ticket, next) ||
                   uvzk__has_foreign_contenders(request->ticket->queue)
               ? NULL
               : next;
}

/* Deletes the ticket. The first ticket sharer gets a new one, unless a local ticket
 * behind this one arrived earlier: then its turn comes with that one. */
static void release_ticket(struct uvzk__queue *leases, struct uvzk__contender *ticket)
{
    const struct uvzk__lease_request *first = uvzk__first_sharer(leases);

    if (first != NULL && !came_first(ticket, first)) {
        uvzk__ticket_want_new(leases);
    }
    uvzk__contender_withdraw(ticket);
}

void uvzk__ticket_granted(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *next =
        request->ticket == NULL ? NULL : next_in_turn(request);

    if (next != NULL) {
        pass_ticket(request, next);
    } else if (request->ticket != NULL) {
        release_ticket(request->leases, request->ticket);
    }
}

bool uvzk__ticket_claim_ended(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *next =
        request->ticket == NULL ? NULL : uvzk__first_sharer(request->leases);

    if (next == NULL || came_first(request->ticket, next)) {
        return false;
    }
    /* Read before the ticket is passed on, because that may free the claim. */
    bool alone = request->claim->contender_count == 1;
    pass_ticket(request, next);
    return alone;
}

void uvzk__ticket_release(struct uvzk__lease_request *ticket_holder)
{
    struct uvzk__contender *ticket = ticket_holder->ticket;

    uvzk__ticket_lost(ticket_holder);
    uvzk__lease_request_lose_ticket(ticket_holder);
    uvzk__lease_request_share_first(ticket_holder);
    release_ticket(ticket_holder->leases, ticket);
}

/* ------------------------------------------------------- ending and creating tickets */

/* Ticket sharers that have leases are not ended here: their leases end in the same way,
 * and the claims with them. */
void uvzk__ticket_ended(struct uvzk__queue *leases, int code)
{
    bool others_end = code != 0 && code != UVZK_EDELETED;
    struct uvzk__lease_request *request = others_end ? uvzk__first_sharer(leases) : NULL,
                               *next;

    for (; request != NULL; request = next) {
        next = uvzk__next_sharer(request);
        if (uvzk__lease_request_lease_count(request) == 0) {
            uvzk__claim_end(request->claim, code);
        }
    }
}

int uvzk__ticket_make(struct uvzk__lease_request *request)
{
    struct uvzk__queue *locks = uvzk__queue_of(request->claim->session, &uvzk__exclusive,
                                               uvzk__leases(request->leases)->locks_path);
    struct uvzk__contender *ticket;
    int status = locks == NULL
                     ? UV_ENOMEM
                     : uvzk__claim_new_contender(request->claim, locks, &ticket_kind,
                                                 request->leases, &ticket);

    if (status == 0) {
        if (request->wants_position) {
            uvzk__contender_want_position(ticket);
        }
        if (request->create_alone) {
            uvzk__contender_set_create_alone(ticket);
        }
        uvzk__lease_request_get_ticket(request, ticket);
    }
    return status;
}

/* The same for a ticket sharer, whose ticket is sent, or will be. */
static int make_for_sharer(struct uvzk__lease_request *sharer)
{
    int status = uvzk__ticket_make(sharer);

    if (status == 0) {
        uvzk__contender_pump(sharer->ticket);
    }
    return status;
}

void uvzk__ticket_make_own(struct uvzk__lease_request *request)
{
    int status = uvzk__lease_request_is_sharer(request) ? make_for_sharer(request) : 0;

    if (status != 0) {
        uvzk__claim_end(request->claim, status);
    }
}

void uvzk__ticket_want_new(struct uvzk__queue *leases)
{
    uvzk__leases(leases)->ticket.new_wanted = true;
}

void uvzk__ticket_create_new(struct uvzk__queue *leases)
{
    const struct uvzk__session *session = leases->session;
    struct uvzk__lease_directory *directory = uvzk__leases(leases);
    struct uvzk__lease_request *request;

    /* Each pass makes a ticket, or ends a claim that cannot get one and tries the
     * next. */
    while ((directory->requests.tickets == 0 || directory->ticket.new_wanted) &&
           (request = uvzk__first_sharer(leases)) != NULL) {
        int status = uvzk__session_is_closing(session) ? UVZK_ECLOSED
                     : session->auth_failed            ? UVZK_EAUTH
                                                       : make_for_sharer(request);
        if (status != 0) {
            uvzk__claim_end(request->claim, status);
        } else {
            directory->ticket.new_wanted = false;
        }
    }
    directory->ticket.new_wanted = false;
}
