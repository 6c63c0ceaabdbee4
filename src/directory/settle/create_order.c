/* Decides when a contender's create is sent, and whether it may share a multi
 * (create_order.h). A contender that needs its node created only says so; settle.c has
 * the creates of each changed directory sent at the beginning of a round.
 * create_batch.c sends the creates that gather here on directories->to_create.
 *
 * The idea: contenders wait behind a multi of their directory that is in flight
 * (creates_postponed). A create that was in a failed multi is sent alone, so no create
 * fails twice because of another one. */
#include "directory/settle/create_order.h"

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* ------------------------------------------------------------ several sessions */

/* Returns true if the create is about to be sent or answered. A contender that pauses or
 * is searched for does not count, because that may last as long as its session. */
static bool is_being_created(const struct uvzk__contender *contender)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);

    return state == UVZK__NODE_CREATING || state == UVZK__NODE_PARENTS;
}

/* When the first unplaced contender that is being created was requested, in ms.
 * UINT64_MAX: none is being created. */
static uint64_t oldest_ms(const struct uvzk__queue *queue)
{
    const struct uvzk__contender *oldest = uvzk__first_in(&queue->unplaced);

    while (oldest != NULL && !is_being_created(oldest)) {
        oldest = uvzk__next_in(&queue->unplaced, oldest);
    }
    return oldest == NULL ? UINT64_MAX : oldest->first_attempt_ms;
}

static struct uvzk__queue *in_session(struct uvzk__session *session,
                                      const struct uvzk__queue *queue)
{
    return uvzk__queue_find(session, queue->kind, queue->path->text);
}

/* At equal times the session that ranks first goes first. */
static bool is_before(uint64_t oldest, uint64_t other)
{
    return oldest != UINT64_MAX && oldest <= other;
}

bool uvzk__create_order_allows(struct uvzk__queue *queue)
{
    const struct uvzk__session *session = queue->session;
    struct uvzk__session *before;
    uint32_t tried = 0;

    /* Visits the sessions that rank before this one for the path. */
    while (uvzk__has_sessions(session) &&
           (before = uvzk__next_in_rank(session, queue->path->text, &tried)) != session) {
        struct uvzk__queue *first = in_session(before, queue);
        if (first != NULL && uvzk__is_connected(before) &&
            is_before(oldest_ms(first), oldest_ms(queue))) {
            first->creates.other_session_waits = true;
            return false;
        }
    }
    return true;
}

void uvzk__create_order_changed(struct uvzk__queue *queue)
{
    if (!queue->creates.other_session_waits) {
        return;
    }
    queue->creates.other_session_waits = false;
    for (uint32_t i = 0; i < uvzk__session_count(queue->session); i++) {
        struct uvzk__queue *next = in_session(uvzk__session_at(queue->session, i), queue);
        if (next != NULL && next != queue && next->creates.postponed) {
            uvzk__queue_settle_later(next);
        }
    }
}

void uvzk__create_order_skip_session(struct uvzk__session *session)
{
    for (uint32_t i = 0; i < uvzk__session_count(session); i++) {
        if (uvzk__session_at(session, i) != session) {
            uvzk__queues_settle_later(uvzk__session_at(session, i));
        }
    }
}

/* ------------------------------------------------------------ one directory */

void uvzk__create_order_send_alone(struct uvzk__contender *contender)
{
    uvzk__list_remove(&contender->in_batch);
    uvzk__contender_create(contender);
    if (contender->queue->creates.postponed) {
        uvzk__queue_settle_later(
            contender->queue); /* others may have waited for this one */
    }
}

/* Sends each gathered create of this directory alone, because a contender that may not
 * share their multi has come after them. */
static void send_gathered(struct uvzk__queue *queue)
{
    queue->creates.batching = false;
    queue->creates.batching_readers = false;
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (!uvzk__list_empty(&each->in_batch)) {
            uvzk__create_order_send_alone(each);
        }
    }
}

