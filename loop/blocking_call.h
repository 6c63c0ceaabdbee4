/* A call that blocks, on a thread of its own: neither does it wait for what the program
 * has given to libuv's thread pool, nor does that wait for it. Where there can be no
 * such thread, it is left to that pool. */
#ifndef UVZK_BLOCKING_CALL_H
#define UVZK_BLOCKING_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "to_loop.h"

struct uvzk__blocking_call {
    struct uvzk__to_loop_entry to_loop_entry;
    struct uvzk__to_loop *to_loop;
    void (*work)(struct uvzk__blocking_call *);
    void (*done)(struct uvzk__blocking_call *);
    pthread_t thread;
    uv_work_t in_the_pool;
};

/* One at a time. work() runs on another thread, with all signals blocked; then done()
 * on the loop's, behind all that was pushed onto the to_loop queue before work()
 * returned: the memory is the caller's again. */
void uvzk__blocking_call_begin(struct uvzk__blocking_call *call, uv_loop_t *loop,
                               struct uvzk__to_loop *to_loop,
                               void (*work)(struct uvzk__blocking_call *),
                               void (*done)(struct uvzk__blocking_call *));

#endif
