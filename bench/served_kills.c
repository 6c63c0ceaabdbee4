/* SPDX-License-Identifier: Apache-2.0 */
/* A process that holds a lock through the daemon is killed; this process waits for the
 * lock. Blocking sockets: nothing else is done meanwhile. */
#include "served.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

#define LINE_MAX_BYTES 1024U

/* Returns the connected socket, or -1. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_line(int fd, const char *line)
{
    return write(fd, line, strlen(line)) == (ssize_t)strlen(line);
}

/* Reads a line, and returns whether this text is in it. */
static bool read_line(int fd, const char *wanted)
{
    char line[LINE_MAX_BYTES];
    size_t length = 0;

    while (length < sizeof(line) - 1 && read(fd, line + length, 1) == 1 &&
           line[length] != '\n') {
        length++;
    }
    line[length] = '\0';
    return strstr(line, wanted) != NULL;
}

/* The child process: holds the lock until it is killed. */
static void hold(const char *path, int tell)
{
    int fd = connect_to(path);
    char byte = 0;

    if (fd >= 0 &&
        send_line(fd, "{\"id\":1,\"op\":\"acquire\",\"path\":\"/served/killed\"}\n") &&
        read_line(fd, "\"ok\":true") && write(tell, &byte, 1) == 1) {
        pause();
    }
    _exit(1);
}

/* Returns the process, or -1. */
static pid_t start_holder(const char *path)
{
    int ends[2];
    char byte;

    if (pipe(ends) < 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        hold(path, ends[1]);
    }
    close(ends[1]);
    bool held = pid > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    return held ? pid : -1;
}

static bool one_kill(const char *path, struct latencies *grants)
{
    pid_t pid = start_holder(path);
    int fd = connect_to(path);
    bool waits = pid > 0 && fd >= 0 &&
                 send_line(fd, "{\"id\":1,\"op\":\"acquire\",\"path\":\"/served/killed\","
                               "\"queued\":true}\n") &&
                 read_line(fd, "\"queued\"");
    uint64_t killed_ns = window_now();

    if (pid > 0) {
        kill(pid, SIGKILL);
    }
    bool granted = waits && read_line(fd, "\"ok\":true");
    if (granted) {
        latencies_add(grants, window_now() - killed_ns);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return granted;
}

bool served_run_kills(const struct served_run *run, struct latencies *grants,
                      uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!one_kill(run->socket, grants)) {
            fputs("served: no lock of a process that was killed\n", stderr);
            return false;
        }
    }
    return true;
}
