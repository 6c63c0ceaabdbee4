/* The state of one lease request, its ticket, its leases, and its place in the lists of
 * its lease directory (lease_request.h). This file sends nothing and decides nothing:
 * leases.c, shared_ticket.c and direct_lease.c decide and call these functions, which
 * keep the fields of the lease request and of the lease directory consistent.
 *
 * A lease request has three places: ticket_sharers while it has no ticket and waits,
 * with_leases from its first lease until it holds, and `direct` while it tries without a
 * ticket. The leases themselves are found in the claim's ring of contenders. */
#include "recipes/semaphore/lease_request.h"

#include <assert.h>

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"

#define WAITING UVZK__LEASE_REQUEST_WAITING
#define MADE UVZK__LEASE_REQUEST_MADE
#define COUNTED UVZK__LEASE_REQUEST_COUNTED
#define HELD UVZK__LEASE_REQUEST_HELD

static const struct uvzk__state table[] = {
    [WAITING] = {"WAITING", UVZK__BIT(MADE) | UVZK__BIT(COUNTED) | UVZK__BIT(HELD)},
    [MADE] = {"MADE", UVZK__BIT(WAITING) | UVZK__BIT(COUNTED)},
    [COUNTED] = {"COUNTED", UVZK__BIT(WAITING) | UVZK__BIT(MADE) | UVZK__BIT(HELD)},
    [HELD] = {"HELD", UVZK__BIT(COUNTED)},
};

const struct uvzk__machine uvzk__lease_request_machine =
    UVZK__MACHINE("lease request", table);

/* A lease request with leases that does not hold is in with_leases. A WAITING one may be
 * in it too, with leases that were handed over. */
static bool invariant_holds(const struct uvzk__lease_request *request)
{
    bool is_in_line = !uvzk__list_empty(&request->in_with_leases);

    return request->state == WAITING || is_in_line == (request->state != HELD);
}

/* The only writer of `state`. Does nothing if the state is the same. */
static void move(struct uvzk__lease_request *request,
                 enum uvzk__lease_request_state state)
{
    if (request->state != state) {
        request->state = (uint8_t)uvzk__machine_move(&uvzk__lease_request_machine,
                                                     request->state, state);
    }
    assert(invariant_holds(request));
}

int uvzk__lease_request_new(struct uvzk__claim *claim, struct uvzk__queue *leases,
                            uint32_t wanted, uint64_t (*max)(const struct uvzk__claim *))
{
    struct uvzk__lease_request *request = uvzk__calloc(1, sizeof(*request));

    if (request == NULL) {
        return UV_ENOMEM;
    }
    request->claim = claim;
    request->leases = leases;
    request->wanted = wanted;
    request->max = max;
    uvzk__list_init(&request->in_with_leases);
    uvzk__list_init(&request->in_ticket_sharers);
    claim->extra = request;
    uvzk__leases(leases)->lease_requests++;
    request->arrival = ++uvzk__leases(leases)->arrivals;
    return 0;
}

/* The lease request is counted, gets a ticket, or is freed. */
static void clear_direct(struct uvzk__lease_request *request)
{
    if (uvzk__leases(request->leases)->direct == request) {
        uvzk__leases(request->leases)->direct = NULL;
    }
}

void uvzk__lease_request_free(struct uvzk__claim *claim)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(claim);

    if (request != NULL) {
        uvzk__leases(request->leases)->lease_requests--;
        clear_direct(request);
        uvzk__list_remove(&request->in_with_leases);
        uvzk__list_remove(&request->in_ticket_sharers);
        uvzk__queue_settle_later(request->leases);
        uvzk__free(request);
    }
}

void uvzk__leases_set_locks_path(struct uvzk__queue *queue,
                                 struct uvzk__shared_path *locks_path)
{
    struct uvzk__lease_directory *directory = uvzk__leases(queue);

    if (directory->locks_path == NULL) {
        directory->locks_path = uvzk__shared_path_ref(locks_path);
    }
}

/* ---------------------------------------------------------------- its ticket */

