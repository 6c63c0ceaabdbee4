/* The caller's LockInternalsDriver, checked and copied. */
#ifndef UVZK_LOCK_DRIVER_H
#define UVZK_LOCK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_name.h"
#include "uvzk.h"

/* Of a name without a number and without protection: it takes no more room. */
#define UVZK__FIXED_NAME_MAX 64
_Static_assert(UVZK__FIXED_NAME_MAX <= UVZK__PROTECTED_NAME_SIZE + 10,
               "room in the path");

/* A driver, copied: its lock's and that of all its claims, which may live longer. */
struct uvzk__lock_driver {
    uvzk_lock_driver_t settings;
    uint32_t refs;
    /* Of a fixed name: the last znode that is known to have been ours, and its
     * session; 0: none (fixed_name.h). */
    int64_t last_czxid, last_session;
    char name[];
};

/* NULL when out of memory; with one user. One more; and one less, the last one frees it. */
struct uvzk__lock_driver *uvzk__lock_driver_new(const uvzk_lock_driver_t *);
struct uvzk__lock_driver *uvzk__lock_driver_ref(struct uvzk__lock_driver *);
void uvzk__lock_driver_unref(struct uvzk__lock_driver *);

/* The znode with this czxid is the session's, by this driver's fixed name. And whether
 * one of that name and session can be a later one than all that are known to have
 * been. */
void uvzk__lock_driver_had(struct uvzk__lock_driver *, int64_t session, int64_t czxid);
bool uvzk__lock_driver_may_be_later(const struct uvzk__lock_driver *, int64_t session,
                                    int64_t czxid);

/* Whether its znode has a name of its own making: no number, no protection. */
static inline bool uvzk__lock_driver_fixed(const struct uvzk__lock_driver *driver)
{
    return driver->settings.mode == UVZK_NODE_EPHEMERAL;
}

/* What the init function refuses: UV_EINVAL, UVZK_EPATH; 0. */
int uvzk__lock_driver_check(const uvzk_lock_driver_t *);

#endif
