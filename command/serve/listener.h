/* SPDX-License-Identifier: Apache-2.0 */
/* The Unix socket of `uvzk serve`: made by the daemon, or passed in by systemd
 * (LISTEN_FDS).
 *
 * The daemon sets the socket's mode and owner before a program can connect to it. It
 * replaces a socket file that an earlier daemon has left, unless a process listens on it.
 * PATH.lock, which the daemon keeps locked, prevents two daemons that start at once from
 * replacing each other's socket. */
#ifndef LISTENER_H
#define LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SOCKET_PATH_MAX 109 /* of sun_path, and a NUL */

struct listener_options {
    const char *path; /* NULL: the socket is passed in */
    mode_t mode;
    uid_t uid; /* (uid_t)-1: the process's own */
    gid_t gid; /* (gid_t)-1: the process's own */
};

struct listener {
    const struct listener_options *options;
    int fd;                     /* listens or is about to; -1: none */
    int lock;                   /* of PATH.lock; -1: none */
    char path[SOCKET_PATH_MAX]; /* of the socket file; "": none is known */
    dev_t device;
    ino_t inode; /* of that file when the listener was opened */
    bool made;   /* by this daemon, which removes it at the end */
};

/* Returns true if systemd has passed in sockets. */
bool listener_is_passed_in(void);

/* The options must outlive the listener. */
void listener_init(struct listener *, const struct listener_options *);

/* Opens the socket; no program can connect before listen() is called. Returns EX_OK, or
 * an exit code after it has printed what is wrong. */
int listener_open(struct listener *);

/* Returns true if the socket file has not been removed or replaced since
 * listener_open. */
bool listener_has_file(const struct listener *);
/* Returns true if the file with this device and inode is the socket file. */
bool listener_is_file(const struct listener *, uint64_t device, uint64_t inode);

/* Removes the socket file, if this daemon has made it, and its lock. The descriptor
 * belongs to the caller that took it over. Then the listener can be opened again. */
void listener_close(struct listener *);

#endif
