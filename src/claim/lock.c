/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a uvzk_lock_t, for every recipe: creates it, finds it, counts its holds and
 * closes it. The init functions of the recipes create locks; acquire.c closes them.
 *
 * A closing lock has no claims, but is kept while anything refers to it: acquisitions
 * whose last callback has not run yet, participant lists, multi locks. The close callback
 * runs after the last reference is gone. */
#include "claim/lock.h"

#include "base/path.h"
#include "base/refusal.h"
#include "directory/settle/settle.h"
#include "engine/handle_end.h"
#include "engine/invariant.h"
#include "engine/turn.h"
#include "engine/znode_owner.h"

/* `number` has 56 bits. */
#define UVZK__LOCK_NUMBER_MAX ((UINT64_C(1) << 56) - 1)

/* A directory may be kept although no local contender is in it, for the locks on its
 * path. This lock no longer needs that. */
static void leave_directories(struct uvzk__lock *lock)
{
    struct uvzk__participant_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    size_t count =
        lock->kind->directories == NULL ? 0 : lock->kind->directories(lock, directories);

    while (count-- > 0) {
        uvzk__directory_lock_closed(lock->session, directories[count].kind,
                                    directories[count].path);
    }
}

static void notify_closed(struct uvzk__notification *notification)
{
    struct uvzk__lock *lock =
        UVZK__CONTAINER_OF(notification, struct uvzk__lock, notification);
    uvzk_lock_close_cb close_cb = lock->close_cb;
    uvzk_lock_t *handle = lock->handle;

    /* Before the lock is freed: the directories' paths belong to it. */
    leave_directories(lock);
    uvzk__lock_free(lock);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

void uvzk__lock_free(struct uvzk__lock *lock)
{
    lock->handle->impl = NULL;
    uvzk__list_remove(&lock->in_session);
    /* Only then is the notification valid: it shares its memory with the list of
     * claims. */
    if (lock->no_claims) {
        uvzk__list_remove(&lock->notification.link);
    }
    if (lock->kind->freed != NULL) {
        lock->kind->freed(lock);
    }
    uvzk__shared_path_unref(lock->path);
    uvzk__free(lock);
}

void uvzk__locks_free(struct uvzk__session *session)
{
    struct uvzk__link *locks = &session->claims->locks;

    while (!uvzk__list_empty(locks)) {
        uvzk__lock_free(UVZK__CONTAINER_OF(locks->next, struct uvzk__lock, in_session));
    }
}

bool uvzk__locks_need_below(const struct uvzk__session *session, const char *path)
{
    const struct uvzk__link *locks = &session->claims->locks;

    for (struct uvzk__link *link = locks->next; link != locks; link = link->next) {
        const char *directory =
            UVZK__CONTAINER_OF(link, struct uvzk__lock, in_session)->path->text;
        if (uvzk__path_is_below(directory, path, true)) {
            return true;
        }
    }
    return false;
}

int uvzk__lock_check_handle(const uvzk_client_t *client_handle, const uvzk_lock_t *handle)
{
    return uvzk__check_handle(client_handle, "the lock", handle,
                              handle == NULL ? NULL : handle->impl);
}

int uvzk__lock_check(const uvzk_client_t *client_handle, const uvzk_lock_t *handle,
                     const char *path)
{
    int status = uvzk__check_init(client_handle, "the lock", handle,
                                  handle == NULL ? NULL : handle->impl, path);

    return status != 0 ? status
                       : uvzk__znode_owner_check_open(client_handle->impl, path,
                                                      UVZK__NEEDS_CHILDREN);
}

struct uvzk__lock *uvzk__lock_new(struct uvzk__session *session, uvzk_lock_t *handle,
                                  const char *path, const struct uvzk__lock_kind *kind)
{
    struct uvzk__lock *lock = uvzk__calloc(1, sizeof(*lock));
    struct uvzk__shared_path *joined =
        lock == NULL ? NULL : uvzk__shared_path_join(uvzk__namespace_of(session), path);

    if (joined == NULL) {
        uvzk__free(lock);
        return NULL;
    }
    lock->path = joined;
    lock->kind = kind;
    lock->handle = handle;
    /* A multi lock has no path of its own, so it stays in the given session. */
    lock->session = path[0] == '\0' ? session : uvzk__home_of(session, lock->path->text);
    lock->number = ++lock->session->claims->locks_made & UVZK__LOCK_NUMBER_MAX;
    uvzk__list_init(&lock->claims);
    uvzk__list_append(&lock->session->claims->locks, &lock->in_session);
    handle->impl = lock;
    return lock;
}

struct uvzk__lock *uvzk__lock_by_identity(const uvzk_lock_t *handle,
                                          struct uvzk__lock_identity known)
{
    struct uvzk__lock *lock = handle->impl;
    bool same = lock != NULL && !lock->closing && lock->session == known.session &&
                lock->number == known.number;

    return same ? lock : NULL;
}

struct uvzk__session *uvzk__lock_session(const uvzk_lock_t *handle)
{
    const struct uvzk__lock *lock = handle == NULL ? NULL : handle->impl;

    return lock == NULL ? NULL : lock->session;
}

static struct uvzk__claim *claim_at(const struct uvzk__lock *lock,
                                    struct uvzk__link *link)
{
    /* The list head marks the end. */
    return link == &lock->claims ? NULL
                                 : UVZK__CONTAINER_OF(link, struct uvzk__claim, link);
}

struct uvzk__claim *uvzk__lock_first_claim(const struct uvzk__lock *lock)
{
    return lock->no_claims ? NULL : claim_at(lock, lock->claims.next);
}

struct uvzk__claim *uvzk__lock_next_claim(const struct uvzk__lock *lock,
                                          const struct uvzk__claim *claim)
{
    return claim_at(lock, claim->link.next);
}

void uvzk__lock_each_claim(struct uvzk__lock *lock,
                           void (*act)(struct uvzk__claim *, int), int code)
{
    struct uvzk__link claims, *link;

    if (lock->no_claims) {
        return;
    }
    /* act may end any claim of the lock, so no link is kept across a call. */
    uvzk__list_move(&lock->claims, &claims);
    while ((link = uvzk__list_take(&claims)) != NULL) {
        uvzk__list_append(&lock->claims, link);
        act(UVZK__CONTAINER_OF(link, struct uvzk__claim, link), code);
    }
}

void uvzk__lock_set_no_claims(struct uvzk__lock *lock, uvzk_lock_close_cb close_cb)
{
    /* The notification takes the memory of the list. Without it the lock is freed with its
     * client. */
    if (!uvzk__expect(lock->session,
                      uvzk__list_empty(&lock->claims) && lock->owned == NULL,
                      "lock: closed with claims")) {
        return;
    }
    lock->no_claims = true;
    lock->notification.notify_cb = notify_closed;
    uvzk__list_init(&lock->notification.link);
    lock->close_cb = close_cb;
}

void uvzk__lock_ref(struct uvzk__lock *lock)
{
    lock->refs++;
}

void uvzk__lock_unref(struct uvzk__lock *lock)
{
    lock->refs--;
    if (lock->no_claims && lock->refs == 0) {
        /* The last reference to a closing lock is gone, so its close callback may run. */
        uvzk__notify_later(lock->session, &lock->notification);
    }
}

int uvzk_lock_set_max_hold(uvzk_lock_t *handle, uint32_t max_hold_ms, uint32_t warning_ms)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "lock is NULL");
    }
    struct uvzk__lock *lock = handle->impl;
    if (lock == NULL || lock->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "lock is closing, or not initialised");
    }
    lock->max_hold_ms = max_hold_ms;
    lock->max_hold_warning_ms = warning_ms;
    return 0;
}
