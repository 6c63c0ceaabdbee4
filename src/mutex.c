#include "mutex.h"

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
    struct uvzk__mutex *mutex = UVZK__CONTAINER_OF(telling, struct uvzk__mutex, telling);
    uvzk_mutex_close_cb close_cb = mutex->close_cb;
    uvzk_mutex_t *shell = mutex->shell;

    uvzk__mutex_free(mutex);
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

void uvzk__mutex_free(struct uvzk__mutex *mutex)
{
    mutex->shell->impl = NULL;
    uvzk__list_remove(&mutex->everyone);
    uvzk__list_remove(&mutex->telling.link);
    uvzk__free(mutex->path);
    uvzk__free(mutex);
}

void uvzk__mutex_acquisition_over(struct uvzk__mutex *mutex)
{
    mutex->acquisition_count--;
    if (mutex->closing && mutex->acquisition_count == 0) {
        uvzk__tell_soon(mutex->client, &mutex->telling);
    }
}

int uvzk__mutex_own(struct uvzk__mutex *mutex, struct uvzk__contender *contender)
{
    if (contender->owner != NULL) {
        HASH_ADD(by_owner, mutex->owned, owner, sizeof(contender->owner), contender);
        if (contender->by_owner.tbl == NULL) {
            return UV_ENOMEM;
        }
    }
    contender->mutex = mutex;
    return 0;
}

void uvzk__mutex_disown(struct uvzk__contender *contender)
{
    if (contender->mutex != NULL && contender->owner != NULL) {
        HASH_DELETE(by_owner, contender->mutex->owned, contender);
    }
    contender->mutex = NULL;
}

static struct uvzk__contender *owned_by(const struct uvzk__mutex *mutex,
                                        const void *owner)
{
    struct uvzk__contender *contender = NULL;

    if (owner != NULL) {
        HASH_FIND(by_owner, mutex->owned, &owner, sizeof(owner), contender);
    }
    return contender;
}

/* ------------------------------------------------------------ init and close */

int uvzk_mutex_init(uvzk_client_t *client_shell, uvzk_mutex_t *shell, const char *path)
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
    struct uvzk__mutex *mutex = uvzk__calloc(1, sizeof(*mutex));
    if (mutex == NULL) {
        return UV_ENOMEM;
    }
    mutex->path = uvzk__path_join(client->ns, path);
    if (mutex->path == NULL) {
        uvzk__free(mutex);
        return UV_ENOMEM;
    }
    mutex->shell = shell;
    mutex->client = client;
    mutex->telling.deliver = tell_closed;
    uvzk__list_init(&mutex->telling.link);
    uvzk__list_append(&client->mutexes, &mutex->everyone);
    shell->impl = mutex;
    return 0;
}

int uvzk_mutex_close(uvzk_mutex_t *shell, uvzk_mutex_close_cb close_cb)
{
    if (shell == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__mutex *mutex = shell->impl;
    if (mutex == NULL || mutex->closing) {
        return UVZK_ESTATE;
    }
    struct uvzk__client *client = mutex->client;
    struct uvzk__link *link = client->contenders.next;

    mutex->closing = true;
    mutex->close_cb = close_cb;
    while (link != &client->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        link = link->next;
        if (contender->mutex == mutex) {
            uvzk__contender_end(contender, UVZK_ECLOSED);
        }
    }
    if (mutex->acquisition_count == 0) {
        uvzk__tell_soon(client, &mutex->telling);
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
static int refusal(struct uvzk__mutex *mutex, const uvzk_acquire_options_t *options)
{
    struct uvzk__client *client = mutex->client;
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
    queue = uvzk__queue_find(client, mutex->path);
    return queue != NULL && uvzk__queue_occupied(queue) ? UV_ETIMEDOUT : 0;
}

/* Attaches to the owner's contender, pending or held, if there is one. */
static bool join(struct uvzk__mutex *mutex, struct uvzk__acquisition *acquisition,
                 const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender = owned_by(mutex, options->owner);

    if (contender == NULL) {
        return false;
    }
    if (contender->held && !uvzk__contender_holds(contender)) {
        uvzk__prover_check(mutex->client);
        contender = owned_by(mutex, options->owner);
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

static int begin(struct uvzk__mutex *mutex, struct uvzk__acquisition *acquisition,
                 const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;
    int status;

    if (join(mutex, acquisition, options)) {
        return 0;
    }
    status = refusal(mutex, options);
    if (status != 0) {
        uvzk__acquisition_start(acquisition, NULL, options->timeout_ms);
        uvzk__acquisition_end(acquisition, status);
        return 0;
    }
    status = uvzk__contender_new(mutex, options, &contender);
    if (status == 0) {
        uvzk__acquisition_start(acquisition, contender, options->timeout_ms);
        uvzk__contender_pump(contender);
    }
    return status;
}

int uvzk_mutex_acquire(uvzk_mutex_t *shell, uvzk_acquire_t *request,
                       const uvzk_acquire_options_t *options, uvzk_acquire_cb acquire_cb,
                       uvzk_lost_cb lost_cb)
{
    uvzk_acquire_options_t known;

    if (shell == NULL || request == NULL || acquire_cb == NULL || lost_cb == NULL ||
        read_options(&known, options) != 0) {
        return UV_EINVAL;
    }
    struct uvzk__mutex *mutex = shell->impl;
    if (request->impl != NULL) {
        return UV_EBUSY;
    }
    if (mutex == NULL || mutex->closing || mutex->client->closing) {
        return UVZK_ECLOSED;
    }
    struct uvzk__acquisition *acquisition =
        uvzk__acquisition_new(mutex, request, &known, acquire_cb, lost_cb);
    if (acquisition == NULL) {
        return UV_ENOMEM;
    }
    int status = begin(mutex, acquisition, &known);
    if (status != 0) {
        uvzk__free(acquisition);
    }
    return status;
}

/* ------------------------------------------------------------------- asking */

int uvzk_mutex_is_held(const uvzk_mutex_t *shell)
{
    const struct uvzk__mutex *mutex = shell == NULL ? NULL : shell->impl;

    return mutex != NULL && mutex->held_count > 0 &&
           mutex->client->proof.valid_until > uvzk__now(mutex->client);
}

int uvzk_mutex_is_held_by(const uvzk_mutex_t *shell, const void *owner)
{
    const struct uvzk__mutex *mutex = shell == NULL ? NULL : shell->impl;
    struct uvzk__contender *contender = mutex == NULL ? NULL : owned_by(mutex, owner);

    return contender != NULL && uvzk__contender_holds(contender);
}
