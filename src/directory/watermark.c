/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the mark of a directory: begins and ends it, sets its watch, and decides whether a
 * new contender's predecessors are known without a listing (watermark.h). queue.c asks for
 * each contender that gets a place, listing.c reports each listing, contender.c each create.
 * in_order.c, and leases.c for leases, call uvzk__watermark_send_watch before they send a
 * listing, so the watch is older than the mark that the listing gives.
 *
 * The idea: an acquire that is repeated without competition costs a create and a delete,
 * and no listing. Every doubt ends the mark or leaves the decision to a listing; the mark
 * itself never delays a grant. */
#include "directory/watermark.h"

#include "base/expected_sequences.h"
#include "base/memory.h"
#include "directory/contender.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch.h"

struct uvzk__mark *uvzk__mark_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->watermark.mark;
}

bool uvzk__watermark_is_armed(const struct uvzk__mark *mark)
{
    return mark != NULL && mark->watcher.state == UVZK__WATCHER_ARMED;
}

/* While the request of a mark that was ended is in flight, it needs nothing. */
bool uvzk__watermark_wants_watch(const struct uvzk__mark *mark)
{
    return mark != NULL && !mark->asking &&
           mark->watcher.state == UVZK__WATCHER_UNWATCHED;
}

/* The mark was ended before its watch was armed: the reply frees it. */
static bool is_ending(const struct uvzk__mark *mark)
{
    return mark->asking && !uvzk__watcher_is_set(&mark->watcher);
}

/* -------------------------------------------------------- beginning and ending a mark */

static void free_mark(struct uvzk__mark *mark)
{
    mark->queue->optional->watermark.mark = NULL;
    uvzk__timer_clear(mark->queue->session, &mark->timer);
    uvzk__free(mark);
}

/* Whatever the event is, the directory may have been removed and created again. Where a
 * mirror yields, the first in line has no other watch, and an event may have been
 * withheld. */
static void watermark_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(watcher, struct uvzk__mark, watcher);
    struct uvzk__queue *queue = mark->queue;

    if (news == UVZK__NEWS_YIELDED) {
        uvzk__watermark_end(queue);
        uvzk__freshness_set_stale(queue);
    } else {
        free_mark(mark);
    }
    uvzk__queue_settle_later(queue);
}

/* Without memory the directory has no mark. */
void uvzk__watermark_begin(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__calloc(1, sizeof(*mark));

    if (mark == NULL || !uvzk__queue_need_optional(queue)) {
        uvzk__free(mark);
    } else {
        uvzk__watcher_init(&mark->watcher, queue->session, watermark_told);
        mark->queue = queue;
        mark->sequence = UVZK__MARK_NOT_KNOWN;
        mark->used_ms = uvzk__now(queue->session);
        queue->optional->watermark.mark = mark;
    }
}

/* If the mark stays, settling arms the watch again, before it sends a listing. */
static void watermark_unwatch(struct uvzk__mark *mark)
{
    uvzk__watch_leave(&mark->watcher);
    mark->sequence = UVZK__MARK_NOT_KNOWN;
}

void uvzk__watermark_end(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    if (mark == NULL) {
        return;
    }
    watermark_unwatch(mark);
    /* Otherwise the request in flight still needs the mark and the path. */
    if (!mark->asking) {
        free_mark(mark);
    }
}

/* -------------------------------------------------------------------------- its timer */

/* Until when the mark is kept while no local contender comes. */
static uint64_t kept_until(const struct uvzk__mark *mark)
{
    return mark->used_ms + mark->queue->session->connection.timeout_ms;
}

static void keep_time_over(struct uvzk__mark *mark)
{
    struct uvzk__queue *queue = mark->queue;
    uint64_t until = kept_until(mark);

    if (uvzk__now(queue->session) < until) {
        uvzk__timer_set(queue->session, &mark->timer, until);
    } else {
        uvzk__watermark_end(queue);
        uvzk__queue_settle_later(queue);
    }
}

/* An event may have been withheld, so the directory is listed after the new watch, and
 * uvzk asks about the nodes that block, as when a predecessor's watch is renewed: the
 * first one when it is listed, the nearest one by uvzk__mirror_consider. The mirror ends
 * if too many sessions have come, or if no other session has been here since the watch
 * was armed. */
static void renew_mirror(struct uvzk__mark *mark)
{
    struct uvzk__queue *queue = mark->queue;
    bool blocks = uvzk__queue_optional(queue)->foreign_nodes.count > 0;

    if ((!blocks && !mark->heard_others) || !uvzk__foreign_nodes_are_of_few(queue)) {
        uvzk__watermark_end(queue);
    } else {
        watermark_unwatch(mark);
    }
    uvzk__queue_set_blocked_long(queue, blocks);
    uvzk__freshness_set_stale(queue);
    uvzk__queue_settle_later(queue);
}

