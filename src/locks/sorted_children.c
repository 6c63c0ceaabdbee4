/* Sorts the children of a listing by the driver's keys, and calls its decision for one
 * contender (sorted_children.h). */
#include "locks/sorted_children.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct sorted_child {
    const char *key, *name;
};

/* --------------------------------------------------------- Curator's standard driver */

/* The sort key without a driver's sort_key: what follows the last occurrence of the
 * lock's name. NULL: the child does not contain the name, and is ignored. */
static const char *plain_key(const uvzk_lock_driver_t *driver, const char *child)
{
    const char *key = NULL, *at = child;

    while ((at = strstr(at, driver->name)) != NULL) {
        key = at + strlen(driver->name);
        at++;
    }
    return key;
}

/* The decision without a driver's gets_the_lock: the first max_leases contenders get the
 * lock; any other one waits for the one that is max_leases before it. */
static int plain_rule(const uvzk_lock_driver_t *driver, size_t own, size_t *watch)
{
    if (own < driver->max_leases) {
        return 1;
    }
    *watch = own - driver->max_leases;
    return 0;
}

/* ------------------------------------------------------------------------ the order */

/* Equal keys are ordered by name, so that all clients have the same order. */
static int by_key(const void *left, const void *right)
{
    const struct sorted_child *a = left, *b = right;
    int order = strcmp(a->key, b->key);

    return order != 0 ? order : strcmp(a->name, b->name);
}

int uvzk__sorted_children_sort(struct uvzk__sorted_children *children,
                               const uvzk_lock_driver_t *driver, const char *const *names,
                               size_t count)
{
    struct sorted_child *ranked = uvzk__calloc(count + 1, sizeof(struct sorted_child));

    memset(children, 0, sizeof(*children));
    children->driver = driver;
    children->names = uvzk__calloc(count + 1, sizeof(char *));
    if (ranked == NULL || children->names == NULL) {
        uvzk__free(ranked);
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const char *key = driver->sort_key != NULL ? driver->sort_key(driver, names[i])
                                                   : plain_key(driver, names[i]);
        if (key != NULL) {
            ranked[children->count++] = (struct sorted_child){key, names[i]};
        }
    }
    children->ignored = count - children->count;
    qsort(ranked, children->count, sizeof(struct sorted_child), by_key);
    for (size_t i = 0; i < children->count; i++) {
        children->names[i] = ranked[i].name;
    }
    uvzk__free(ranked);
    return 0;
}

void uvzk__sorted_children_free(struct uvzk__sorted_children *children)
{
    uvzk__free(children->names);
}

size_t uvzk__sorted_children_find(const struct uvzk__sorted_children *children,
                                  const char *name)
{
    for (size_t i = 0; i < children->count; i++) {
        if (strcmp(children->names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

enum uvzk__probe_result
uvzk__sorted_children_decide(const struct uvzk__sorted_children *children, size_t own,
                             size_t *watch)
{
    const uvzk_lock_driver_t *driver = children->driver;
    int gets;

    *watch = SIZE_MAX;
    gets =
        driver->gets_the_lock != NULL
            ? driver->gets_the_lock(driver, children->names, children->count, own, watch)
            : plain_rule(driver, own, watch);
    if (gets != 0) {
        return UVZK__DRIVER_GETS_LOCK;
    }
    return *watch < children->count && *watch != own ? UVZK__DRIVER_WAITS
                                                     : UVZK__DRIVER_UNDECIDED;
}
