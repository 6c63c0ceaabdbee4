#include "directory/session_of_node.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"

static bool any_has_path(const struct uvzk__ring *ring, const char *node_path)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    while (link != NULL &&
           strcmp(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->path,
                  node_path) != 0) {
        link = uvzk__ring_next(ring, link);
    }
    return link != NULL;
}

/* Locks of several kinds may use the directory. Unplaced contenders are skipped: the full
 * path of their znode is not known yet. */
static bool was_created_by(struct uvzk__session *session, const char *directory,
                           const char *node_path)
{
    for (unsigned directory_order = UVZK__EXCLUSIVE;
         directory_order <= UVZK__DRIVER_DEFINED; directory_order++) {
        const struct uvzk__queue *queue = uvzk__queue_find(
            session, (enum uvzk__directory_order)directory_order, directory);
        if (queue != NULL && (any_has_path(&queue->holders, node_path) ||
                              any_has_path(&queue->waiters, node_path) ||
                              any_has_path(&queue->deleting, node_path))) {
            return true;
        }
    }
    return false;
}

struct uvzk__session *uvzk__session_of_node(struct uvzk__session *session,
                                            const char *node_path)
{
    const struct uvzk__client *client = session->client;
    struct uvzk__session *in_reach = NULL;
    char directory[UVZK__NODE_PATH_MAX + 1] = "";

    if (!uvzk__has_sessions(session)) {
        return session;
    }
    memcpy(directory, node_path, uvzk__path_parent_length(node_path));
    for (uint32_t i = 0; i < client->count; i++) {
        struct uvzk__session *each = client->sessions[i];
        if (was_created_by(each, directory, node_path)) {
            return each;
        }
        if (in_reach == NULL && uvzk__connection_is_connected(&each->connection)) {
            in_reach = each;
        }
    }
    return in_reach == NULL ? session : in_reach;
}
