/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a lock with the names of a LeaderLatch's znodes, by a lock driver
 * (latch_lock.h). */
#include "latch_lock.h"

#include <string.h>

/* Returns the text by which the znodes of a leader latch are sorted, as Curator does: what
 * follows the last `latch-`. NULL: not one of them. */
static const char *sort_key(const uvzk_lock_driver_t *driver, const char *child)
{
    const char *key = NULL;

    for (const char *found = strstr(child, driver->name); found != NULL;
         found = strstr(key, driver->name)) {
        key = found + strlen(driver->name);
    }
    return key;
}

int latch_lock_init(uvzk_client_t *client, uvzk_lock_t *lock, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "latch-";
    driver.sort_key = sort_key;
    return uvzk_lock_init_with_driver(client, lock, path, &driver);
}
