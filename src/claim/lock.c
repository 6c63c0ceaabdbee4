#include "claim/lock.h"

#include <assert.h>

#include "base/path.h"
#include "base/refusal.h"
#include "directory/directory.h"
#include "engine/turn.h"

#define UVZK__LOCK_NUMBER_MAX ((UINT64_C(1) << 56) - 1)

static void leave_directories(struct uvzk__lock *lock)
{
    struct uvzk__directory directories[UVZK__DIRECTORIES_MAX];
    size_t count =
        lock->kind->directories == NULL ? 0 : lock->kind->directories(lock, directories);

    while (count-- > 0) {
        uvzk__directory_left(lock->client, directories[count].discipline,
                             directories[count].path);
    }
}

static void tell_closed(struct uvzk__telling *telling)
{
    struct uvzk__lock *lock = UVZK__CONTAINER_OF(telling, struct uvzk__lock, telling);
    uvzk_lock_close_cb close_cb = lock->close_cb;
    uvzk_lock_t *shell = lock->shell;

    leave_directories(lock);
    uvzk__lock_free(lock);
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

void uvzk__lock_free(struct uvzk__lock *lock)
{
    lock->shell->impl = NULL;
    uvzk__list_remove(&lock->everyone);
    if (lock->deserted) {
        uvzk__list_remove(&lock->telling.link);
    }
    if (lock->kind->freed != NULL) {
        lock->kind->freed(lock);
    }
    uvzk__shared_path_let_go(lock->path);
    uvzk__free(lock);
}

int uvzk__lock_check(const uvzk_client_t *client_shell, const uvzk_lock_t *shell,
                     const char *path)
{
    int status = uvzk__object(UV_EINVAL, client_shell == NULL ? "client is NULL"
                                         : shell == NULL      ? "the lock is NULL"
                                         : path == NULL       ? "path is NULL"
                                                              : NULL);
    if (status != 0) {
        return status;
    }
    const struct uvzk__client *client = client_shell->impl;
    if (client == NULL || client->closing) {
        return uvzk__refuse(UVZK_ESTATE, "client is closing, or not initialised");
    }
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "the lock is initialised already, or not zeroed");
    }
    return uvzk__path_validate_below(client->ns, path);
}

struct uvzk__lock *uvzk__lock_new(struct uvzk__client *client, uvzk_lock_t *shell,
                                  const char *path, const struct uvzk__lock_kind *kind)
{
    struct uvzk__lock *lock = uvzk__calloc(1, sizeof(*lock));
    struct uvzk__shared_path *joined =
        lock == NULL ? NULL : uvzk__shared_path_join(client->ns, path);

    if (joined == NULL) {
        uvzk__free(lock);
        return NULL;
    }
    lock->path = joined;
    lock->kind = kind;
    lock->shell = shell;
    lock->client = path[0] == '\0' ? client : uvzk__home_of(client, lock->path->text);
    lock->number = uvzk__claims_number_lock(lock->client->claims) & UVZK__LOCK_NUMBER_MAX;
    uvzk__list_init(&lock->claims);
    uvzk__list_append(&lock->client->claims->locks, &lock->everyone);
    shell->impl = lock;
    return lock;
}

struct uvzk__lock *uvzk__lock_again(const uvzk_lock_t *shell,
                                    struct uvzk__lock_identity known)
{
    struct uvzk__lock *lock = shell->impl;
    bool same = lock != NULL && !lock->closing && lock->client == known.client &&
                lock->number == known.number;

    return same ? lock : NULL;
}

struct uvzk__client *uvzk__lock_client(const uvzk_lock_t *shell)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;

    return lock == NULL ? NULL : lock->client;
}

static struct uvzk__claim *claim_at(const struct uvzk__lock *lock,
                                    struct uvzk__link *link)
{
    return link == &lock->claims ? NULL
                                 : UVZK__CONTAINER_OF(link, struct uvzk__claim, link);
}

struct uvzk__claim *uvzk__lock_first_claim(const struct uvzk__lock *lock)
{
    return lock->deserted ? NULL : claim_at(lock, lock->claims.next);
}

struct uvzk__claim *uvzk__lock_next_claim(const struct uvzk__lock *lock,
                                          const struct uvzk__claim *claim)
{
    return claim_at(lock, claim->link.next);
}

void uvzk__lock_deserted(struct uvzk__lock *lock, uvzk_lock_close_cb close_cb)
{
    assert(uvzk__list_empty(&lock->claims) && lock->owned == NULL);
    lock->deserted = true;
    lock->telling.deliver = tell_closed;
    uvzk__list_init(&lock->telling.link);
    lock->close_cb = close_cb;
}

void uvzk__lock_held(struct uvzk__lock *lock)
{
    lock->held_count++;
}

void uvzk__lock_let_go(struct uvzk__lock *lock)
{
    lock->held_count--;
}

void uvzk__lock_pin(struct uvzk__lock *lock)
{
    lock->pins++;
}

void uvzk__lock_unpin(struct uvzk__lock *lock)
{
    lock->pins--;
    if (lock->deserted && lock->pins == 0) {
        uvzk__tell_soon(lock->client, &lock->telling);
    }
}
