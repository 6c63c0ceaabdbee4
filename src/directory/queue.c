#include "directory/queue.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/vouching.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* Before a request is repeated that failed for a reason that may pass. */
#define REST_MS 100

static struct uvzk__contender *member_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* -------------------------------------------------------------- its machine */

#define IDLE UVZK__QUEUE_IDLE
#define MAKING_PARENTS UVZK__QUEUE_MAKING_PARENTS
#define LISTING UVZK__QUEUE_LISTING
#define WATCHING UVZK__QUEUE_WATCHING

static const struct uvzk__state table[] = {
    [IDLE] = {"IDLE",
              UVZK__BIT(MAKING_PARENTS) | UVZK__BIT(LISTING) | UVZK__BIT(WATCHING)},
    [MAKING_PARENTS] = {"MAKING_PARENTS", UVZK__BIT(IDLE)},
    [LISTING] = {"LISTING", UVZK__BIT(IDLE)},
    [WATCHING] = {"WATCHING", UVZK__BIT(IDLE)},
};

const struct uvzk__machine uvzk__queue_machine =
    UVZK__MACHINE("directory's request", table);

static bool sound(const struct uvzk__queue *queue)
{
    switch (queue->doing) {
    case MAKING_PARENTS:
        return uvzk__parents_are_made(&uvzk__aside(queue)->parents);
    case WATCHING:
        return uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) != NULL;
    default:
        return true;
    }
}

void uvzk__queue_does(struct uvzk__queue *queue, enum uvzk__queue_doing doing)
{
    queue->doing = (uint8_t)uvzk__machine_move(&uvzk__queue_machine, queue->doing, doing);
    assert(sound(queue));
}

bool uvzk__queue_may_ask(const struct uvzk__queue *queue)
{
    return queue->doing == IDLE && !uvzk__queue_is_resting(queue) &&
           uvzk__may_send(queue->client);
}

/* ------------------------------------------------------------------ its life */

struct uvzk__rest {
    struct uvzk__timed timed;
    struct uvzk__queue *queue;
};

void uvzk__queue_rest_no_more(struct uvzk__queue *queue)
{
    if (uvzk__queue_is_resting(queue)) {
        uvzk__timed_clear(queue->client, &queue->aside->rest->timed);
        uvzk__free(queue->aside->rest);
        queue->aside->rest = NULL;
    }
}

static void rested(struct uvzk__timed *timed)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(timed, struct uvzk__rest, timed)->queue;

    uvzk__queue_rest_no_more(queue);
    uvzk__queue_touch(queue);
}

struct uvzk__queue *uvzk__queue_find(struct uvzk__client *client,
                                     enum uvzk__discipline discipline, const char *path)
{
    return uvzk__catalogue_find(&client->directories->catalogue, discipline, path);
}

static bool anyone_wanted(const struct uvzk__ring *ring, bool writers_only)
{
    for (struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        if (uvzk__node_is_wanted(&member_at(link)->node) &&
            !(writers_only && member_at(link)->shared)) {
            return true;
        }
    }
    return false;
}

bool uvzk__queue_occupied(struct uvzk__client *client, enum uvzk__discipline discipline,
                          const char *path, bool writers_only)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, discipline, path);

    return queue != NULL && ((writers_only ? uvzk__writers_held(&queue->tallies) > 0
                                           : !uvzk__ring_empty(&queue->holders)) ||
                             anyone_wanted(&queue->members, writers_only) ||
                             anyone_wanted(&queue->strangers, writers_only));
}

static void init_lists(struct uvzk__queue *queue)
{
    uvzk__list_init(&queue->dirty);
}

