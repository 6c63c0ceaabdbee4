/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the foreign nodes of a directory (foreign_nodes.h), as an array that is sorted by
 * sequence number. They are in the optional part of the directory, which most directories
 * do not have: uvzk__queue_optional returns an empty one for reading. */
#include "directory/foreign_nodes.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/node_name.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/log.h"
#include "engine/probe_points.h"

void uvzk__foreign_nodes_free(struct uvzk__foreign_node *foreign_nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uvzk__free(foreign_nodes[i].name);
    }
    uvzk__free(foreign_nodes);
}

bool uvzk__foreign_nodes_known(const struct uvzk__foreign_nodes *foreign_nodes)
{
    return foreign_nodes->list != NULL || foreign_nodes->children > 0 ||
           foreign_nodes->leases > 0 || foreign_nodes->others_behind ||
           foreign_nodes->denied != NULL;
}

size_t uvzk__foreign_nodes_before(const struct uvzk__queue *queue,
                                  const struct uvzk__contender *contender)
{
    const struct uvzk__foreign_nodes *foreign_nodes =
        &uvzk__queue_optional(queue)->foreign_nodes;
    size_t low = 0, high = foreign_nodes->count;

    /* A binary search for the first node with a greater number. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (foreign_nodes->list[middle].sequence <= contender->node.place.sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct uvzk__foreign_node *uvzk__blocker(const struct uvzk__queue *queue,
                                               const struct uvzk__contender *contender)
{
    const struct uvzk__foreign_nodes *foreign_nodes =
        &uvzk__queue_optional(queue)->foreign_nodes;
    size_t before = contender->kind->has_writers_place
                        ? 0
                        : uvzk__foreign_nodes_before(queue, contender);

    /* A reader passes the readers before it, and waits for the nearest writer. */
    while (before > 0 && contender->kind->shared &&
           foreign_nodes->list[before - 1].shared) {
        before--;
    }
    return before == 0 ? NULL : &foreign_nodes->list[before - 1];
}

const struct uvzk__foreign_node *
uvzk__second_blocker(const struct uvzk__queue *queue,
                     const struct uvzk__contender *contender)
{
    size_t before =
        queue->kind->has_readers ? 0 : uvzk__foreign_nodes_before(queue, contender);

    return before < 2 ? NULL
                      : &uvzk__queue_optional(queue)->foreign_nodes.list[before - 2];
}

bool uvzk__foreign_nodes_single_blocker(const struct uvzk__queue *queue,
                                        const struct uvzk__contender *contender)
{
    const struct uvzk__foreign_node *blocker = uvzk__blocker(queue, contender);

    /* The nearest blocker is the only one if it is also the first one. */
    return blocker != NULL &&
           blocker->sequence ==
               (contender->kind->shared
                    ? uvzk__foreign_nodes_first_writer(queue)
                    : uvzk__queue_optional(queue)->foreign_nodes.list[0].sequence);
}

int32_t uvzk__foreign_nodes_first_writer(const struct uvzk__queue *queue)
{
    const struct uvzk__foreign_nodes *foreign_nodes =
        &uvzk__queue_optional(queue)->foreign_nodes;

    for (size_t i = 0; i < foreign_nodes->count; i++) {
        if (!foreign_nodes->list[i].shared) {
            return foreign_nodes->list[i].sequence;
        }
    }
    return INT32_MAX;
}

/* Doubles the capacity. */
static bool have_room(struct uvzk__foreign_nodes *foreign_nodes)
{
    uint32_t capacity = foreign_nodes->capacity == 0 ? 8 : 2 * foreign_nodes->capacity;

    if (foreign_nodes->count < foreign_nodes->capacity) {
        return true;
    }
    struct uvzk__foreign_node *list =
        uvzk__realloc(foreign_nodes->list, capacity * sizeof(*list));
    if (list != NULL) {
        foreign_nodes->list = list;
        foreign_nodes->capacity = capacity;
    }
    return list != NULL;
}

