/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `uvzk serve`. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts.h"
#include "arguments.h"
#include "exit_code.h"
#include "serve/daemon.h"
#include "subcommands.h"

#define MODE_DEFAULT 0660
#define MODE_MAX 0777U
#define MAX_CONNECTIONS 10000
/* Of programs that share the daemon: one that does not read must not take its memory. */
#define MAX_PENDING 1000
#define MAX_UNSENT (256U * 1024)
/* Of a parent, whose loop may be blocked for a while, and which harms only itself. */
#define MAX_PENDING_OF_PARENT 20000
#define MAX_UNSENT_OF_PARENT (64U * 1024 * 1024)

enum {
    OPTION_FD = 1,
    OPTION_STDIO,
    OPTION_PARENT,
    OPTION_MODE,
    OPTION_OWNER,
    OPTION_METRICS,
    OPTION_SESSIONS,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_PENDING,
    OPTION_MAX_LINE,
    OPTION_MAX_UNSENT,
};

static const struct option options[] = {
    {"socket", required_argument, NULL, 's'},
    {"fd", required_argument, NULL, OPTION_FD},
    {"stdio", no_argument, NULL, OPTION_STDIO},
    {"parent", required_argument, NULL, OPTION_PARENT},
    {"mode", required_argument, NULL, OPTION_MODE},
    {"owner", required_argument, NULL, OPTION_OWNER},
    {"metrics", required_argument, NULL, OPTION_METRICS},
    {"sessions", required_argument, NULL, OPTION_SESSIONS},
    {"max-connections", required_argument, NULL, OPTION_MAX_CONNECTIONS},
    {"max-pending", required_argument, NULL, OPTION_MAX_PENDING},
    {"max-line", required_argument, NULL, OPTION_MAX_LINE},
    {"max-unsent", required_argument, NULL, OPTION_MAX_UNSENT},
    {"help", no_argument, NULL, 'h'},
    CONNECTION_LONG_OPTIONS,
    {NULL, 0, NULL, 0}};

static const char help[] =
    "usage: uvzk serve [OPTION...] --socket PATH | --fd N | --stdio\n"
    "\n"
    "Serves locks to programs in any language, over a Unix socket, or to the program\n"
    "that has started it: JSON lines, as docs/guide/serve.md describes. systemd can\n"
    "pass in the socket; then omit --socket.\n"
    "\n"
    "  -s, --socket PATH         the socket to create\n"
    "      --fd N                serve the parent alone, over this connected Unix\n"
    "                            socket, and end with it\n"
    "      --stdio               the same, over standard input and output\n"
    "      --parent PID          the parent: if another process is, do not begin\n"
    "      --mode MODE           its access mode, octal (0660)\n"
    "      --owner USER:GROUP    its owner, its group, or both\n"
    "      --metrics ADDRESS:PORT, or PATH\n"
    "                            serve GET /metrics there over HTTP, for Prometheus\n"
    "      --sessions N          ZooKeeper sessions, 1 to 32 (1); each has room for\n"
    "                            about 13,000 holds\n"
    "      --max-connections N   at one time (10000)\n"
    "      --max-pending N       of a connection: requests without an answer, holds,\n"
    "                            watches and objects (1000; of a parent 20000)\n"
    "      --max-line BYTES      of a request (16384)\n"
    "      --max-unsent BYTES    of a connection: answers that it has not read (262144;\n"
    "                            of a parent 67108864); beyond that it is cut off\n";

static void read_mode(struct listener_options *listener, const char *text)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);

    if (text[0] < '0' || text[0] > '7' || *end != '\0' || mode > MODE_MAX) {
        argument_wrong("--mode", text, "an octal number up to 0777");
    }
    listener->mode = (mode_t)mode;
}

/* (uid_t)-1 and (gid_t)-1 mean "do not change". */
static bool read_number(const char *text, unsigned *number)
{
    char *end;

    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    *number = (unsigned)read;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           read < UINT32_MAX;
}

/* A name, or a number. */
static bool read_user(const char *name, uid_t *uid)
{
    return accounts_find_user(name, uid) || read_number(name, uid);
}

static bool read_group(const char *name, gid_t *gid)
{
    return accounts_find_group(name, gid) || read_number(name, gid);
}

/* "user", ":group" or "user:group", as chown(1) has it. */
static void read_owner(struct listener_options *listener, const char *text)
{
    char user[256];
    size_t length = strcspn(text, ":");

    if (length < sizeof(user) && text[0] != '\0') {
        memcpy(user, text, length);
        user[length] = '\0';
        const char *group = text[length] == ':' ? text + length + 1 : NULL;
        if ((length == 0 || read_user(user, &listener->uid)) &&
            (group == NULL || read_group(group, &listener->gid))) {
            return;
        }
    }
    argument_wrong("--owner", text, "a user, a group after a colon, or both");
}

