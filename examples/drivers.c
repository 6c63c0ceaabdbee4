#include "drivers.h"

void exclusive_driver(uvzk_lock_driver_t *driver)
{
    uvzk_lock_driver_init(driver);
    driver->name = "lock";
    driver->mode = UVZK_NODE_EPHEMERAL;
}

/* children: those of all who take part, the longest there first; own is ours. */
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
    driver->name = "lock-"; /* the znodes: _c_<uuid>-lock-0000000042 */
    driver->mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    driver->max_leases = leases;
    driver->gets_the_lock = has_a_lease;
}
