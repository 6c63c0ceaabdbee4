/* The libuv handles that a port has on its loop: an async handle, by which the to_loop
 * queue wakes the loop, and a timer.
 *
 * A program may end its loop by closing every handle that uv_walk shows, which includes
 * these handles. The port then creates new loop handles when it needs them. While the
 * port closes, it must learn of this at once, because nothing else would wake it. So the
 * port keeps a write pending on a full pipe that is never read. When the pipe's handle is
 * closed, libuv cancels the write and calls its callback, no matter who closed the
 * handle. */
#ifndef UVZK_LOOP_HANDLES_H
#define UVZK_LOOP_HANDLES_H

#include <stdbool.h>
#include <uv.h>

struct uvzk__loop_handles {
    uv_async_t async;
    uv_timer_t timer;
    /* The next three are valid only if detects_close is true. */
    uv_pipe_t close_pipe;   /* the write end; its pipe is full */
    uv_write_t close_write; /* pending until close_pipe is closed */
    int pipe_read_end;      /* Nobody reads from it. Closed by uvzk__loop_handles_free. */
    bool detects_close;     /* the pipe has been created */
    /* Earlier loop handles of the port, which the program has closed; NULL: none. libuv
     * may still refer to them, so the memory is freed together with the newest one. */
    struct uvzk__loop_handles *previous;
};

/* Allocates loop handles; `previous` may be NULL. Returns NULL if out of memory. */
struct uvzk__loop_handles *uvzk__loop_handles_new(struct uvzk__loop_handles *previous);
/* Frees these loop handles and all previous ones. libuv must have finished closing
 * them. */
void uvzk__loop_handles_free(struct uvzk__loop_handles *loop_handles);

/* Opens the async handle and the timer on the loop. `data` is the data of all handles. */
void uvzk__loop_handles_init(struct uvzk__loop_handles *loop_handles, uv_loop_t *loop,
                             void *data, uv_async_cb async_cb);
/* Returns whether one of the handles is closed or closing. The program may have done
 * this. */
bool uvzk__loop_handles_are_closed(const struct uvzk__loop_handles *loop_handles);
/* Sets whether the handles keep their loop alive. */
void uvzk__loop_handles_set_ref(struct uvzk__loop_handles *loop_handles, bool keep);
/* Creates the pipe and its pending write. gone_cb runs once, when the program closes the
 * pipe's handle or when uvzk__loop_handles_close does. The pending write keeps the loop
 * alive. If the pipe cannot be created (no file descriptors), or the handles are already
 * closed, gone_cb never runs. */
void uvzk__loop_handles_detect_close(struct uvzk__loop_handles *loop_handles,
                                     uv_write_cb gone_cb);
/* Closes the handles that are not yet closed. */
void uvzk__loop_handles_close(struct uvzk__loop_handles *loop_handles);

#endif