bool uvzk__foreign_nodes_append(struct uvzk__queue *queue, int32_t sequence, bool shared,
                                const char *name)
{
    char *copy = uvzk__strdup(name);

    if (copy == NULL || !uvzk__queue_need_optional(queue) ||
        !have_room(&queue->optional->foreign_nodes)) {
        uvzk__free(copy);
        return false;
    }
    struct uvzk__foreign_nodes *foreign_nodes = &queue->optional->foreign_nodes;
    foreign_nodes->list[foreign_nodes->count++] =
        (struct uvzk__foreign_node){sequence, shared, copy};
    return true;
}

/* The part of a name that identifies the session (directories.h). */
static const char *session_in(const struct uvzk__foreign_node *foreign_node)
{
    return strlen(foreign_node->name) > UVZK__UUID_AT + UVZK__UUID_TEXT
               ? foreign_node->name + UVZK__UUID_AT
               : foreign_node->name;
}

bool uvzk__foreign_nodes_are_of_few(const struct uvzk__queue *queue)
{
    const struct uvzk__foreign_nodes *foreign_nodes =
        &uvzk__queue_optional(queue)->foreign_nodes;
    const char *found[UVZK__FEW_SESSIONS + 1];
    size_t sessions = 0;

    for (size_t i = 0; i < foreign_nodes->count && sessions <= UVZK__FEW_SESSIONS; i++) {
        const char *session = session_in(&foreign_nodes->list[i]);
        size_t known = 0;
        while (known < sessions &&
               strncmp(found[known], session, UVZK__UUID_PREFIX_TEXT) != 0) {
            known++;
        }
        if (known == sessions) {
            found[sessions++] = session;
        }
    }
    return sessions <= UVZK__FEW_SESSIONS;
}

bool uvzk__foreign_nodes_remove(struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__foreign_nodes *foreign_nodes =
        &uvzk__queue_optional(queue)->foreign_nodes;
    size_t i = foreign_nodes->count;

    /* Backwards: the node that goes is usually the nearest predecessor. */
    while (i > 0 && strcmp(foreign_nodes->list[i - 1].name, name) != 0) {
        i--;
    }
    if (i == 0) {
        return false;
    }
    uvzk__free(foreign_nodes->list[i - 1].name);
    memmove(&foreign_nodes->list[i - 1], &foreign_nodes->list[i],
            (foreign_nodes->count - i) * sizeof(foreign_nodes->list[0]));
    queue->optional->foreign_nodes.count--;
    if (foreign_nodes->count == 0) {
        uvzk__foreign_nodes_clear(queue);
    }
    return true;
}

void uvzk__foreign_nodes_lease_is_ours(struct uvzk__queue *queue)
{
    queue->optional->foreign_nodes.leases -=
        uvzk__queue_optional(queue)->foreign_nodes.leases > 0;
}

void uvzk__foreign_nodes_released(struct uvzk__queue *queue)
{
    if (queue->session->observer != NULL || uvzk__probed()) {
        uvzk__queue_set_released(queue, uvzk__now(queue->session));
    }
}

void uvzk__foreign_nodes_set(struct uvzk__queue *queue, struct uvzk__foreign_node *list,
                             size_t count, uint64_t leases)
{
    const struct uvzk__foreign_nodes *before =
        &uvzk__queue_optional(queue)->foreign_nodes;

    /* Fewer foreign nodes than before: another session has released. */
    if (count < before->count || leases < before->leases) {
        uvzk__foreign_nodes_released(queue);
    }
    uvzk__foreign_nodes_clear(queue);
    if (count == 0) {
        uvzk__free(list);
    }
    if (queue->optional != NULL) {
        queue->optional->foreign_nodes.list = count == 0 ? NULL : list;
        queue->optional->foreign_nodes.count = (uint32_t)count;
        queue->optional->foreign_nodes.capacity = (uint32_t)count;
        queue->optional->foreign_nodes.leases = (uint32_t)leases;
    }
    (void)uvzk__expect(queue->session,
                       queue->optional != NULL || (count == 0 && leases == 0),
                       "directory: no memory for its foreign nodes");
}

