/* A chained hash table of a session's directories (catalogue.h). queue.c finds and adds
 * directories, directory.c removes them. The number of buckets doubles when there are two
 * directories for each bucket. */
#include "directory/catalogue.h"

#include <string.h>

#include "base/path.h"
#include "base/table.h"
#include "directory/queue.h"

#define BUCKETS_MIN 32U

/* Directories for each bucket, on average, before the number of buckets doubles. */
#define CHAIN_MAX 2U

/* One letter for the directory order, and the longest path that a directory can have. */
#define KEY_SIZE (1 + UVZK__PATH_MAX + sizeof("/leases"))

static uint32_t hash_of(enum uvzk__directory_order directory_order, const char *path)
{
    char key[KEY_SIZE];
    size_t length = 1 + strnlen(path, KEY_SIZE - 1);
    uint32_t hash;

    /* One letter for each directory order: mutex, read-write, semaphore, driver. */
    key[0] = "mrsd"[directory_order];
    memcpy(key + 1, path, length - 1);
    HASH_VALUE(key, length, hash);
    return hash;
}

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

struct uvzk__queue *uvzk__catalogue_find(const struct uvzk__catalogue *catalogue,
                                         enum uvzk__directory_order directory_order,
                                         const char *path)
{
    struct uvzk__queue *queue;

    /* Without directories there may be no buckets. */
    if (catalogue->count == 0) {
        return NULL;
    }
    uint32_t hash = hash_of(directory_order, path);
    queue = *bucket_of(catalogue, hash);
    while (queue != NULL && (queue->entry.hash != hash ||
                             queue->kind->directory_order != directory_order ||
                             strcmp(queue->path->text, path) != 0)) {
        queue = queue->entry.next;
    }
    return queue;
}

static void put(struct uvzk__catalogue *catalogue, struct uvzk__queue *queue)
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
        put(catalogue, queue);
    }
}

int uvzk__catalogue_add(struct uvzk__catalogue *catalogue, struct uvzk__queue *queue)
{
    have_room(catalogue);
    if (catalogue->buckets == NULL) {
        return UV_ENOMEM;
    }
    queue->entry.hash = hash_of(queue->kind->directory_order, queue->path->text);
    put(catalogue, queue);
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
