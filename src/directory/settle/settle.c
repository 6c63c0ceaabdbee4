/* SPDX-License-Identifier: Apache-2.0 */
/* Settles directories and ends them (settle.h). client/round.c calls it in each round
 * of a turn, client/lifecycle.c when a connection or a session is lost.
 *
 * A directory is freed in this file only: when it is settled and nothing needs it, or
 * with its session. So other code may use a directory that it has found until the next
 * settling. */
#include "directory/settle/settle.h"

#include "directory/foreign_nodes.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/settle/creates.h"
#include "directory/watermark.h"
#include "engine/turn.h"

static void free_directory(struct uvzk__queue *queue)
{
    struct uvzk__session *session = queue->session;

    uvzk__predecessor_watch_gone(queue);
    uvzk__watermark_end(queue);
    uvzk__other_kinds_free(queue);
    uvzk__foreign_nodes_clear(queue);
    uvzk__foreign_nodes_end_denials(queue);
    uvzk__queue_end_backoff(queue);
    uvzk__unsearchable_no_more(queue);
    uvzk__list_remove(&queue->in_to_settle);
    uvzk__catalogue_remove(&session->directories->catalogue, queue);
    if (queue->kind->freed != NULL) {
        queue->kind->freed(queue);
    }
    uvzk__parents_free(queue);
    uvzk__free(queue->optional);
    uvzk__shared_path_unref(queue->path);
    uvzk__free(queue);
}

static void watches_lost(struct uvzk__queue *queue)
{
    if (queue->kind->watches_lost != NULL) {
        queue->kind->watches_lost(queue);
    }
    uvzk__predecessor_watch_gone(queue);
    uvzk__watermark_end(queue);
    uvzk__queue_settle_later(queue);
}

static void session_ended(struct uvzk__queue *queue)
{
    /* lifecycle.c has ended the contenders' nodes before. */
    if (queue->state != UVZK__QUEUE_IDLE) {
        uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_IDLE);
    }
    watches_lost(queue);
    uvzk__other_kinds_free(queue);
    uvzk__foreign_nodes_clear(queue);
    uvzk__foreign_nodes_end_denials(queue);
    uvzk__freshness_want_no_listing(queue);
    uvzk__queue_set_just_created(queue, false);
}

void uvzk__directories_watches_lost(struct uvzk__session *session)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        watches_lost(queue);
    }
}

void uvzk__directories_session_ended(struct uvzk__session *session)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;

    /* The next session gets its own prefix, so it recognizes only its own znodes. */
    session->directories->uuid_prefix[0] = '\0';
    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        session_ended(queue);
    }
}

void uvzk__directories_free(struct uvzk__session *session)
{
    struct uvzk__catalogue *catalogue = &session->directories->catalogue;
    struct uvzk__queue *queue;

    while ((queue = uvzk__catalogue_first(catalogue)) != NULL) {
        session_ended(queue);
        free_directory(queue);
    }
    uvzk__catalogue_free(catalogue);
    uvzk__expected_sequences_free(&session->directories->expected_sequences);
}

static void settle_directory(struct uvzk__queue *queue)
{
    if (queue->creates.wanted) {
        uvzk__queue_settle_later(queue); /* settling another directory wanted them */
    }
    if (queue->creates.other_session_waits) {
        uvzk__create_order_changed(queue);
    }
    queue->kind->settle(queue);

    /* Nothing is left: no contender, no request in flight, no use by the recipe. */
    bool in_use = queue->kind->in_use != NULL && queue->kind->in_use(queue);
    if (!in_use && uvzk__ring_empty(&queue->holders) &&
        uvzk__ring_empty(&queue->waiters) && uvzk__ring_empty(&queue->deleting) &&
        uvzk__ring_empty(&queue->unplaced) && queue->state == UVZK__QUEUE_IDLE) {
        uvzk__predecessor_unwatch(queue);
        if (!uvzk__watermark_keeps_directory(queue)) {
            free_directory(queue);
            return;
        }
    }
    uvzk__queue_trim_optional(queue);
}

void uvzk__directory_lock_closed(struct uvzk__session *session,
                                 const struct uvzk__directory_kind *kind,
                                 const char *path)
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        struct uvzk__queue *queue =
            uvzk__queue_find(session->client->sessions[i], kind, path);
        if (queue != NULL) {
            uvzk__watermark_end(queue);
            uvzk__queue_settle_later(queue);
        }
    }
}

/* Lone creates are sent before the directories are settled, so that the listing behind
 * each of them leaves in the same round (listing.h). The multis are sent last: no listing
 * follows them, and the creates of missing directories, which are sent when these are
 * settled, are not delayed by them. A directory that changes meanwhile is settled again
 * later. */
void uvzk__directories_settle(struct uvzk__session *session)
{
    struct uvzk__directories *directories = session->directories;
    struct uvzk__link changed, *link;

    directories->settle_count++;
    uvzk__list_move(&directories->to_settle, &changed);
    for (link = changed.next; link != &changed; link = link->next) {
        uvzk__create_order_send(
            UVZK__CONTAINER_OF(link, struct uvzk__queue, in_to_settle));
    }
    uvzk__create_batches_send_lone(session);
    while ((link = uvzk__list_take(&changed)) != NULL) {
        settle_directory(UVZK__CONTAINER_OF(link, struct uvzk__queue, in_to_settle));
    }
    uvzk__create_batches_send(session);
}