static struct uvzk__lease_request *sharer_at(const struct uvzk__queue *queue,
                                             struct uvzk__link *link)
{
    return link == &uvzk__leases(queue)->ticket_sharers
               ? NULL
               : UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_ticket_sharers);
}

void uvzk__lease_request_set_ticket(struct uvzk__lease_request *request,
                                    struct uvzk__contender *ticket)
{
    struct uvzk__lease_directory *directory = uvzk__leases(request->leases);

    /* The request may have had a ticket before, which this one replaces. */
    directory->tickets -= request->ticket != NULL;
    directory->tickets += ticket != NULL;
    if (ticket != NULL) {
        directory->last_ticket = request;
    } else if (directory->last_ticket == request) {
        directory->last_ticket = NULL;
    }
    request->ticket = ticket;
    uvzk__list_remove(&request->in_ticket_sharers);
}

void uvzk__lease_request_share_ticket(struct uvzk__lease_request *request)
{
    uvzk__list_append(&uvzk__leases(request->leases)->ticket_sharers,
                      &request->in_ticket_sharers);
}

void uvzk__lease_request_share_first(struct uvzk__lease_request *request)
{
    uvzk__list_prepend(&uvzk__leases(request->leases)->ticket_sharers,
                       &request->in_ticket_sharers);
}

void uvzk__lease_request_stop_sharing(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_ticket_sharers);
}

struct uvzk__lease_request *uvzk__first_sharer(const struct uvzk__queue *queue)
{
    return sharer_at(queue, uvzk__leases(queue)->ticket_sharers.next);
}

struct uvzk__lease_request *uvzk__next_sharer(const struct uvzk__lease_request *request)
{
    return sharer_at(request->leases, request->in_ticket_sharers.next);
}

struct uvzk__lease_request *
uvzk__lease_request_ticket_holder(struct uvzk__lease_request *request)
{
    return uvzk__lease_request_is_sharer(request)
               ? uvzk__leases(request->leases)->ticket_holder
           : request->ticket != NULL ? request
                                     : NULL;
}

const struct uvzk__contender *
uvzk__lease_request_ticket(const struct uvzk__lease_request *request)
{
    const struct uvzk__lease_request *ticket_holder = uvzk__lease_request_ticket_holder(
        (struct uvzk__lease_request *)(uintptr_t)request);

    return ticket_holder == NULL ? NULL : ticket_holder->ticket;
}

struct uvzk__ticket_use
uvzk__lease_request_ticket_use(const struct uvzk__lease_request *request)
{
    /* A ticket that was deleted and created again has another czxid: it is not used
     * yet. */
    const struct uvzk__lease_request *ticket_holder = uvzk__lease_request_ticket_holder(
        (struct uvzk__lease_request *)(uintptr_t)request);
    int64_t token =
        ticket_holder == NULL ? 0 : uvzk__node_place(&ticket_holder->ticket->node).czxid;

    return ticket_holder != NULL && ticket_holder->ticket_use.fencing_token == token
               ? ticket_holder->ticket_use
               : (struct uvzk__ticket_use){0};
}

void uvzk__lease_request_count_grant(struct uvzk__lease_request *ticket_holder)
{
    ticket_holder->ticket_use.grants++;
}

void uvzk__lease_request_set_ticket_use(struct uvzk__lease_request *request,
                                        struct uvzk__ticket_use ticket_use)
{
    request->ticket_use = ticket_use;
}

/* ---------------------------------------------------------------- its leases */

/* The first lease at this link or after it, or NULL. link NULL: there is no more. */
static struct uvzk__contender *lease_from(const struct uvzk__claim *claim,
                                          struct uvzk__link *link)
{
    for (; link != NULL; link = uvzk__ring_next(&claim->contenders, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        if (!contender->ticket) {
            return contender;
        }
    }
    return NULL;
}

struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *claim)
{
    return lease_from(claim, uvzk__ring_first(&claim->contenders));
}

