/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a blocking call on a thread of its own. The call does not wait for the work that
 * the program has queued in libuv's thread pool, and that work does not wait for the
 * call. If no thread can be created, the call runs in libuv's thread pool. */
#ifndef UVZK_BLOCKING_CALL_H
#define UVZK_BLOCKING_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "platform/to_loop.h"

/* The caller embeds this struct and allocates it. All fields are written by
 * uvzk__blocking_call_begin. */
struct uvzk__blocking_call {
    struct uvzk__to_loop_entry to_loop_entry;
    struct uvzk__to_loop *to_loop;
    void (*work)(struct uvzk__blocking_call *);
    void (*done)(struct uvzk__blocking_call *);
    pthread_t thread; /* used only when the call has a thread of its own */
    /* Used only when the call runs in libuv's thread pool. */
    uv_work_t in_the_pool;
};

/* Starts one call. The same struct cannot be used for a second call before done() has
 * run.
 *
 * work() runs on the other thread. A thread of the call's own has all signals blocked.
 * Then done() runs on the loop's thread, after everything that was pushed onto the
 * to_loop queue before work() returned. When done() begins, the memory of `call` belongs
 * to the caller again. */
void uvzk__blocking_call_begin(struct uvzk__blocking_call *call, uv_loop_t *loop,
                               struct uvzk__to_loop *to_loop,
                               void (*work)(struct uvzk__blocking_call *),
                               void (*done)(struct uvzk__blocking_call *));

#endif