struct uvzk__queue *uvzk__queue_of(struct uvzk__client *client,
                                   const struct uvzk__directory_kind *kind,
                                   struct uvzk__shared_path *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, kind->discipline, path->text);

    if (queue != NULL) {
        return queue;
    }
    queue = uvzk__calloc(1, sizeof(*queue) + kind->extra_size);
    if (queue == NULL) {
        return NULL;
    }
    queue->client = client;
    queue->kind = kind;
    queue->path = path;
    init_lists(queue);
    if (kind->init != NULL) {
        kind->init(queue);
    }
    if (uvzk__catalogue_add(&client->directories->catalogue, queue) != 0) {
        uvzk__free(queue);
        return NULL;
    }
    (void)uvzk__shared_path_keep(path);
    return queue;
}

void uvzk__queue_touch(struct uvzk__queue *queue)
{
    if (uvzk__list_empty(&queue->dirty)) {
        uvzk__list_append(&queue->client->directories->dirty, &queue->dirty);
        uvzk__wake(queue->client);
    }
}

void uvzk__queues_touch(struct uvzk__client *client)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        uvzk__queue_touch(queue);
    }
}

void uvzk__queue_rest(struct uvzk__queue *queue)
{
    struct uvzk__rest *rest = NULL;

    if (uvzk__aside_needed(queue)) {
        rest = queue->aside->rest != NULL ? queue->aside->rest
                                          : uvzk__calloc(1, sizeof(*rest));
    }
    if (rest == NULL) {
        uvzk__hold_back(queue->client); /* then all rest, for as long */
        return;
    }
    queue->aside->rest = rest;
    rest->queue = queue;
    rest->timed.due = rested;
    uvzk__timed_set(queue->client, &rest->timed, uvzk__now(queue->client) + REST_MS);
}

/* ---------------------------------------------------------------- the order */

static bool has_smaller_number(struct uvzk__link *link, const void *sequence)
{
    return uvzk__node_place(&member_at(link)->node).sequence < *(const int32_t *)sequence;
}

void uvzk__queue_deletes(struct uvzk__contender *leaving, uint64_t stamp)
{
    struct uvzk__queue *queue = leaving->queue;
    int32_t sequence = uvzk__node_place(&leaving->node).sequence;
    struct uvzk__link *behind =
        uvzk__ring_behind(&queue->members, has_smaller_number, &sequence);

    uvzk__deleting(leaving, behind == NULL ? NULL : member_at(behind), stamp);
}

static struct uvzk__ring *ring_of(const struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    switch (contender->standing) {
    case UVZK__STRANGER:
        return &queue->strangers;
    case UVZK__MEMBER:
        return &queue->members;
    case UVZK__HOLDER:
        return &queue->holders;
    default:
        return &queue->leaving;
    }
}

/* Off the ring on which it is. */
static void step_out(struct uvzk__contender *contender)
{
    struct uvzk__ring *ring = ring_of(contender);
    struct uvzk__link *behind = uvzk__ring_next(ring, &contender->in_queue);

    if (contender->standing == UVZK__MEMBER && behind != NULL) {
        uvzk__deletes_inherited(member_at(behind), contender);
    }
    uvzk__ring_remove(ring, &contender->in_queue);
}

void uvzk__queue_leave(struct uvzk__contender *contender)
{
    step_out(contender);
    uvzk__contender_stands(contender, UVZK__GONE);
}

/* Creates are answered in order, so the place is nearly always at the tail. */
static void insert(struct uvzk__ring *ring, struct uvzk__contender *contender)
{
    struct uvzk__link *before = uvzk__ring_last(ring), *at = NULL;

    while (before != NULL &&
           uvzk__place_compare(uvzk__node_place(&member_at(before)->node),
                               uvzk__node_place(&contender->node)) > 0) {
        at = before;
        before = uvzk__ring_prev(ring, before);
    }
    uvzk__ring_insert_before(ring, at, &contender->in_queue);
}

