/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers.h"

void exclusive_driver(uvzk_lock_driver_t *driver)
{
    uvzk_lock_driver_init(driver);
    driver->name = "lock";
    driver->mode = UVZK_NODE_EPHEMERAL;
}

/* `children` are the names of all contenders, in the order of their sequence numbers;
 * `own` is the index of ours. Returns 1 if it holds a lease. Otherwise sets *watch to the
 * child whose deletion is to be waited for. */
static int has_a_lease(const uvzk_lock_driver_t *driver, const char *const *children,
                       size_t count, size_t own, size_t *watch)
{
    (void)children;
    (void)count;
    if (own < driver->max_leases) {
        return 1;
    }
    *watch = own - driver->max_leases;
    return 0;
}

void n_leases_driver(uvzk_lock_driver_t *driver, uint32_t leases)
{
    uvzk_lock_driver_init(driver);
    driver->name = "lock-"; /* the znodes' names: _c_<uuid>-lock-0000000042 */
    driver->mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    driver->max_leases = leases;
    driver->gets_the_lock = has_a_lease;
}
