/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps one lock directory of one session: the four lists of its contenders, the state of
 * its request, and the flags that other files set (queue.h). Recipes find and create
 * directories here; settle.c settles and frees them.
 *
 * The idea: the states of a contender and of its znode decide on which list it belongs
 * (list_of in contender.c), and contender.c moves it from list to list when they change.
 * The contender remembers the list, so that it can leave that one. Anything that may
 * change who is granted, or which request is needed, only marks the directory
 * (uvzk__queue_settle_later); the turn then decides once for all changes. */
#include "directory/queue.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/freshness.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* Before a request is repeated that failed with a transient error. */
#define REST_MS 100

/* -------------------------------------------------------------- its machine */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__QUEUE_, IDLE, CREATING_PARENTS, LISTING, WATCHING),
    UVZK__STATE(UVZK__QUEUE_, CREATING_PARENTS, IDLE),
    UVZK__STATE(UVZK__QUEUE_, LISTING, IDLE),
    UVZK__STATE(UVZK__QUEUE_, WATCHING, IDLE, PREPARING),
    UVZK__STATE(UVZK__QUEUE_, PREPARING, IDLE, LISTING),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__queue *queue = object;

    switch (queue->state) {
    case UVZK__QUEUE_CREATING_PARENTS:
        return uvzk__queue_optional(queue)->parents.path != NULL;
    case UVZK__QUEUE_WATCHING:
    case UVZK__QUEUE_PREPARING:
        return uvzk__queue_optional(queue)->predecessor.path != NULL;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__queue_machine = UVZK__MACHINE(
    "directory's request", table, struct uvzk__queue, state, invariant_holds);

void uvzk__queue_get_answered(struct uvzk__queue *queue)
{
    uvzk__move(queue->session, &uvzk__queue_machine, queue,
               queue->state == UVZK__QUEUE_PREPARING ? UVZK__QUEUE_LISTING
                                                     : UVZK__QUEUE_IDLE);
}

void uvzk__queue_listing_sent(struct uvzk__queue *queue)
{
    uvzk__move(queue->session, &uvzk__queue_machine, queue,
               queue->state == UVZK__QUEUE_WATCHING ? UVZK__QUEUE_PREPARING
                                                    : UVZK__QUEUE_LISTING);
}

static bool may_send(const struct uvzk__queue *queue)
{
    return !uvzk__queue_is_backing_off(queue) && uvzk__may_send(queue->session);
}

bool uvzk__queue_may_ask(const struct uvzk__queue *queue)
{
    return queue->state == UVZK__QUEUE_IDLE && may_send(queue);
}

bool uvzk__queue_may_list_behind_get(const struct uvzk__queue *queue)
{
    return queue->state == UVZK__QUEUE_WATCHING && may_send(queue);
}

/* ------------------------------------------------------------------ its life */

void uvzk__queue_trim_optional(struct uvzk__queue *queue)
{
    const struct uvzk__queue_optional *optional = uvzk__queue_optional(queue);

    uvzk__other_kinds_trim(queue);
    if (optional->other_kinds == NULL && optional->watermark.mark == NULL &&
        optional->predecessor.path == NULL && !optional->predecessor.missing &&
        optional->backoff == NULL && optional->parents.path == NULL &&
        optional->undeletables.data == NULL && optional->unsearchables.those == NULL &&
        !uvzk__foreign_nodes_known(&optional->foreign_nodes)) {
        uvzk__free(queue->optional);
        queue->optional = NULL;
    }
}

struct uvzk__queue_backoff {
    struct uvzk__timer timer;
    struct uvzk__queue *queue;
};

void uvzk__queue_end_backoff(struct uvzk__queue *queue)
{
    if (uvzk__queue_is_backing_off(queue)) {
        uvzk__timer_clear(queue->session, &queue->optional->backoff->timer);
        uvzk__free(queue->optional->backoff);
        queue->optional->backoff = NULL;
    }
}

static void backoff_due(struct uvzk__timer *timer)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(timer, struct uvzk__queue_backoff, timer)->queue;

    uvzk__queue_end_backoff(queue);
    uvzk__queue_settle_later(queue);
}

/* Deleting contenders are not asked about: none of them is wanted. */
static bool anyone_wanted(const struct uvzk__ring *ring, bool writers_only)
{
    for (const struct uvzk__contender *each = uvzk__first_in(ring); each != NULL;
         each = uvzk__next_in(ring, each)) {
        if (each->node.wanted && !(writers_only && each->kind->shared)) {
            return true;
        }
    }
    return false;
}

bool uvzk__queue_occupied(struct uvzk__session *session,
                          const struct uvzk__directory_kind *kind, const char *path,
                          bool writers_only)
{
    struct uvzk__queue *queue = uvzk__queue_find(session, kind, path);

    return queue != NULL && ((writers_only ? queue->counts.writers_held > 0
                                           : !uvzk__ring_empty(&queue->holders)) ||
                             anyone_wanted(&queue->waiters, writers_only) ||
                             anyone_wanted(&queue->unplaced, writers_only));
}

struct uvzk__queue *uvzk__queue_of(struct uvzk__session *session,
                                   const struct uvzk__directory_kind *kind,
                                   struct uvzk__shared_path *path)
{
    struct uvzk__catalogue *catalogue = &session->directories->catalogue;
    struct uvzk__queue *queue =
        uvzk__catalogue_find(catalogue, kind, path->text, path->hash);

