/* SPDX-License-Identifier: Apache-2.0 */
/* The locks that all connections of the daemon share: one for each path and kind. An
 * unused lock is kept for a while, because the library knows more about a path while a
 * lock on it is open. */
#ifndef SERVED_LOCK_H
#define SERVED_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

#include "serve/served_request.h"
#include "serve/table.h"

#define SERVED_IDLE_LOCKS_MAX 1000U

struct served_lock {
    UT_hash_handle hh;
    uvzk_rwlock_t rwlock;            /* of the kinds SERVED_READ and SERVED_WRITE */
    uvzk_lock_t single;              /* of the other kinds */
    bool has_halves;                 /* rwlock, and not single */
    size_t users;                    /* holds, listings, watches and multi locks */
    size_t closing;                  /* parts that are being closed */
    struct served_lock *prev, *next; /* of the idle list, if it is not in use */
    const char *path;                /* in `key` */
    char key[];                      /* kind, max_leases and path */
};

struct served_locks {
    uvzk_client_t *client;
    struct served_lock *locks;           /* by key */
    struct served_multilock *multilocks; /* by members */
    struct served_lock *idle;            /* the one that is idle for longest first */
    size_t idle_count;
};

/* Returns the lock of this request, which is open until served_lock_leave was called as
 * often as this function. NULL: sets *status to the library's code; if that is not
 * UV_ENOMEM, uvzk_refusal knows the reason. */
struct served_lock *served_lock_enter(struct served_locks *,
                                      const struct served_request *, int *status);
void served_lock_leave(struct served_locks *, struct served_lock *);

/* Returns what is acquired or listed. */
uvzk_lock_t *served_lock_of(struct served_lock *, enum served_kind);

/* Frees all locks. Call it after the client was closed, which closes its locks. */
void served_locks_free(struct served_locks *);

#endif
