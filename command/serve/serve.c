/* The command line of `uvzk serve`. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "exit_code.h"
#include "serve/daemon.h"
#include "subcommands.h"

#define MODE_DEFAULT 0660
#define MODE_MAX 0777U

enum {
    OPTION_MODE = 1,
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
    "usage: uvzk serve [OPTION...] --socket PATH\n"
    "\n"
    "Serves locks to programs in any language, over a Unix socket: JSON lines, as\n"
    "docs/guide/serve.md describes. systemd can pass in the socket; then omit\n"
    "--socket.\n"
    "\n"
    "  -s, --socket PATH         the socket to create\n"
    "      --mode MODE           its access mode, octal (0660)\n"
    "      --owner USER:GROUP    its owner, its group, or both\n"
    "      --metrics ADDRESS:PORT, or PATH\n"
    "                            serve GET /metrics there over HTTP, for Prometheus\n"
    "      --sessions N          ZooKeeper sessions, 1 to 32 (1); each has room for\n"
    "                            about 13,000 holds\n"
    "      --max-connections N   at one time (10000)\n"
    "      --max-pending N       of a connection: requests without an answer, holds,\n"
    "                            watches and objects (1000)\n"
    "      --max-line BYTES      of a request (16384)\n"
    "      --max-unsent BYTES    of a connection: answers that it has not read "
    "(262144);\n"
    "                            beyond that it is cut off\n";

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
    const struct passwd *user = getpwnam(name);

    if (user != NULL) {
        *uid = user->pw_uid;
        return true;
    }
    return read_number(name, uid);
}

static bool read_group(const char *name, gid_t *gid)
{
    const struct group *group = getgrnam(name);

    if (group != NULL) {
        *gid = group->gr_gid;
        return true;
    }
    return read_number(name, gid);
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
                   !connection_option(&daemon->connection, option, optarg)) {
            subcommand_usage(help); /* getopt has printed what is wrong */
        }
    }
}

int subcommand_serve(int argc, char **argv)
{
    struct daemon_options daemon = {
        .listener = {.mode = MODE_DEFAULT, .uid = (uid_t)-1, .gid = (gid_t)-1},
        .max_connections = 10000,
        .max_pending = 1000,
        .max_line = 16384,
        .max_unsent = 262144};

    connection_options_init(&daemon.connection);
    /* A machine may start before its ZooKeeper. */
    daemon.connection.connect_timeout_ms = 0;
    read_options(&daemon, argc, argv);
    if (optind < argc || (daemon.listener.path == NULL) != listener_is_passed_in()) {
        subcommand_usage(help);
    }
    subcommand_needs_hosts(&daemon.connection);
    return daemon_run(&daemon);
}
