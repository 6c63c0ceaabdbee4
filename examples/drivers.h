/* Two lock drivers: what Curator calls a LockInternalsDriver. */
#ifndef DRIVERS_H
#define DRIVERS_H

#include <uvzk.h>

/* One ephemeral znode of a fixed name below the lock's path, `lock`. Whoever creates
 * it holds the lock, everybody else watches it, and when it goes any of them may be the
 * next: nobody waits in a line. */
void exclusive_driver(uvzk_lock_driver_t *driver);

/* As many leases as `leases` on one directory, as Curator's first semaphore had them
 * (InterProcessSemaphore): the first so many of the line hold, and who waits
 * watches the one that stands that many places before. */
void n_leases_driver(uvzk_lock_driver_t *driver, uint32_t leases);

#endif
