#include "directory/whose.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"

static bool has(const struct uvzk__ring *ring, const char *node_path)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    while (link != NULL &&
           strcmp(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->path,
                  node_path) != 0) {
        link = uvzk__ring_next(ring, link);
    }
    return link != NULL;
}

static bool made(struct uvzk__client *session, const char *directory,
                 const char *node_path)
{
    for (unsigned discipline = UVZK__EXCLUSIVE; discipline <= UVZK__DRIVEN;
         discipline++) {
        const struct uvzk__queue *queue =
            uvzk__queue_find(session, (enum uvzk__discipline)discipline, directory);
        if (queue != NULL &&
            (has(&queue->holders, node_path) || has(&queue->members, node_path) ||
             has(&queue->leaving, node_path))) {
            return true;
        }
    }
    return false;
}

struct uvzk__client *uvzk__whose_node(struct uvzk__client *client, const char *node_path)
{
    const struct uvzk__sessions *sessions = client->sessions;
    struct uvzk__client *in_reach = NULL;
    char directory[UVZK__NODE_PATH_MAX + 1] = "";

    if (!uvzk__has_sessions(client)) {
        return client;
    }
    memcpy(directory, node_path, uvzk__path_parent_length(node_path));
    for (uint32_t i = 0; i < sessions->count; i++) {
        struct uvzk__client *session = sessions->each[i];
        if (made(session, directory, node_path)) {
            return session;
        }
        if (in_reach == NULL && uvzk__session_is_connected(&session->session)) {
            in_reach = session;
        }
    }
    return in_reach == NULL ? client : in_reach;
}
