/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's driver, copies it with its name, and calls it to read a listing
 * (lock_driver.h). */
#include "locks/lock_driver.h"

#include <string.h>

#include "base/memory.h"
#include "base/node_name.h"
#include "base/path.h"
#include "base/refusal.h"
#include "base/struct_size.h"
#include "engine/session.h"

struct uvzk__lock_driver *uvzk__lock_driver_new(const uvzk_lock_driver_t *settings)
{
    size_t size = strlen(settings->name) + 1;
    struct uvzk__lock_driver *driver = uvzk__calloc(1, sizeof(*driver) + size);

    if (driver == NULL) {
        return NULL;
    }
    /* The driver's functions find this library's size in the copy: a newer program's
     * functions must not read beyond it. */
    uvzk__settings_from(&driver->settings, settings, sizeof(driver->settings));
    driver->settings.name = driver->name;
    if (settings->max_leases == 0) {
        driver->settings.max_leases = 1;
    }
    driver->refs = 1;
    memcpy(driver->name, settings->name, size);
    return driver;
}

struct uvzk__lock_driver *uvzk__lock_driver_ref(struct uvzk__lock_driver *driver)
{
    driver->refs++;
    return driver;
}

void uvzk__lock_driver_unref(struct uvzk__lock_driver *driver)
{
    if (--driver->refs == 0) {
        if (driver->path != NULL) {
            uvzk__znode_owner_end(driver->session, &driver->owner);
        }
        uvzk__free(driver->path);
        uvzk__free(driver);
    }
}

int uvzk__lock_driver_own(struct uvzk__lock_driver *driver, struct uvzk__session *session,
                          const char *directory)
{
    if (!uvzk__lock_driver_fixed(driver)) {
        return 0;
    }
    char *below = uvzk__path_join(uvzk__namespace_of(session), directory);
    driver->path = below == NULL ? NULL : uvzk__path_join(below, driver->name);
    uvzk__free(below);
    if (driver->path == NULL) {
        return UV_ENOMEM;
    }
    driver->session = session;
    return uvzk__znode_owner_begin(session, &driver->owner, driver->path,
                                   UVZK__OWNED_BY_LOCK, true);
}

void uvzk__lock_driver_had(struct uvzk__lock_driver *driver, int64_t session,
                           int64_t czxid)
{
    driver->last_session = session;
    driver->last_czxid = czxid; /* created one at a time, so each is greater */
}

bool uvzk__lock_driver_may_be_later(const struct uvzk__lock_driver *driver,
                                    int64_t session, int64_t czxid)
{
    return driver->last_session != session || czxid > driver->last_czxid;
}

void uvzk_lock_driver_init_size(uvzk_lock_driver_t *driver, size_t size)
{
    if (driver != NULL) {
        memset(driver, 0, size);
        driver->size = size;
    }
}

/* The name becomes the last part of a path, so it must not contain a '/' and must follow
 * ZooKeeper's rules for paths. A sequential name is limited to 16 bytes, because a UUID
 * and a sequence number are added to it. */
int uvzk__lock_driver_check(const uvzk_lock_driver_t *driver)
{
    char path[1 + UVZK__FIXED_NAME_MAX + 1] = "/";
    size_t length, most;

    const size_t least = UVZK__SIZE_UP_TO(uvzk_lock_driver_t, context);
    if (driver == NULL || driver->size < least || driver->name == NULL ||
        driver->mode > UVZK_NODE_PERSISTENT_SEQUENTIAL) {
        return uvzk__refuse(UV_EINVAL,
                            driver == NULL ? "driver is NULL"
                            : driver->size < least
                                ? "driver.size: begin with uvzk_lock_driver_init"
                            : driver->name == NULL ? "driver.name is NULL"
                                                   : "driver.mode: unknown mode");
    }
    bool fixed = driver->mode == UVZK_NODE_EPHEMERAL;
    most = fixed ? UVZK__FIXED_NAME_MAX : UVZK__NAME_PREFIX_MAX;
    length = strnlen(driver->name, most + 1);
    if (length == 0 || length > most || strchr(driver->name, '/') != NULL) {
        return uvzk__refuse(UV_EINVAL, "driver.name: empty, too long, or with a '/'");
    }
    if (fixed && (driver->gets_the_lock != NULL || driver->sort_key != NULL)) {
        return uvzk__refuse(
            UV_EINVAL,
            driver->gets_the_lock != NULL
                ? "driver.gets_the_lock cannot be used with UVZK_NODE_EPHEMERAL"
                : "driver.sort_key cannot be used with UVZK_NODE_EPHEMERAL");
    }
    memcpy(path + 1, driver->name, length);
    return uvzk__path_validate(path);
}

/* ----------------------------------------------------------- how it reads a listing */

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

enum uvzk__driver_decision
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