struct uvzk__contender *uvzk__next_lease(const struct uvzk__contender *lease)
{
    return lease_from(lease->claim,
                      uvzk__ring_next(&lease->claim->contenders, &lease->in_claim));
}

uint32_t uvzk__lease_request_lease_count(const struct uvzk__lease_request *request)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        count++;
    }
    return count;
}

uint32_t uvzk__lease_request_leases_out(const struct uvzk__lease_request *request)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        count += uvzk__node_has_place(&lease->node);
    }
    return count;
}

bool uvzk__lease_request_begun(const struct uvzk__lease_request *request)
{
    const unsigned nothing_sent =
        UVZK__BIT(UVZK__NODE_CREATING) | UVZK__BIT(UVZK__NODE_PARENTS);

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!(nothing_sent & UVZK__BIT(uvzk__node_state(&lease->node))) ||
            uvzk__node_is_in_flight(&lease->node)) {
            return true;
        }
    }
    return false;
}

/* Whether all leases are in one of these states, with no request in flight, and none is
 * given up. states: a bit for each. */
static bool all_in_state(const struct uvzk__lease_request *request, unsigned states)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!(states & UVZK__BIT(uvzk__node_state(&lease->node))) ||
            uvzk__node_is_in_flight(&lease->node) || uvzk__contender_is_given_up(lease)) {
            return false;
        }
    }
    return true;
}

bool uvzk__lease_request_all_stand(const struct uvzk__lease_request *request)
{
    return all_in_state(request, UVZK__BIT(UVZK__NODE_STANDING));
}

bool uvzk__lease_request_complete(const struct uvzk__lease_request *request)
{
    uint32_t standing = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__node_state(&lease->node) != UVZK__NODE_STANDING ||
            uvzk__contender_is_given_up(lease)) {
            return false;
        }
        standing++;
    }
    return standing == request->wanted;
}

bool uvzk__lease_request_none_in_flight(const struct uvzk__lease_request *request)
{
    return all_in_state(request,
                        UVZK__BIT(UVZK__NODE_STANDING) | UVZK__BIT(UVZK__NODE_CREATING));
}

uint64_t uvzk__leases_out(const struct uvzk__queue *queue)
{
    uint64_t count = uvzk__queue_optional(queue)->foreign_nodes.leases +
                     uvzk__contenders_in(&queue->counts);

    for (struct uvzk__link *link = uvzk__ring_first(&queue->unplaced); link != NULL;
         link = uvzk__ring_next(&queue->unplaced, link)) {
        enum uvzk__node_needs needs = uvzk__node_needs(
            &UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->node);
        count -= needs == UVZK__NEEDS_CREATE || needs == UVZK__NEEDS_PARENTS;
    }
    return count;
}

/* ------------------------------------------------------------- its way to the grant */

static struct uvzk__lease_request *request_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_with_leases);
}

/* By token, and by arrival among those that one ticket serves, which have one token. */
static bool comes_before(const struct uvzk__lease_request *request,
                         const struct uvzk__lease_request *other)
{
    return request->fencing_token == other->fencing_token
               ? request->arrival < other->arrival
               : request->fencing_token < other->fencing_token;
}

/* Lease requests get their leases in order, so the place is nearly always the last one,
 * and the search begins there. */
static void insert_by_token(struct uvzk__lease_request *request)
{
    struct uvzk__link *head = &uvzk__leases(request->leases)->with_leases, *at = head;

    uvzk__list_remove(&request->in_with_leases);
    while (at->prev != head && comes_before(request, request_at(at->prev))) {
        at = at->prev;
    }
    uvzk__list_insert_before(at, &request->in_with_leases);
}

/* The lease request gets its first leases under a ticket, or more of them: takes over the
 * ticket's token and records the use of the ticket. */
