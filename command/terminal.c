/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the terminal to CMD's process group and takes it back (terminal.h).
 * child_command.c and supervisor.c call it. */
#include "terminal.h"

#include <fcntl.h>
#include <unistd.h>

static int open_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool terminal_exists(void)
{
    int fd = open_terminal();

    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

void terminal_init(struct terminal *terminal, pid_t job)
{
    terminal->fd = open_terminal();
    terminal->job = job;
    terminal->given = false;
}

bool terminal_is_wanted_at_once(const struct terminal *terminal)
{
    return terminal->fd >= 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool terminal_give(struct terminal *terminal, pid_t group)
{
    pid_t front = terminal->fd < 0 ? -1 : tcgetpgrp(terminal->fd);

    /* Another job of the shell may be in the foreground: it keeps the terminal. */
    if (front < 0 || (front != terminal->job && front != group)) {
        return false;
    }
    terminal->given = tcsetpgrp(terminal->fd, group) == 0;
    return terminal->given;
}

void terminal_take_back(struct terminal *terminal)
{
    if (terminal->given) {
        tcsetpgrp(terminal->fd, terminal->job);
        terminal->given = false;
    }
}