static void read_metrics(struct metrics_options *metrics, const char *text)
{
    if (!metrics_options_read(metrics, text)) {
        argument_wrong("--metrics", text,
                       "a numeric address and a port, or the path of a socket with a /");
    }
}

/* Stores the value of an option and returns true, or returns false if the option is not
 * one of the limits. */
static bool is_limit(struct daemon_options *daemon, int option, const char *argument)
{
    switch (option) {
    case OPTION_MAX_CONNECTIONS:
        daemon->max_connections =
            (size_t)argument_number("--max-connections", argument, 1, 1000000);
        return true;
    case OPTION_MAX_PENDING:
        daemon->max_pending =
            (size_t)argument_number("--max-pending", argument, 1, 1000000);
        return true;
    case OPTION_MAX_LINE:
        daemon->max_line = (size_t)argument_number("--max-line", argument, 256, 1U << 24);
        return true;
    case OPTION_MAX_UNSENT:
        daemon->max_unsent =
            (size_t)argument_number("--max-unsent", argument, 1024, 1U << 30);
        return true;
    default:
        return false;
    }
}

/* ... one of those of a parent. */
static bool is_of_parent(struct parent_options *parent, int option, const char *argument)
{
    switch (option) {
    case OPTION_FD:
        parent->fd = (int)argument_number("--fd", argument, STDERR_FILENO + 1, INT32_MAX);
        return true;
    case OPTION_STDIO:
        parent->stdio = true;
        return true;
    case OPTION_PARENT:
        parent->pid = (pid_t)argument_number("--parent", argument, 1, INT32_MAX);
        return true;
    default:
        return false;
    }
}

static void read_options(struct daemon_options *daemon, int argc, char **argv)
{
    int option;

    while ((option = argument_next(argc, argv, "s:h" CONNECTION_SHORT_OPTIONS,
                                   options)) != -1) {
        if (option == 'h') {
            subcommand_help(help);
        } else if (option == 's') {
            daemon->listener.path = optarg;
        } else if (option == OPTION_MODE) {
            read_mode(&daemon->listener, optarg);
        } else if (option == OPTION_OWNER) {
            read_owner(&daemon->listener, optarg);
        } else if (option == OPTION_METRICS) {
            read_metrics(&daemon->metrics, optarg);
        } else if (option == OPTION_SESSIONS) {
            daemon->connection.sessions =
                (uint32_t)argument_number("--sessions", optarg, 1, 32);
        } else if (!is_limit(daemon, option, optarg) &&
                   !is_of_parent(&daemon->parent, option, optarg) &&
                   !connection_option(&daemon->connection, option, optarg)) {
            subcommand_usage(help); /* getopt has printed what is wrong */
        }
    }
}

/* The programs are served at one place, and what is only of a parent or of a socket is
 * with that. */
static bool fits_together(const struct daemon_options *daemon)
{
    bool has_parent = parent_process_is_served(&daemon->parent);
    int places = (daemon->listener.path != NULL) + listener_is_passed_in() +
                 (daemon->parent.fd >= 0) + daemon->parent.stdio;

    return places == 1 &&
           (has_parent ? daemon->max_connections == 0 : daemon->parent.pid == 0);
}

static size_t limit_or(size_t given, size_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static void complete_limits(struct daemon_options *daemon)
{
    bool has_parent = parent_process_is_served(&daemon->parent);

    daemon->max_connections =
        limit_or(daemon->max_connections, has_parent ? 1 : MAX_CONNECTIONS);
    daemon->max_pending =
        limit_or(daemon->max_pending, has_parent ? MAX_PENDING_OF_PARENT : MAX_PENDING);
    daemon->max_unsent =
        limit_or(daemon->max_unsent, has_parent ? MAX_UNSENT_OF_PARENT : MAX_UNSENT);
}

int subcommand_serve(int argc, char **argv)
{
    struct daemon_options daemon = {
        .listener = {.mode = MODE_DEFAULT, .uid = (uid_t)-1, .gid = (gid_t)-1},
        .parent = {.fd = -1},
        .max_line = 16384};

    connection_options_init(&daemon.connection);
    /* A machine may start before its ZooKeeper. */
    daemon.connection.connect_timeout_ms = 0;
    read_options(&daemon, argc, argv);
    if (optind < argc || !fits_together(&daemon)) {
        subcommand_usage(help);
    }
    complete_limits(&daemon);
    subcommand_needs_hosts(&daemon.connection);
    return daemon_run(&daemon);
}
