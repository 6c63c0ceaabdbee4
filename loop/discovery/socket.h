/* A TCP socket of the kernel, by its file descriptor. Nothing here blocks. Everything
 * that the library does with its own sockets is here and in sockets.h. */
#ifndef UVZK_SOCKET_H
#define UVZK_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

#include "discovery/addresses.h"

/* Creates a TCP socket and begins to connect it. *fd is -1, or the caller must close it,
 * even after a failure. Returns 0 or a code of libuv. When the socket is writable,
 * uvzk__socket_error says whether it is connected. */
int uvzk__socket_connect(const struct uvzk__address *address, int *fd);
/* Returns the error of a socket, a code of libuv, and clears it in the kernel; 0:
 * none. */
int uvzk__socket_error(int fd);
/* Gives bytes to the kernel. Returns how many it has taken, 0 if it takes none now, or a
 * code of libuv. length is at least 1. */
ssize_t uvzk__socket_send(int fd, const void *bytes, size_t length);
/* Receives what has come. Returns how many bytes, 0 if there are none now, or a code of
 * libuv; UV_EOF: the other end has closed the connection. room is at least 1. */
ssize_t uvzk__socket_receive(int fd, void *bytes, size_t room);
/* Ends the connection in both directions, so that the socket becomes readable. */
void uvzk__socket_shut_down(int fd);
void uvzk__socket_close(int fd);

#endif