/* Returns true if at least `many` contenders of this directory wait for a multi. */
static bool has_gathered(const struct uvzk__queue *queue, size_t many)
{
    for (const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);
         queue->creates.batching && many > 0 && each != NULL;
         each = uvzk__next_in(&queue->unplaced, each)) {
        many -= !uvzk__list_empty(&each->in_batch);
    }
    return many == 0;
}

bool uvzk__create_order_shares_czxid(const struct uvzk__contender *contender)
{
    return uvzk__tuned(uvzk__session_of(contender), UVZK__TUNE_READERS) &&
           uvzk__contender_is_shared(contender);
}

/* Returns true if the contender's create may be in a multi: it is a reader, or the only
 * contender of this session in its directory. */
static bool may_share_multi(const struct uvzk__contender *contender)
{
    return uvzk__create_order_shares_czxid(contender) ||
           (uvzk__tuned(uvzk__session_of(contender), UVZK__TUNE_CREATE_BATCH) &&
            uvzk__contenders_in(contender->queue) == 1);
}

/* Returns true if other contenders must be created first. A contender whose create was
 * sent before (create_stamp is not 0) came before the postponed ones and does not wait
 * for them. */
static bool has_to_wait(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (contender->limits.create_alone && contender->create_stamp != 0) {
        return false;
    }
    return queue->creates.in_batch > 0 ||
           (queue->creates.postponed && contender->create_stamp == 0);
}

/* Adds the create to those that gather. If the contender that gathers in this directory
 * is not a reader, its create is sent alone first, because the two may not share a
 * multi. */
static void add_to_batch(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (queue->creates.batching && !queue->creates.batching_readers) {
        send_gathered(queue);
    }
    queue->creates.batching = true;
    queue->creates.batching_readers = uvzk__create_order_shares_czxid(contender);
    uvzk__list_append(&uvzk__directories(uvzk__session_of(contender))->to_create,
                      &contender->in_batch);
}

void uvzk__create_order_add(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (has_to_wait(contender) ||
        (contender->create_stamp == 0 && !uvzk__create_order_allows(queue))) {
        queue->creates.postponed = true;
    } else if (contender->limits.create_alone) {
        uvzk__create_order_send_alone(contender);
    } else if (may_share_multi(contender)) {
        add_to_batch(contender);
    } else if (has_gathered(queue, UVZK__READERS_PER_BATCH_MIN)) {
        /* The readers before this writer are enough for a multi: they go first. */
        queue->creates.postponed = true;
    } else {
        /* Fewer readers than that are created alone too, before this contender. */
        if (queue->creates.batching) {
            send_gathered(queue);
        }
        uvzk__contender_create(contender);
    }
}

void uvzk__create_alone(struct uvzk__contender *contender)
{
    uvzk__contender_set_create_alone(contender);
    if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE &&
        !uvzk__list_empty(&contender->in_batch) &&
        uvzk__may_send(uvzk__session_of(contender))) {
        uvzk__create_order_send_alone(contender);
    }
}

void uvzk__create_order_want(struct uvzk__contender *contender)
{
    contender->queue->creates.wanted = true;
    uvzk__queue_settle_later(contender->queue);
}

/* Returns true if the create of this contender is sent in the order of its directory, and
 * is neither sent nor gathered yet. */
static bool is_wanted(const struct uvzk__contender *contender)
{
    return contender->kind->create == NULL &&
           uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE &&
           uvzk__list_empty(&contender->in_batch) &&
           !uvzk__own_watch_is_arming(contender);
}

void uvzk__create_order_send(struct uvzk__queue *queue)
{
    queue->creates.postponed |= queue->creates.wanted;
    queue->creates.wanted = false;
    if (!queue->creates.postponed || !uvzk__may_send(queue->session) ||
        uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        return;
    }
    queue->creates.postponed = false;
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (is_wanted(each)) {
            uvzk__create_order_add(each);
        }
    }
}
