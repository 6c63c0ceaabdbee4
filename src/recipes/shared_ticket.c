#include "recipes/shared_ticket.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/in_order.h"
#include "directory/queue.h"
#include "engine/turn.h"
#include "recipes/leases.h"

/* ------------------------------------------------------------- whom it may serve */

static struct uvzk__bid *taker_of(const struct uvzk__queue *leases)
{
    return uvzk__leases(leases)->taker;
}

/* Two that together want more than there are exclude one another. */
static bool excludes(const struct uvzk__bid *bid, uint32_t wanted)
{
    return (uint64_t)bid->wanted + wanted > bid->max(bid->claim);
}

bool uvzk__ticket_is_shared_with(const struct uvzk__bid *bid)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(bid->leases);

    return (bid->claim->client->tuning & UVZK__TUNE_SHARED_TICKET) &&
           !excludes(bid, bid->wanted) &&
           (directory->last == NULL ? uvzk__first_follower(bid->leases) != NULL
                                    : !excludes(bid, directory->last->wanted));
}

/* Whether it may not be served by a ticket with this past. */
static bool clashes(const struct uvzk__bid *bid, struct uvzk__service service)
{
    return excludes(bid, bid->wanted) || excludes(bid, service.widest);
}

bool uvzk__ticket_is_used_up(const struct uvzk__bid *bid)
{
    struct uvzk__service service = uvzk__bid_service(bid);

    return (service.served > 0 || uvzk__bid_is_follower(bid)) && clashes(bid, service);
}

/* Somebody else waits behind it, as far as we know. */
static bool others_wait(const struct uvzk__queue *locks)
{
    return uvzk__aside(locks)->foreigners.behind ||
           uvzk__foreigners_any(&uvzk__aside(locks)->foreigners);
}

/* One of ours that has a ticket of its own, behind this one, came before. */
static bool came_first(const struct uvzk__contender *ticket,
                       const struct uvzk__bid *follower)
{
    const struct uvzk__queue *locks = ticket->queue;
    struct uvzk__link *link = ticket->standing == UVZK__MEMBER
                                  ? uvzk__ring_next(&locks->members, &ticket->in_queue)
                                  : uvzk__ring_first(&locks->members);
    if (link == NULL) {
        return false;
    }
    const struct uvzk__contender *next =
        UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
    return (uvzk__contender_beside(next) != follower->leases || next->given_up ||
            uvzk__bid_of(next->claim)->arrival < follower->arrival);
}

static bool is_worn(const struct uvzk__queue *leases)
{
    return uvzk__bid_service(taker_of(leases)).served >= UVZK__TICKET_GRANTS ||
           uvzk__now(leases->client) - uvzk__leases(leases)->taken_ms >= UVZK__TICKET_MS;
}

/* Who is being served already is served. What leaves first of all may have several on board though others wait. */
bool uvzk__ticket_may_serve(const struct uvzk__bid *follower)
{
    const struct uvzk__queue *leases = follower->leases;
    const struct uvzk__contender *ticket = taker_of(leases)->ticket;

    if (uvzk__bid_begun(follower)) {
        return true;
    }
    return !uvzk__ticket_is_used_up(follower) && !came_first(ticket, follower) &&
           (uvzk__bid_service(taker_of(leases)).served == 0 ||
            (!others_wait(ticket->queue) && !is_worn(leases)));
}

struct uvzk__bid *uvzk__ticket_serves_next(const struct uvzk__bid *bid)
{
    struct uvzk__bid *next = bid == taker_of(bid->leases)
                                 ? uvzk__first_follower(bid->leases)
                             : uvzk__bid_is_follower(bid) ? uvzk__next_follower(bid)
                                                          : NULL;

    return next != NULL && uvzk__ticket_may_serve(next) ? next : NULL;
}

bool uvzk__ticket_serves_on(const struct uvzk__queue *leases)
{
    return taker_of(leases) != NULL && uvzk__ticket_serves_next(taker_of(leases)) != NULL;
}

/* ---------------------------------------------------------------- from one to another */

/* Whose claim may be gone afterwards. */
static void pass(struct uvzk__bid *from, struct uvzk__bid *to)
{
    struct uvzk__queue *leases = from->leases;
    struct uvzk__contender *ticket = from->ticket;
    struct uvzk__bid *last = uvzk__leases(leases)->last;

    uvzk__bid_inherits(to, uvzk__bid_service(from));
    uvzk__bid_has_ticket(from, NULL);
    uvzk__bid_has_ticket(to, ticket);
    uvzk__leases_last_ticket(leases, last == from ? to : last);
    if (taker_of(leases) == from) {
        uvzk__leases_taken_by(leases, to);
        uvzk__queue_set_crowded(ticket->queue, !others_wait(ticket->queue));
        uvzk__queue_touch(ticket->queue);
    }
    if (to->handed_on) {
        uvzk__contender_is_never_made_anew(ticket);
    } else {
        uvzk__contender_may_be_made_anew(ticket);
    }
    uvzk__contender_want_no_position(ticket);
    uvzk__queue_touch(leases);
    uvzk__claim_detach(ticket);
    uvzk__claim_attach(to->claim, ticket);
}

/* Who has it next; NULL: it is let go. Its delete checks what was handed on, and only so
 * much can be. */
