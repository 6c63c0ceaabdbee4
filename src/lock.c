#include "lock.h"

#include <string.h>

#include "acquisition.h"
#include "contender.h"
#include "driver.h"
#include "path.h"
#include "prover.h"
#include "queue.h"

/* A request beyond the servers' jute.maxbuffer costs the connection. */
#define NODE_DATA_MAX 1000000U

static void tell_closed(struct uvzk__telling *telling)
{
    struct uvzk__lock *lock = UVZK__CONTAINER_OF(telling, struct uvzk__lock, telling);
    uvzk_lock_close_cb close_cb = lock->close_cb;
    uvzk_lock_t *shell = lock->shell;

    uvzk__lock_free(lock);
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

void uvzk__lock_free(struct uvzk__lock *lock)
{
    lock->shell->impl = NULL;
    uvzk__list_remove(&lock->everyone);
    uvzk__list_remove(&lock->telling.link);
    uvzk__free(lock->path);
    uvzk__free(lock);
}

void uvzk__lock_acquisition_over(struct uvzk__lock *lock)
{
    lock->acquisition_count--;
    if (lock->closing && lock->acquisition_count == 0) {
        uvzk__tell_soon(lock->client, &lock->telling);
    }
}

int uvzk__lock_own(struct uvzk__lock *lock, struct uvzk__contender *contender)
{
    if (contender->owner != NULL) {
        HASH_ADD(by_owner, lock->owned, owner, sizeof(contender->owner), contender);
        if (contender->by_owner.tbl == NULL) {
            return UV_ENOMEM;
        }
    }
    contender->lock = lock;
    return 0;
}

void uvzk__lock_disown(struct uvzk__contender *contender)
{
    if (contender->lock != NULL && contender->owner != NULL) {
        HASH_DELETE(by_owner, contender->lock->owned, contender);
    }
    contender->lock = NULL;
}

static struct uvzk__contender *owned_by(const struct uvzk__lock *lock, const void *owner)
{
    struct uvzk__contender *contender = NULL;

    if (owner != NULL) {
        HASH_FIND(by_owner, lock->owned, &owner, sizeof(owner), contender);
    }
    return contender;
}

/* ------------------------------------------------------------ init and close */

int uvzk_mutex_init(uvzk_client_t *client_shell, uvzk_lock_t *shell, const char *path)
{
    if (client_shell == NULL || shell == NULL || path == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__client *client = client_shell->impl;
    if (client == NULL || client->closing) {
        return UVZK_ESTATE;
    }
    if (shell->impl != NULL) {
        return UV_EBUSY;
    }
    if (uvzk__path_validate(path) != 0 || strcmp(path, "/") == 0 ||
        strlen(client->ns) + strlen(path) > UVZK__PATH_MAX) {
        return UVZK_EPATH;
    }
    struct uvzk__lock *lock = uvzk__calloc(1, sizeof(*lock));
    if (lock == NULL) {
        return UV_ENOMEM;
    }
    lock->path = uvzk__path_join(client->ns, path);
    if (lock->path == NULL) {
        uvzk__free(lock);
        return UV_ENOMEM;
    }
    lock->shell = shell;
    lock->client = client;
    lock->telling.deliver = tell_closed;
    uvzk__list_init(&lock->telling.link);
    uvzk__list_append(&client->locks, &lock->everyone);
    shell->impl = lock;
    return 0;
}

int uvzk_lock_close(uvzk_lock_t *shell, uvzk_lock_close_cb close_cb)
{
    if (shell == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__lock *lock = shell->impl;
    if (lock == NULL || lock->closing) {
        return UVZK_ESTATE;
    }
    struct uvzk__client *client = lock->client;
    struct uvzk__link *link = client->contenders.next;

    lock->closing = true;
    lock->close_cb = close_cb;
    while (link != &client->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        link = link->next;
        if (contender->lock == lock) {
            uvzk__contender_end(contender, UVZK_ECLOSED);
        }
    }
    if (lock->acquisition_count == 0) {
        uvzk__tell_soon(client, &lock->telling);
    }
    return 0;
}

/* ----------------------------------------------------------------- acquiring */

void uvzk_acquire_options_init_size(uvzk_acquire_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
    options->timeout_ms = UVZK_WAIT_FOREVER;
}

static int read_options(uvzk_acquire_options_t *into, const uvzk_acquire_options_t *from)
{
    uvzk_acquire_options_init(into);
    if (from == NULL) {
        return 0;
    }
    if (from->size < sizeof(*into)) {
        return UV_EINVAL;
    }
    memcpy(into, from, sizeof(*into));
    if (into->timeout_ms < UVZK_WAIT_FOREVER || into->node_data_length > NODE_DATA_MAX ||
        (into->node_data == NULL && into->node_data_length > 0)) {
        return UV_EINVAL;
    }
    return 0;
}

/* What can be refused without a znode; 0 if nothing can. */
static int refusal(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    struct uvzk__client *client = lock->client;
    struct uvzk__queue *queue;

    if (client->auth_failed) {
        return UVZK_EAUTH;
    }
    if (options->timeout_ms != UVZK_TRY_ONCE) {
        return 0;
    }
    if (!client->session.connected) {
        return UVZK_ECONNLOSS;
    }
    queue = uvzk__queue_find(client, lock->path);
    return queue != NULL && uvzk__queue_occupied(queue) ? UV_ETIMEDOUT : 0;
}

/* Attaches to the owner's contender, pending or held, if there is one. */
static bool join(struct uvzk__lock *lock, struct uvzk__acquisition *acquisition,
                 const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender = owned_by(lock, options->owner);

    if (contender == NULL) {
        return false;
    }
    if (contender->held && !uvzk__contender_holds(contender)) {
        uvzk__prover_check(lock->client);
        contender = owned_by(lock, options->owner);
        if (contender == NULL) {
            return false; /* that hold is lost: the owner queues again */
        }
    }
    uvzk__acquisition_start(acquisition, contender, options->timeout_ms);
    if (contender->held) {
        uvzk__acquisition_grant(acquisition);
    }
    return true;
}

static int begin(struct uvzk__lock *lock, struct uvzk__acquisition *acquisition,
                 const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;
    int status;

    if (join(lock, acquisition, options)) {
        return 0;
    }
    status = refusal(lock, options);
    if (status != 0) {
        uvzk__acquisition_start(acquisition, NULL, options->timeout_ms);
        uvzk__acquisition_end(acquisition, status);
        return 0;
    }
    status = uvzk__contender_new(lock, options, &contender);
    if (status == 0) {
        uvzk__acquisition_start(acquisition, contender, options->timeout_ms);
        uvzk__contender_pump(contender);
    }
    return status;
}

int uvzk_lock_acquire(uvzk_lock_t *shell, uvzk_acquire_t *request,
                      const uvzk_acquire_options_t *options, uvzk_acquire_cb acquire_cb,
                      uvzk_lost_cb lost_cb)
{
    uvzk_acquire_options_t known;

    if (shell == NULL || request == NULL || acquire_cb == NULL || lost_cb == NULL ||
        read_options(&known, options) != 0) {
        return UV_EINVAL;
    }
    struct uvzk__lock *lock = shell->impl;
    if (request->impl != NULL) {
        return UV_EBUSY;
    }
    if (lock == NULL || lock->closing || lock->client->closing) {
        return UVZK_ECLOSED;
    }
    struct uvzk__acquisition *acquisition =
        uvzk__acquisition_new(lock, request, &known, acquire_cb, lost_cb);
    if (acquisition == NULL) {
        return UV_ENOMEM;
    }
    int status = begin(lock, acquisition, &known);
    if (status != 0) {
        uvzk__free(acquisition);
    }
    return status;
}

/* ------------------------------------------------------------------- asking */

int uvzk_lock_is_held(const uvzk_lock_t *shell)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;

    return lock != NULL && lock->held_count > 0 &&
           lock->client->proof.valid_until > uvzk__now(lock->client);
}

int uvzk_lock_is_held_by(const uvzk_lock_t *shell, const void *owner)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;
    struct uvzk__contender *contender = lock == NULL ? NULL : owned_by(lock, owner);

    return contender != NULL && uvzk__contender_holds(contender);
}
