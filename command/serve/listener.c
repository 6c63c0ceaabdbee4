/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, checks and removes the socket of `uvzk serve` (listener.h). A lock file makes
 * sure that only one daemon replaces the socket file. daemon.c calls it at the start, at
 * intervals, and at the end. */
#include "serve/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "exit_code.h"
#include "output.h"

/* As sd_listen_fds(3): the first descriptor that is passed in. */
#define FIRST_PASSED_IN 3

static int fail(const char *path, const char *what, int exit_code)
{
    output_report("%s: %s", path, what);
    return exit_code;
}

static int fail_errno(const char *path)
{
    int error = errno;

    return fail(path, strerror(error),
                exit_code_is_shortage(-error) ? EX_OSERR : EX_CANTCREAT);
}

/* --------------------------------------------------------------- passed in by systemd */

bool listener_is_passed_in(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

    return pid != NULL && count != NULL && strtol(pid, NULL, 10) == (long)getpid();
}

static bool option_is(int fd, int option, int wanted)
{
    int value = -1;
    socklen_t length = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

/* Remembers which file the socket has. */
static bool remember_file(struct listener *listener, const char *path)
{
    struct stat file;

    if (lstat(path, &file) < 0) {
        return false;
    }
    snprintf(listener->path, sizeof(listener->path), "%s", path);
    listener->device = file.st_dev;
    listener->inode = file.st_ino;
    return true;
}

/* An abstract address has no file. */
static void remember_file_of(struct listener *listener, int fd)
{
    struct {
        struct sockaddr_un address;
        char end; /* a path that is as long as sun_path has no NUL */
    } name = {.end = '\0'};
    socklen_t length = sizeof(name.address);

    if (getsockname(fd, (struct sockaddr *)&name.address, &length) == 0 &&
        name.address.sun_path[0] != '\0') {
        remember_file(listener, name.address.sun_path);
    }
}

static int take_over(struct listener *listener)
{
    bool one = strcmp(getenv("LISTEN_FDS"), "1") == 0;
    int fd = FIRST_PASSED_IN;

    if (!one || !option_is(fd, SO_DOMAIN, AF_UNIX) ||
        !option_is(fd, SO_TYPE, SOCK_STREAM) || !option_is(fd, SO_ACCEPTCONN, 1)) {
        return fail("LISTEN_FDS", "not one Unix stream socket that listens", EX_USAGE);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        return fail_errno("LISTEN_FDS");
    }
    listener->fd = fd;
    remember_file_of(listener, fd);
    return EX_OK;
}

/* ---------------------------------------------------------------- made by the daemon */

static int address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof(address->sun_path)) {
        return fail(path, "not a path of 1 to 107 bytes", EX_USAGE);
    }
    memcpy(address->sun_path, path, strlen(path));
    return EX_OK;
}

static int lock(struct listener *listener)
{
    const char *path = listener->options->path;
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(".lock")];

    snprintf(name, sizeof(name), "%s.lock", path);
    listener->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (listener->lock < 0) {
        return fail_errno(name);
    }
    if (flock(listener->lock, LOCK_EX | LOCK_NB) < 0) {
        return fail(path, "another daemon serves it", EX_CANTCREAT);
    }
    return EX_OK;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Returns true if a process accepts connections. It does if it is too busy to accept this
 * one. */
static bool is_listened_to(const struct sockaddr_un *address)
{
    int fd = new_socket();
    bool refused = fd >= 0 &&
                   connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
                   (errno == ECONNREFUSED || errno == ENOENT);

    if (fd >= 0) {
        close(fd);
    }
    return !refused;
}

/* Removes a socket file that no process listens on. */
static int remove_stale(const char *path, const struct sockaddr_un *address)
{
    struct stat file;

    if (lstat(path, &file) < 0) {
        return errno == ENOENT ? EX_OK : fail_errno(path);
    }
    if (!S_ISSOCK(file.st_mode)) {
        return fail(path, "exists, and is not a socket", EX_CANTCREAT);
    }
    if (is_listened_to(address)) {
        return fail(path, "another process listens on it", EX_CANTCREAT);
    }
    return unlink(path) == 0 ? EX_OK : fail_errno(path);
}

static int set_access(const struct listener_options *options)
{
    bool has_owner = options->uid != (uid_t)-1 || options->gid != (gid_t)-1;

    if (has_owner && lchown(options->path, options->uid, options->gid) < 0) {
        return fail_errno(options->path);
    }
    return chmod(options->path, options->mode) == 0 ? EX_OK : fail_errno(options->path);
}

/* Until listen() is called, connect() is refused: so no program connects before the mode
 * and the owner are set. */
static int make(struct listener *listener, const struct sockaddr_un *address)
{
    const char *path = listener->options->path;

    listener->fd = new_socket();
    if (listener->fd < 0 ||
        bind(listener->fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
        !remember_file(listener, path)) {
        return fail_errno(path);
    }
    listener->made = true;
    return set_access(listener->options);
}

void listener_init(struct listener *listener, const struct listener_options *options)
{
    *listener = (struct listener){.options = options, .fd = -1, .lock = -1};
}

int listener_open(struct listener *listener)
{
    const struct listener_options *options = listener->options;
    struct sockaddr_un address;

    if (options->path == NULL) {
        return take_over(listener);
    }
    int failed = address_of(options->path, &address);
    if (failed == EX_OK) {
        failed = lock(listener);
    }
    if (failed == EX_OK) {
        failed = remove_stale(options->path, &address);
    }
    return failed == EX_OK ? make(listener, &address) : failed;
}

bool listener_is_file(const struct listener *listener, uint64_t device, uint64_t inode)
{
    return device == listener->device && inode == listener->inode;
}

bool listener_has_file(const struct listener *listener)
{
    struct stat file;

    return lstat(listener->path, &file) == 0 &&
           listener_is_file(listener, file.st_dev, file.st_ino);
}

void listener_close(struct listener *listener)
{
    if (listener->made && listener_has_file(listener)) {
        unlink(listener->path);
    }
    listener->made = false;
    if (listener->lock >= 0) {
        close(listener->lock);
        listener->lock = -1;
    }
}
