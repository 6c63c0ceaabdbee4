#include "directory/predecessor.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreigners.h"
#include "directory/orphans.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "directory/vouching.h"
#include "directory/watermark_watch.h"
#include "engine/flight.h"
#include "engine/second_look.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"

/* So many names make a listing dearer by about one get (0.2 ms on loopback). */
#define NAMES_A_GET 800U

#define NONE UVZK__PREDECESSOR_NONE
#define ARMING UVZK__PREDECESSOR_ARMING
#define ARMED UVZK__PREDECESSOR_ARMED

static const struct uvzk__state table[] = {
    [NONE] = {"NONE", UVZK__BIT(ARMING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED) | UVZK__BIT(NONE)},
    [ARMED] = {"ARMED", UVZK__BIT(NONE)},
};

const struct uvzk__machine uvzk__predecessor_machine =
    UVZK__MACHINE("predecessor's watch", table);

static bool sound(const struct uvzk__predecessor *predecessor)
{
    return (predecessor->state == NONE) == (predecessor->path == NULL);
}

/* The only writer of state. */
static void move(struct uvzk__queue *queue, enum uvzk__predecessor_state state)
{
    struct uvzk__predecessor *predecessor = &queue->aside->predecessor;

    predecessor->state = (uint8_t)uvzk__machine_move(&uvzk__predecessor_machine,
                                                     predecessor->state, state);
    assert(sound(predecessor));
}

/* Most directories watch nobody: the memory is there with the watch. */
struct watched {
    struct uvzk__watch watch;
    struct uvzk__timed second_look; /* while the watch stands */
    struct uvzk__queue *queue;
    char path[];
};

static struct watched *under_watch(const struct uvzk__queue *queue)
{
    return UVZK__CONTAINER_OF(queue->aside->predecessor.path, struct watched, path);
}

void uvzk__predecessor_forget(struct uvzk__queue *queue)
{
    if (uvzk__aside(queue)->predecessor.state != NONE) {
        struct watched *watched = under_watch(queue);

        queue->aside->predecessor.path = NULL;
        move(queue, NONE);
        uvzk__timed_clear(queue->client, &watched->second_look);
        uvzk__watch_budget_give(queue->client, watched->path);
        uvzk__free(watched);
    }
}

void uvzk__predecessor_unwatch(struct uvzk__queue *queue)
{
    if (uvzk__aside(queue)->predecessor.state == ARMED) {
        uvzk__unwatch(queue->client, &under_watch(queue)->watch);
        uvzk__predecessor_forget(queue);
    }
}

/* A writer's owner may have left a read lock behind, with the writer's own number,
 * and the view does not show it: whoever waits for readers too looks again. */
static void writer_gone(struct uvzk__queue *queue)
{
    for (struct uvzk__link *link = uvzk__ring_first(&queue->members); link != NULL;
         link = uvzk__ring_next(&queue->members, link)) {
        struct uvzk__contender *member =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (!member->shared && uvzk__node_place(&member->node).sequence >
                                   queue->aside->predecessor.sequence) {
            uvzk__contender_uncovered(member);
        }
    }
}

/* Those before it are likely to have gone too. One listing looks at them all; but
 * in a long directory a few are asked for one by one, backwards, each with the
 * watch that it would need anyway. */
static void predecessor_gone(struct uvzk__queue *queue)
{
    const struct uvzk__predecessor *predecessor = &queue->aside->predecessor;
    const struct uvzk__foreigners *foreigners = &queue->aside->foreigners;
    size_t walk_back = uvzk__listed_children(&queue->freshness) / NAMES_A_GET;

    uvzk__departed(queue);
    if (queue->client->observer != NULL) {
        uvzk__queue_let_go(queue, uvzk__now(queue->client));
    }
    uvzk__foreigners_forget(queue, uvzk__path_name(predecessor->path));
    if (foreigners->count > walk_back &&
        foreigners->list[walk_back].sequence < predecessor->sequence) {
        uvzk__freshness_doubted(queue);
    }
    if (queue->kind->discipline == UVZK__READ_WRITE && !predecessor->shared) {
        writer_gone(queue);
    }
}

void uvzk__predecessor_is_gone(struct uvzk__queue *queue, const char *path)
{
    const struct uvzk__predecessor *predecessor = &uvzk__aside(queue)->predecessor;

    if (predecessor->state == ARMED && !predecessor->children &&
        strcmp(predecessor->path, path) == 0) {
        predecessor_gone(queue);
        uvzk__predecessor_unwatch(queue);
    } else if (queue->kind->discipline == UVZK__EXCLUSIVE) {
        uvzk__departed(queue); /* it may be under watch again in a moment */
        uvzk__foreigners_forget(queue, uvzk__path_name(path));
    }
    uvzk__queue_touch(queue);
}

static void watch_fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__queue *queue = UVZK__CONTAINER_OF(watch, struct watched, watch)->queue;

    if (queue->kind->discipline == UVZK__COUNTED) {
        uvzk__freshness_doubted(queue); /* it was on the children */
    } else if (queue->aside->predecessor.children) {
        uvzk__foreigners_behind(queue, true); /* whoever came has come behind us */
        uvzk__queue_set_crowded(queue, false);
    } else if (event == UVZK__WATCH_DELETED) {
        predecessor_gone(queue);
    }
    uvzk__predecessor_forget(queue); /* data changes: settling arms it again */
    uvzk__queue_touch(queue);
}

