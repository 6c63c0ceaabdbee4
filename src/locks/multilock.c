/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessMultiLock: the lock itself, its checks, and the reports of members'
 * failures. For each acquire, multilock_prepare() chooses one of the two ways that
 * multilock.h describes. All members are acquired at once if all are mutexes, no flag
 * forbids it, and the owner does not already hold one of them; otherwise in turn.
 *
 * The members belong to the user and may be closed at any time, so they are found by
 * their identity each time they are used. */
#include "locks/multilock.h"

#include <stdlib.h>
#include <string.h>

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "engine/turn.h"
#include "locks/mutex.h"

/* The znodes of all members must fit into one request. */
#define MEMBERS_MAX 100U

static struct uvzk__multilock *multilock_of(const struct uvzk__lock *lock)
{
    return lock->extra;
}

/* ------------------------------------------------------------- reporting errors */

/* unref may free the claim, and this notification with it, so everything that is needed
 * afterwards is read before. */
static void notify_error(struct uvzk__notification *notification)
{
    struct uvzk__member_error *error =
        UVZK__CONTAINER_OF(notification, struct uvzk__member_error, notification);
    uvzk_multilock_error_cb error_cb = error->multilock->error_cb;
    uvzk_lock_t *handle = error->multilock->handle, *member = error->member->handle;
    int status = error->status;

    uvzk__claim_unref(error->claim);
    error_cb(handle, member, status);
}

void uvzk__member_error_init(struct uvzk__member_error *error, struct uvzk__claim *claim,
                             const struct uvzk__multilock *multilock,
                             const struct uvzk__multilock_member *member)
{
    error->notification.notify_cb = notify_error;
    uvzk__list_init(&error->notification.link);
    error->claim = claim;
    error->multilock = multilock;
    error->member = member;
}

void uvzk__member_error_report(struct uvzk__member_error *error, int status)
{
    if (status != 0 && error->status == 0) {
        error->status = status;
        if (error->multilock->error_cb != NULL) {
            uvzk__claim_ref(error->claim);
            uvzk__notify_later(error->claim->session, &error->notification);
        }
    }
}

/* ------------------------------------------------------------------ acquiring */

static struct uvzk__lock *member_at(const struct uvzk__multilock *multilock, size_t i)
{
    return multilock->members[i].handle->impl;
}

int uvzk__multilock_member_check(const struct uvzk__multilock_member *member)
{
    return uvzk__lock_by_identity(member->handle, member->identity) != NULL
               ? 0
               : uvzk__refuse(UVZK_ECLOSED, "a member of the multi lock is closed, or "
                                            "its struct is another lock now");
}

