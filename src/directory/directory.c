#include "directory/directory.h"

#include "directory/foreigners.h"
#include "directory/making.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/ranks.h"
#include "directory/watermark.h"
#include "directory/watermark_watch.h"
#include "engine/turn.h"

void uvzk__directories_init(struct uvzk__directories *directories,
                            const struct uvzk__contender_user *user)
{
    directories->contender_user = user;
    directories->node_bytes_most = UVZK__NODE_BYTES_MAX;
    uvzk__catalogue_init(&directories->catalogue);
    uvzk__list_init(&directories->behind_scout);
    uvzk__list_init(&directories->contenders);
    uvzk__list_init(&directories->dirty);
    uvzk__list_init(&directories->unmade);
    uvzk__list_init(&directories->doomed);
    uvzk__list_init(&directories->put_off);
}

static void free_directory(struct uvzk__queue *queue)
{
    struct uvzk__client *client = queue->client;

    uvzk__predecessor_forget(queue);
    uvzk__watermark_end(queue);
    uvzk__foreigners_clear(queue);
    uvzk__queue_rest_no_more(queue);
    uvzk__unsearchable_no_more(queue);
    uvzk__list_remove(&queue->dirty);
    uvzk__catalogue_remove(&client->directories->catalogue, queue);
    if (queue->kind->freed != NULL) {
        queue->kind->freed(queue);
    }
    uvzk__parents_free(queue);
    uvzk__free(queue->aside);
    uvzk__shared_path_let_go(queue->path);
    uvzk__free(queue);
}

static void watches_lost(struct uvzk__queue *queue)
{
    if (queue->kind->watches_lost != NULL) {
        queue->kind->watches_lost(queue);
    }
    uvzk__predecessor_forget(queue);
    uvzk__watermark_end(queue);
    uvzk__queue_touch(queue);
}

static void session_ended(struct uvzk__queue *queue)
{
    if (queue->doing != UVZK__QUEUE_IDLE) {
        uvzk__queue_does(queue, UVZK__QUEUE_IDLE);
    }
    watches_lost(queue);
    uvzk__foreigners_clear(queue);
    uvzk__freshness_waived(queue);
    uvzk__queue_set_just_made(queue, false);
}

void uvzk__directories_watches_lost(struct uvzk__client *client)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        watches_lost(queue);
    }
}

void uvzk__directories_session_ended(struct uvzk__client *client)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;

    uvzk__directories_mark_anew(client->directories);
    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        session_ended(queue);
    }
}

void uvzk__directories_free(struct uvzk__client *client)
{
    struct uvzk__catalogue *catalogue = &client->directories->catalogue;
    struct uvzk__queue *queue;

    while ((queue = uvzk__catalogue_first(catalogue)) != NULL) {
        session_ended(queue);
        free_directory(queue);
    }
    uvzk__catalogue_free(catalogue);
    uvzk__recollection_free(&client->directories->recollection);
}

static void settle(struct uvzk__queue *queue)
{
    uvzk__make_way(queue);
    uvzk__rank_moved(queue);
    queue->kind->settle(queue);

    bool in_use = queue->kind->in_use != NULL && queue->kind->in_use(queue);
    if (!in_use && uvzk__ring_empty(&queue->holders) &&
        uvzk__ring_empty(&queue->members) && uvzk__ring_empty(&queue->leaving) &&
        uvzk__ring_empty(&queue->strangers) && queue->doing == UVZK__QUEUE_IDLE) {
        uvzk__predecessor_unwatch(queue);
        if (!uvzk__watermark_keeps(queue)) {
            free_directory(queue);
            return;
        }
    }
    uvzk__aside_tidied(queue);
}

void uvzk__directory_left(struct uvzk__client *client, enum uvzk__discipline discipline,
                          const char *path)
{
    const struct uvzk__sessions *sessions = client->sessions;

    for (uint32_t i = 0; i < sessions->count; i++) {
        struct uvzk__queue *queue = uvzk__queue_find(sessions->each[i], discipline, path);
        if (queue != NULL) {
            uvzk__watermark_end(queue);
            uvzk__queue_touch(queue);
        }
    }
}

void uvzk__directories_settle(struct uvzk__client *client)
{
    struct uvzk__link dirty, *link;

    client->directories->settlings++;
    uvzk__list_move(&client->directories->dirty, &dirty);
    while ((link = uvzk__list_take(&dirty)) != NULL) {
        settle(UVZK__CONTAINER_OF(link, struct uvzk__queue, dirty));
    }
}