static struct uvzk__bid *heir_of_taker(const struct uvzk__queue *leases,
                                       struct uvzk__bid *next)
{
    bool checked = uvzk__credits(&leases->tallies) + next->wanted <= UVZK__CREDITS_MAX;

    return uvzk__ticket_may_serve(next) && (checked || uvzk__bid_begun(next)) ? next
                                                                              : NULL;
}

/* The same of one that was served together with the taker, and whose ticket stands behind. */
static struct uvzk__bid *heir_of_other(const struct uvzk__bid *bid,
                                       struct uvzk__bid *next)
{
    bool clash = clashes(next, uvzk__bid_service(bid));

    return uvzk__bid_begun(next) || clash || came_first(bid->ticket, next) ||
                   others_wait(bid->ticket->queue)
               ? NULL
               : next;
}

/* It goes, and the first of those that follow makes another one, unless its turn comes with
 * one that came before. */
static void let_go(struct uvzk__queue *leases, struct uvzk__contender *ticket)
{
    const struct uvzk__bid *first = uvzk__first_follower(leases);

    if (first != NULL && !came_first(ticket, first)) {
        uvzk__leases_ticket_anew(leases, true);
    }
    uvzk__contender_unwanted(ticket);
}

void uvzk__ticket_served(struct uvzk__bid *bid)
{
    struct uvzk__bid *server = uvzk__bid_server(bid), *next;

    uvzk__bid_follows_no_more(bid);
    if (server != NULL) {
        uvzk__bid_serves(server);
    }
    if (bid->ticket == NULL) {
        return;
    }
    next = uvzk__first_follower(bid->leases);
    if (next != NULL) {
        next = bid == taker_of(bid->leases) ? heir_of_taker(bid->leases, next)
                                            : heir_of_other(bid, next);
    }
    if (next != NULL) {
        pass(bid, next);
    } else {
        let_go(bid->leases, bid->ticket);
    }
}

bool uvzk__ticket_left(struct uvzk__bid *bid)
{
    struct uvzk__bid *next;

    uvzk__bid_follows_no_more(bid);
    next = bid->ticket == NULL ? NULL : uvzk__first_follower(bid->leases);
    if (next == NULL || came_first(bid->ticket, next)) {
        return false;
    }
    bool alone = bid->claim->contender_count == 1;
    pass(bid, next);
    return alone;
}

void uvzk__ticket_let_go(struct uvzk__bid *taker)
{
    struct uvzk__contender *ticket = taker->ticket;

    uvzk__leases_no_taker(taker);
    uvzk__bid_has_ticket(taker, NULL);
    uvzk__bid_follows_first(taker);
    let_go(taker->leases, ticket);
}

/* --------------------------------------------------------------------------- its end */

/* Those that have something at the server, or may, are told by that. */
static void end_followers(struct uvzk__queue *leases, int code)
{
    struct uvzk__bid *bid = uvzk__first_follower(leases), *next;

    for (; bid != NULL; bid = next) {
        next = uvzk__next_follower(bid);
        if (uvzk__bid_leases(bid) == 0) {
            uvzk__claim_end(bid->claim, code);
        }
    }
}

void uvzk__ticket_ended(struct uvzk__queue *leases, int code)
{
    if (code != 0 && code != UVZK_EDELETED) {
        end_followers(leases, code);
    }
}

static int make_ticket(struct uvzk__bid *bid)
{
    struct uvzk__client *client = bid->claim->client;
    struct uvzk__queue *locks =
        uvzk__queue_of(client, &uvzk__exclusive, uvzk__leases(bid->leases)->locks_path);
    struct uvzk__contender *ticket;
    int status = locks == NULL
                     ? UV_ENOMEM
                     : uvzk__contender_new(bid->claim, locks, UVZK__TOKEN_MUTEX, &ticket);

    if (locks != NULL) {
        uvzk__queue_touch(locks); /* settled, and freed if it stays empty */
    }
    if (status == 0) {
        uvzk__contender_is_ticket(ticket, bid->leases);
        if (bid->positioned) {
            uvzk__contender_want_position(ticket);
        }
        if (bid->alone) {
            uvzk__contender_made_alone(ticket);
        }
        uvzk__bid_has_ticket(bid, ticket);
        uvzk__contender_pump(ticket);
    }
    return status;
}

void uvzk__ticket_of_its_own(struct uvzk__bid *bid)
{
    int status = uvzk__bid_is_follower(bid) ? make_ticket(bid) : 0;

    if (status != 0) {
        uvzk__claim_end(bid->claim, status);
    }
}

void uvzk__ticket_made_anew(struct uvzk__queue *leases)
{
    const struct uvzk__client *client = leases->client;
    struct uvzk__bid *bid;

    while ((uvzk__leases(leases)->tickets == 0 || uvzk__leases(leases)->anew) &&
           (bid = uvzk__first_follower(leases)) != NULL) {
        int status = client->closing       ? UVZK_ECLOSED
                     : client->auth_failed ? UVZK_EAUTH
                                           : make_ticket(bid);
        if (status != 0) {
            uvzk__claim_end(bid->claim, status);
        } else {
            uvzk__leases_ticket_anew(leases, false);
        }
    }
    uvzk__leases_ticket_anew(leases, false);
}