static void timer_due(struct uvzk__timer *timer)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(timer, struct uvzk__mark, timer);

    if (mark->queue->counts.contenders == 0) {
        keep_time_over(mark);
    } else if (mark->mirrors && uvzk__watermark_is_armed(mark)) {
        renew_mirror(mark);
    }
    /* Otherwise the timer is set again when they have gone, or the watch is armed. */
}

/* A mirror's watch is set again before its silence ceases to count, so that the front never
 * needs other watches meanwhile. */
static void renew_later(struct uvzk__mark *mark)
{
    struct uvzk__session *session = mark->queue->session;
    uint64_t period = session->connection.timeout_ms, random = 0;

    (void)uvzk__random(session, &random, sizeof(random)); /* without it, early */
    mark->timer.due = timer_due;
    uvzk__timer_set(session, &mark->timer,
                    mark->armed_ms + period / 2 + random % (period / 4 + 1));
}

/* -------------------------------------------------------------------------- its watch */

bool uvzk__watermark_watches(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return mark != NULL && uvzk__watcher_is_set(&mark->watcher);
}

static void watermark_armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    uvzk__inflight_done(queue->session, rpc, reply->status, false);
    bool ended = is_ending(mark);
    mark->asking = false;
    if (mark->mirrors && reply->status != 0 && !uvzk__is_transient(reply->status)) {
        queue->session->directories->no_persistent_watches = true;
    }
    if (!ended && reply->status == 0) {
        uvzk__watch_answered(&mark->watcher, true);
        if (mark->mirrors) {
            renew_later(mark);
        }
    } else {
        uvzk__watch_answered(&mark->watcher, false);
        free_mark(mark);
    }
    uvzk__queue_settle_later(queue);
}

static void watermark_arm(struct uvzk__queue *queue, struct uvzk__mark *mark)
{
    struct uvzk__session *session = queue->session;
    const char *path = queue->path->text;
    struct uvzk__rpc *rpc;

    if (!uvzk__watch_join(&mark->watcher, path,
                          mark->mirrors ? UVZK__WATCH_PERSISTENT : UVZK__WATCH_OF_DATA)) {
        uvzk__watermark_end(queue);
        return;
    }
    /* An exists would leave a watch on a missing directory; a get does not. */
    rpc = uvzk__inflight_new(session, queue,
                             mark->mirrors ? UVZK__RPC_ADD_WATCH : UVZK__RPC_GET, path,
                             watermark_armed);
    if (rpc == NULL) {
        uvzk__watch_leave(&mark->watcher);
        return;
    }
    rpc->watch = &mark->watcher.watch;
    uvzk__submit(session, rpc);
    mark->armed_stamp = session->submissions.stamp;
    mark->armed_ms = rpc->sent_ms;
    mark->listings_saved = 0;
    mark->gap_seen = mark->heard_others = false;
    mark->asking = true;
}

/* The connection that a mirror's watch was on is lost. A plain watch is set again only for
 * a new contender; waiting contenders rely on a mirror. */
static void renew_lost_mirror(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    if (uvzk__watermark_is_armed(mark) && mark->mirrors && queue->counts.contenders > 0 &&
        !uvzk__is_of_this_connection(queue->session, mark->armed_stamp)) {
        watermark_unwatch(mark);
    }
}

void uvzk__watermark_send_watch(struct uvzk__queue *queue)
{
    renew_lost_mirror(queue);
    if (!uvzk__watermark_wants_watch(uvzk__mark_of(queue)) ||
        !uvzk__may_send(queue->session)) {
        return;
    }
    if (!uvzk__watch_budget_is_ample(queue->session)) {
        uvzk__watermark_end(queue);
    } else {
        watermark_arm(queue, uvzk__mark_of(queue));
    }
}

/* Returns true if the watch is armed and its silence counts. It counts only on the
 * connection on which the watch was armed, because events of what happened during a
 * disconnection may arrive late. It counts for one session timeout only, because a server
 * sends no event to a client that may not READ the directory. */
bool uvzk__watermark_is_silent(const struct uvzk__mark *mark)
{
    struct uvzk__session *session = mark->queue->session;

    return uvzk__watermark_is_armed(mark) &&
           uvzk__is_of_this_connection(session, mark->armed_stamp) &&
           uvzk__now(session) - mark->armed_ms < session->connection.timeout_ms;
}

void uvzk__watermark_create_sent(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    if (!uvzk__watermark_is_armed(mark) || uvzk__watermark_is_silent(mark)) {
        return;
    }
    if (mark->listings_saved == 0) {
        uvzk__watermark_end(queue);
    } else {
        watermark_unwatch(mark);
    }
}

/* ------------------------------------------------------------------ using the mark */

/* Not for tickets: their directory has a mirror, or a watch on its children. Not for
 * downgraded readers: the server has not assigned their number. Not beside other kinds
 * (other_kinds.h). */
