/* SPDX-License-Identifier: Apache-2.0 */
/* Opens one lock for all connections that use the same path and kind, and closes idle
 * ones (served_lock.h). served_hold.c, served_listing.c and served_watch.c use and leave it. */
#include "serve/served_lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "latch_lock.h"

static bool is_half(enum served_kind kind)
{
    return kind == SERVED_READ || kind == SERVED_WRITE;
}

uvzk_lock_t *served_lock_of(struct served_lock *lock, enum served_kind kind)
{
    if (!lock->has_halves) {
        return &lock->single;
    }
    return kind == SERVED_READ ? &lock->rwlock.read : &lock->rwlock.write;
}

/* ----------------------------------------------------------------------- closing */

static void on_closed(uvzk_lock_t *part)
{
    struct served_lock *lock = part->data;

    if (--lock->closing == 0) {
        free(lock);
    }
}

static void close_part(struct served_lock *lock, uvzk_lock_t *part)
{
    part->data = lock;
    lock->closing++;
    uvzk_lock_close(part, on_closed);
}

static void close_lock(struct served_locks *locks, struct served_lock *lock)
{
    HASH_DEL(locks->locks, lock);
    DL_DELETE(locks->idle, lock);
    locks->idle_count--;
    if (lock->has_halves) {
        close_part(lock, &lock->rwlock.read);
        close_part(lock, &lock->rwlock.write);
    } else {
        close_part(lock, &lock->single);
    }
}

void served_locks_free(struct served_locks *locks)
{
    struct served_lock *lock, *next;

    HASH_ITER(hh, locks->locks, lock, next)
    {
        HASH_DEL(locks->locks, lock);
        free(lock);
    }
    locks->idle = NULL;
}

/* ------------------------------------------------------------------------- opening */

static int init(struct served_locks *locks, struct served_lock *lock,
                const struct served_request *request)
{
    if (lock->has_halves) {
        return uvzk_rwlock_init(locks->client, &lock->rwlock, request->path);
    }
    if (request->kind == SERVED_SEMAPHORE) {
        return uvzk_semaphore_init(locks->client, &lock->single, request->path,
                                   (uint32_t)request->max_leases, NULL);
    }
    return request->kind == SERVED_LATCH
               ? latch_lock_init(locks->client, &lock->single, request->path)
               : uvzk_mutex_init(locks->client, &lock->single, request->path);
}

/* Takes over the memory of the key. */
static struct served_lock *open_lock(struct served_locks *locks,
                                     const struct served_request *request,
                                     const char *key, unsigned length, int *status)
{
    struct served_lock *lock = calloc(1, sizeof(*lock) + length + 1);

    *status = UV_ENOMEM;
    if (lock == NULL) {
        return NULL;
    }
    memcpy(lock->key, key, length);
    lock->path = lock->key + length - strlen(request->path);
    lock->has_halves = is_half(request->kind);
    HASH_ADD_KEYPTR(hh, locks->locks, lock->key, length, lock);
    if (lock->hh.tbl == NULL) {
        free(lock);
        return NULL;
    }
    *status = init(locks, lock, request);
    if (*status < 0) {
        HASH_DEL(locks->locks, lock);
        free(lock);
        return NULL;
    }
    return lock;
}

struct served_lock *served_lock_enter(struct served_locks *locks,
                                      const struct served_request *request, int *status)
{
    struct served_lock *lock = NULL;
    enum served_kind kind = is_half(request->kind) ? SERVED_WRITE : request->kind;
    char *key;
    int length = asprintf(&key, "%d %" PRId64 " %s", (int)kind, request->max_leases,
                          request->path);

    if (length < 0) {
        *status = UV_ENOMEM;
        return NULL;
    }
    HASH_FIND(hh, locks->locks, key, (unsigned)length, lock);
    if (lock == NULL) {
        lock = open_lock(locks, request, key, (unsigned)length, status);
    } else if (lock->users == 0) {
        DL_DELETE(locks->idle, lock);
        locks->idle_count--;
    }
    free(key);
    if (lock != NULL) {
        lock->users++;
    }
    return lock;
}

void served_lock_leave(struct served_locks *locks, struct served_lock *lock)
{
    if (--lock->users > 0) {
        return;
    }
    DL_APPEND(locks->idle, lock);
    if (++locks->idle_count > SERVED_IDLE_LOCKS_MAX) {
        close_lock(locks, locks->idle);
    }
}
