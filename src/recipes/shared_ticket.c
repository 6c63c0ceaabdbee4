#include "recipes/shared_ticket.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/in_order.h"
#include "directory/queue.h"
#include "engine/turn.h"
#include "recipes/leases.h"

/* ------------------------------------------------------------- whom it may serve */

static struct uvzk__lease_request *ticket_holder_of(const struct uvzk__queue *leases)
{
    return uvzk__leases(leases)->ticket_holder;
}

/* Two that together want more than there are exclude one another. */
static bool excludes(const struct uvzk__lease_request *request, uint32_t wanted)
{
    return (uint64_t)request->wanted + wanted > request->max(request->claim);
}

bool uvzk__ticket_should_share(const struct uvzk__lease_request *request)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(request->leases);

    return (request->claim->session->tuning & UVZK__TUNE_SHARED_TICKET) &&
           !excludes(request, request->wanted) &&
           (directory->last_ticket == NULL
                ? uvzk__first_sharer(request->leases) != NULL
                : !excludes(request, directory->last_ticket->wanted));
}

/* Whether it may not be served by a ticket with this past. */
static bool conflicts(const struct uvzk__lease_request *request,
                      struct uvzk__ticket_use ticket_use)
{
    return excludes(request, request->wanted) ||
           excludes(request, ticket_use.most_wanted);
}

bool uvzk__ticket_is_used_up(const struct uvzk__lease_request *request)
{
    struct uvzk__ticket_use ticket_use = uvzk__lease_request_ticket_use(request);

    return (ticket_use.grants > 0 || uvzk__lease_request_is_sharer(request)) &&
           conflicts(request, ticket_use);
}

/* Somebody else waits behind it, as far as we know. */
static bool others_wait(const struct uvzk__queue *locks)
{
    return uvzk__queue_optional(locks)->foreign_nodes.others_behind ||
           uvzk__foreign_nodes_any(&uvzk__queue_optional(locks)->foreign_nodes);
}

/* One of ours that has a ticket of its own, behind this one, came before. */
static bool came_first(const struct uvzk__contender *ticket,
                       const struct uvzk__lease_request *sharer)
{
    const struct uvzk__queue *locks = ticket->queue;
    struct uvzk__link *link = ticket->state == UVZK__CONTENDER_WAITING
                                  ? uvzk__ring_next(&locks->waiters, &ticket->in_queue)
                                  : uvzk__ring_first(&locks->waiters);
    if (link == NULL) {
        return false;
    }
    const struct uvzk__contender *next =
        UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
    return (uvzk__contender_leases(next) != sharer->leases || next->given_up ||
            uvzk__lease_request_of(next->claim)->arrival < sharer->arrival);
}

static bool limit_reached(const struct uvzk__queue *leases)
{
    return uvzk__lease_request_ticket_use(ticket_holder_of(leases)).grants >=
               UVZK__TICKET_GRANTS ||
           uvzk__now(leases->session) - uvzk__leases(leases)->ticket_held_ms >=
               UVZK__TICKET_MS;
}

/* Who is being served already is served. What leaves first of all may have several on
 * board though others wait. */
