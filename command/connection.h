/* The ZooKeeper session of one run: what the command line says of it, and the wait for its
 * first connection. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>
#include <uvzk.h>

struct connection_options {
    const char *hosts; /* NULL: as ZOOKEEPER_HOSTS has it */
    const char *ns;
    const char *auth_file;
    uint64_t session_ms;
    uint64_t tick_ms;
    uint64_t connect_timeout_ms; /* for the first connection; 0: without end */
    bool verbose;
};

/* Of getopt_long: for each subcommand's table, with the help that goes with them. */
enum { CONNECTION_FIRST_OPTION = 1000, CONNECTION_LAST_OPTION = 1099 };
#define CONNECTION_SHORT_OPTIONS "H:v"
#define CONNECTION_LONG_OPTIONS                                                    \
    {"hosts", required_argument, NULL, 'H'},                                       \
        {"session-timeout", required_argument, NULL, CONNECTION_FIRST_OPTION},     \
        {"connect-timeout", required_argument, NULL, CONNECTION_FIRST_OPTION + 1}, \
        {"tick", required_argument, NULL, CONNECTION_FIRST_OPTION + 2},            \
        {"namespace", required_argument, NULL, CONNECTION_FIRST_OPTION + 3},       \
        {"auth-file", required_argument, NULL, CONNECTION_FIRST_OPTION + 4},       \
    {                                                                              \
        "verbose", no_argument, NULL, 'v'                                          \
    }
extern const char connection_help[];

void connection_options_init(struct connection_options *);

/* Whether the option is one of these; then it is taken, or the process ends with a
 * sentence about its argument. */
bool connection_option(struct connection_options *, int option, const char *argument);

struct connection;
/* Once: 0, connected for the first time; or why it never will be, which has been said. */
typedef void (*connection_cb)(struct connection *, int status);

struct connection {
    uvzk_client_t client;
    uv_timer_t connect_timer;
    const struct connection_options *options;
    char *auth;
    bool told; /* cb was called */
    connection_cb cb;
    uv_close_cb closed_cb;
    void *data; /* the user's */
};

/* 0, or an exit code; what is wrong has been said. node_data: of the znodes that are
 * made; NULL: the client's own address. */
int connection_open(struct connection *, uv_loop_t *, const struct connection_options *,
                    const char *node_data, connection_cb cb);

/* Ends the session. cb, as uv_close calls it for the timer, comes last; may be NULL. */
void connection_close(struct connection *, uv_close_cb cb);

#endif
