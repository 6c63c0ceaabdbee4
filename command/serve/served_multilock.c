/* SPDX-License-Identifier: Apache-2.0 */
/* Opens one multi lock for all connections that use the same members, and closes it when
 * nobody uses it (served_multilock.h). served_hold.c uses and leaves it. */
#include "serve/served_multilock.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------- closing */

static void leave_members(struct served_multilock *multilock)
{
    for (size_t i = 0; i < multilock->count; i++) {
        served_lock_leave(multilock->locks, multilock->members[i].lock);
    }
    free(multilock);
}

/* The members are closed after their multi lock. */
static void on_closed(uvzk_lock_t *lock)
{
    leave_members(lock->data);
}

void served_multilock_leave(struct served_multilock *multilock)
{
    if (--multilock->users > 0) {
        return;
    }
    multilock->lock.data = multilock;
    /* A lock that the end of its client has closed stays here until the client is gone. */
    if (uvzk_lock_close(&multilock->lock, on_closed) == 0) {
        HASH_DEL(multilock->locks->multilocks, multilock);
    }
}

void served_multilocks_free(struct served_locks *locks)
{
    struct served_multilock *multilock, *next;

    HASH_ITER(hh, locks->multilocks, multilock, next)
    {
        HASH_DEL(locks->multilocks, multilock);
        free(multilock);
    }
}

/* ----------------------------------------------------------------------- opening */

static int by_path(const void *left, const void *right)
{
    const struct served_member *one = left, *other = right;

    return strcmp(one->lock->path, other->lock->path);
}

static unsigned key_length(const struct served_multilock *multilock)
{
    return (unsigned)(multilock->count * sizeof(multilock->members[0]));
}

/* multilock->count: how many of them could be entered. */
static int enter_members(struct served_multilock *multilock,
                         const struct served_request *request)
{
    size_t count = json_array_size(request->members);

    for (int status = 0; multilock->count < count; multilock->count++) {
        struct served_request member;
        (void)served_request_read_member(request, multilock->count, &member);
        struct served_lock *lock = served_lock_enter(multilock->locks, &member, &status);
        if (lock == NULL) {
            return status;
        }
        multilock->members[multilock->count] =
            (struct served_member){lock, member.kind, request->in_turn};
    }
    qsort(multilock->members, count, sizeof(multilock->members[0]), by_path);
    return 0;
}

static int init(struct served_multilock *multilock)
{
    uvzk_lock_t *members[SERVED_LIST_MAX];

    for (size_t i = 0; i < multilock->count; i++) {
        members[i] = served_lock_of(multilock->members[i].lock,
                                    (enum served_kind)multilock->members[i].kind);
    }
    return uvzk_multilock_init(
        multilock->locks->client, &multilock->lock, members, multilock->count,
        multilock->members[0].in_turn != 0 ? UVZK_MULTILOCK_IN_TURN : 0, NULL);
}

/* Adds it to the table and opens it. */
static int open_multilock(struct served_multilock *multilock)
{
    HASH_ADD(hh, multilock->locks->multilocks, members[0], key_length(multilock),
             multilock);
    if (multilock->hh.tbl == NULL) {
        return UV_ENOMEM;
    }
    int status = init(multilock);
    if (status < 0) {
        HASH_DEL(multilock->locks->multilocks, multilock);
    }
    return status;
}

struct served_multilock *served_multilock_enter(struct served_locks *locks,
                                                const struct served_request *request,
                                                int *status, size_t *refused)
{
    size_t count = json_array_size(request->members);
    struct served_multilock *open = NULL;
    struct served_multilock *multilock =
        calloc(1, sizeof(*multilock) + count * sizeof(multilock->members[0]));

    if (multilock == NULL) {
        *status = UV_ENOMEM;
        return NULL;
    }
    multilock->locks = locks;
    *status = enter_members(multilock, request);
    *refused = multilock->count;
    if (*status == 0) {
        HASH_FIND(hh, locks->multilocks, multilock->members, key_length(multilock), open);
    }
    if (*status == 0 && open == NULL) {
        *status = open_multilock(multilock);
        open = *status == 0 ? multilock : NULL;
    }
    if (open != multilock) {
        leave_members(multilock);
    }
    if (open != NULL) {
        open->users++;
    }
    return open;
}
