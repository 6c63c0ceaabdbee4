/* System calls on one TCP socket (socket.h), used by the probes and the streams. Each
 * returns a code of libuv. */
#include "discovery/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

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
