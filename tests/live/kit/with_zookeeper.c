/* with_zookeeper [--tick MS] [--netty] -- COMMAND [ARGUMENT...]
 *
 * Runs a command beside a ZooKeeper server of its own. "{hosts}" in an argument
 * becomes the server's host:port. INT, TERM and HUP go on to the command; when
 * the command ends, so does the server, and its data is removed.
 *
 * Exit status: the command's, 128 + signal if one ended it, 127 if it could not
 * be run, 125 if the server did not come up. */
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
    fputs("usage: with_zookeeper [--tick MS] [--netty] -- COMMAND "
          "[ARGUMENT...]\n",
          stderr);
    return EXIT_NO_SERVER;
}

/* Index of the command in argv, or -1. */
static int parse(int argc, char **argv, struct server_options *options)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--netty") == 0) {
            options->netty = true;
        } else if (strcmp(argv[i], "--tick") == 0 && i + 1 < argc) {
            options->tick_ms = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else {
            return -1;
        }
    }
    return i + 1 < argc ? i + 1 : -1;
}

/* The argument with every placeholder replaced; never freed, the process is
 * about to become the command. */
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

/* Waits for the command, handing signals on, and returns its exit status. A
 * signal from the terminal has reached the command already. */
static int attend(pid_t command, const sigset_t *signals)
{
    for (;;) {
        int status;
        siginfo_t info;
        if (waitpid(command, &status, WNOHANG) == command) {
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
            info.si_code != SI_KERNEL) {
            kill(command, info.si_signo);
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
    int status = command < 0 ? EXIT_NO_COMMAND : attend(command, &signals);
    server_stop(server);
    return status;
}