static enum uvzk__standing standing_of(const struct uvzk__contender *contender)
{
    if (!uvzk__node_has_place(&contender->node)) {
        return UVZK__STRANGER;
    }
    if (uvzk__node_state(&contender->node) == UVZK__NODE_DOOMED) {
        return UVZK__LEAVING;
    }
    return contender->held ? UVZK__HOLDER : UVZK__MEMBER;
}

/* Everybody before it was known when it was made. */
static bool needs_no_listing(struct uvzk__contender *contender)
{
    return uvzk__watermark_covers(contender) ||
           (uvzk__client_of(contender)->tuning & UVZK__TUNE_FIRST_SUFFIX &&
            uvzk__node_place(&contender->node).sequence == 0); /* nobody ever was there */
}

static void join_members(struct uvzk__queue *queue, struct uvzk__contender *contender)
{
    insert(&queue->members, contender);
    uvzk__deletes_so_far(contender);
    if (!contender->covered && needs_no_listing(contender)) {
        uvzk__contender_covered(contender);
        if (uvzk__blocker(queue, contender) == NULL) {
            uvzk__contender_clear(contender, contender->create_stamp);
        }
        uvzk__vouch(contender, contender->create_stamp);
    }
    if (!contender->covered &&
        contender->create_stamp > uvzk__newest_at(&queue->freshness)) {
        uvzk__freshness_wanted(queue, contender->create_stamp);
    }
}

void uvzk__queue_place(struct uvzk__queue *queue, struct uvzk__contender *contender)
{
    step_out(contender);
    uvzk__contender_stands(contender, standing_of(contender));
    switch (contender->standing) {
    case UVZK__STRANGER:
        uvzk__ring_append(&queue->strangers, &contender->in_queue);
        break;
    case UVZK__MEMBER:
        join_members(queue, contender);
        break;
    case UVZK__HOLDER:
        uvzk__ring_append(&queue->holders, &contender->in_queue);
        break;
    default:
        insert(&queue->leaving, contender);
        break;
    }
}

/* Passing troubles are tried again: at once when the connection is back, after a
 * rest when the server had one. */
bool uvzk__queue_passing(struct uvzk__queue *queue, int status)
{
    if (status == UVZK_ETHROTTLED || status == UV_ENOMEM) {
        uvzk__queue_rest(queue);
    }
    return uvzk__is_passing(status);
}

bool uvzk__queue_finds_stranger(const struct uvzk__queue *queue,
                                enum uvzk__node_state state)
{
    struct uvzk__link *link;

    for (link = uvzk__ring_first(&queue->strangers); link != NULL;
         link = uvzk__ring_next(&queue->strangers, link)) {
        if (uvzk__node_state(&member_at(link)->node) == state) {
            return true;
        }
    }
    return false;
}

void uvzk__queue_set_just_made(struct uvzk__queue *queue, bool just_made)
{
    queue->just_made = just_made;
}

void uvzk__queue_set_crowded(struct uvzk__queue *queue, bool crowded)
{
    queue->crowded = crowded;
}

void uvzk__queue_unreadable(struct uvzk__queue *queue)
{
    queue->unreadable = true;
}

void uvzk__queue_reigns(struct uvzk__queue *queue, uint64_t stamp)
{
    queue->reign_stamp = stamp;
}

void uvzk__queue_gathers(struct uvzk__queue *queue, bool gathering, bool in_a_row)
{
    queue->gathering = gathering;
    queue->in_a_row = in_a_row;
}

void uvzk__queue_keeps(struct uvzk__queue *queue, bool behind)
{
    queue->behind = behind;
}

void uvzk__queue_followed(struct uvzk__queue *queue, bool followed)
{
    queue->followed = followed;
}

void uvzk__queue_waits_long(struct uvzk__queue *queue, bool waits_long)
{
    queue->waits_long = waits_long;
}

void uvzk__queue_makes(struct uvzk__queue *queue)
{
    queue->making++;
}

void uvzk__queue_made(struct uvzk__queue *queue)
{
    assert(queue->making > 0);
    queue->making--;
}
