/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets (sockets.h): system calls on one of them, for the probes and the streams, each
 * of which returns a code of libuv; and the sockets of an owner on the loop, an epoll set
 * behind one poll handle of libuv, with an alarm on one timer. The owner calls it on the
 * loop's thread. */
#include "discovery/sockets.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "platform/forks.h"
#include "uvzk.h"

/* ----------------------------------------------------------------------- one socket */

int uvzk__socket_connect(const struct uvzk__address *address, int *fd)
{
    const int on = 1;

    *fd = socket(address->socket.any.sa_family,
                 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0) {
        return uv_translate_sys_error(errno);
    }
    /* A request must not wait for the answer to the previous one. */
    (void)setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return connect(*fd, &address->socket.any, address->length) == 0 ||
                   errno == EINPROGRESS
               ? 0
               : uv_translate_sys_error(errno);
}

int uvzk__socket_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof(error);

    (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? 0 : uv_translate_sys_error(error);
}

/* The code of a call that has failed; 0: it must be repeated when the socket is ready. */
static ssize_t socket_failure(void)
{
    return errno == EAGAIN ? 0 : uv_translate_sys_error(errno);
}

ssize_t uvzk__socket_send(int fd, const void *bytes, size_t length)
{
    ssize_t taken;

    do {
        taken = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (taken < 0 && errno == EINTR);
    return taken >= 0 ? taken : socket_failure();
}

ssize_t uvzk__socket_receive(int fd, void *bytes, size_t room)
{
    ssize_t got;

    do {
        got = recv(fd, bytes, room, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? got : got == 0 ? UV_EOF : socket_failure();
}

void uvzk__socket_shut_down(int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
}

void uvzk__socket_close(int fd)
{
    (void)close(fd);
}

/* ---------------------------------------------------------------------- on the loop */

/* How many ready sockets one iteration of the loop handles, so that the loop's other
 * handles are not delayed. */
#define READY_AT_ONCE 64

/* In ms. A libuv timer stands still while the machine is suspended, so the timer fires at
 * least this often. */
#define STEP_MS 1000U

bool uvzk__sockets_are_inherited(const struct uvzk__sockets *sockets)
{
    return sockets->forks != uvzk__forks();
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct uvzk__sockets *sockets = poll->data;
    struct epoll_event event;
    int most = sockets->watched > 1 ? READY_AT_ONCE : 1;
    (void)status;
    (void)events;
    if (uvzk__sockets_are_inherited(sockets)) {
        uv_poll_stop(poll); /* it would be ready again and again */
        return;
    }
    /* Reads one event at a time, because handling one socket may close another, whose
     * event must not be delivered then. A single socket is not polled again: the loop
     * reports the rest in its next iteration. */
    for (int i = 0; i < most && !sockets->closing; i++) {
        if (epoll_wait(sockets->epoll, &event, 1, 0) <= 0) {
            return;
        }
        bool ended = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
        sockets->ready(sockets, event.data.fd, ended || (event.events & EPOLLIN) != 0,
                       ended || (event.events & EPOLLOUT) != 0);
    }
}

int uvzk__sockets_open(struct uvzk__sockets *sockets, uv_loop_t *loop)
{
    int rc = uvzk__forks_begin();
    if (rc < 0) {
        return rc;
    }
    sockets->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (sockets->epoll < 0) {
        return uv_translate_sys_error(errno);
    }
    rc = uv_poll_init(loop, &sockets->poll, sockets->epoll);
    if (rc < 0) {
        close(sockets->epoll);
        return rc;
    }
    uv_timer_init(loop, &sockets->timer);
    /* The owner decides whether the loop stays alive. */
    uv_unref((uv_handle_t *)&sockets->poll);
    uv_unref((uv_handle_t *)&sockets->timer);
    sockets->poll.data = sockets;
    sockets->timer.data = sockets;
    sockets->closing = false;
    sockets->watched = 0;
    sockets->forks = uvzk__forks();
    uv_poll_start(&sockets->poll, UV_READABLE, on_poll);
    return 0;
}

static void close_last(struct uvzk__sockets *sockets, uv_close_cb close_cb)
{
    uv_timer_init(sockets->poll.loop, &sockets->last_timer);
    sockets->last_timer.data = sockets;
    uv_close((uv_handle_t *)&sockets->last_timer, close_cb);
}

static void on_closed(uv_handle_t *handle)
{
    struct uvzk__sockets *sockets = handle->data;
    close(sockets->epoll);
    sockets->closed(sockets);
}

/* libuv has finished with every handle that was closed in the same iteration of the loop,
 * no matter who closed it, only in the next iteration. So a second timer is closed after
 * the first. */
static void on_all_closed(uv_handle_t *handle)
{
    close_last(handle->data, on_closed);
}

/* The program may have closed the handle already. */
static void sockets_leave(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void uvzk__sockets_close(struct uvzk__sockets *sockets)
{
    sockets->closing = true;
    sockets_leave((uv_handle_t *)&sockets->poll);
    sockets_leave((uv_handle_t *)&sockets->timer);
    close_last(sockets, on_all_closed);
}

int uvzk__sockets_watch(struct uvzk__sockets *sockets, int fd, bool readable,
                        bool writable)
{
    struct epoll_event event = {.data = {.fd = fd}};
    event.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
    if (epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, fd, &event) == 0) {
        return 0;
    }
    if (errno != ENOENT || epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        return UV_ENOMEM;
    }
    sockets->watched++;
    return 0;
}

void uvzk__sockets_forget(struct uvzk__sockets *sockets, int fd)
{
    if (!uvzk__sockets_are_inherited(sockets) &&
        epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, fd, NULL) == 0) {
        sockets->watched--;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct uvzk__sockets *sockets = timer->data;
    if (!uvzk__sockets_are_inherited(sockets)) {
        sockets->due(sockets);
    }
}

void uvzk__sockets_alarm(struct uvzk__sockets *sockets, uint64_t at_ms)
{
    if (sockets->closing) {
        return;
    }
    if (at_ms == UINT64_MAX) {
        uv_timer_stop(&sockets->timer);
        return;
    }
    uint64_t now = uvzk_now();
    uint64_t delay = at_ms > now ? at_ms - now : 0;
    /* Otherwise the time since the loop's iteration began would be missing. */
    uv_update_time(sockets->timer.loop);
    uv_timer_start(&sockets->timer, on_timer, delay < STEP_MS ? delay : STEP_MS, 0);
}
