/* SPDX-License-Identifier: Apache-2.0 */
/* with_zookeeper [--tick MS] [--heap MB] [--containers MS] [--netty] [--long-lived]
 *                [--config FILE] -- COMMAND [ARGUMENT...]
 *
 * Runs a command with a ZooKeeper server of its own. The server looks for empty
 * containers every --containers ms, and has the lines of FILE in its configuration.
 * "{hosts}" in an argument is replaced by the server's host:port. SIGINT, SIGTERM and
 * SIGHUP are passed on to the command. When the command ends, the server is killed and
 * its data is removed. SIGUSR1 kills the server; SIGUSR2 restarts it with its port and
 * its data.
 *
 * Exit status: that of the command; 128 + signal if a signal ended it; 127 if it could
 * not be run; 125 if the server did not come up. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define EXIT_NO_SERVER 125
#define EXIT_NO_COMMAND 127
#define PLACEHOLDER "{hosts}"

static int usage(void)
{
    fputs("usage: with_zookeeper [--tick MS] [--heap MB] [--containers MS] "
          "[--maxbuffer BYTES] [--netty] [--long-lived] [--config FILE] -- COMMAND "
          "[ARGUMENT...]\n",
          stderr);
    return EXIT_NO_SERVER;
}

/* Where the number of this option is stored; NULL: it is not an option with a number. */
static uint32_t *number_named(const char *name, struct server_options *options)
{
    if (strcmp(name, "--tick") == 0) {
        return &options->tick_ms;
    }
    if (strcmp(name, "--heap") == 0) {
        return &options->heap_mb;
    }
    if (strcmp(name, "--maxbuffer") == 0) {
        return &options->jute_maxbuffer;
    }
    return strcmp(name, "--containers") == 0 ? &options->container_check_ms : NULL;
}

/* Returns the index of the command in argv, or -1 if the arguments are wrong. */
static int parse(int argc, char **argv, struct server_options *options)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        uint32_t *number = number_named(argv[i], options);
        if (number != NULL && i + 1 < argc) {
            *number = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
            options->config = argv[++i];
        } else if (strcmp(argv[i], "--netty") == 0) {
            options->netty = true;
        } else if (strcmp(argv[i], "--long-lived") == 0) {
            options->long_lived = true;
        } else {
            return -1;
        }
    }
    return i + 1 < argc ? i + 1 : -1;
}

/* Returns the argument with every placeholder replaced. The memory is never freed,
 * because the process is about to become the command. */
static char *fill_in(char *argument, const char *hosts)
{
    char *found = strstr(argument, PLACEHOLDER);
    char *filled;
    if (found == NULL) {
        return argument;
    }
    if (asprintf(&filled, "%.*s%s%s", (int)(found - argument), argument, hosts,
                 fill_in(found + strlen(PLACEHOLDER), hosts)) < 0) {
        _exit(EXIT_NO_COMMAND);
    }
    return filled;
}

static void become_command(char **command, const char *hosts, pid_t parent,
                           const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent ended before prctl() was in effect. */
    if (getppid() != parent) {
        _exit(EXIT_NO_COMMAND);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    for (char **argument = command; *argument != NULL; argument++) {
        *argument = fill_in(*argument, hosts);
    }
    execvp(command[0], command);
    fprintf(stderr, "with_zookeeper: %s: %s\n", command[0], strerror(errno));
    _exit(EXIT_NO_COMMAND);
}

/* Handles a signal. The kernel sends a signal of the terminal to the whole process group,
 * so the command has received it already (SI_KERNEL). */
static void heed(const siginfo_t *info, struct server *server, pid_t command)
{
    if (info->si_signo == SIGUSR1) {
        server_kill(server);
    } else if (info->si_signo == SIGUSR2) {
        server_restart(server); /* on a failure, a message is on stderr */
    } else if (info->si_signo != SIGCHLD && info->si_code != SI_KERNEL) {
        kill(command, info->si_signo);
    }
}

/* Waits for the command and returns its exit status. */
static int attend(pid_t command, const sigset_t *signals, struct server *server)
{
    for (;;) {
        int status;
        siginfo_t info;
        /* SIGCHLD is blocked since before the fork, so sigwaitinfo cannot miss it. */
        if (waitpid(command, &status, WNOHANG) == command) {
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        if (sigwaitinfo(signals, &info) > 0) {
            heed(&info, server, command);
        }
    }
}

int main(int argc, char **argv)
{
    struct server_options options = {0};
    sigset_t signals, before;
    int first = parse(argc, argv, &options);
    if (first < 0) {
        return usage();
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, &before);

    struct server *server = server_start(&options);
    if (server == NULL) {
        return EXIT_NO_SERVER;
    }
    pid_t self = getpid();
    pid_t command = fork();
    if (command == 0) {
        become_command(argv + first, server_hosts(server), self, &before);
    }
    int status = command < 0 ? EXIT_NO_COMMAND : attend(command, &signals, server);
    server_stop(server);
    return status;
}
