/* What a port has on its loop: an async handle, by which its queue wakes it, and a timer.
 *
 * A program may end its loop by closing every handle that uv_walk shows, and these are
 * shown as well. Then the port takes a new stand when it needs one. While it closes it
 * must know at once: a write that no reader ever takes is cancelled when its handle is
 * closed, whoever does so, and libuv calls that back. */
#ifndef UVZK_LOOP_HANDLES_H
#define UVZK_LOOP_HANDLES_H

#include <stdbool.h>
#include <uv.h>

struct uvzk__zk_port;

struct uvzk__loop_handles {
    uv_async_t async;
    uv_timer_t timer;
    uv_pipe_t close_pipe; /* only while guarded */
    uv_write_t close_write;
    int pipe_read_end; /* the other end of the sentry's pipe */
    bool detects_close;
    struct uvzk__loop_handles *previous; /* closed by somebody; libuv may still have it */
};

/* NULL: out of memory. */
struct uvzk__loop_handles *uvzk__loop_handles_new(struct uvzk__loop_handles *previous);
/* Frees it and all former ones. libuv must have done with them. */
void uvzk__loop_handles_free(struct uvzk__loop_handles *loop_handles);

/* Puts it onto the port's loop, with port as the handles' data. */
void uvzk__loop_handles_init(struct uvzk__loop_handles *loop_handles,
                             struct uvzk__zk_port *port, uv_async_cb async_cb);
/* Somebody else has closed some of it. */
bool uvzk__loop_handles_are_closed(const struct uvzk__loop_handles *loop_handles);
/* Whether it keeps its loop alive. */
void uvzk__loop_handles_set_ref(struct uvzk__loop_handles *loop_handles, bool keep);
/* From now on gone_cb comes, once, when somebody has closed the sentry with all else,
 * or uvzk__loop_handles_close has. It keeps the loop alive. Without descriptors: no
 * callback. */
void uvzk__loop_handles_detect_close(struct uvzk__loop_handles *loop_handles,
                                     uv_write_cb gone_cb);
/* Closes what is not closed yet. */
void uvzk__loop_handles_close(struct uvzk__loop_handles *loop_handles);

#endif