    if (queue != NULL) {
        return queue;
    }
    queue = uvzk__calloc(1, sizeof(*queue) + kind->extra_size);
    if (queue == NULL) {
        return NULL;
    }
    queue->session = session;
    queue->kind = kind;
    queue->path = path;
    uvzk__list_init(&queue->in_to_settle);
    if (kind->init != NULL) {
        kind->init(queue);
    }
    if (uvzk__catalogue_add(catalogue, queue) != 0) {
        uvzk__free(queue);
        return NULL;
    }
    (void)uvzk__shared_path_ref(path);
    return queue;
}

void uvzk__queue_back_off(struct uvzk__queue *queue)
{
    struct uvzk__queue_backoff *backoff = NULL;

    if (uvzk__queue_need_optional(queue)) {
        backoff = queue->optional->backoff != NULL ? queue->optional->backoff
                                                   : uvzk__calloc(1, sizeof(*backoff));
    }
    if (backoff == NULL) {
        uvzk__back_off(queue->session); /* the whole session pauses for 100 ms */
        return;
    }
    queue->optional->backoff = backoff;
    backoff->queue = queue;
    backoff->timer.due = backoff_due;
    uvzk__timer_set(queue->session, &backoff->timer, uvzk__now(queue->session) + REST_MS);
}

/* ---------------------------------------------------------------- the order */

static bool has_smaller_sequence(struct uvzk__link *link, const void *sequence)
{
    return uvzk__contender_at(link)->node.place.sequence < *(const int32_t *)sequence;
}

/* Only the next waiter behind the node learns the stamp now. The waiters behind that one
 * inherit it when it leaves (uvzk__queue_leave). */
void uvzk__queue_delete_sent(struct uvzk__contender *deleting, uint64_t stamp)
{
    struct uvzk__queue *queue = deleting->queue;
    int32_t sequence = deleting->node.place.sequence;
    struct uvzk__link *behind =
        uvzk__ring_lower_bound(&queue->waiters, has_smaller_sequence, &sequence);

    uvzk__delete_sent(deleting, uvzk__contender_at(behind), stamp);
}

static struct uvzk__ring *ring_of(const struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    switch (contender->list) {
    case UVZK__ON_UNPLACED:
        return &queue->unplaced;
    case UVZK__ON_WAITERS:
        return &queue->waiters;
    case UVZK__ON_HOLDERS:
        return &queue->holders;
    default:
        return &queue->deleting;
    }
}

void uvzk__queue_leave(struct uvzk__contender *contender)
{
    struct uvzk__ring *ring = ring_of(contender);
    struct uvzk__contender *behind = uvzk__next_in(ring, contender);

    if (ring == &contender->queue->waiters && behind != NULL) {
        uvzk__deletes_inherited(behind, contender);
    }
    uvzk__ring_remove(ring, &contender->in_queue);
}

/* The search starts at the tail: creates are answered in order, so a new contender nearly
 * always belongs there. */
static void queue_insert(struct uvzk__ring *ring, struct uvzk__contender *contender)
{
    struct uvzk__link *before = uvzk__ring_last(ring), *at = NULL;

    while (before != NULL && uvzk__place_compare(uvzk__contender_at(before)->node.place,
                                                 contender->node.place) > 0) {
        at = before;
        before = uvzk__ring_prev(ring, before);
    }
    uvzk__ring_insert_before(ring, at, &contender->in_queue);
}

void uvzk__queue_join(struct uvzk__contender *contender, enum uvzk__contender_list list)
{
    contender->list = (uint8_t)(list & 3U);

    struct uvzk__ring *ring = ring_of(contender);

    if (list == UVZK__ON_WAITERS || list == UVZK__ON_DELETING) {
        queue_insert(ring, contender);
    } else {
        uvzk__ring_append(ring, &contender->in_queue);
    }
}

bool uvzk__queue_is_transient(struct uvzk__queue *queue, int status)
{
    if (status == UVZK_ETHROTTLED || status == UV_ENOMEM) {
        uvzk__queue_back_off(queue);
    }
    return uvzk__is_transient(status);
}

bool uvzk__queue_find_unplaced(const struct uvzk__queue *queue,
                               enum uvzk__node_state state)
{
    const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);

    while (each != NULL && each->node.state != state) {
        each = uvzk__next_in(&queue->unplaced, each);
    }
    return each != NULL;
}

void uvzk__queue_set_just_created(struct uvzk__queue *queue, bool just_created)
{
    queue->just_created = just_created;
}

void uvzk__queue_want_children_watch(struct uvzk__queue *queue, bool wanted)
{
    queue->wants_children_watch = wanted;
}

void uvzk__queue_set_blocked_long(struct uvzk__queue *queue, bool blocked_long)
{
    queue->blocked_long = blocked_long;
}

void uvzk__queue_batch_create_done(struct uvzk__queue *queue)
{
    if (uvzk__expect(queue->session, queue->creates.in_batch > 0,
                     "directory: a create is answered twice")) {
        queue->creates.in_batch--;
    }
}

void uvzk__contender_want_position(struct uvzk__contender *contender)
{
    contender->wants_position = true;
    contender->queue->counts.positions_wanted++;
}

void uvzk__contender_want_no_position(struct uvzk__contender *contender)
{
    if (contender->wants_position) {
        contender->wants_position = false;
        contender->queue->counts.positions_wanted--;
    }
}
