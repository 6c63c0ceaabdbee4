/* SPDX-License-Identifier: Apache-2.0 */
/* Two lock drivers (Curator's LockInternalsDriver). */
#ifndef DRIVERS_H
#define DRIVERS_H

#include <uvzk.h>

/* One ephemeral znode with the fixed name `lock` below the lock's path. The client that
 * creates it holds the lock, and all others watch it. There is no queue: when the znode
 * is deleted, any of them may be the next holder. */
void exclusive_driver(uvzk_lock_driver_t *driver);

/* A semaphore with `leases` leases in one directory, as Curator's first semaphore
 * (InterProcessSemaphore). The first `leases` contenders in the order of the sequence
 * numbers hold. Each of the others watches the contender that is `leases` positions
 * before it. */
void n_leases_driver(uvzk_lock_driver_t *driver, uint32_t leases);

#endif
