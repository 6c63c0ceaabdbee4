/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of one lease request, and its places in the lists of its lease directory
 * (lease_request.h). The other files of this folder decide when a request gets a ticket,
 * creates leases or is granted, and call these functions, which move the machine. This
 * file creates the contenders of its leases, and moves leases that it returns to a claim
 * that is ended at once.
 *
 * A lease request has at most one of three rights to get leases: a ticket, a place among
 * the ticket sharers, or that it is the DIRECT one. It keeps this right while it is
 * UNCOUNTED or COUNTED, because its leases may be withdrawn. Its leases are found in the
 * claim's ring of contenders. */
#include "locks/semaphore/lease_request.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "locks/semaphore/leases.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__LEASE_REQUEST_, NEW, SHARING, TICKETED, DIRECT, HELD, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, SHARING, TICKETED, UNCOUNTED, COUNTED, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, TICKETED, SHARING, UNCOUNTED, COUNTED, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, DIRECT, SHARING, UNCOUNTED, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, UNCOUNTED, SHARING, TICKETED, COUNTED, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, COUNTED, SHARING, TICKETED, UNCOUNTED, HELD, ENDED),
    UVZK__STATE(UVZK__LEASE_REQUEST_, HELD, COUNTED, ENDED),
    UVZK__FINAL(UVZK__LEASE_REQUEST_, ENDED),
};

static struct uvzk__lease_requests *
lease_request_siblings(const struct uvzk__lease_request *request)
{
    return &uvzk__leases(request->leases)->requests;
}

static bool is_with_leases(const struct uvzk__lease_request *request)
{
    return !uvzk__list_empty(&request->in_with_leases);
}

/* The states with exactly one right are those in which leases are to be created. HELD and
 * COUNTED: the ticket has been passed on or released, or is about to be. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__lease_request *request = object;
    bool has_ticket = request->ticket != NULL;
    bool shares = uvzk__lease_request_is_sharer(request);
    bool direct = lease_request_siblings(request)->direct == request;
    bool only_one = has_ticket + shares + direct == 1;

    switch ((enum uvzk__lease_request_state)request->state) {
    case UVZK__LEASE_REQUEST_SHARING:
        return only_one && shares && !is_with_leases(request);
    case UVZK__LEASE_REQUEST_TICKETED:
        return only_one && has_ticket && !is_with_leases(request);
    case UVZK__LEASE_REQUEST_DIRECT:
        return only_one && direct && !is_with_leases(request);
    case UVZK__LEASE_REQUEST_UNCOUNTED:
        return only_one && is_with_leases(request);
    case UVZK__LEASE_REQUEST_COUNTED:
        return !direct && !(has_ticket && shares) && is_with_leases(request);
    case UVZK__LEASE_REQUEST_HELD:
        return !direct && !shares && !is_with_leases(request);
    case UVZK__LEASE_REQUEST_NEW:
    case UVZK__LEASE_REQUEST_ENDED:
        break;
    }
    return !shares;
}

const struct uvzk__machine uvzk__lease_request_machine = UVZK__MACHINE(
    "lease request", table, struct uvzk__lease_request, state, invariant_holds);

void uvzk__lease_requests_init(struct uvzk__lease_requests *requests)
{
    uvzk__list_init(&requests->with_leases);
    uvzk__list_init(&requests->ticket_sharers);
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
    lease_request_siblings(request)->count++;
    request->arrival = ++lease_request_siblings(request)->arrivals;
    return 0;
}

static void clear_direct(struct uvzk__lease_request *request)
{
    if (lease_request_siblings(request)->direct == request) {
        lease_request_siblings(request)->direct = NULL;
    }
}

void uvzk__lease_request_free(struct uvzk__claim *claim)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(claim);

    if (request != NULL) {
        lease_request_siblings(request)->count--;
        clear_direct(request);
        uvzk__list_remove(&request->in_with_leases);
        uvzk__list_remove(&request->in_ticket_sharers);
        uvzk__queue_settle_later(request->leases);
        uvzk__free(request);
    }
}

/* ------------------------------------------------- ticket sharers, and its ticket */

static struct uvzk__lease_request *sharer_at(const struct uvzk__queue *queue,
                                             struct uvzk__link *link)
{
    return link == &uvzk__leases(queue)->requests.ticket_sharers
               ? NULL
               : UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_ticket_sharers);
}

