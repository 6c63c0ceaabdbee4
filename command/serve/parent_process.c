/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptors that the parent has passed in, and watches it by a pidfd
 * (parent_process.h). daemon.c calls it. */
#include "serve/parent_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit_code.h"
#include "output.h"

/* "standard output" and "--fd 2147483647" fit. */
#define NAME_SIZE 32

bool parent_process_is_served(const struct parent_options *options)
{
    return options->fd >= 0 || options->stdio;
}

/* ----------------------------------------------------------------------- the streams */

static bool is_connected_socket(int fd)
{
    struct sockaddr_storage peer;
    socklen_t peer_length = sizeof(peer), type_length = sizeof(int);
    int type = 0;

    return getpeername(fd, (struct sockaddr *)&peer, &peer_length) == 0 &&
           peer.ss_family == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) == 0 &&
           type == SOCK_STREAM;
}

/* Returns EX_OK, or EX_USAGE after it has printed that the descriptor is none that is
 * wanted. */
static int check_stream(int fd, bool may_be_pipe, const char *name)
{
    struct stat file;

    if (fstat(fd, &file) < 0) {
        output_report("%s: %s", name, strerror(errno));
        return EX_USAGE;
    }
    if (is_connected_socket(fd) || (may_be_pipe && S_ISFIFO(file.st_mode))) {
        return EX_OK;
    }
    output_report("%s: not %sa connected Unix stream socket", name,
                  may_be_pipe ? "a pipe or " : "");
    return EX_USAGE;
}

/* Returns a copy of a standard stream, which is /dev/null from then on; -1 with errno. */
static int move_stream(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (moved < 0 || nothing < 0 || dup2(nothing, fd) < 0) {
        return -1;
    }
    close(nothing);
    return moved;
}

static int open_standard_streams(struct parent_process *parent)
{
    int failed = check_stream(STDIN_FILENO, true, "standard input");

    if (failed == EX_OK) {
        failed = check_stream(STDOUT_FILENO, true, "standard output");
    }
    if (failed == EX_OK) {
        parent->in = move_stream(STDIN_FILENO);
        parent->out = parent->in < 0 ? -1 : move_stream(STDOUT_FILENO);
    }
    return failed;
}

static int open_socket(struct parent_process *parent, int fd)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "--fd %d", fd);
    int failed = check_stream(fd, false, name);
    if (failed == EX_OK) {
        parent->in = fd;
        parent->out = fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
    }
    return failed;
}

int parent_process_open_streams(struct parent_process *parent,
                                const struct parent_options *options)
{
    int failed =
        options->stdio ? open_standard_streams(parent) : open_socket(parent, options->fd);

    if (failed == EX_OK && parent->out < 0) {
        output_report("the connection to the parent: %s", strerror(errno));
        return EX_OSERR;
    }
    return failed;
}

/* ----------------------------------------------------------------------- the process */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct parent_process *parent = poll->data;

    (void)status;
    (void)events;
    uv_poll_stop(poll);
    parent->ended_cb(parent);
}

/* Returns 0, or an error code of libuv. */
static int watch(struct parent_process *parent, uv_loop_t *loop)
{
    parent->pidfd = (int)syscall(SYS_pidfd_open, parent->pid, 0U);
    if (parent->pidfd < 0) {
        return -errno;
    }
    int status = uv_poll_init(loop, &parent->poll, parent->pidfd);
    if (status < 0) {
        close(parent->pidfd);
        return status;
    }
    parent->watched = true;
    parent->poll.data = parent;
    return uv_poll_start(&parent->poll, UV_READABLE, on_poll);
}

int parent_process_begin(struct parent_process *parent, uv_loop_t *loop,
                         const struct parent_options *options, parent_process_cb ended_cb)
{
    /* It fails if this process leads a session: then it leads its group, too. */
    (void)setpgid(0, 0);
    parent->ended_cb = ended_cb;
    parent->pid = options->pid != 0 ? options->pid : getppid();
    int status = watch(parent, loop);
    /* Asked after the pidfd was opened: while this is the parent, no other process has its
     * number. */
    if (getppid() != parent->pid) {
        output_report("process %ld is not the parent, or has ended", (long)parent->pid);
        return EX_USAGE;
    }
    if (status < 0) {
        output_report("the parent cannot be watched: %s; only the end of the connection "
                      "tells of its end",
                      uv_strerror(status));
    }
    return EX_OK;
}

void parent_process_close(struct parent_process *parent)
{
    if (parent->watched) {
        uv_close((uv_handle_t *)&parent->poll, NULL);
        close(parent->pidfd);
    }
}
