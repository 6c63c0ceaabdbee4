#include "submit_thread.h"

#include <signal.h>
#include <string.h>

#include "base/path.h"
#include "handle.h"
#include "request.h"
#include "rpc.h"
#include "zk_port.h"

int uvzk__submit_thread_init(struct uvzk__submit_thread *submit_thread)
{
    uvzk__list_init(&submit_thread->queue);
    if (pthread_mutex_init(&submit_thread->mutex, NULL) != 0) {
        return UV_ENOMEM;
    }
    if (pthread_cond_init(&submit_thread->changed, NULL) != 0) {
        pthread_mutex_destroy(&submit_thread->mutex);
        return UV_ENOMEM;
    }
    return 0;
}

void uvzk__submit_thread_destroy(struct uvzk__submit_thread *submit_thread)
{
    pthread_cond_destroy(&submit_thread->changed);
    pthread_mutex_destroy(&submit_thread->mutex);
}

/* -------------------------------------------------------------------- its thread */

static struct uvzk__request *request_of(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__request, to_loop_entry.link);
}

/* What the client has taken may have been answered, and freed, before the call returns: at
 * its level DEBUG it logs the path even then. A path that is too long stays too long. */
static void give(struct uvzk__request *request)
{
    struct uvzk__to_loop *to_loop = &request->handle->port->to_loop;
    char path[UVZK__NODE_PATH_MAX + 2];
    const char *its_path = uvzk__rpc_path(request);
    size_t length = strnlen(its_path, UVZK__NODE_PATH_MAX + 1);

    memcpy(path, its_path, length);
    path[length] = '\0';
    int code = uvzk__rpc_send(request, path);
    if (code != ZOK) {
        uvzk__request_refused(request, code);
        uvzk__to_loop_push(to_loop, &request->to_loop_entry, request->arrive);
    }
}

/* The next one, or NULL: the end. Only the loop waits for `changed` beside this thread, in
 * a recall, when there is nothing more to come. */
static struct uvzk__request *next(struct uvzk__submit_thread *submit_thread)
{
    struct uvzk__link *link;
    pthread_mutex_lock(&submit_thread->mutex);
    submit_thread->submitting = false;
    while ((link = uvzk__list_take(&submit_thread->queue)) == NULL &&
           !submit_thread->ending) {
        submit_thread->idle = true;
        pthread_cond_signal(&submit_thread->changed);
        pthread_cond_wait(&submit_thread->changed, &submit_thread->mutex);
    }
    submit_thread->idle = false;
    submit_thread->submitting = link != NULL;
    pthread_mutex_unlock(&submit_thread->mutex);
    return link != NULL ? request_of(link) : NULL;
}

/* Named as the client's own threads, since what it logs takes the same route. */
static void *run(void *context)
{
    struct uvzk__submit_thread *submit_thread = context;
    const struct uvzk__handle *handle =
        UVZK__CONTAINER_OF(submit_thread, struct uvzk__handle, submit_thread);
    char before[UVZK__THREAD_NAME];
    struct uvzk__request *request;

    uvzk__log_route_name(&handle->log_route, before);
    while ((request = next(submit_thread)) != NULL) {
        give(request);
    }
    return NULL;
}

void uvzk__submit_thread_end(struct uvzk__submit_thread *submit_thread)
{
    if (submit_thread->started) {
        pthread_mutex_lock(&submit_thread->mutex);
        submit_thread->ending = true;
        pthread_cond_signal(&submit_thread->changed);
        pthread_mutex_unlock(&submit_thread->mutex);
        pthread_join(submit_thread->thread, NULL);
    }
}

void uvzk__submit_thread_reset(struct uvzk__submit_thread *submit_thread)
{
    submit_thread->started = submit_thread->unavailable = submit_thread->ending = false;
}

/* -------------------------------------------------------------------- on the loop */

/* Signals are the application's. */
static bool start(struct uvzk__submit_thread *submit_thread)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    submit_thread->started =
        pthread_create(&submit_thread->thread, NULL, run, submit_thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    submit_thread->unavailable = !submit_thread->started;
    return submit_thread->started;
}

bool uvzk__submit_thread_is_idle(struct uvzk__submit_thread *submit_thread)
{
    if (!submit_thread->started) {
        return true;
    }
    pthread_mutex_lock(&submit_thread->mutex);
    bool idle = uvzk__list_empty(&submit_thread->queue) && !submit_thread->submitting;
    pthread_mutex_unlock(&submit_thread->mutex);
    return idle;
}

bool uvzk__submit_thread_push(struct uvzk__submit_thread *submit_thread,
                              struct uvzk__request *request)
{
    if (submit_thread->unavailable ||
        (!submit_thread->started && !start(submit_thread))) {
        return false;
    }
    pthread_mutex_lock(&submit_thread->mutex);
    uvzk__list_append(&submit_thread->queue, &request->to_loop_entry.link);
    bool wakes = submit_thread->idle;
    submit_thread->idle = false;
    pthread_mutex_unlock(&submit_thread->mutex);
    if (wakes) {
        pthread_cond_signal(&submit_thread->changed);
    }
    return true;
}

void uvzk__submit_thread_take_back(struct uvzk__submit_thread *submit_thread,
                                   struct uvzk__link *recalled)
{
    uvzk__list_init(recalled);
    if (!submit_thread->started) {
        return;
    }
    pthread_mutex_lock(&submit_thread->mutex);
    uvzk__list_move(&submit_thread->queue, recalled);
    while (submit_thread->submitting) {
        pthread_cond_wait(&submit_thread->changed, &submit_thread->mutex);
    }
    pthread_mutex_unlock(&submit_thread->mutex);
}

void uvzk__submit_thread_stop(struct uvzk__submit_thread *submit_thread)
{
    submit_thread->unavailable = true;
}

struct uvzk__request *uvzk__submit_thread_next_taken_back(struct uvzk__link *recalled)
{
    struct uvzk__link *last = recalled->prev;
    if (last == recalled) {
        return NULL;
    }
    uvzk__list_remove(last);
    return request_of(last);
}