static void begin_granting(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *ticket_holder =
        uvzk__lease_request_ticket_holder(request);

    request->fencing_token = uvzk__node_place(&ticket_holder->ticket->node).czxid;
    ticket_holder->ticket_use = uvzk__lease_request_ticket_use(ticket_holder);
    ticket_holder->ticket_use.fencing_token = request->fencing_token;
    if (request->wanted > ticket_holder->ticket_use.most_wanted) {
        ticket_holder->ticket_use.most_wanted = request->wanted;
    }
    insert_by_token(request);
}

void uvzk__lease_request_made(struct uvzk__lease_request *request)
{
    begin_granting(request);
    move(request, MADE);
}

void uvzk__lease_request_set_direct(struct uvzk__lease_request *request, bool position)
{
    request->direct = true;
    request->wants_position = position;
    uvzk__leases(request->leases)->direct = request;
}

void uvzk__lease_request_direct_sent(struct uvzk__lease_request *request)
{
    request->fencing_token = 0; /* less than any czxid: it comes first */
    insert_by_token(request);
    move(request, MADE);
}

void uvzk__lease_request_direct_stands(struct uvzk__lease_request *request, int64_t token,
                                       uint64_t stamp)
{
    request->fencing_token = token;
    uvzk__lease_request_set_made_stamp(request, stamp);
    insert_by_token(request);
}

void uvzk__lease_request_clear_direct(struct uvzk__lease_request *request)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    /* If the lease had to be created alone, so has the ticket (uvzk__create_alone). */
    request->create_alone = lease != NULL && lease->create_alone;
    request->direct = false;
    clear_direct(request);
    move(request, WAITING);
}

void uvzk__lease_request_handed_over(struct uvzk__lease_request *request)
{
    begin_granting(request);
    request->handed_over = true;
    request->max_when_counted = request->max(request->claim);
}

void uvzk__lease_request_counted(struct uvzk__lease_request *request)
{
    move(request, COUNTED);
    clear_direct(request);
    request->max_when_counted = request->max(request->claim);
}

void uvzk__lease_request_emptied(struct uvzk__lease_request *request)
{
    move(request, WAITING);
    request->handed_over = false;
}

void uvzk__lease_request_granted(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_with_leases);
    move(request, HELD);
}

void uvzk__lease_request_ungranted(struct uvzk__lease_request *request)
{
    insert_by_token(request);
    move(request, COUNTED);
}

/* -------------------------------------------------------------------- filling */

int uvzk__lease_request_fill(struct uvzk__lease_request *request)
{
    int status = 0;

    for (uint32_t have = uvzk__lease_request_lease_count(request);
         status == 0 && have < request->wanted; have++) {
        struct uvzk__contender *lease;
        status = uvzk__contender_new(request->claim, request->leases,
                                     UVZK__NAME_PREFIX_LEASE, &lease);
        if (status == 0) {
            /* A lease that another client deletes is not created again by itself: only
             * the ticket holder may create leases. */
            uvzk__contender_forbid_recreate(lease);
        }
    }
    return status;
}

/* The leases move to a new claim, which is ended at once: so they are offered or deleted
 * like those of any claim that ends. The new claim gets the same node data, because an
 * offer is compared by the data (uvzk__claim_same_data). */
int uvzk__lease_request_return(struct uvzk__lease_request *request, uint32_t leases,
                               bool no_handover)
{
    struct uvzk__claim *claim = request->claim, *returned;
    const uvzk_acquire_options_t options = {.node_data = uvzk__claim_data(claim),
                                            .node_data_length =
                                                uvzk__claim_data_length(claim)};

    returned = uvzk__claim_new(claim->lock, claim->session, claim->kind, &options);
    if (returned == NULL) {
        return UV_ENOMEM;
    }
    if (uvzk__lease_request_new(returned, request->leases, leases, request->max) != 0) {
        uvzk__claim_free(returned);
        return UV_ENOMEM;
    }
    uvzk__lease_request_of(returned)->no_handover = no_handover;
    while (leases-- > 0) {
        struct uvzk__contender *lease = uvzk__first_lease(claim);
        uvzk__claim_detach(lease);
        uvzk__claim_attach(returned, lease);
    }
    uvzk__claim_end(returned, 0);
    return 0;
}
