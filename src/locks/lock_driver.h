/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's lock driver (Curator's LockInternalsDriver), checked and copied. */
#ifndef UVZK_LOCK_DRIVER_H
#define UVZK_LOCK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_name.h"
#include "engine/znode_owner.h"
#include "uvzk.h"

/* The longest fixed name in bytes. It has neither a sequence number nor a UUID, so it
 * takes no more room than any other name. */
#define UVZK__FIXED_NAME_MAX 64
_Static_assert(UVZK__FIXED_NAME_MAX <= UVZK__PROTECTED_NAME_SIZE + 10,
               "room in the path");

/* A copy of a driver. The lock and its claims share it by reference, because a claim may
 * exist longer than its lock. */
struct uvzk__lock_driver {
    uvzk_lock_driver_t settings; /* its name points to `name` below */
    uint32_t refs;
    /* With a fixed name: the czxid of the last znode that is known to have been this
     * lock's, and the session that created it; 0: there was none (fixed_name.h). */
    int64_t last_czxid, last_session;
    /* With a fixed name: the owner of the lock's znode, in the client of this session. */
    struct uvzk__znode_owner owner;
    struct uvzk__session *session;
    char *path; /* of that znode, namespace included; owned; NULL without a fixed name */
    char name[];
};

/* new: a copy with one reference, or NULL if out of memory. The settings must have been
 * checked. ref adds a reference. unref removes one; the last one frees the copy. */
struct uvzk__lock_driver *uvzk__lock_driver_new(const uvzk_lock_driver_t *);
struct uvzk__lock_driver *uvzk__lock_driver_ref(struct uvzk__lock_driver *);
void uvzk__lock_driver_unref(struct uvzk__lock_driver *);

/* With a fixed name, in this directory, makes the driver the owner of the lock's znode, until
 * the driver is freed. Otherwise does nothing. Returns 0, UV_EEXIST or UV_ENOMEM. */
int uvzk__lock_driver_own(struct uvzk__lock_driver *, struct uvzk__session *,
                          const char *directory);

/* had: the znode with this czxid, of the driver's fixed name, is the lock's and was
 * created by this session. may_be_later: whether a znode of that name and session can be
 * later than all znodes that are known to have been the lock's. */
void uvzk__lock_driver_had(struct uvzk__lock_driver *, int64_t session, int64_t czxid);
bool uvzk__lock_driver_may_be_later(const struct uvzk__lock_driver *, int64_t session,
                                    int64_t czxid);

/* Returns true if the znode's name is the driver's name alone, without a sequence number
 * and without a UUID. */
static inline bool uvzk__lock_driver_fixed(const struct uvzk__lock_driver *driver)
{
    return driver->settings.mode == UVZK_NODE_EPHEMERAL;
}

/* The check of the init function: 0, UV_EINVAL or UVZK_EPATH. */
int uvzk__lock_driver_check(const uvzk_lock_driver_t *);

/* ----------------------------------------------------------- how it reads a listing */

/* How a lock driver reads a listing: the order of the children, and whether one of them
 * gets the lock (Curator's getSortedChildren and getsTheLock). These functions call the
 * driver's functions and keep no state. */

struct uvzk__sorted_children {
    const uvzk_lock_driver_t *driver; /* borrowed */
    /* The contenders in order. The array is owned, the names are borrowed from the
     * listing. */
    const char **names;
    size_t count;   /* of names */
    size_t ignored; /* how many children the driver ignores */
};

/* Sorts the children of a listing. Returns 0 or UV_ENOMEM. Call
 * uvzk__sorted_children_free in either case. */
int uvzk__sorted_children_sort(struct uvzk__sorted_children *, const uvzk_lock_driver_t *,
                               const char *const *names, size_t count);
void uvzk__sorted_children_free(struct uvzk__sorted_children *);

/* The index of this name; SIZE_MAX: it is not among the contenders. */
size_t uvzk__sorted_children_find(const struct uvzk__sorted_children *, const char *name);

enum uvzk__driver_decision {
    UVZK__DRIVER_UNDECIDED,
    UVZK__DRIVER_WAITS,
    UVZK__DRIVER_GETS_LOCK
};

/* The driver's decision about the contender with index `own`. WAITS: for the contender
 * with index *watch. UNDECIDED: the driver named no other contender to wait for, which is
 * an error of the driver. */
enum uvzk__driver_decision
uvzk__sorted_children_decide(const struct uvzk__sorted_children *, size_t own,
                             size_t *watch);

#endif
