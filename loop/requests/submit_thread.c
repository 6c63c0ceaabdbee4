/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that submits requests to the C client (submit_thread.h). send_window.c
 * pushes requests and takes them back on the loop's thread; handle.c ends the thread on
 * the thread of a blocking call. A request is linked by to_loop_entry.link while it is on
 * the queue. That link is free then, because the request has no answer yet. */
#include "requests/submit_thread.h"

#include <signal.h>
#include <string.h>

#include "base/path.h"
#include "log/log_route.h"
#include "platform/to_loop.h"
#include "requests/request.h"
#include "requests/send_window.h"

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

/* ------------------------------------------------------------- on the submit thread */

static struct uvzk__request *request_of(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__request, to_loop_entry.link);
}

/* Submits one request. It may be answered on the C client's thread and freed on the
 * loop's thread before the zoo_a* call returns. At its level DEBUG the C client logs the
 * path even then, so the path is copied to the stack first. A path that is too long for
 * the copy is still too long when cut, so it is refused. */
static void submit_thread_give(struct uvzk__request *request)
{
    struct uvzk__to_loop *to_loop = request->window->to_loop;
    char path[UVZK__NODE_PATH_MAX + 2];
    const char *its_path = uvzk__rpc_path(request);
    size_t length = strnlen(its_path, UVZK__NODE_PATH_MAX + 1);

    memcpy(path, its_path, length);
    path[length] = '\0';
    int code = uvzk__rpc_send(request, path);
    if (code != ZOK) {
        request->code = code;
        request->refused = true;
        uvzk__to_loop_push(to_loop, &request->to_loop_entry, request->arrive);
    }
}

/* Returns the next request; NULL: the thread must end. The condition variable has one
 * waiter at a time: this thread waits for requests; the loop waits in
 * uvzk__submit_thread_take_back, when the queue is empty, until this thread's call has
 * ended. */
static struct uvzk__request *submit_thread_next(struct uvzk__submit_thread *submit_thread)
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

/* The thread is named like the C client's threads, so its log lines find the same
 * route. */
static void *submit_thread_run(void *context)
{
    struct uvzk__submit_thread *submit_thread = context;
    const struct uvzk__send_window *window =
        UVZK__CONTAINER_OF(submit_thread, struct uvzk__send_window, submit_thread);
    char before[UVZK__THREAD_NAME];
    struct uvzk__request *request;

    uvzk__log_route_name(window->log_route, before);
    while ((request = submit_thread_next(submit_thread)) != NULL) {
        submit_thread_give(request);
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

/* The thread inherits the signal mask. Signals belong to the application's threads. */
static bool submit_thread_start(struct uvzk__submit_thread *submit_thread)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    submit_thread->started = pthread_create(&submit_thread->thread, NULL,
                                            submit_thread_run, submit_thread) == 0;
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
        (!submit_thread->started && !submit_thread_start(submit_thread))) {
        return false;
    }
    pthread_mutex_lock(&submit_thread->mutex);
    uvzk__list_append(&submit_thread->queue, &request->to_loop_entry.link);
    /* One signal wakes the thread for all requests that are pushed before it runs. */
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
    /* Until the call has ended, the thread may read the caller's rpc. */
    while (submit_thread->submitting) {
        pthread_cond_wait(&submit_thread->changed, &submit_thread->mutex);
    }
    pthread_mutex_unlock(&submit_thread->mutex);
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
