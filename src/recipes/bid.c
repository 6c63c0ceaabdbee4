#include "recipes/bid.h"

#include <assert.h>

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"

#define WAITING UVZK__BID_WAITING
#define MADE UVZK__BID_MADE
#define COUNTED UVZK__BID_COUNTED
#define HELD UVZK__BID_HELD

static const struct uvzk__state table[] = {
    [WAITING] = {"WAITING", UVZK__BIT(MADE) | UVZK__BIT(COUNTED) | UVZK__BIT(HELD)},
    [MADE] = {"MADE", UVZK__BIT(WAITING) | UVZK__BIT(COUNTED)},
    [COUNTED] = {"COUNTED", UVZK__BIT(WAITING) | UVZK__BIT(MADE) | UVZK__BIT(HELD)},
    [HELD] = {"HELD", UVZK__BIT(COUNTED)},
};

const struct uvzk__machine uvzk__bid_machine = UVZK__MACHINE("bid", table);

static bool sound(const struct uvzk__bid *bid)
{
    bool is_in_line = !uvzk__list_empty(&bid->in_line);

    return bid->state == WAITING || is_in_line == (bid->state != HELD);
}

/* The only writer of state. What it is already it stays. */
static void move(struct uvzk__bid *bid, enum uvzk__bid_state state)
{
    if (bid->state != state) {
        bid->state = (uint8_t)uvzk__machine_move(&uvzk__bid_machine, bid->state, state);
    }
    assert(sound(bid));
}

int uvzk__bid_new(struct uvzk__claim *claim, struct uvzk__queue *leases, uint32_t wanted,
                  uint64_t (*max)(const struct uvzk__claim *))
{
    struct uvzk__bid *bid = uvzk__calloc(1, sizeof(*bid));

    if (bid == NULL) {
        return UV_ENOMEM;
    }
    bid->claim = claim;
    bid->leases = leases;
    bid->wanted = wanted;
    bid->max = max;
    uvzk__list_init(&bid->in_line);
    uvzk__list_init(&bid->following);
    claim->extra = bid;
    uvzk__leases(leases)->bids++;
    bid->arrival = ++uvzk__leases(leases)->arrivals;
    return 0;
}

/* It is counted, has a ticket, or is no more. */
static void direct_no_more(struct uvzk__bid *bid)
{
    if (uvzk__leases(bid->leases)->direct == bid) {
        uvzk__leases(bid->leases)->direct = NULL;
    }
}

void uvzk__bid_free(struct uvzk__claim *claim)
{
    struct uvzk__bid *bid = uvzk__bid_of(claim);

    if (bid != NULL) {
        uvzk__leases(bid->leases)->bids--;
        direct_no_more(bid);
        uvzk__list_remove(&bid->in_line);
        uvzk__list_remove(&bid->following);
        uvzk__queue_touch(bid->leases);
        uvzk__free(bid);
    }
}

void uvzk__leases_of_locks(struct uvzk__queue *queue,
                           struct uvzk__shared_path *locks_path)
{
    struct uvzk__lease_directory *directory = uvzk__leases(queue);

    if (directory->locks_path == NULL) {
        directory->locks_path = uvzk__shared_path_keep(locks_path);
    }
}

/* ---------------------------------------------------------------- its ticket */

static struct uvzk__bid *follower_at(const struct uvzk__queue *queue,
                                     struct uvzk__link *link)
{
    return link == &uvzk__leases(queue)->followers
               ? NULL
               : UVZK__CONTAINER_OF(link, struct uvzk__bid, following);
}

void uvzk__bid_has_ticket(struct uvzk__bid *bid, struct uvzk__contender *ticket)
{
    struct uvzk__lease_directory *directory = uvzk__leases(bid->leases);

    directory->tickets -= bid->ticket != NULL;
    directory->tickets += ticket != NULL;
    if (ticket != NULL) {
        directory->last = bid;
    } else if (directory->last == bid) {
        directory->last = NULL;
    }
    bid->ticket = ticket;
    uvzk__list_remove(&bid->following);
}

void uvzk__bid_follows(struct uvzk__bid *bid)
{
    uvzk__list_append(&uvzk__leases(bid->leases)->followers, &bid->following);
}

void uvzk__bid_follows_first(struct uvzk__bid *bid)
{
    uvzk__list_prepend(&uvzk__leases(bid->leases)->followers, &bid->following);
}

