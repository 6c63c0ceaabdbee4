/* SPDX-License-Identifier: Apache-2.0 */
/* leaves_nothing HOSTS COMMAND [ARGUMENT...]: runs a command and, if it ends well,
 * sees that the server has no znodes any more but its own. Empty containers count as
 * nothing: the server reaps them, which is waited for.
 *
 * Exit status: the command's, 1 if something is left, 2 if that cannot be told. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "raw.h"

enum { PATIENCE_S = 15, LOOK_AGAIN_MS = 50 };

static int run(char **command)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("leaves_nothing");
        return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* How many znodes the root has beside the server's own, -1 on an error. */
static int foreign_nodes(zhandle_t *zh, bool tell)
{
    struct raw_names names;
    int count = 0;

    if (raw_children(zh, "/", &names) != ZOK) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (strcmp(names.names[i], "zookeeper") != 0) {
            count++;
            if (tell) {
                fprintf(stderr, "left: /%s\n", names.names[i]);
            }
        }
    }
    raw_names_free(&names);
    return count;
}

static int look(const char *hosts)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    zhandle_t *zh = raw_open(hosts);
    int left = zh == NULL ? -1 : foreign_nodes(zh, false);

    for (int i = 0; left > 0 && i < PATIENCE_S * 1000 / LOOK_AGAIN_MS; i++) {
        nanosleep(&pause, NULL);
        left = foreign_nodes(zh, false);
    }
    if (left > 0) {
        left = foreign_nodes(zh, true);
    }
    raw_close(zh);
    return left < 0 ? 2 : left > 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: leaves_nothing HOSTS COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    int status = run(argv + 2);
    return status != 0 ? status : look(argv[1]);
}