bool uvzk__ticket_may_share(const struct uvzk__lease_request *sharer)
{
    const struct uvzk__queue *leases = sharer->leases;
    const struct uvzk__contender *ticket = ticket_holder_of(leases)->ticket;

    if (uvzk__lease_request_begun(sharer)) {
        return true;
    }
    return !uvzk__ticket_is_used_up(sharer) && !came_first(ticket, sharer) &&
           (uvzk__lease_request_ticket_use(ticket_holder_of(leases)).grants == 0 ||
            (!others_wait(ticket->queue) && !limit_reached(leases)));
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

/* ---------------------------------------------------------------- from one to another */

/* Whose claim may be gone afterwards. */
static void pass_ticket(struct uvzk__lease_request *from, struct uvzk__lease_request *to)
{
    struct uvzk__queue *leases = from->leases;
    struct uvzk__contender *ticket = from->ticket;
    struct uvzk__lease_request *last = uvzk__leases(leases)->last_ticket;

    uvzk__lease_request_set_ticket_use(to, uvzk__lease_request_ticket_use(from));
    uvzk__lease_request_set_ticket(from, NULL);
    uvzk__lease_request_set_ticket(to, ticket);
    uvzk__leases_set_last_ticket(leases, last == from ? to : last);
    if (ticket_holder_of(leases) == from) {
        uvzk__leases_set_ticket_holder(leases, to);
        uvzk__queue_want_children_watch(ticket->queue, !others_wait(ticket->queue));
        uvzk__queue_settle_later(ticket->queue);
    }
    if (to->handed_over) {
        uvzk__contender_forbid_recreate(ticket);
    } else {
        uvzk__contender_allow_recreate(ticket);
    }
    uvzk__contender_want_no_position(ticket);
    uvzk__queue_settle_later(leases);
    uvzk__claim_detach(ticket);
    uvzk__claim_attach(to->claim, ticket);
}

/* Who has it next; NULL: it is let go. Its delete checks what was handed on, and only so
 * much can be. */
static struct uvzk__lease_request *next_of_holder(const struct uvzk__queue *leases,
                                                  struct uvzk__lease_request *next)
{
    bool checked =
        uvzk__early_grants(&leases->counts) + next->wanted <= UVZK__EARLY_GRANTS_MAX;

    return uvzk__ticket_may_share(next) && (checked || uvzk__lease_request_begun(next))
               ? next
               : NULL;
}

/* The same of one that was served together with the ticket holder, and whose ticket
 * stands behind. */
static struct uvzk__lease_request *
next_of_other(const struct uvzk__lease_request *request, struct uvzk__lease_request *next)
{
    bool clash = conflicts(next, uvzk__lease_request_ticket_use(request));

    return uvzk__lease_request_begun(next) || clash ||
                   came_first(request->ticket, next) ||
                   others_wait(request->ticket->queue)
               ? NULL
               : next;
}

/* It goes, and the first of those that follow makes another one, unless its turn comes with
 * one that came before. */
static void release_ticket(struct uvzk__queue *leases, struct uvzk__contender *ticket)
{
    const struct uvzk__lease_request *first = uvzk__first_sharer(leases);

    if (first != NULL && !came_first(ticket, first)) {
        uvzk__leases_want_new_ticket(leases, true);
    }
    uvzk__contender_withdraw(ticket);
}

void uvzk__ticket_granted(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *ticket_holder =
                                   uvzk__lease_request_ticket_holder(request),
                               *next;

    uvzk__lease_request_stop_sharing(request);
    if (ticket_holder != NULL) {
        uvzk__lease_request_count_grant(ticket_holder);
    }
    if (request->ticket == NULL) {
        return;
    }
    next = uvzk__first_sharer(request->leases);
    if (next != NULL) {
        next = request == ticket_holder_of(request->leases)
                   ? next_of_holder(request->leases, next)
                   : next_of_other(request, next);
    }
    if (next != NULL) {
        pass_ticket(request, next);
    } else {
        release_ticket(request->leases, request->ticket);
    }
}

bool uvzk__ticket_claim_ended(struct uvzk__lease_request *request)
{
    struct uvzk__lease_request *next;

    uvzk__lease_request_stop_sharing(request);
    next = request->ticket == NULL ? NULL : uvzk__first_sharer(request->leases);
    if (next == NULL || came_first(request->ticket, next)) {
        return false;
    }
    bool alone = request->claim->contender_count == 1;
    pass_ticket(request, next);
    return alone;
}

void uvzk__ticket_release(struct uvzk__lease_request *ticket_holder)
{
    struct uvzk__contender *ticket = ticket_holder->ticket;

    uvzk__leases_ticket_lost(ticket_holder);
    uvzk__lease_request_set_ticket(ticket_holder, NULL);
    uvzk__lease_request_share_first(ticket_holder);
    release_ticket(ticket_holder->leases, ticket);
}

/* --------------------------------------------------------------------------- its end */

/* Those that have something at the server, or may, are told by that. */
static void end_sharers(struct uvzk__queue *leases, int code)
{
    struct uvzk__lease_request *request = uvzk__first_sharer(leases), *next;

    for (; request != NULL; request = next) {
        next = uvzk__next_sharer(request);
        if (uvzk__lease_request_lease_count(request) == 0) {
            uvzk__claim_end(request->claim, code);
        }
    }
}

void uvzk__ticket_ended(struct uvzk__queue *leases, int code)
{
    if (code != 0 && code != UVZK_EDELETED) {
        end_sharers(leases, code);
    }
}

static int make_ticket(struct uvzk__lease_request *request)
{
    struct uvzk__session *session = request->claim->session;
    struct uvzk__queue *locks = uvzk__queue_of(session, &uvzk__exclusive,
                                               uvzk__leases(request->leases)->locks_path);
    struct uvzk__contender *ticket;
    int status = locks == NULL ? UV_ENOMEM
                               : uvzk__contender_new(request->claim, locks,
                                                     UVZK__NAME_PREFIX_MUTEX, &ticket);

    if (locks != NULL) {
        uvzk__queue_settle_later(locks); /* settled, and freed if it stays empty */
    }
    if (status == 0) {
        uvzk__contender_set_ticket(ticket, request->leases);
        if (request->wants_position) {
            uvzk__contender_want_position(ticket);
        }
        if (request->create_alone) {
            uvzk__contender_set_create_alone(ticket);
        }
        uvzk__lease_request_set_ticket(request, ticket);
        uvzk__contender_pump(ticket);
    }
    return status;
}

void uvzk__ticket_make_own(struct uvzk__lease_request *request)
{
    int status = uvzk__lease_request_is_sharer(request) ? make_ticket(request) : 0;

    if (status != 0) {
        uvzk__claim_end(request->claim, status);
    }
}

void uvzk__ticket_create_new(struct uvzk__queue *leases)
{
    const struct uvzk__session *session = leases->session;
    struct uvzk__lease_request *request;

    while (
        (uvzk__leases(leases)->tickets == 0 || uvzk__leases(leases)->new_ticket_wanted) &&
        (request = uvzk__first_sharer(leases)) != NULL) {
        int status = session->closing       ? UVZK_ECLOSED
                     : session->auth_failed ? UVZK_EAUTH
                                            : make_ticket(request);
        if (status != 0) {
            uvzk__claim_end(request->claim, status);
        } else {
            uvzk__leases_want_new_ticket(leases, false);
        }
    }
    uvzk__leases_want_new_ticket(leases, false);
}
