#include "giver.h"

#include <signal.h>
#include <string.h>

#include "base/path.h"
#include "handle.h"
#include "request.h"
#include "rpc.h"
#include "zk_port.h"

int uvzk__giver_init(struct uvzk__giver *giver)
{
    uvzk__list_init(&giver->queue);
    if (pthread_mutex_init(&giver->mutex, NULL) != 0) {
        return UV_ENOMEM;
    }
    if (pthread_cond_init(&giver->changed, NULL) != 0) {
        pthread_mutex_destroy(&giver->mutex);
        return UV_ENOMEM;
    }
    return 0;
}

void uvzk__giver_destroy(struct uvzk__giver *giver)
{
    pthread_cond_destroy(&giver->changed);
    pthread_mutex_destroy(&giver->mutex);
}

/* -------------------------------------------------------------------- its thread */

static struct uvzk__request *request_of(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__request, landing.link);
}

/* What the client has taken may have been answered, and freed, before the call returns: at
 * its level DEBUG it logs the path even then. A path that is too long stays too long. */
static void give(struct uvzk__request *request)
{
    struct uvzk__hop *hop = &request->handle->port->hop;
    char path[UVZK__NODE_PATH_MAX + 2];
    const char *its_path = uvzk__rpc_path(request);
    size_t length = strnlen(its_path, UVZK__NODE_PATH_MAX + 1);

    memcpy(path, its_path, length);
    path[length] = '\0';
    int code = uvzk__rpc_send(request, path);
    if (code != ZOK) {
        uvzk__request_refused(request, code);
        uvzk__hop_push(hop, &request->landing, request->arrive);
    }
}

/* The next one, or NULL: the end. Only the loop waits for `changed` beside this thread, in
 * a recall, when there is nothing more to come. */
static struct uvzk__request *next(struct uvzk__giver *giver)
{
    struct uvzk__link *link;
    pthread_mutex_lock(&giver->mutex);
    giver->giving = false;
    while ((link = uvzk__list_take(&giver->queue)) == NULL && !giver->ending) {
        giver->asleep = true;
        pthread_cond_signal(&giver->changed);
        pthread_cond_wait(&giver->changed, &giver->mutex);
    }
    giver->asleep = false;
    giver->giving = link != NULL;
    pthread_mutex_unlock(&giver->mutex);
    return link != NULL ? request_of(link) : NULL;
}

/* Named as the client's own threads, since what it logs takes the same route. */
static void *run(void *context)
{
    struct uvzk__giver *giver = context;
    const struct uvzk__handle *handle =
        UVZK__CONTAINER_OF(giver, struct uvzk__handle, giver);
    char before[UVZK__THREAD_NAME];
    struct uvzk__request *request;

    uvzk__log_route_name(&handle->log_route, before);
    while ((request = next(giver)) != NULL) {
        give(request);
    }
    return NULL;
}

void uvzk__giver_end(struct uvzk__giver *giver)
{
    if (giver->started) {
        pthread_mutex_lock(&giver->mutex);
        giver->ending = true;
        pthread_cond_signal(&giver->changed);
        pthread_mutex_unlock(&giver->mutex);
        pthread_join(giver->thread, NULL);
    }
}

void uvzk__giver_renew(struct uvzk__giver *giver)
{
    giver->started = giver->missing = giver->ending = false;
}

/* -------------------------------------------------------------------- on the loop */

/* Signals are the application's. */
static bool start(struct uvzk__giver *giver)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    giver->started = pthread_create(&giver->thread, NULL, run, giver) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    giver->missing = !giver->started;
    return giver->started;
}

bool uvzk__giver_is_idle(struct uvzk__giver *giver)
{
    if (!giver->started) {
        return true;
    }
    pthread_mutex_lock(&giver->mutex);
    bool idle = uvzk__list_empty(&giver->queue) && !giver->giving;
    pthread_mutex_unlock(&giver->mutex);
    return idle;
}

bool uvzk__giver_hand(struct uvzk__giver *giver, struct uvzk__request *request)
{
    if (giver->missing || (!giver->started && !start(giver))) {
        return false;
    }
    pthread_mutex_lock(&giver->mutex);
    uvzk__list_append(&giver->queue, &request->landing.link);
    bool wakes = giver->asleep;
    giver->asleep = false;
    pthread_mutex_unlock(&giver->mutex);
    if (wakes) {
        pthread_cond_signal(&giver->changed);
    }
    return true;
}

void uvzk__giver_recall(struct uvzk__giver *giver, struct uvzk__link *recalled)
{
    uvzk__list_init(recalled);
    if (!giver->started) {
        return;
    }
    pthread_mutex_lock(&giver->mutex);
    uvzk__list_move(&giver->queue, recalled);
    while (giver->giving) {
        pthread_cond_wait(&giver->changed, &giver->mutex);
    }
    pthread_mutex_unlock(&giver->mutex);
}

void uvzk__giver_retire(struct uvzk__giver *giver)
{
    giver->missing = true;
}

struct uvzk__request *uvzk__giver_take_recalled(struct uvzk__link *recalled)
{
    struct uvzk__link *last = recalled->prev;
    if (last == recalled) {
        return NULL;
    }
    uvzk__list_remove(last);
    return request_of(last);
}
