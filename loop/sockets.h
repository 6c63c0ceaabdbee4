/* Sockets of ours on the loop, and one moment to come: however many sockets
 * there are, libuv sees one poll handle (an epoll set) and one timer. Neither keeps
 * the loop alive; if somebody else closes them, nothing comes any more. */
#ifndef UVZK_SOCKETS_H
#define UVZK_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct uvzk__sockets {
    uv_poll_t poll;
    uv_timer_t timer, last_timer;
    int epoll;
    bool closing;
    /* On the loop's thread, never from inside a call. */
    void (*ready)(struct uvzk__sockets *, int fd, bool readable, bool writable);
    void (*due)(struct uvzk__sockets *);
    void (*closed)(struct uvzk__sockets *);
};

/* The callbacks have been set. 0, or UV_EMFILE, UV_ENOMEM, ...: nothing has
 * happened. */
int uvzk__sockets_open(struct uvzk__sockets *sockets, uv_loop_t *loop);
/* closed() comes later; the sockets are their owners' to close, before. */
void uvzk__sockets_close(struct uvzk__sockets *sockets);

/* ready() comes while the socket is readable or writable, as asked for; errors
 * and ends count as both. 0 or UV_ENOMEM. */
int uvzk__sockets_watch(struct uvzk__sockets *sockets, int fd, bool readable,
                        bool writable);
/* Before it is closed. Of one that is not watched: nothing. */
void uvzk__sockets_forget(struct uvzk__sockets *sockets, int fd);

/* due() comes then or, every second, before: it looks at the clock and sets the
 * next alarm. UINT64_MAX: never. A moment of uvzk_now(). */
void uvzk__sockets_alarm(struct uvzk__sockets *sockets, uint64_t at_ms);

#endif
