/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets: everything that the library does with its own sockets is here. First one
 * socket of the kernel, by its file descriptor; nothing of this blocks. Then the sockets of
 * an owner on the loop. */
#ifndef UVZK_SOCKETS_H
#define UVZK_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

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

/* The sockets of an owner on the loop, and one alarm. libuv sees one poll handle (of an
 * epoll set) and one timer, however many sockets there are. Neither keeps the loop alive.
 * If the program closes these handles (uv_walk), no more callbacks run until the owner
 * calls uvzk__sockets_close. */
struct uvzk__sockets {
    uv_poll_t poll;
    uv_timer_t timer, last_timer; /* last_timer is used only while closing */
    int epoll;                    /* the descriptor of the epoll set */
    unsigned forks;               /* uvzk__forks() when they were opened */
    unsigned watched;             /* how many sockets are in it */
    bool closing;
    /* Set by the owner. They run on the loop's thread and never inside a call of this
     * interface. */
    void (*ready)(struct uvzk__sockets *, int fd, bool readable, bool writable);
    void (*due)(struct uvzk__sockets *);
    void (*closed)(struct uvzk__sockets *);
};

/* Returns true if this process is a forked child of the process that opened them. The
 * parent shares the sockets and the epoll set, so only the callback closed() runs, the
 * epoll set is not changed, and the owner must neither send nor receive. */
bool uvzk__sockets_are_inherited(const struct uvzk__sockets *sockets);

/* Opens the poll handle and the timer. The callbacks must have been set. Returns 0, or
 * UV_EMFILE, UV_ENOMEM, ...: then nothing has changed. */
int uvzk__sockets_open(struct uvzk__sockets *sockets, uv_loop_t *loop);
/* Closes the handles; closed() is called later. The owner must close its sockets itself,
 * before this call. */
void uvzk__sockets_close(struct uvzk__sockets *sockets);

/* Watches a socket, or changes what it is watched for. ready() is called while the socket
 * is readable or writable, as requested; an error or a hang-up counts as both. Returns 0
 * or UV_ENOMEM. */
int uvzk__sockets_watch(struct uvzk__sockets *sockets, int fd, bool readable,
                        bool writable);
/* Stops watching a socket; must be called before the socket is closed. Does nothing if
 * the socket is not watched. */
void uvzk__sockets_forget(struct uvzk__sockets *sockets, int fd);

/* Sets the alarm to a time of uvzk_now(); UINT64_MAX switches it off. due() is called
 * once, at that time or up to a second after this call, whichever is earlier. So due()
 * must compare the clock and set the next alarm. The reason: a libuv timer stands still
 * while the machine is suspended. */
void uvzk__sockets_alarm(struct uvzk__sockets *sockets, uint64_t at_ms);

#endif