void uvzk__bid_follows_no_more(struct uvzk__bid *bid)
{
    uvzk__list_remove(&bid->following);
}

struct uvzk__bid *uvzk__first_follower(const struct uvzk__queue *queue)
{
    return follower_at(queue, uvzk__leases(queue)->followers.next);
}

struct uvzk__bid *uvzk__next_follower(const struct uvzk__bid *bid)
{
    return follower_at(bid->leases, bid->following.next);
}

struct uvzk__bid *uvzk__bid_server(struct uvzk__bid *bid)
{
    return uvzk__bid_is_follower(bid) ? uvzk__leases(bid->leases)->taker
           : bid->ticket != NULL      ? bid
                                      : NULL;
}

const struct uvzk__contender *uvzk__bid_ticket(const struct uvzk__bid *bid)
{
    const struct uvzk__bid *server = uvzk__bid_server((struct uvzk__bid *)(uintptr_t)bid);

    return server == NULL ? NULL : server->ticket;
}

struct uvzk__service uvzk__bid_service(const struct uvzk__bid *bid)
{
    const struct uvzk__bid *server = uvzk__bid_server((struct uvzk__bid *)(uintptr_t)bid);
    int64_t token = server == NULL ? 0 : uvzk__node_place(&server->ticket->node).czxid;

    return server != NULL && server->service.token == token ? server->service
                                                            : (struct uvzk__service){0};
}

void uvzk__bid_serves(struct uvzk__bid *server)
{
    server->service.served++;
}

void uvzk__bid_inherits(struct uvzk__bid *bid, struct uvzk__service service)
{
    bid->service = service;
}

/* ---------------------------------------------------------------- its leases */

/* From this link on, which may be none. */
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

uint32_t uvzk__bid_leases(const struct uvzk__bid *bid)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        count++;
    }
    return count;
}

uint32_t uvzk__bid_leases_out(const struct uvzk__bid *bid)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        count += uvzk__node_has_place(&lease->node);
    }
    return count;
}

bool uvzk__bid_begun(const struct uvzk__bid *bid)
{
    const unsigned nothing_sent =
        UVZK__BIT(UVZK__NODE_CREATING) | UVZK__BIT(UVZK__NODE_PARENTS);

    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!(nothing_sent & UVZK__BIT(uvzk__node_state(&lease->node))) ||
            uvzk__node_is_in_flight(&lease->node)) {
            return true;
        }
    }
    return false;
}

/* Whether all are in one of these states, none on its way and none given up. */
static bool all_in_state(const struct uvzk__bid *bid, unsigned states)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!(states & UVZK__BIT(uvzk__node_state(&lease->node))) ||
            uvzk__node_is_in_flight(&lease->node) || lease->given_up) {
            return false;
        }
    }
    return true;
}

bool uvzk__bid_all_stand(const struct uvzk__bid *bid)
{
    return all_in_state(bid, UVZK__BIT(UVZK__NODE_STANDING));
}

bool uvzk__bid_complete(const struct uvzk__bid *bid)
{
    uint32_t standing = 0;

    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__node_state(&lease->node) != UVZK__NODE_STANDING || lease->given_up) {
            return false;
        }
        standing++;
    }
    return standing == bid->wanted;
}

bool uvzk__bid_settled(const struct uvzk__bid *bid)
{
    return all_in_state(bid,
                        UVZK__BIT(UVZK__NODE_STANDING) | UVZK__BIT(UVZK__NODE_CREATING));
}

uint64_t uvzk__leases_out(const struct uvzk__queue *queue)
{
    uint64_t count =
        uvzk__aside(queue)->foreigners.leases + uvzk__contenders_in(&queue->tallies);

    for (struct uvzk__link *link = uvzk__ring_first(&queue->strangers); link != NULL;
         link = uvzk__ring_next(&queue->strangers, link)) {
        enum uvzk__node_needs needs = uvzk__node_needs(
            &UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->node);
        count -= needs == UVZK__NEEDS_CREATE || needs == UVZK__NEEDS_PARENTS;
    }
    return count;
}

/* ------------------------------------------------------------------- its turn */

static struct uvzk__bid *bid_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__bid, in_line);
}

/* Those of one ticket have one token. */
static bool comes_before(const struct uvzk__bid *bid, const struct uvzk__bid *other)
{
    return bid->token == other->token ? bid->arrival < other->arrival
                                      : bid->token < other->token;
}

