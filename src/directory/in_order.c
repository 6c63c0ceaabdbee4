#include "directory/in_order.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/listing.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/succession.h"
#include "directory/watermark_watch.h"
#include "engine/submission.h"

static struct uvzk__contender *member_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* The foreigner that the first in line has to wait for, or NULL. */
static const struct uvzk__foreigner *predecessor_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = uvzk__front_of(queue);

    return front == NULL || !front->covered ? NULL : uvzk__blocker(queue, front);
}

/* A listing is asked for when the next in line is not covered, or nobody is
 * placed yet but creates are on their way (the pipeline), or somebody wants to
 * know a position. One listing serves all that have come until it leaves; those
 * further back wait until they are next. */
static bool wants_listing(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);
    bool news = uvzk__has_news(&queue->freshness);

    if ((next != NULL && !next->covered) ||
        (queue->crowded &&
         uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) == NULL)) {
        return true;
    }
    if (next != NULL && uvzk__is_doubted(&queue->freshness) &&
        uvzk__blocker(queue, next) != NULL) {
        return true;
    }
    return news && (uvzk__positions_wanted(&queue->tallies) > 0 ||
                    (next == NULL && !uvzk__ring_empty(&queue->strangers) &&
                     uvzk__unsearchable_may(queue)));
}

static void request(struct uvzk__queue *queue)
{
    const struct uvzk__foreigner *predecessor;

    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    predecessor = predecessor_of(queue);
    const char *watched = uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor);
    bool awaited = uvzk__predecessor_is_children(&uvzk__aside(queue)->predecessor)
                       ? queue->crowded
                       : predecessor != NULL && watched != NULL &&
                             strcmp(uvzk__path_name(watched), predecessor->name) == 0;
    if (watched != NULL && !awaited) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_wants_search(queue) || wants_listing(queue)) {
        uvzk__listing_start(queue);
    } else if (predecessor != NULL &&
               uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) == NULL) {
        uvzk__predecessor_watch(queue, predecessor);
    }
}

/* Whoever tried once and is known to have to wait has had its answer. */
static void end_tries(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->members);
    bool anyone = !uvzk__ring_empty(&queue->holders),
         writer = uvzk__writers_held(&queue->tallies) > 0;

    while (link != NULL &&
           queue->client->directories->contender_user->anyone_tries(queue->client)) {
        struct uvzk__contender *member = member_at(link);
        bool waits = uvzk__contender_downgraded(member) ? false
                     : member->shared                   ? writer
                                                        : anyone;
        link = uvzk__ring_next(&queue->members, link);
        anyone = true;
        writer = writer || !member->shared;
        if (waits || (member->covered && uvzk__blocker(queue, member) != NULL)) {
            queue->client->directories->contender_user->waits(member);
        }
    }
}

/* Nobody waits, or is about to, and nothing is under watch: there is nothing to ask. */
static bool is_quiet(const struct uvzk__queue *queue)
{
    return uvzk__ring_empty(&queue->members) && uvzk__ring_empty(&queue->strangers) &&
           uvzk__positions_wanted(&queue->tallies) == 0 && !queue->crowded &&
           uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) == NULL;
}

static void settle_in_order(struct uvzk__queue *queue)
{
    while (!uvzk__ring_empty(&queue->members) && uvzk__grant_front(queue)) {
    }
    end_tries(queue);
    uvzk__watermark_ask(queue);
    if (!is_quiet(queue)) {
        request(queue);
    }
}

const struct uvzk__directory_kind uvzk__exclusive = {
    .discipline = UVZK__EXCLUSIVE,
    .in_order = true,
    .settle = settle_in_order,
};

const struct uvzk__directory_kind uvzk__read_write = {
    .discipline = UVZK__READ_WRITE,
    .in_order = true,
    .settle = settle_in_order,
};