struct uvzk__lease_request *uvzk__first_sharer(const struct uvzk__queue *queue)
{
    return sharer_at(queue, uvzk__leases(queue)->requests.ticket_sharers.next);
}

struct uvzk__lease_request *uvzk__next_sharer(const struct uvzk__lease_request *request)
{
    return sharer_at(request->leases, request->in_ticket_sharers.next);
}

void uvzk__lease_request_share(struct uvzk__lease_request *request)
{
    uvzk__list_append(&lease_request_siblings(request)->ticket_sharers,
                      &request->in_ticket_sharers);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_SHARING);
}

void uvzk__lease_request_share_first(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_with_leases);
    uvzk__list_prepend(&lease_request_siblings(request)->ticket_sharers,
                       &request->in_ticket_sharers);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_SHARING);
}

void uvzk__lease_request_get_ticket(struct uvzk__lease_request *request,
                                    struct uvzk__contender *ticket)
{
    lease_request_siblings(request)->tickets++;
    lease_request_siblings(request)->last_ticket = request;
    request->ticket = ticket;
    request->wants_position = false;
    uvzk__list_remove(&request->in_ticket_sharers);
    /* A ticket sharer that has leases keeps them. */
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       is_with_leases(request) ? request->state
                                               : UVZK__LEASE_REQUEST_TICKETED);
}

void uvzk__lease_request_lose_ticket(struct uvzk__lease_request *request)
{
    lease_request_siblings(request)->tickets--;
    if (lease_request_siblings(request)->last_ticket == request) {
        lease_request_siblings(request)->last_ticket = NULL;
    }
    request->ticket = NULL;
}

void uvzk__lease_request_pass_ticket(struct uvzk__lease_request *from,
                                     struct uvzk__lease_request *to)
{
    struct uvzk__lease_request *last = lease_request_siblings(from)->last_ticket;
    struct uvzk__contender *ticket = from->ticket;

    uvzk__lease_request_lose_ticket(from);
    uvzk__lease_request_get_ticket(to, ticket);
    lease_request_siblings(from)->last_ticket =
        last == from ? to : last; /* `to` is where `from` was */
}

/* ---------------------------------------------------------------- without a ticket */

void uvzk__lease_request_go_direct(struct uvzk__lease_request *request)
{
    request->direct = true;
    lease_request_siblings(request)->direct = request;
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_DIRECT);
}

void uvzk__lease_request_leave_direct(struct uvzk__lease_request *request)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    /* If the lease had to be created alone, so has the ticket (uvzk__create_alone). */
    request->create_alone = lease != NULL && lease->limits.create_alone;
    request->direct = false;
    clear_direct(request);
    uvzk__lease_request_share_first(request);
}

/* ------------------------------------------------------------- its way to the grant */

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
static void insert_by_token(struct uvzk__lease_request *request, int64_t token)
{
    struct uvzk__link *head = &lease_request_siblings(request)->with_leases, *at = head;

    request->fencing_token = token;
    uvzk__list_remove(&request->in_with_leases);
    while (at->prev != head && comes_before(request, uvzk__lease_request_at(at->prev))) {
        at = at->prev;
    }
    uvzk__list_insert_before(at, &request->in_with_leases);
}

void uvzk__lease_request_create_leases(struct uvzk__lease_request *request, int64_t token)
{
    insert_by_token(request, token);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_UNCOUNTED);
}

void uvzk__lease_request_take_over(struct uvzk__lease_request *request, int64_t token)
{
    /* It would have all that it wants. */
    (void)uvzk__expect(request->claim->session,
                       request->state != UVZK__LEASE_REQUEST_UNCOUNTED,
                       "lease request: takes over what it does not need");
    insert_by_token(request, token);
    request->handed_over = true;
    uvzk__lease_request_counted(request);
}

void uvzk__lease_request_counted(struct uvzk__lease_request *request)
{
    clear_direct(request);
    request->max_when_counted = request->max(request->claim);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_COUNTED);
}

void uvzk__lease_request_withdrawn(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_with_leases);
    request->handed_over = false;
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       request->ticket != NULL ? UVZK__LEASE_REQUEST_TICKETED
                                               : UVZK__LEASE_REQUEST_SHARING);
}

void uvzk__lease_request_granted(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_ticket_sharers);
    uvzk__list_remove(&request->in_with_leases);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_HELD);
}

void uvzk__lease_request_ungranted(struct uvzk__lease_request *request)
{
    insert_by_token(request, request->fencing_token);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_COUNTED);
}