static int multilock_check(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    const struct uvzk__multilock *multilock = multilock_of(lock);

    if (options->leases > 1 || options->revoke_cb != NULL) {
        return uvzk__refuse(
            UV_EINVAL, options->leases > 1
                           ? "options.leases: only a semaphore has several"
                           : "options.revoke_cb: a multi lock's hold cannot be revoked");
    }
    for (size_t i = 0; i < multilock->count; i++) {
        int status = uvzk__multilock_member_check(&multilock->members[i]);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Returns true if this owner's acquire takes all members at once. An owner that has one
 * of the members already re-enters that member, which needs an acquire of its own. */
static bool at_once(const struct uvzk__multilock *multilock, const void *owner)
{
    for (size_t i = 0; i < multilock->count; i++) {
        const struct uvzk__lock *member = member_at(multilock, i);
        if (multilock->in_turn || member->kind != &uvzk__mutex ||
            uvzk__claim_of(member, owner) != NULL) {
            return false;
        }
    }
    return true;
}

/* A member that the owner has already is re-entered, so it does not count. */
static bool multilock_occupied(struct uvzk__lock *lock,
                               const uvzk_acquire_options_t *options)
{
    const struct uvzk__multilock *multilock = multilock_of(lock);
    bool found = false;

    for (size_t i = 0; i < multilock->count && !found; i++) {
        struct uvzk__lock *member = member_at(multilock, i);
        found = uvzk__claim_of(member, options->owner) == NULL &&
                member->kind->occupied(member, options);
    }
    return found;
}

/* At once, the path of the first member decides, whose home is the multi lock's home too.
 * In turn, each member's acquire chooses a session by itself. */
static const char *session_order_path(const struct uvzk__lock *lock,
                                      const uvzk_acquire_options_t *options)
{
    const struct uvzk__multilock *multilock = multilock_of(lock);

    return at_once(multilock, options->owner) ? member_at(multilock, 0)->path->text
                                              : NULL;
}

static int multilock_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                             const uvzk_acquire_options_t *options)
{
    const struct uvzk__multilock *multilock = multilock_of(lock);

    if (at_once(multilock, options->owner)) {
        claim->kind = &uvzk__claim_at_once;
        return uvzk__at_once_prepare(claim, multilock);
    }
    return uvzk__in_turn_prepare(claim, multilock, options);
}

/* At once, it is enough to pump one contender: the multi creates the znodes of all. */
static void multilock_begin(struct uvzk__claim *claim)
{
    if (claim->kind == &uvzk__claim_at_once) {
        uvzk__contender_pump(uvzk__claim_first_contender(claim));
    } else {
        uvzk__in_turn_begin(claim);
    }
}

static void multilock_freed(struct uvzk__lock *lock)
{
    uvzk__free(multilock_of(lock)->members);
    uvzk__free(multilock_of(lock));
}

static const struct uvzk__lock_kind multilock_kind = {
    .claim_kind = &uvzk__claim_in_turn,
    .check = multilock_check,
    .occupied = multilock_occupied,
    .session_order_path = session_order_path,
    .prepare = multilock_prepare,
    .begin = multilock_begin,
    .freed = multilock_freed,
};

/* ----------------------------------------------------------------------- init */

static int by_path(const void *left, const void *right)
{
    const struct uvzk__lock *a =
        ((const struct uvzk__multilock_member *)left)->handle->impl;
    const struct uvzk__lock *b =
        ((const struct uvzk__multilock_member *)right)->handle->impl;

    return strcmp(a->path->text, b->path->text);
}

static int check_members(const uvzk_client_t *client, uvzk_lock_t *const *members,
                         size_t count)
{
    if (client == NULL || members == NULL || count == 0 || count > MEMBERS_MAX) {
        return uvzk__refuse(UV_EINVAL, client == NULL ? "client is NULL"
                                       : members == NULL
                                           ? "members is NULL"
                                           : "count is not between 1 and 100");
    }
    for (size_t i = 0; i < count; i++) {
        const struct uvzk__lock *member = members[i] == NULL ? NULL : members[i]->impl;
        if (member == NULL || member->session->handle != client) {
            return uvzk__refuse(UV_EINVAL,
                                "members: one is NULL, not initialised, or of another "
                                "client");
        }
        if (member->kind == &uvzk__mutex_in_cohort) {
            return uvzk__refuse(UV_EINVAL, "members: one is a mutex with a cohort");
        }
        for (size_t j = 0; j < i; j++) {
            if (members[i] == members[j]) {
                return uvzk__refuse(UV_EINVAL, "members: one is named twice");
            }
        }
    }
    return 0;
}

/* Returns true if two members are mutexes of one path: the second would wait for the
 * first forever. The members are sorted by path, so only neighbors are compared. */
static bool waits_for_itself(const struct uvzk__multilock *multilock)
{
    for (size_t i = 1; i < multilock->count; i++) {
        if (by_path(&multilock->members[i - 1], &multilock->members[i]) == 0 &&
            member_at(multilock, i - 1)->kind == &uvzk__mutex &&
            member_at(multilock, i)->kind == &uvzk__mutex) {
            return true;
        }
    }
    return false;
}

static struct uvzk__multilock *new_multilock(uvzk_lock_t *handle,
                                             uvzk_lock_t *const *members, size_t count)
{
    struct uvzk__multilock *multilock = uvzk__calloc(1, sizeof(*multilock));

    if (multilock == NULL) {
        return NULL;
    }
    multilock->members = uvzk__calloc(count, sizeof(multilock->members[0]));
    if (multilock->members == NULL) {
        uvzk__free(multilock);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        multilock->members[i].handle = members[i];
        multilock->members[i].identity = uvzk__lock_identity(members[i]->impl);
    }
    multilock->handle = handle;
    multilock->count = count;
    qsort(multilock->members, count, sizeof(multilock->members[0]), by_path);
    return multilock;
}

int uvzk_multilock_init(uvzk_client_t *client, uvzk_multilock_t *handle,
                        uvzk_lock_t *const *members, size_t count, unsigned flags,
                        uvzk_multilock_error_cb error_cb)
{
    struct uvzk__multilock *multilock;
    struct uvzk__lock *lock = NULL;
    int status = flags > UVZK_MULTILOCK_IN_TURN
                     ? uvzk__refuse(UV_EINVAL, "flags: unknown flag")
                     : check_members(client, members, count);

    if (status == 0) {
        status = uvzk__lock_check_handle(client, handle); /* it has no path of its own */
    }
    if (status != 0) {
        return status;
    }
    multilock = new_multilock(handle, members, count);
    if (multilock != NULL && waits_for_itself(multilock)) {
        status = uvzk__refuse(UVZK_EDEADLK, "members: two are mutexes of one path");
    } else if (multilock != NULL) {
        lock =
            uvzk__lock_new(member_at(multilock, 0)->session, handle, "", &multilock_kind);
    }
    if (lock == NULL) {
        if (multilock != NULL) {
            uvzk__free(multilock->members);
            uvzk__free(multilock);
        }
        return status != 0 ? status : UV_ENOMEM;
    }
    multilock->in_turn = flags & UVZK_MULTILOCK_IN_TURN;
    multilock->error_cb = error_cb;
    lock->extra = multilock;
    return 0;
}
