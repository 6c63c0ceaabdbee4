#include "directory/orphans.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/queue.h"
#include "engine/log.h"
#include "engine/submission.h"

/* NULL: another client's. */
static const struct uvzk__client *owner_of(const struct uvzk__client *client,
                                           const struct uvzk__stat *stat)
{
    const struct uvzk__sessions *sessions = client->sessions;
    uint32_t i = 0;

    while (stat->ephemeral_owner != 0 && i < sessions->count) {
        if (uvzk__session_id(&sessions->each[i]->session) == stat->ephemeral_owner) {
            return sessions->each[i];
        }
        i++;
    }
    return NULL;
}

static const char *name_in(const struct uvzk__contender *contender)
{
    return contender->path + strlen(contender->queue->path->text) + 1;
}

/* Of one whose place is not known the name ends where its number will begin, or is that of a
 * znode before; only the UUID tells. */
static bool may_mean(const struct uvzk__ring *ring, const char *name, size_t length)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    while (link != NULL &&
           strncmp(name_in(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)),
                   name, length) != 0) {
        link = uvzk__ring_next(ring, link);
    }
    return link != NULL;
}

static bool is_known_to(struct uvzk__client *session, const char *directory,
                        const char *name)
{
    const size_t all = strlen(name) + 1;

    for (unsigned discipline = UVZK__EXCLUSIVE; discipline <= UVZK__DRIVEN;
         discipline++) {
        const struct uvzk__queue *queue =
            uvzk__queue_find(session, (enum uvzk__discipline)discipline, directory);
        if (queue != NULL &&
            (may_mean(&queue->holders, name, all) ||
             may_mean(&queue->members, name, all) ||
             may_mean(&queue->leaving, name, all) ||
             may_mean(&queue->strangers, name, UVZK__PROTECTION_LENGTH))) {
            return true;
        }
    }
    return false;
}

/* Whichever session it was made in. */
static bool is_known(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__sessions *sessions = queue->client->sessions;

    for (uint32_t i = 0; i < sessions->count; i++) {
        if (is_known_to(sessions->each[i], queue->path->text, name)) {
            return true;
        }
    }
    return false;
}

bool uvzk__orphan_found(struct uvzk__queue *queue, const char *name,
                        const struct uvzk__stat *stat)
{
    struct uvzk__node_name parsed;
    bool shared;

    if (owner_of(queue->client, stat) == NULL) {
        return false;
    }
    uvzk__discipline_parse(queue->kind->discipline, name, &parsed, &shared);
    if (!parsed.is_contender || !parsed.has_uuid || is_known(queue, name)) {
        return false;
    }
    struct uvzk__place place = {parsed.sequence, stat->czxid};
    if (!uvzk__contender_adopt(queue, name, place, shared)) {
        return false;
    }
    uvzk__log(queue->client, UVZK_LOG_WARN, "directory",
              "%s/%s is of our own session %" PRIx64
              ", and none of ours: an orphan, it is deleted",
              queue->path->text, name, (uint64_t)stat->ephemeral_owner);
    uvzk__foreigners_forget(queue, name);
    if (queue->kind->discipline == UVZK__COUNTED) {
        uvzk__foreigners_less(queue);
    }
    return true;
}

/* ------------------------------------------------------------- asked for by its name */

struct question {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    enum uvzk__discipline discipline;
    char path[];
};

/* The first of a view that is old may have gone, with others: a listing shows who is first
 * now, and of that one it is asked. */
static void first_has_gone(struct uvzk__queue *queue)
{
    if (queue->waits_long && queue->kind->in_order) {
        uvzk__freshness_doubted(queue);
        uvzk__queue_touch(queue);
    }
}

/* The directory may have been left meanwhile. */
static void told(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct question *question = UVZK__CONTAINER_OF(rpc, struct question, rpc);
    struct uvzk__client *client = question->client;
    size_t parent = uvzk__path_parent_length(question->path);
    struct uvzk__queue *queue = NULL;

    uvzk__answered(client, rpc, reply->status, false);
    question->path[parent] = '\0';
    queue = uvzk__queue_find(client, question->discipline, question->path);
    if (queue != NULL && reply->status == UVZK_ENONODE) {
        first_has_gone(queue);
    } else if (queue != NULL && reply->status == 0) {
        (void)uvzk__orphan_found(queue, question->path + parent + 1, &reply->stat);
    }
    uvzk__free(question);
    uvzk__wake(client);
}

/* Out of memory there is a next time. */
void uvzk__orphan_ask(struct uvzk__queue *queue, const char *name)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct question *question = NULL;

    if (uvzk__may_send(queue->client)) {
        question = uvzk__calloc(1, sizeof(*question) + size);
    }
    if (question != NULL) {
        question->client = queue->client;
        question->discipline = queue->kind->discipline;
        (void)uvzk__path_join_into(question->path, queue->path->text, name);
        uvzk__rpc_prepare(&question->rpc, UVZK__RPC_EXISTS, question->path, told);
        uvzk__submit(queue->client, &question->rpc);
    }
}

void uvzk__orphan_deleted(const struct uvzk__contender *orphan)
{
    const struct uvzk__client *client = uvzk__client_of(orphan);

    if (client->observer != NULL && uvzk__node_is_deleted(&orphan->node)) {
        uvzk__count_orphan(client->observer);
    }
}

void uvzk__orphan_ask_first(struct uvzk__queue *queue)
{
    const struct uvzk__foreigners *foreigners = &uvzk__aside(queue)->foreigners;

    if (uvzk__foreigners_any(foreigners)) {
        uvzk__orphan_ask(queue, foreigners->list[0].name);
    }
}
