#include "recipes/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct ranked {
    const char *key, *name;
};

/* ---------------------------------------------------------- what Curator's own does */

/* What follows the last occurrence of the lock's name. */
static const char *plain_key(const uvzk_lock_driver_t *driver, const char *child)
{
    const char *key = NULL, *at = child;

    while ((at = strstr(at, driver->name)) != NULL) {
        key = at + strlen(driver->name);
        at++;
    }
    return key;
}

static int plain_rule(const uvzk_lock_driver_t *driver, size_t own, size_t *watch)
{
    if (own < driver->max_leases) {
        return 1;
    }
    *watch = own - driver->max_leases;
    return 0;
}

/* ------------------------------------------------------------------------ the order */

static int by_key(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = strcmp(a->key, b->key);

    return order != 0 ? order : strcmp(a->name, b->name);
}

int uvzk__ranking_make(struct uvzk__ranking *ranking, const uvzk_lock_driver_t *driver,
                       const char *const *names, size_t count)
{
    struct ranked *ranked = uvzk__calloc(count + 1, sizeof(struct ranked));

    memset(ranking, 0, sizeof(*ranking));
    ranking->driver = driver;
    ranking->names = uvzk__calloc(count + 1, sizeof(char *));
    if (ranked == NULL || ranking->names == NULL) {
        uvzk__free(ranked);
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const char *key = driver->sort_key != NULL ? driver->sort_key(driver, names[i])
                                                   : plain_key(driver, names[i]);
        if (key != NULL) {
            ranked[ranking->count++] = (struct ranked){key, names[i]};
        }
    }
    ranking->ignored = count - ranking->count;
    qsort(ranked, ranking->count, sizeof(struct ranked), by_key);
    for (size_t i = 0; i < ranking->count; i++) {
        ranking->names[i] = ranked[i].name;
    }
    uvzk__free(ranked);
    return 0;
}

void uvzk__ranking_free(struct uvzk__ranking *ranking)
{
    uvzk__free(ranking->names);
}

size_t uvzk__ranking_find(const struct uvzk__ranking *ranking, const char *name)
{
    for (size_t i = 0; i < ranking->count; i++) {
        if (strcmp(ranking->names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

enum uvzk__verdict uvzk__ranking_judge(const struct uvzk__ranking *ranking, size_t own,
                                       size_t *watch)
{
    const uvzk_lock_driver_t *driver = ranking->driver;
    int gets;

    *watch = SIZE_MAX;
    gets = driver->gets_the_lock != NULL
               ? driver->gets_the_lock(driver, ranking->names, ranking->count, own, watch)
               : plain_rule(driver, own, watch);
    if (gets != 0) {
        return UVZK__GETS;
    }
    return *watch < ranking->count && *watch != own ? UVZK__WAITS : UVZK__ASKS;
}
