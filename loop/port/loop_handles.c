/* The async handle and the timer of a port, and a pipe that reports when the program
 * closes them (loop_handles.h). port_loop.c calls it on the loop's thread. */
#include "port/loop_handles.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

struct uvzk__loop_handles *uvzk__loop_handles_new(struct uvzk__loop_handles *previous)
{
    struct uvzk__loop_handles *loop_handles = uvzk__calloc(1, sizeof(*loop_handles));
    if (loop_handles != NULL) {
        loop_handles->previous = previous;
    }
    return loop_handles;
}

void uvzk__loop_handles_free(struct uvzk__loop_handles *loop_handles)
{
    while (loop_handles != NULL) {
        struct uvzk__loop_handles *previous = loop_handles->previous;
        if (loop_handles->detects_close) {
            (void)close(loop_handles->pipe_read_end);
        }
        uvzk__free(loop_handles);
        loop_handles = previous;
    }
}

void uvzk__loop_handles_init(struct uvzk__loop_handles *loop_handles, uv_loop_t *loop,
                             void *data, uv_async_cb async_cb)
{
    uv_timer_init(loop, &loop_handles->timer);
    /* uv_async_init cannot fail here: all async handles of a loop share one descriptor,
     * which uv_loop_init has already opened for the thread pool. */
    if (uv_async_init(loop, &loop_handles->async, async_cb) != 0) {
        abort();
    }
    loop_handles->timer.data = data;
    loop_handles->async.data = data;
}

bool uvzk__loop_handles_are_closed(const struct uvzk__loop_handles *loop_handles)
{
    return uv_is_closing((const uv_handle_t *)&loop_handles->async) ||
           uv_is_closing((const uv_handle_t *)&loop_handles->timer) ||
           (loop_handles->detects_close &&
            uv_is_closing((const uv_handle_t *)&loop_handles->close_pipe));
}

void uvzk__loop_handles_set_ref(struct uvzk__loop_handles *loop_handles, bool keep)
{
    uv_handle_t *const handles[] = {(uv_handle_t *)&loop_handles->async,
                                    (uv_handle_t *)&loop_handles->timer};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        if (keep) {
            uv_ref(handles[i]);
        } else {
            uv_unref(handles[i]);
        }
    }
}

/* Opens a pipe and fills its buffer, so that a further write stays pending. The buffer is
 * made small first, so that filling it takes little memory. */
static bool open_full_pipe(int ends[2])
{
    static const char nothing[4096];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    (void)fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof(nothing));
    /* Smaller and smaller writes: a large write fails with EAGAIN although a small one
     * still fits. */
    for (size_t size = sizeof(nothing); size > 0; size /= 2) {
        while (write(ends[1], nothing, size) > 0) {
        }
    }
    return true;
}

void uvzk__loop_handles_detect_close(struct uvzk__loop_handles *loop_handles,
                                     uv_write_cb gone_cb)
{
    static char byte;
    uv_buf_t buffer = uv_buf_init(&byte, 1);
    int ends[2];

    if (loop_handles->detects_close || uvzk__loop_handles_are_closed(loop_handles) ||
        !open_full_pipe(ends)) {
        return;
    }
    uv_pipe_init(loop_handles->async.loop, &loop_handles->close_pipe, 0);
    loop_handles->close_pipe.data = loop_handles->async.data;
    loop_handles->detects_close = true;
    loop_handles->pipe_read_end = ends[0];
    /* detects_close is already set, so that close_pipe and the read end are closed with
     * the other handles. */
    if (uv_pipe_open(&loop_handles->close_pipe, ends[1]) != 0) {
        (void)close(ends[1]);
        return;
    }
    (void)uv_write(&loop_handles->close_write, (uv_stream_t *)&loop_handles->close_pipe,
                   &buffer, 1, gone_cb);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void uvzk__loop_handles_close(struct uvzk__loop_handles *loop_handles)
{
    close_handle((uv_handle_t *)&loop_handles->async);
    close_handle((uv_handle_t *)&loop_handles->timer);
    if (loop_handles->detects_close) {
        close_handle((uv_handle_t *)&loop_handles->close_pipe);
    }
}
