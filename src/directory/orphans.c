#include "directory/orphans.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreigners.h"
#include "directory/queue.h"
#include "engine/diverged.h"
#include "engine/log.h"

/* Of a number that is not worn out. */
#define DIGITS 10U

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
bool uvzk__orphan_is_known(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__sessions *sessions = queue->client->sessions;

    for (uint32_t i = 0; i < sessions->count; i++) {
        if (is_known_to(sessions->each[i], queue->path->text, name)) {
            return true;
        }
    }
    return false;
}

/* As a contender writes it, whatever the token. */
static bool is_of_our_making(const char *name, int32_t *sequence)
{
    struct uvzk__node_name parsed;
    char token[UVZK__TOKEN_MAX + 1] = "";
    size_t length = strlen(name), around = UVZK__PROTECTION_LENGTH + DIGITS;

    if (length < around || length - around > UVZK__TOKEN_MAX) {
        return false;
    }
    memcpy(token, name + UVZK__PROTECTION_LENGTH, length - around);
    uvzk__node_name_parse(&parsed, name, token);
    *sequence = parsed.sequence;
    return parsed.is_contender && parsed.has_uuid;
}

const char *uvzk__orphan_number(const char *name)
{
    int32_t sequence;

    return is_of_our_making(name, &sequence) ? name + strlen(name) - DIGITS : NULL;
}

/* It leaves. False: out of memory. */
static bool adopt(struct uvzk__queue *queue, const char *name, struct uvzk__place place)
{
    struct uvzk__queue *leaves = queue;
    struct uvzk__node_name parsed;
    bool shared;

    if (queue->kind->leave != NULL) {
        leaves = uvzk__queue_of(queue->client, queue->kind->leave, queue->path);
    }
    uvzk__discipline_parse(queue->kind->discipline, name, &parsed, &shared);
    return leaves != NULL && uvzk__contender_adopt(leaves, name, place, shared) != NULL;
}

bool uvzk__orphan_found(struct uvzk__queue *queue, const char *name,
                        const struct uvzk__stat *stat)
{
    struct uvzk__place place = {0, stat->czxid};

    if (owner_of(queue->client, stat) == NULL ||
        !is_of_our_making(name, &place.sequence) || uvzk__orphan_is_known(queue, name) ||
        !adopt(queue, name, place)) {
        return false;
    }
    uvzk__log(queue->client, UVZK_LOG_WARN, "directory",
              "%s/%s belongs to our session %" PRIx64
              " but to none of its locks: an orphan, which is deleted",
              queue->path->text, name, (uint64_t)stat->ephemeral_owner);
    uvzk__foreigners_forget(queue, name);
    if (queue->kind->discipline == UVZK__COUNTED) {
        uvzk__foreigners_less(queue);
    }
    return true;
}

void uvzk__orphan_deleted(const struct uvzk__contender *orphan)
{
    struct uvzk__client *client = uvzk__client_of(orphan);

    if (orphan->unshown) {
        if (uvzk__node_is_deleted(&orphan->node) &&
            !uvzk__node_is_doubted(&orphan->node) &&
            orphan->create_stamp >
                client->connected_stamp) { /* it is this server's word */
            (void)uvzk__diverged(client, orphan->path, false);
        }
        return;
    }
    if (client->observer != NULL && uvzk__node_is_deleted(&orphan->node)) {
        uvzk__count_orphan(client->observer);
    }
    uvzk__divergence_look(client, orphan->path, uvzk__node_place(&orphan->node).czxid);
}
