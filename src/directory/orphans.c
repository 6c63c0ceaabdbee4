/* Recognizes orphans and makes them contenders that are being deleted. predecessor.c and
 * divergence.c call it with the stat of a znode that blocks a contender; view.c and
 * driver_directory.c call it with names of a listing; delete_batch.c calls it when an
 * orphan's delete has been answered.
 *
 * The check errs on the side of keeping: if any contender of the client might have
 * created the znode, the znode is not an orphan. */
#include "directory/orphans.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "engine/diverged.h"
#include "engine/log.h"

/* Digits of a sequence number that is not worn out. */
#define DIGITS 10U

/* The session of this client that owns the znode. NULL: the znode is another client's, or
 * is not ephemeral. */
static const struct uvzk__session *owner_of(const struct uvzk__session *session,
                                            const struct uvzk__stat *stat)
{
    const struct uvzk__client *client = session->client;
    uint32_t i = 0;

    while (stat->ephemeral_owner != 0 && i < client->count) {
        if (uvzk__connection_session_id(&client->sessions[i]->connection) ==
            stat->ephemeral_owner) {
            return client->sessions[i];
        }
        i++;
    }
    return NULL;
}

static const char *name_in(const struct uvzk__contender *contender)
{
    return contender->path + strlen(contender->queue->path->text) + 1;
}

/* length: how much of the name is compared. Of a contender whose place is not known the
 * path ends before the number, or still has the number of an earlier znode. So only the
 * prefix up to the UUID is compared for it. */
static bool any_has_name(const struct uvzk__ring *ring, const char *name, size_t length)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    while (link != NULL &&
           strncmp(name_in(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)),
                   name, length) != 0) {
        link = uvzk__ring_next(ring, link);
    }
    return link != NULL;
}

static bool is_known_to(struct uvzk__session *session, const char *directory,
                        const char *name)
{
    const size_t all = strlen(name) + 1;

    /* Locks of other kinds may use the same path, each with a directory of its own. */
    for (unsigned directory_order = UVZK__EXCLUSIVE;
         directory_order <= UVZK__DRIVER_DEFINED; directory_order++) {
        const struct uvzk__queue *queue = uvzk__queue_find(
            session, (enum uvzk__directory_order)directory_order, directory);
        if (queue != NULL &&
            (any_has_name(&queue->holders, name, all) ||
             any_has_name(&queue->waiters, name, all) ||
             any_has_name(&queue->deleting, name, all) ||
             any_has_name(&queue->unplaced, name, UVZK__PROTECTION_LENGTH))) {
            return true;
        }
    }
    return false;
}

/* Contenders of one path may be in several sessions of the client (create_order.h). */
bool uvzk__orphan_is_known(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__client *client = queue->session->client;

    for (uint32_t i = 0; i < client->count; i++) {
        if (is_known_to(client->sessions[i], queue->path->text, name)) {
            return true;
        }
    }
    return false;
}

/* Whether the name has the format that contenders write (node_name.h), with any name
 * prefix. */
static bool has_our_format(const char *name, int32_t *sequence)
{
    struct uvzk__node_name parsed;
    char name_prefix[UVZK__NAME_PREFIX_MAX + 1] = "";
    size_t length = strlen(name), around = UVZK__PROTECTION_LENGTH + DIGITS;

    if (length < around || length - around > UVZK__NAME_PREFIX_MAX) {
        return false;
    }
    memcpy(name_prefix, name + UVZK__PROTECTION_LENGTH, length - around);
    uvzk__node_name_parse(&parsed, name, name_prefix);
    *sequence = parsed.sequence;
    return parsed.is_contender && parsed.has_uuid;
}

const char *uvzk__orphan_number(const char *name)
{
    int32_t sequence;

    return has_our_format(name, &sequence) ? name + strlen(name) - DIGITS : NULL;
}

/* Makes the znode a contender that is being deleted. False: out of memory. */
static bool new_orphan(struct uvzk__queue *queue, const char *name,
                       struct uvzk__place place)
{
    struct uvzk__queue *leaves = queue;
    struct uvzk__node_name parsed;
    bool shared;

    /* A lock driver's directory has no place for a contender without a driver. */
    if (queue->kind->orphan_kind != NULL) {
        leaves = uvzk__queue_of(queue->session, queue->kind->orphan_kind, queue->path);
    }
    uvzk__parse_child_name(queue->kind->directory_order, name, &parsed, &shared);
    return leaves != NULL &&
           uvzk__contender_new_orphan(leaves, name, place, shared) != NULL;
}

bool uvzk__orphan_found(struct uvzk__queue *queue, const char *name,
                        const struct uvzk__stat *stat)
{
    struct uvzk__place place = {0, stat->czxid};

    if (owner_of(queue->session, stat) == NULL ||
        !has_our_format(name, &place.sequence) || uvzk__orphan_is_known(queue, name) ||
        !new_orphan(queue, name, place)) {
        return false;
    }
    uvzk__log(queue->session, UVZK_LOG_WARN, "directory",
              "%s/%s belongs to our session %" PRIx64
              " but to none of its locks: an orphan, which is deleted",
              queue->path->text, name, (uint64_t)stat->ephemeral_owner);
    /* The last listing counted it among the foreign nodes. */
    uvzk__foreign_nodes_remove(queue, name);
    if (queue->kind->directory_order == UVZK__COUNTED) {
        uvzk__foreign_nodes_lease_is_ours(queue);
    }
    return true;
}

void uvzk__orphan_deleted(const struct uvzk__contender *orphan)
{
    struct uvzk__session *session = uvzk__session_of(orphan);

    if (orphan->kind->not_shown) {
        /* This server did not show the znode, and yet the delete found it: the server has
         * diverged. create_stamp is the newest stamp at the time of that reading. It must
         * be of this connection; otherwise another server answered the reading. */
        if (uvzk__node_is_deleted(&orphan->node) &&
            !uvzk__node_delete_is_unknown(&orphan->node) &&
            orphan->create_stamp > session->connected_stamp) {
            (void)uvzk__diverged(session, orphan->path, false);
        }
        return;
    }
    if (session->observer != NULL && uvzk__node_is_deleted(&orphan->node)) {
        uvzk__count_orphan(session->observer);
    }
    uvzk__divergence_look(orphan->queue, orphan->path,
                          uvzk__node_place(&orphan->node).czxid);
}