/* In with_leases it stays until it is freed, because its leases may still exist. */
void uvzk__lease_request_end(struct uvzk__lease_request *request)
{
    uvzk__list_remove(&request->in_ticket_sharers);
    uvzk__move_or_stay(request->claim->session, &uvzk__lease_request_machine, request,
                       UVZK__LEASE_REQUEST_ENDED);
}

/* ---------------------------------------------------------------- its leases */

/* The first lease at this contender or after it, or NULL. contender NULL: there is no
 * more. */
static struct uvzk__contender *lease_from(struct uvzk__contender *contender)
{
    while (contender != NULL && contender->kind->admits) {
        contender = uvzk__claim_next_contender(contender);
    }
    return contender;
}

struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *claim)
{
    return lease_from(uvzk__claim_first_contender(claim));
}

struct uvzk__contender *uvzk__next_lease(struct uvzk__contender *lease)
{
    return lease_from(uvzk__claim_next_contender(lease));
}

/* How many leases a lease request has, and how many of them are in a certain state. */
struct tally {
    uint32_t leases;
    uint32_t placed;    /* have a known place */
    uint32_t untouched; /* nothing has been sent for them */
    uint32_t standing;  /* exist, and are not given up */
    uint32_t idle;      /* of those, without a request in flight */
    uint32_t creatable; /* not given up, and to be created now */
    uint64_t create_stamp;
};

static struct tally tally_of(const struct uvzk__lease_request *request)
{
    struct tally tally = {0};

    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        enum uvzk__node_state state = lease->node.state;
        bool in_flight = lease->node.in_flight;
        bool stands = state == UVZK__NODE_STANDING && !uvzk__contender_is_given_up(lease);
        bool creating = state == UVZK__NODE_CREATING && !in_flight;
        tally.leases++;
        tally.placed += uvzk__node_has_place(&lease->node);
        tally.untouched += creating || (state == UVZK__NODE_PARENTS && !in_flight);
        tally.standing += stands;
        tally.idle += stands && !in_flight;
        tally.creatable += creating && !uvzk__contender_is_given_up(lease);
        tally.create_stamp = lease->create_stamp > tally.create_stamp
                                 ? lease->create_stamp
                                 : tally.create_stamp;
    }
    return tally;
}

uint32_t uvzk__lease_request_lease_count(const struct uvzk__lease_request *request)
{
    return tally_of(request).leases;
}

uint32_t uvzk__lease_request_leases_out(const struct uvzk__lease_request *request)
{
    return tally_of(request).placed;
}

uint64_t uvzk__lease_request_create_stamp(const struct uvzk__lease_request *request)
{
    return tally_of(request).create_stamp;
}

bool uvzk__lease_request_begun(const struct uvzk__lease_request *request)
{
    struct tally tally = tally_of(request);

    return tally.untouched < tally.leases;
}

bool uvzk__lease_request_all_stand(const struct uvzk__lease_request *request)
{
    struct tally tally = tally_of(request);

    return tally.idle == tally.leases;
}

bool uvzk__lease_request_complete(const struct uvzk__lease_request *request)
{
    struct tally tally = tally_of(request);

    return tally.standing == tally.leases && tally.leases == request->wanted;
}

bool uvzk__lease_request_none_in_flight(const struct uvzk__lease_request *request)
{
    struct tally tally = tally_of(request);

    return tally.idle + tally.creatable == tally.leases;
}

/* A lease that another client deletes is not created again by itself: only the ticket
 * holder may create leases. It is created under a ticket or directly. */
static const struct uvzk__contender_kind lease_kind = {
    .name_prefix = UVZK__LEASE_PREFIX,
    .once = true,
    .create = uvzk__contender_create_settled,
};

int uvzk__lease_request_fill(struct uvzk__lease_request *request)
{
    int status = 0;

    for (uint32_t have = uvzk__lease_request_lease_count(request);
         status == 0 && have < request->wanted; have++) {
        struct uvzk__contender *lease;
        status = uvzk__claim_new_contender(request->claim, request->leases, &lease_kind,
                                           NULL, &lease);
    }
    return status;
}

/* The leases move to a new claim, which is ended at once: so they are offered or deleted
 * like those of any claim that ends. The new claim gets the same node data, because an
 * offer is compared by the data (uvzk__claim_same_data). */
