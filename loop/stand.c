#include "stand.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "zk_port.h"

struct uvzk__stand *uvzk__stand_new(struct uvzk__stand *former)
{
    struct uvzk__stand *stand = uvzk__calloc(1, sizeof(*stand));
    if (stand != NULL) {
        stand->former = former;
    }
    return stand;
}

void uvzk__stand_free(struct uvzk__stand *stand)
{
    while (stand != NULL) {
        struct uvzk__stand *former = stand->former;
        if (stand->guarded) {
            (void)close(stand->unread);
        }
        uvzk__free(stand);
        stand = former;
    }
}

void uvzk__stand_take(struct uvzk__stand *stand, struct uvzk__zk_port *port,
                      uv_async_cb async_cb)
{
    uv_timer_init(port->loop, &stand->timer);
    /* Cannot fail: all async handles of a loop share one descriptor, and the
     * loop has opened it for its thread pool. */
    if (uv_async_init(port->loop, &stand->async, async_cb) != 0) {
        abort();
    }
    stand->timer.data = port;
    stand->async.data = port;
}

bool uvzk__stand_is_gone(const struct uvzk__stand *stand)
{
    return uv_is_closing((const uv_handle_t *)&stand->async) ||
           uv_is_closing((const uv_handle_t *)&stand->timer) ||
           (stand->guarded && uv_is_closing((const uv_handle_t *)&stand->sentry));
}

void uvzk__stand_keep(struct uvzk__stand *stand, bool keep)
{
    uv_handle_t *const handles[] = {(uv_handle_t *)&stand->async,
                                    (uv_handle_t *)&stand->timer};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        if (keep) {
            uv_ref(handles[i]);
        } else {
            uv_unref(handles[i]);
        }
    }
}

/* A pipe without room. */
static bool open_full_pipe(int ends[2])
{
    static const char nothing[4096];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    (void)fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof(nothing));
    for (size_t size = sizeof(nothing); size > 0; size /= 2) {
        while (write(ends[1], nothing, size) > 0) {
        }
    }
    return true;
}

void uvzk__stand_guard(struct uvzk__stand *stand, uv_write_cb gone_cb)
{
    static char byte;
    uv_buf_t buffer = uv_buf_init(&byte, 1);
    int ends[2];

    if (stand->guarded || uvzk__stand_is_gone(stand) || !open_full_pipe(ends)) {
        return;
    }
    uv_pipe_init(stand->async.loop, &stand->sentry, 0);
    stand->sentry.data = stand->async.data;
    stand->guarded = true;
    stand->unread = ends[0];
    if (uv_pipe_open(&stand->sentry, ends[1]) != 0) {
        (void)close(ends[1]);
        return;
    }
    (void)uv_write(&stand->endless, (uv_stream_t *)&stand->sentry, &buffer, 1, gone_cb);
}

static void leave(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void uvzk__stand_leave(struct uvzk__stand *stand)
{
    leave((uv_handle_t *)&stand->async);
    leave((uv_handle_t *)&stand->timer);
    if (stand->guarded) {
        leave((uv_handle_t *)&stand->sentry);
    }
}
