/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of one outside client in a hash table by path and kind (outside_watches.h).
 * outside_client.c sets them and asks which of them an event fires. */
#include "outside_watches.h"

#include <stdlib.h>
#include <string.h>

struct outside_watch *outside_watch_find(const struct outside_watches *watches, char kind,
                                         const char *path)
{
    struct outside_watch *watch;
    size_t length = strlen(path) + 1;
    char *key = sim__alloc(length + 1);

    key[0] = kind;
    memcpy(key + 1, path, length);
    HASH_FIND(hh_key, watches->by_key, key, length, watch);
    free(key);
    return watch;
}

struct outside_watch *outside_watch_armed(const struct outside_watches *watches,
                                          char kind, const char *path)
{
    struct outside_watch *watch = outside_watch_find(watches, kind, path);

    return watch != NULL || kind != OUTSIDE_DATA
               ? watch
               : outside_watch_find(watches, OUTSIDE_EXIST, path);
}

struct outside_watch *outside_watch_of(const struct outside_watches *watches, uint64_t id)
{
    struct outside_watch *watch;

    HASH_FIND(hh_id, watches->by_id, &id, sizeof(id), watch);
    return watch;
}

struct outside_watch *outside_watch_add(struct outside_watches *watches, uint64_t id,
                                        char kind, const char *path)
{
    size_t length = strlen(path) + 1;
    struct outside_watch *watch = sim__alloc(sizeof(*watch) + length + 1);

    watch->id = id;
    watch->key[0] = kind;
    memcpy(watch->key + 1, path, length);
    watch->key_length = length;
    HASH_ADD_KEYPTR(hh_key, watches->by_key, watch->key, watch->key_length, watch);
    HASH_ADD(hh_id, watches->by_id, id, sizeof(watch->id), watch);
    return watch;
}

void outside_watch_remove(struct outside_watches *watches, struct outside_watch *watch)
{
    HASH_DELETE(hh_key, watches->by_key, watch);
    HASH_DELETE(hh_id, watches->by_id, watch);
    free(watch);
}

void outside_watches_free(struct outside_watches *watches)
{
    struct outside_watch *watch, *next;

    HASH_ITER(hh_key, watches->by_key, watch, next)
    {
        outside_watch_remove(watches, watch);
    }
}

void outside_watches_rearmed(struct outside_watches *watches)
{
    for (struct outside_watch *watch = watches->by_key; watch != NULL;
         watch = watch->hh_key.next) {
        watch->rearming = false;
    }
}

bool outside_watch_is_of(char kind, int32_t number)
{
    switch (kind) {
    case OUTSIDE_CHILD:
        return number == 1 || number == 3;
    case OUTSIDE_PERSISTENT:
        return number == 3;
    default:
        return number == 2 || number == 3;
    }
}

bool outside_watches_cover(const struct outside_watches *watches, const char *path)
{
    size_t length = sim__parent_length(path);
    bool covered = outside_watch_find(watches, OUTSIDE_PERSISTENT, path) != NULL;

    if (!covered && length > 0) {
        char *parent = sim__alloc(length + 1);
        memcpy(parent, path, length);
        covered = outside_watch_find(watches, OUTSIDE_PERSISTENT, parent) != NULL;
        free(parent);
    }
    return covered;
}
