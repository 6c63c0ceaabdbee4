/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of a session: a chained hash table of them, and the questions that are
 * asked about all directories of a path (directories.h). queue.c finds and adds
 * directories, settle.c removes them. The number of buckets doubles when there are two
 * directories for each bucket. This file calls no other file of the room. */
#include "directory/directories.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"

#define BUCKETS_MIN 32U

/* Directories for each bucket, on average, before the number of buckets doubles. */
#define CHAIN_MAX 2U

void uvzk__directories_init(struct uvzk__directories *directories,
                            const struct uvzk__contender_user *user)
{
    directories->contender_user = user;
    directories->node_bytes_max = UVZK__NODE_BYTES_MAX;
    uvzk__catalogue_init(&directories->catalogue);
    uvzk__list_init(&directories->behind_creator);
    uvzk__list_init(&directories->contenders);
    uvzk__list_init(&directories->to_settle);
    uvzk__list_init(&directories->to_create);
    uvzk__list_init(&directories->to_delete);
    uvzk__list_init(&directories->delete_later);
}

void uvzk__queue_settle_later(struct uvzk__queue *queue)
{
    if (uvzk__list_empty(&queue->in_to_settle)) {
        uvzk__list_append(&queue->session->directories->to_settle, &queue->in_to_settle);
        uvzk__wake(queue->session);
    }
}

void uvzk__queues_settle_later(struct uvzk__session *session)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        uvzk__queue_settle_later(queue);
    }
}

/* ---------------------------------------------------------------------- the hash table */

static struct uvzk__queue **bucket_of(const struct uvzk__catalogue *catalogue,
                                      uint32_t hash)
{
    return &catalogue->buckets[hash & (catalogue->bucket_count - 1)];
}

void uvzk__catalogue_init(struct uvzk__catalogue *catalogue)
{
    uvzk__list_init(&catalogue->all);
}

void uvzk__catalogue_free(struct uvzk__catalogue *catalogue)
{
    uvzk__free(catalogue->buckets);
    catalogue->buckets = NULL;
}

/* The first directory of this path in a bucket's chain, from this one on. */
static struct uvzk__queue *at_path(struct uvzk__queue *queue, uint32_t hash,
                                   const char *path)
{
    while (queue != NULL &&
           (queue->entry.hash != hash || strcmp(queue->path->text, path) != 0)) {
        queue = queue->entry.next;
    }
    return queue;
}

/* Without directories there may be no buckets. */
static struct uvzk__queue *first_at(const struct uvzk__catalogue *catalogue,
                                    const char *path, uint32_t hash)
{
    return catalogue->count == 0 ? NULL
                                 : at_path(*bucket_of(catalogue, hash), hash, path);
}

struct uvzk__queue *uvzk__catalogue_find(const struct uvzk__catalogue *catalogue,
                                         const struct uvzk__directory_kind *kind,
                                         const char *path, uint32_t hash)
{
    struct uvzk__queue *queue = first_at(catalogue, path, hash);

    while (queue != NULL && queue->kind != kind) {
        queue = at_path(queue->entry.next, hash, path);
    }
    return queue;
}

static void directories_put(struct uvzk__catalogue *catalogue, struct uvzk__queue *queue)
{
    struct uvzk__queue **bucket = bucket_of(catalogue, queue->entry.hash);

    queue->entry.next = *bucket;
    *bucket = queue;
}

/* Allocates the first buckets, or doubles their number, when the table is full. If
 * there is no memory, the chains grow longer instead. */
static void have_room(struct uvzk__catalogue *catalogue)
{
    uint32_t bucket_count =
        catalogue->buckets == NULL ? BUCKETS_MIN : 2 * catalogue->bucket_count;
    struct uvzk__queue **buckets, *queue;

    if (catalogue->count < CHAIN_MAX * catalogue->bucket_count) {
        return;
    }
    buckets = uvzk__calloc(bucket_count, sizeof(struct uvzk__queue *));
    if (buckets == NULL) {
        return;
    }
    /* The list of all directories is enough to fill the new buckets. */
    uvzk__free(catalogue->buckets);
    catalogue->buckets = buckets;
    catalogue->bucket_count = bucket_count;
    for (queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        directories_put(catalogue, queue);
    }
}

int uvzk__catalogue_add(struct uvzk__catalogue *catalogue, struct uvzk__queue *queue)
{
    have_room(catalogue);
    if (catalogue->buckets == NULL) {
        return UV_ENOMEM;
    }
    queue->entry.hash = queue->path->hash;
    directories_put(catalogue, queue);
    uvzk__list_append(&catalogue->all, &queue->entry.in_all);
    catalogue->count++;
    return 0;
}