void uvzk__foreign_nodes_set_behind(struct uvzk__queue *queue, bool others_behind)
{
    if (uvzk__expect(queue->session, queue->optional != NULL || !others_behind,
                     "directory: no memory for its foreign nodes") &&
        queue->optional != NULL) {
        queue->optional->foreign_nodes.others_behind = others_behind;
    }
}

void uvzk__foreign_nodes_clear(struct uvzk__queue *queue)
{
    if (queue->optional != NULL) {
        struct uvzk__foreign_nodes *foreign_nodes = &queue->optional->foreign_nodes;

        uvzk__foreign_nodes_free(foreign_nodes->list, foreign_nodes->count);
        foreign_nodes->list = NULL;
        foreign_nodes->count = foreign_nodes->capacity = 0;
    }
}

/* The oldest of more are forgotten, and found again. */
#define DENIED_MAX 8U

struct uvzk__denied_nodes {
    uint64_t stamp; /* of the connection */
    size_t count;
    char *names[DENIED_MAX]; /* the oldest first; owned */
};

static void forget_denied(struct uvzk__denied_nodes *denied, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uvzk__free(denied->names[i]);
    }
    denied->count -= count;
    memmove(denied->names, denied->names + count, denied->count * sizeof(char *));
}

void uvzk__foreign_nodes_end_denials(struct uvzk__queue *queue)
{
    struct uvzk__denied_nodes *denied = uvzk__queue_optional(queue)->foreign_nodes.denied;

    if (denied != NULL) {
        forget_denied(denied, denied->count);
        uvzk__free(denied);
        queue->optional->foreign_nodes.denied = NULL;
    }
}

static bool is_of_this_connection(const struct uvzk__queue *queue)
{
    const struct uvzk__denied_nodes *denied =
        uvzk__queue_optional(queue)->foreign_nodes.denied;

    return denied != NULL && uvzk__is_of_this_connection(queue->session, denied->stamp);
}

static bool has_uuid(const struct uvzk__queue *queue, const char *name)
{
    struct uvzk__node_name parsed;
    bool shared;

    uvzk__node_name_parse_any(&parsed, name, queue->kind->name_prefixes, &shared);
    return parsed.has_uuid;
}

void uvzk__foreign_nodes_deny(struct uvzk__queue *queue, const char *name)
{
    if (!has_uuid(queue, name)) {
        return;
    }
    if (!is_of_this_connection(queue)) {
        uvzk__foreign_nodes_end_denials(queue);
        struct uvzk__denied_nodes *made = uvzk__calloc(1, sizeof(*made));
        if (made == NULL || !uvzk__queue_need_optional(queue)) {
            uvzk__free(made);
            return;
        }
        made->stamp = queue->session->submissions.stamp;
        queue->optional->foreign_nodes.denied = made;
    }
    struct uvzk__denied_nodes *denied = queue->optional->foreign_nodes.denied;
    char *copy = uvzk__strdup(name);
    if (copy != NULL) {
        forget_denied(denied, denied->count == DENIED_MAX);
        denied->names[denied->count++] = copy;
    }
}

bool uvzk__foreign_nodes_is_denied(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__denied_nodes *denied =
        uvzk__queue_optional(queue)->foreign_nodes.denied;

    for (size_t i = 0; is_of_this_connection(queue) && i < denied->count; i++) {
        if (strcmp(denied->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Without memory for the optional part, the children are logged and not counted. */
void uvzk__foreign_children(struct uvzk__queue *queue, uint64_t count)
{
    if (count != uvzk__queue_optional(queue)->foreign_nodes.children && count > 0) {
        uvzk__log(queue->session, UVZK_LOG_WARN, "directory",
                  "%s has %" PRIu64 " children that are not contenders",
                  queue->path->text, count);
    }
    if (queue->optional != NULL || (count > 0 && uvzk__queue_need_optional(queue))) {
        queue->optional->foreign_nodes.children = (uint32_t)count;
    }
}
