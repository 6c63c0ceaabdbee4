/* What a port has on its loop: an async handle, by which its hop wakes it, and a timer.
 *
 * A program may end its loop by closing every handle that uv_walk shows, and these are
 * shown as well. Then the port takes a new stand when it needs one. While it closes it
 * must know at once: a write that no reader ever takes is cancelled when its handle is
 * closed, whoever does so, and libuv calls that back. */
#ifndef UVZK_STAND_H
#define UVZK_STAND_H

#include <stdbool.h>
#include <uv.h>

struct uvzk__zk_port;

struct uvzk__stand {
    uv_async_t async;
    uv_timer_t timer;
    uv_pipe_t sentry; /* only while guarded */
    uv_write_t endless;
    int unread; /* the other end of the sentry's pipe */
    bool guarded;
    struct uvzk__stand *former; /* closed by somebody; libuv may still have it */
};

/* NULL: out of memory. */
struct uvzk__stand *uvzk__stand_new(struct uvzk__stand *former);
/* Frees it and all former ones. libuv must have done with them. */
void uvzk__stand_free(struct uvzk__stand *stand);

/* Puts it onto the port's loop, with port as the handles' data. */
void uvzk__stand_take(struct uvzk__stand *stand, struct uvzk__zk_port *port,
                      uv_async_cb async_cb);
/* Somebody else has closed some of it. */
bool uvzk__stand_is_gone(const struct uvzk__stand *stand);
/* Whether it keeps its loop alive. */
void uvzk__stand_keep(struct uvzk__stand *stand, bool keep);
/* From now on gone_cb comes, once, when somebody has closed the sentry with all else, or
 * uvzk__stand_leave has. It keeps the loop alive. Without descriptors: no callback. */
void uvzk__stand_guard(struct uvzk__stand *stand, uv_write_cb gone_cb);
/* Closes what is not closed yet. */
void uvzk__stand_leave(struct uvzk__stand *stand);

#endif
