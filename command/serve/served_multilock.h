/* SPDX-License-Identifier: Apache-2.0 */
/* Several locks that programs acquire as one: all are held or none is. All connections
 * share one for the same locks, so that an owner re-enters it. An unused one is closed at
 * once: what the library knows of the paths belongs to the locks, which are kept
 * (served_lock.h). */
#ifndef SERVED_MULTILOCK_H
#define SERVED_MULTILOCK_H

#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

#include "serve/served_lock.h"
#include "serve/served_request.h"
#include "serve/table.h"

struct served_member {
    struct served_lock *lock;
    uint32_t kind;    /* enum served_kind */
    uint32_t in_turn; /* the same of all members */
};

struct served_multilock {
    UT_hash_handle hh;
    uvzk_multilock_t lock;
    struct served_locks *locks;
    size_t users; /* holds */
    size_t count;
    struct served_member
        members[]; /* in the order of their paths; all of them: the key */
};

/* Returns the multi lock of this request, which is open until served_multilock_leave was
 * called as often as this function. NULL: sets *status as served_lock_enter does, and
 * *refused to the member that was refused. */
struct served_multilock *served_multilock_enter(struct served_locks *,
                                                const struct served_request *,
                                                int *status, size_t *refused);
void served_multilock_leave(struct served_multilock *);

/* Frees what could not be closed. Call it after the client was closed, before
 * served_locks_free. */
void served_multilocks_free(struct served_locks *);

#endif
