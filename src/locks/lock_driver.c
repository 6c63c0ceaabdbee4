/* Checks the caller's driver and copies it with its name (lock_driver.h). */
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