/* The predecessor; and the first of the view, if that is of this connection: when another
 * leader came, and connections with it, what was deleted may have come back before all that
 * the view knows. */
static void ask_for_others(struct uvzk__queue *queue)
{
    const struct uvzk__foreigners *foreigners = &queue->aside->foreigners;
    const char *name = uvzk__path_name(queue->aside->predecessor.path);

    uvzk__divergence_ask(queue, name);
    if (uvzk__listed_at(&queue->freshness) <= queue->client->connected_stamp) {
        uvzk__freshness_doubted(queue); /* the listing asks */
    } else if (uvzk__foreigners_any(foreigners) &&
               strcmp(foreigners->list[0].name, name) != 0) {
        uvzk__divergence_ask(queue, foreigners->list[0].name);
    }
}

/* Whoever has a ticket waits for leases too: one of ours may be in the way of the taker, who
 * does not know whose it is. */
static void ask_for_leases(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->members);
    struct uvzk__queue *leases =
        link == NULL ? NULL
                     : uvzk__contender_beside(
                           UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue));

    if (leases != NULL) {
        uvzk__queue_waits_long(leases, true);
        uvzk__queue_touch(leases);
    }
}

/* Settling arms it again; the view of leases is drawn by the listing that does so. */
static void look_again(struct uvzk__timed *timed)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(timed, struct watched, second_look)->queue;

    uvzk__queue_waits_long(queue, true);
    if (queue->kind->discipline == UVZK__COUNTED) {
        uvzk__freshness_doubted(queue);
    } else if (!queue->aside->predecessor.children) {
        ask_for_others(queue);
        ask_for_leases(queue);
    }
    uvzk__predecessor_unwatch(queue);
    uvzk__queue_touch(queue);
}

/* name: of the child; "" for the directory itself. 0, UV_ENOMEM, UVZK_ELIMIT. */
static int begin(struct uvzk__queue *queue, const char *name)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct watched *watched = uvzk__calloc(1, sizeof(*watched) + size);

    if (watched == NULL || !uvzk__aside_needed(queue)) {
        uvzk__free(watched);
        return UV_ENOMEM;
    }
    (void)uvzk__path_join_into(watched->path, queue->path->text, name);
    if (name[0] == '\0') {
        uvzk__watermarks_give_way(queue->client, watched->path);
    }
    if (!uvzk__watch_budget_take(queue->client, watched->path)) {
        uvzk__free(watched);
        return UVZK_ELIMIT;
    }
    watched->watch.watch_cb = watch_fired;
    watched->second_look.due = look_again;
    watched->queue = queue;
    queue->aside->predecessor.path = watched->path;
    queue->aside->predecessor.children = name[0] == '\0';
    move(queue, ARMING);
    return 0;
}

static void watch_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__flight_asker(rpc);
    int status = reply->status;

    uvzk__queue_does(queue, UVZK__QUEUE_IDLE);
    uvzk__flight_landed(queue->client, rpc, status, false);
    if (status == 0) {
        uvzk__predecessor_armed(queue);
        (void)uvzk__orphan_found(queue, uvzk__path_name(queue->aside->predecessor.path),
                                 &reply->stat);
    } else {
        queue->aside->predecessor.missing = status == UVZK_ENONODE;
        if (status == UVZK_ENONODE) {
            predecessor_gone(queue);
        }
        uvzk__predecessor_forget(queue);
        if (status != UVZK_ENONODE && !uvzk__queue_passing(queue, status)) {
            uvzk__end_members(queue, status);
        }
    }
    uvzk__queue_touch(queue);
}

/* It was not there when it was last asked for, and a listing behind that shows it. */
static bool is_missing(const struct uvzk__predecessor *last,
                       const struct uvzk__foreigner *predecessor)
{
    return last->missing && last->sequence == predecessor->sequence &&
           last->shared == predecessor->shared;
}

void uvzk__predecessor_watch(struct uvzk__queue *queue,
                             const struct uvzk__foreigner *predecessor)
{
    struct uvzk__client *client = queue->client;
    struct uvzk__rpc *rpc;
    bool contradicted = is_missing(&queue->aside->predecessor, predecessor);

    queue->aside->predecessor.missing = false;
    if (contradicted) {
        uvzk__queue_rest(queue);
        return;
    }
    int status = begin(queue, predecessor->name);
    if (status == UV_ENOMEM) {
        uvzk__queue_rest(queue);
        return;
    }
    if (status != 0) {
        uvzk__end_members(queue, status);
        return;
    }
    /* get, not exists: on a missing node it leaves no watch behind. */
    rpc = uvzk__flight_new(client, queue, UVZK__RPC_GET, queue->aside->predecessor.path,
                           watch_replied);
    if (rpc == NULL) {
        uvzk__predecessor_forget(queue);
        return;
    }
    queue->aside->predecessor.sequence = predecessor->sequence;
    queue->aside->predecessor.shared = predecessor->shared;
    rpc->watch = &under_watch(queue)->watch;
    uvzk__queue_does(queue, UVZK__QUEUE_WATCHING);
    uvzk__submit(client, rpc);
}

int uvzk__predecessor_watch_children(struct uvzk__queue *queue, struct uvzk__rpc *listing)
{
    int status = begin(queue, "");

    if (status == 0) {
        listing->watch = &under_watch(queue)->watch;
    }
    return status;
}

void uvzk__predecessor_armed(struct uvzk__queue *queue)
{
    move(queue, ARMED);
    uvzk__second_look(queue->client, &under_watch(queue)->second_look);
}
