#include "directory/freshness.h"

#include <assert.h>

#include "directory/queue.h"

/* 52 bits are enough for a million requests a second for a hundred years, and 24 bits for
 * the names of a listing. */
#define NEWEST_MAX ((UINT64_C(1) << 56) - 1)
#define ASKED_MAX ((UINT64_C(1) << 52) - 1)

#define CURRENT UVZK__LISTING_CURRENT
#define WANTED UVZK__LISTING_WANTED
#define STALE UVZK__LISTING_STALE

static const struct uvzk__state table[] = {
    [CURRENT] = {"CURRENT", UVZK__BIT(WANTED) | UVZK__BIT(STALE)},
    [WANTED] = {"WANTED", UVZK__BIT(CURRENT) | UVZK__BIT(STALE)},
    [STALE] = {"STALE", UVZK__BIT(CURRENT) | UVZK__BIT(WANTED)},
};

const struct uvzk__machine uvzk__listing_machine = UVZK__MACHINE("listing", table);

static bool invariant_holds(const struct uvzk__freshness *freshness)
{
    return freshness->state == STALE ||
           (freshness->state == WANTED) == uvzk__has_newer_create(freshness);
}

/* The only writer of state. */
static void move(struct uvzk__queue *queue, enum uvzk__listing listing)
{
    if (queue->freshness.state != listing) {
        queue->freshness.state = (uint8_t)uvzk__machine_move(
            &uvzk__listing_machine, queue->freshness.state, listing);
    }
    assert(invariant_holds(&queue->freshness));
}

/* Moves to WANTED or CURRENT. Not for a STALE view that no listing has renewed. */
static void follow_stamps(struct uvzk__queue *queue)
{
    move(queue, uvzk__has_newer_create(&queue->freshness) ? WANTED : CURRENT);
}

void uvzk__freshness_want_listing(struct uvzk__queue *queue, uint64_t stamp)
{
    queue->freshness.newest_create_stamp = stamp & NEWEST_MAX;
    /* A STALE view wants a listing already. */
    if (!uvzk__is_stale(&queue->freshness)) {
        follow_stamps(queue);
    }
}

void uvzk__freshness_want_no_listing(struct uvzk__queue *queue)
{
    queue->freshness.newest_create_stamp = queue->freshness.view_stamp;
    follow_stamps(queue);
}

void uvzk__freshness_set_stale(struct uvzk__queue *queue)
{
    move(queue, STALE);
}

void uvzk__freshness_listing_sent(struct uvzk__queue *queue)
{
    queue->freshness.listing_stamp =
        uvzk__stamp(&queue->session->submissions) & ASKED_MAX;
}

void uvzk__freshness_listing_answered(struct uvzk__queue *queue)
{
    queue->freshness.view_stamp = queue->freshness.listing_stamp;
    if (!uvzk__is_stale(&queue->freshness)) {
        follow_stamps(queue);
    }
}

void uvzk__freshness_view_updated(struct uvzk__queue *queue, size_t children)
{
    queue->freshness.view_stamp = queue->freshness.listing_stamp;
    queue->freshness.children_high = children >> 12 & 0xfffU;
    queue->freshness.children_low = children & 0xfffU;
    follow_stamps(queue);
}