static bool applies_to(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    bool counts =
        queue->kind->in_order ||
        (queue->kind->counted && uvzk__tuned(queue->session, UVZK__TUNE_DIRECT_LEASE));

    return uvzk__tuned(queue->session, UVZK__TUNE_WATERMARK) && counts &&
           !contender->kind->admits && !contender->kind->has_writers_place &&
           !uvzk__other_kinds_shown(queue);
}

/* Returns true if the contender's number follows a number of this session in this
 * directory. Also remembers the number that follows the contender's own. Number 0 follows
 * none: the set of hashes may say otherwise by chance, and a client that creates ten
 * thousand directories would then set useless watches. */
static bool follows_our_sequence(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;
    struct uvzk__expected_sequences *expected =
        &queue->session->directories->expected_sequences;
    int32_t number = contender->node.place.sequence;
    bool again =
        number > 0 && uvzk__expected_sequences_has(expected, queue->entry.hash, number);

    uvzk__expected_sequences_add(expected, queue->entry.hash, number + 1);
    return again;
}

/* A contender that wants to know its position needs a listing, unless it is the only
 * one. */
static bool wants_no_listing(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    return !contender->wants_position ||
           (queue->counts.contenders == 1 &&
            uvzk__queue_optional(queue)->foreign_nodes.count == 0);
}

/* Returns true if a mark would save listings here. It would if the contender is alone. If
 * several come together, one listing serves all of them. But if the directory was listed
 * before and showed no foreign node, its contenders come and go, and each new one would
 * need another listing. A lease directory with several contenders does not count: tickets
 * decide who is next. */
static bool saves_listings(const struct uvzk__queue *queue)
{
    return queue->counts.contenders == 1 ||
           (queue->kind->in_order && queue->freshness.view_stamp > 0 &&
            !uvzk__foreign_nodes_known(&uvzk__queue_optional(queue)->foreign_nodes));
}

bool uvzk__watermark_knows_predecessors(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__mark *mark = uvzk__mark_of(queue);
    int32_t number = contender->node.place.sequence;

    if (!applies_to(contender)) {
        return false;
    }
    bool again = follows_our_sequence(contender);
    if (mark == NULL) {
        if (again && saves_listings(queue)) {
            uvzk__watermark_begin(queue);
        }
        return false;
    }
    if (mark->mirrors) {
        return false; /* it would have set predecessors_known before the reply */
    }
    if (number <= mark->sequence) { /* they only grow: it is another directory */
        uvzk__watermark_end(queue);
        return false;
    }
    mark->used_ms = uvzk__now(queue->session);
    /* The mark is not known, or not reliable, or the contender needs a listing anyway. */
    if (mark->sequence == UVZK__MARK_NOT_KNOWN || !uvzk__watermark_is_silent(mark) ||
        !wants_no_listing(contender)) {
        return false;
    }
    mark->gap_seen = number != mark->sequence + 1;
    if (!mark->gap_seen) {
        mark->sequence = number;
        mark->listings_saved++;
    }
    return !mark->gap_seen;
}

bool uvzk__watermark_expects_next(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return mark != NULL && mark->sequence != UVZK__MARK_NOT_KNOWN && !mark->gap_seen &&
           uvzk__watermark_is_silent(mark);
}

bool uvzk__watermark_is_alone(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return mark != NULL && !is_ending(mark) && !mark->gap_seen && !mark->mirrors;
}

void uvzk__watermark_others_seen(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    if (mark != NULL) {
        mark->gap_seen = true;
    }
}

void uvzk__watermark_listed(struct uvzk__queue *queue, int32_t last, bool others_behind)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    /* In ARMED the get was answered before the listing. Replies arrive in the order of
     * the requests, so the listing was sent after the get. A greater mark stays, unless
     * there are foreign nodes that the view does not keep. */
    if (uvzk__watermark_is_armed(mark) &&
        ((others_behind && !mark->mirrors) || last > mark->sequence)) {
        mark->sequence = last;
    }
}

/* ------------------------------------------------- a directory without contenders */

bool uvzk__watermark_keeps_directory(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    if (uvzk__watermark_wants_watch(mark)) {
        uvzk__watermark_end(queue);
        return false;
    }
    if (uvzk__watermark_watches(queue) &&
        !uvzk__deadline_is_armed(&mark->timer.deadline)) {
        mark->timer.due = timer_due;
        uvzk__timer_set(queue->session, &mark->timer, kept_until(mark));
    }
    return mark != NULL;
}

bool uvzk__needs_no_listing(struct uvzk__contender *contender)
{
    return uvzk__watermark_knows_predecessors(contender) ||
           (uvzk__tuned(contender->queue->session, UVZK__TUNE_FIRST_SUFFIX) &&
            contender->node.place.sequence == 0);
}