static int give_up_leases(struct uvzk__lease_request *request, uint32_t leases, bool held)
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
    if (held) { /* a request that stays NEW offers nothing when it ends */
        uvzk__move(returned->session, &uvzk__lease_request_machine,
                   uvzk__lease_request_of(returned), UVZK__LEASE_REQUEST_HELD);
    }
    while (leases-- > 0) {
        struct uvzk__contender *lease = uvzk__first_lease(claim);
        uvzk__claim_detach(lease);
        uvzk__claim_attach(returned, lease);
    }
    uvzk__claim_end(returned, 0);
    return 0;
}

int uvzk__lease_request_return(struct uvzk__lease_request *request, uint32_t leases)
{
    int status = give_up_leases(request, leases, true);

    request->wanted -= status == 0 ? leases : 0;
    return status;
}

int uvzk__lease_request_delete_all(struct uvzk__lease_request *request)
{
    return give_up_leases(request, uvzk__lease_request_lease_count(request), false);
}

/* ---------------------------------------------------------------- what it waits for */

/* First that its ticket holds `locks`, then its leases (uvzk_hold_wait_info). Computed from
 * what the session knows; no request is sent. */

/* How many leases exist: those of other clients in the last listing, and the local ones
 * that hold. */
static uint64_t leases_out(const struct uvzk__queue *leases)
{
    return uvzk__queue_optional(leases)->foreign_nodes.leases +
           uvzk__ring_length(&leases->holders);
}

/* The ticket holds `locks`. Either leases are being created, the directory is being
 * listed, or there is no room for its leases. */
static void wait_for_leases(const struct uvzk__lease_request *request,
                            struct uvzk__wait_reason *reason)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    if (uvzk__lease_request_complete(request)) {
        reason->kind = UVZK_WAITS_FOR_PROOF;
    } else if (uvzk__lease_request_begun(request)) {
        reason->kind = UVZK_WAITS_FOR_ZNODE;
    } else if (lease != NULL && lease->node.state == UVZK__NODE_PARENTS) {
        reason->kind = UVZK_WAITS_FOR_DIRECTORY;
    } else if (!uvzk__ticket_others_counted(request->leases)) {
        reason->kind = UVZK_WAITS_FOR_PLACE;
    } else if (leases_out(request->leases) + request->wanted >
               request->max(request->claim)) {
        reason->kind = UVZK_WAITS_FOR_LEASES;
        reason->ahead = leases_out(request->leases);
    } else {
        reason->kind = UVZK_WAITS_FOR_ZNODE; /* they are about to be created */
    }
}

/* Before a ticket sharer are all local lease requests that have tickets, and the ticket
 * sharers that arrived earlier. */
static void wait_as_sharer(const struct uvzk__lease_request *request, size_t most,
                           struct uvzk__wait_reason *reason)
{
    const struct uvzk__lease_request *before = uvzk__first_sharer(request->leases);

    *reason = (struct uvzk__wait_reason){.kind = UVZK_WAITS_FOR_CONNECTION};
    if (!uvzk__is_connected(request->claim->session)) {
        return;
    }
    reason->kind = UVZK_WAITS_FOR_OURS;
    reason->ahead = uvzk__leases(request->leases)->requests.tickets;
    while (before != request && reason->ahead < most) {
        reason->ahead++;
        before = uvzk__next_sharer(before);
    }
}

/* It has no ticket: its ticket has been passed on or released, or it needs none. Its
 * lease is created, then counted. */
static void wait_directly(const struct uvzk__lease_request *request,
                          struct uvzk__wait_reason *reason)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    if (lease == NULL || !uvzk__contender_place_wait_reason(lease, reason)) {
        reason->kind = uvzk__lease_request_is_counted(request) ? UVZK_WAITS_FOR_PROOF
                                                               : UVZK_WAITS_FOR_PLACE;
    }
}

void uvzk__lease_request_wait_reason(const struct uvzk__claim *claim, size_t most,
                                     struct uvzk__wait_reason *reason)
{
    const struct uvzk__lease_request *request = uvzk__lease_request_of(claim);

    if (uvzk__lease_request_is_sharer(request)) {
        wait_as_sharer(request, most, reason);
        return;
    }
    if (request->ticket == NULL) {
        wait_directly(request, reason);
        return;
    }
    if (!uvzk__contender_holds(request->ticket)) {
        uvzk__contender_wait_reason(request->ticket, most, reason);
    } else if (!uvzk__contender_place_wait_reason(request->ticket, reason)) {
        wait_for_leases(request, reason);
    }
}