/* Those that are served together come in order, so its place is nearly always last. */
static void line_up(struct uvzk__bid *bid)
{
    struct uvzk__link *head = &uvzk__leases(bid->leases)->bidding, *at = head;

    uvzk__list_remove(&bid->in_line);
    while (at->prev != head && comes_before(bid, bid_at(at->prev))) {
        at = at->prev;
    }
    uvzk__list_insert_before(at, &bid->in_line);
}

static void begin(struct uvzk__bid *bid)
{
    struct uvzk__bid *server = uvzk__bid_server(bid);

    bid->token = uvzk__node_place(&server->ticket->node).czxid;
    server->service = uvzk__bid_service(server);
    server->service.token = bid->token;
    if (bid->wanted > server->service.widest) {
        server->service.widest = bid->wanted;
    }
    line_up(bid);
}

void uvzk__bid_made(struct uvzk__bid *bid)
{
    begin(bid);
    move(bid, MADE);
}

void uvzk__bid_goes_direct(struct uvzk__bid *bid, bool position)
{
    bid->direct = true;
    bid->positioned = position;
    uvzk__leases(bid->leases)->direct = bid;
}

void uvzk__bid_made_directly(struct uvzk__bid *bid)
{
    bid->token = 0;
    line_up(bid);
    move(bid, MADE);
}

void uvzk__bid_stands_directly(struct uvzk__bid *bid, int64_t token, uint64_t stamp)
{
    bid->token = token;
    uvzk__bid_made_at(bid, stamp);
    line_up(bid);
}

void uvzk__bid_goes_direct_no_more(struct uvzk__bid *bid)
{
    const struct uvzk__contender *lease = uvzk__first_lease(bid->claim);

    bid->alone = lease != NULL && lease->made_alone;
    bid->direct = false;
    direct_no_more(bid);
    move(bid, WAITING);
}

void uvzk__bid_handed_on(struct uvzk__bid *bid)
{
    begin(bid);
    bid->handed_on = true;
    bid->allowed = bid->max(bid->claim);
}

void uvzk__bid_counted(struct uvzk__bid *bid)
{
    move(bid, COUNTED);
    direct_no_more(bid);
    bid->allowed = bid->max(bid->claim);
}

void uvzk__bid_emptied(struct uvzk__bid *bid)
{
    move(bid, WAITING);
    bid->handed_on = false;
}

void uvzk__bid_granted(struct uvzk__bid *bid)
{
    uvzk__list_remove(&bid->in_line);
    move(bid, HELD);
}

void uvzk__bid_ungranted(struct uvzk__bid *bid)
{
    line_up(bid);
    move(bid, COUNTED);
}

/* -------------------------------------------------------------------- filling */

int uvzk__bid_fill(struct uvzk__bid *bid)
{
    int status = 0;

    for (uint32_t have = uvzk__bid_leases(bid); status == 0 && have < bid->wanted;
         have++) {
        struct uvzk__contender *lease;
        status = uvzk__contender_new(bid->claim, bid->leases, UVZK__TOKEN_LEASE, &lease);
        if (status == 0) {
            uvzk__contender_is_never_made_anew(lease);
        }
    }
    return status;
}

/* They become those of a claim that is over at once. Their data stay what they are, and
 * are known to be. */
int uvzk__bid_return(struct uvzk__bid *bid, uint32_t leases, bool surplus)
{
    struct uvzk__claim *claim = bid->claim, *returned;
    const uvzk_acquire_options_t options = {.node_data = uvzk__claim_data(claim),
                                            .node_data_length =
                                                uvzk__claim_data_length(claim)};

    returned = uvzk__claim_new(claim->lock, claim->client, claim->kind, &options);
    if (returned == NULL) {
        return UV_ENOMEM;
    }
    if (uvzk__bid_new(returned, bid->leases, leases, bid->max) != 0) {
        uvzk__claim_free(returned);
        return UV_ENOMEM;
    }
    uvzk__bid_of(returned)->surplus = surplus;
    while (leases-- > 0) {
        struct uvzk__contender *lease = uvzk__first_lease(claim);
        uvzk__claim_detach(lease);
        uvzk__claim_attach(returned, lease);
    }
    uvzk__claim_end(returned, 0);
    return 0;
}
