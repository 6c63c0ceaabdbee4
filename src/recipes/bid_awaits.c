#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/queue.h"
#include "recipes/bid.h"

/* Whether a listing has shown, since it is this one's turn, how many leases are out. */
static bool is_counted(const struct uvzk__bid *bid)
{
    return uvzk__listed_at(&bid->leases->freshness) > bid->ticket->queue->reign_stamp;
}

/* Everybody's that stand, as the last listing has shown them. */
static uint64_t leases_out(const struct uvzk__queue *leases)
{
    uint64_t count = uvzk__aside(leases)->foreigners.leases;

    for (const struct uvzk__link *link = uvzk__ring_first(&leases->holders); link != NULL;
         link = uvzk__ring_next(&leases->holders, link)) {
        count++;
    }
    return count;
}

/* Its turn has come: leases are made for it, looked at again, or there is no room. */
static void awaits_leases(const struct uvzk__bid *bid, struct uvzk__awaiting *awaiting)
{
    const struct uvzk__contender *lease = uvzk__first_lease(bid->claim);

    if (uvzk__bid_complete(bid)) {
        awaiting->kind = UVZK_WAITS_FOR_PROOF;
    } else if (uvzk__bid_begun(bid)) {
        awaiting->kind = UVZK_WAITS_FOR_ZNODE;
    } else if (lease != NULL && uvzk__node_state(&lease->node) == UVZK__NODE_PARENTS) {
        awaiting->kind = UVZK_WAITS_FOR_DIRECTORY;
    } else if (!is_counted(bid)) {
        awaiting->kind = UVZK_WAITS_FOR_PLACE;
    } else if (leases_out(bid->leases) + bid->wanted > bid->max(bid->claim)) {
        awaiting->kind = UVZK_WAITS_FOR_LEASES;
        awaiting->ahead = leases_out(bid->leases);
    } else {
        awaiting->kind = UVZK_WAITS_FOR_ZNODE; /* they are about to be made */
    }
}

/* Those of ours that have tickets are before it, and those that follow them already. */
static void awaits_as_follower(const struct uvzk__bid *bid, size_t most,
                               struct uvzk__awaiting *awaiting)
{
    const struct uvzk__bid *before = uvzk__first_follower(bid->leases);

    *awaiting = (struct uvzk__awaiting){.kind = UVZK_WAITS_FOR_CONNECTION};
    if (!uvzk__session_is_connected(&bid->claim->client->session)) {
        return;
    }
    awaiting->kind = UVZK_WAITS_FOR_OURS;
    awaiting->ahead = uvzk__leases(bid->leases)->tickets;
    while (before != bid && awaiting->ahead < most) {
        awaiting->ahead++;
        before = uvzk__next_follower(before);
    }
}

/* It had its turn, or needs none: its lease is made, then counted. */
static void awaits_directly(const struct uvzk__bid *bid, struct uvzk__awaiting *awaiting)
{
    const struct uvzk__contender *lease = uvzk__first_lease(bid->claim);

    if (lease == NULL || !uvzk__contender_awaits_place(lease, awaiting)) {
        awaiting->kind =
            uvzk__bid_is_counted(bid) ? UVZK_WAITS_FOR_PROOF : UVZK_WAITS_FOR_PLACE;
    }
}

void uvzk__bid_awaits(const struct uvzk__claim *claim, size_t most,
                      struct uvzk__awaiting *awaiting)
{
    const struct uvzk__bid *bid = uvzk__bid_of(claim);

    if (uvzk__bid_is_follower(bid)) {
        awaits_as_follower(bid, most, awaiting);
        return;
    }
    if (bid->ticket == NULL) {
        awaits_directly(bid, awaiting);
        return;
    }
    if (!bid->ticket->held) {
        uvzk__contender_awaits(bid->ticket, most, awaiting);
    } else if (!uvzk__contender_awaits_place(bid->ticket, awaiting)) {
        awaits_leases(bid, awaiting);
    }
}