void uvzk__catalogue_remove(struct uvzk__catalogue *catalogue, struct uvzk__queue *queue)
{
    struct uvzk__queue **at = bucket_of(catalogue, queue->entry.hash);

    while (*at != queue) {
        at = &(*at)->entry.next;
    }
    *at = queue->entry.next;
    uvzk__list_remove(&queue->entry.in_all);
    catalogue->count--;
}

static struct uvzk__queue *queue_at(const struct uvzk__catalogue *catalogue,
                                    struct uvzk__link *link)
{
    return link == &catalogue->all
               ? NULL
               : UVZK__CONTAINER_OF(link, struct uvzk__queue, entry.in_all);
}

struct uvzk__queue *uvzk__catalogue_first(const struct uvzk__catalogue *catalogue)
{
    return queue_at(catalogue, catalogue->all.next);
}

struct uvzk__queue *uvzk__catalogue_next(const struct uvzk__catalogue *catalogue,
                                         const struct uvzk__queue *queue)
{
    return queue_at(catalogue, queue->entry.in_all.next);
}

struct uvzk__queue *uvzk__queue_find(const struct uvzk__session *session,
                                     const struct uvzk__directory_kind *kind,
                                     const char *path)
{
    return uvzk__catalogue_find(&session->directories->catalogue, kind, path,
                                uvzk__path_hash(path));
}

struct uvzk__queue *uvzk__first_at(const struct uvzk__session *session, const char *path)
{
    return first_at(&session->directories->catalogue, path, uvzk__path_hash(path));
}

struct uvzk__queue *uvzk__next_at(const struct uvzk__queue *queue)
{
    return at_path(queue->entry.next, queue->entry.hash, queue->path->text);
}

/* ------------------------------------------------------------- the names of contenders */

/* directory: its path. length: how much of the name is compared. */
static struct uvzk__contender *find_named(const struct uvzk__ring *ring,
                                          const char *directory, const char *name,
                                          size_t length)
{
    const size_t skipped = strlen(directory) + 1;

    for (struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (strncmp(contender->path + skipped, name, length) == 0) {
            return contender;
        }
    }
    return NULL;
}

struct uvzk__contender *uvzk__placed_named(const struct uvzk__queue *queue,
                                           const char *name)
{
    const char *directory = queue->path->text;
    const size_t all = strlen(name) + 1;
    struct uvzk__contender *found = find_named(&queue->deleting, directory, name, all);

    if (found == NULL) {
        found = find_named(&queue->holders, directory, name, all);
    }
    return found != NULL ? found : find_named(&queue->waiters, directory, name, all);
}

/* Of a contender whose place is not known the path ends before the number, or still has
 * the number of an earlier znode. So only the prefix up to the UUID is compared for it. */
struct uvzk__contender *uvzk__unplaced_named(const struct uvzk__queue *queue,
                                             const char *name)
{
    return find_named(&queue->unplaced, queue->path->text, name, UVZK__PROTECTION_LENGTH);
}

bool uvzk__directories_have_name(const struct uvzk__session *session,
                                 const char *directory, const char *name, bool unplaced)
{
    for (const struct uvzk__queue *queue = uvzk__first_at(session, directory);
         queue != NULL; queue = uvzk__next_at(queue)) {
        if (uvzk__placed_named(queue, name) != NULL ||
            (unplaced && uvzk__unplaced_named(queue, name) != NULL)) {
            return true;
        }
    }
    return false;
}

struct uvzk__session *uvzk__session_of_node(struct uvzk__session *session,
                                            const char *node_path)
{
    struct uvzk__session *in_reach = NULL;
    char directory[UVZK__NODE_PATH_MAX + 1] = "";

    if (!uvzk__has_sessions(session)) {
        return session;
    }
    memcpy(directory, node_path, uvzk__path_parent_length(node_path));
    for (uint32_t i = 0; i < session->client->count; i++) {
        struct uvzk__session *each = session->client->sessions[i];
        if (uvzk__directories_have_name(each, directory, uvzk__path_name(node_path),
                                        false)) {
            return each;
        }
        if (in_reach == NULL && uvzk__is_connected(each)) {
            in_reach = each;
        }
    }
    return in_reach == NULL ? session : in_reach;
}

void uvzk__for_each_contender(struct uvzk__session *session,
                              void (*act)(struct uvzk__contender *, int), int code)
{
    struct uvzk__link *link = session->directories->contenders.next;

    while (link != &session->directories->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_session);
        link = link->next; /* first, because act may free the contender */
        act(contender, code);
    }
}
