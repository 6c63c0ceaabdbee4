/* SPDX-License-Identifier: Apache-2.0 */
/* Runs work() on a new thread and done() on the loop (blocking_call.h). done() arrives
 * through the to_loop queue, so it follows everything that the thread has pushed. */
#include "platform/blocking_call.h"

#include <signal.h>

/* Runs on the loop's thread. The join does not block: the thread has nothing left to do
 * but to end. */
static void blocking_call_arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__blocking_call *call =
        UVZK__CONTAINER_OF(entry, struct uvzk__blocking_call, to_loop_entry);
    pthread_join(call->thread, NULL);
    call->done(call);
}

static void *blocking_call_run(void *context)
{
    struct uvzk__blocking_call *call = context;
    call->work(call);
    uvzk__to_loop_push(call->to_loop, &call->to_loop_entry, blocking_call_arrive);
    return NULL;
}

/* ------------------------------------------------------------------ in libuv's pool */

static void run_in_the_pool(uv_work_t *in_the_pool)
{
    struct uvzk__blocking_call *call = in_the_pool->data;
    call->work(call);
}

static void done_in_the_pool(uv_work_t *in_the_pool, int status)
{
    struct uvzk__blocking_call *call = in_the_pool->data;
    (void)status; /* the call is never cancelled */
    /* What was pushed before work() returned must arrive before done(). */
    uvzk__to_loop_drain(call->to_loop);
    call->done(call);
}

/* ------------------------------------------------------------------------ on the loop */

/* The thread inherits the signal mask. Signals belong to the application's threads. */
static bool blocking_call_start(struct uvzk__blocking_call *call)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&call->thread, NULL, blocking_call_run, call) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void uvzk__blocking_call_begin(struct uvzk__blocking_call *call, uv_loop_t *loop,
                               struct uvzk__to_loop *to_loop,
                               void (*work)(struct uvzk__blocking_call *),
                               void (*done)(struct uvzk__blocking_call *))
{
    call->to_loop = to_loop;
    call->work = work;
    call->done = done;
    if (!blocking_call_start(call)) {
        call->in_the_pool.data = call;
        uv_queue_work(loop, &call->in_the_pool, run_in_the_pool, done_in_the_pool);
    }
}
