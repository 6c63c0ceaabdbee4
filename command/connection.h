/* SPDX-License-Identifier: Apache-2.0 */
/* The ZooKeeper session of one run of the command: its options on the command line, and
 * the wait for its first connection. Every subcommand uses this file. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>
#include <uvzk.h>

#include "no_connection.h"

#define NOT_GIVEN UINT64_MAX
/* For the options --tls-... together. */
#define TLS_BYTES 4096U

/* Of a longer path, reports have the beginning. */
#define SUBJECT_SIZE 512

struct connection_options {
    const char
        *config;    /* a configuration file, instead of the usual ones; NULL: not given */
    bool no_config; /* no configuration file */
    /* From the command line, NULL if not given. After connection_options_complete: the
     * hosts, the namespace and the two times, from any source. */
    const char *hosts; /* "host:port,host:port/chroot" */
    const char *ns;    /* the namespace, without "/" */
    /* What has set hosts: "--hosts", "ZOOKEEPER_HOSTS", or the name of a file; and ns:
     * "--namespace", or the name of the option in a file. */
    const char *hosts_from, *ns_from;
    const char *auth_from; /* the file or variable that has set auth; NULL: none has */
    const char *auth_file; /* NULL: not given */
    const char *transport; /* "c-client" or "native"; NULL: not given */
    bool tls;              /* one of the options --tls... was given */
    const char *tls_ca, *tls_cert, *tls_key, *tls_name; /* NULL: not given */
    const char *sasl;                                   /* NULL: not given */
    const char *tls_host; /* the name of the servers' certificates if no option gives one;
                             NULL: that of each server in hosts */
    bool has_tls;         /* after connection_options_complete: from any source */
    uint64_t session_ms;  /* the session timeout to request; NOT_GIVEN: not given */
    uint64_t tick_ms;     /* the servers' tickTime, or more; NOT_GIVEN: not given */
    uint64_t connect_timeout_ms; /* for the first connection; 0: no limit */
    uint32_t sessions;           /* as in uvzk_client_options_t; 0: not given */
    bool lock_is_write;          /* from files, as in struct configuration */
    bool verbose;
    bool quiet; /* do not report that there is no connection */
    const char
        *subject; /* the lock's path, which begins each report; NULL: no one lock */
};

/* The options for getopt_long. Each subcommand puts them into its table, and prints
 * connection_help after its own help. The numbers between FIRST and LAST are reserved
 * for these options. */
enum { CONNECTION_FIRST_OPTION = 1000, CONNECTION_LAST_OPTION = 1099 };
#define CONNECTION_SHORT_OPTIONS "H:vq"
#define CONNECTION_LONG_OPTIONS                                                    \
    {"hosts", required_argument, NULL, 'H'},                                       \
        {"session-timeout", required_argument, NULL, CONNECTION_FIRST_OPTION},     \
        {"connect-timeout", required_argument, NULL, CONNECTION_FIRST_OPTION + 1}, \
        {"tick", required_argument, NULL, CONNECTION_FIRST_OPTION + 2},            \
        {"namespace", required_argument, NULL, CONNECTION_FIRST_OPTION + 3},       \
        {"auth-file", required_argument, NULL, CONNECTION_FIRST_OPTION + 4},       \
        {"transport", required_argument, NULL, CONNECTION_FIRST_OPTION + 5},       \
        {"tls", no_argument, NULL, CONNECTION_FIRST_OPTION + 6},                   \
        {"tls-ca", required_argument, NULL, CONNECTION_FIRST_OPTION + 7},          \
        {"tls-cert", required_argument, NULL, CONNECTION_FIRST_OPTION + 8},        \
        {"tls-key", required_argument, NULL, CONNECTION_FIRST_OPTION + 9},         \
        {"tls-name", required_argument, NULL, CONNECTION_FIRST_OPTION + 10},       \
        {"sasl", required_argument, NULL, CONNECTION_FIRST_OPTION + 13},           \
        {"config", required_argument, NULL, CONNECTION_FIRST_OPTION + 11},         \
        {"no-config", no_argument, NULL, CONNECTION_FIRST_OPTION + 12},            \
        {"quiet", no_argument, NULL, 'q'},                                         \
    {                                                                              \
        "verbose", no_argument, NULL, 'v'                                          \
    }
extern const char connection_help[];

/* Sets the defaults. */
void connection_options_init(struct connection_options *);

/* Returns true if `option`, a result of getopt_long, is one of the options above. If it
 * is, its value is stored. If the argument is not valid, the process exits with EX_USAGE.
 * The argument must outlive the options. */
bool connection_option(struct connection_options *, int option, const char *argument);

/* Adds options from configuration files and ZOOKEEPER_HOSTS. The command line overrides
 * ZOOKEEPER_HOSTS, which overrides the user's file, which overrides the machine's file.
 * Call it once, after the last connection_option. hosts is NULL or empty afterwards if no
 * servers were named. Returns EX_OK, or an exit code after it has printed what is
 * wrong. */
int connection_options_complete(struct connection_options *);

/* Returns the full path of a znode, with the namespace, as uvzk_client_read wants it; the
 * caller frees it. NULL: no memory. */
char *connection_node_of(const struct connection_options *, const char *path);

/* Who this client is, for the servers. */
struct connection_credentials {
    const char *scheme; /* "digest", ...; NULL: no credentials */
    const void *auth;
    size_t length;
    char *owned; /* the caller frees it */
};
/* Reads the credentials of the options. Returns EX_OK, or an exit code after it has printed
 * what is wrong. */
int connection_credentials_read(const struct connection_options *,
                                struct connection_credentials *);

/* Returns the name that the certificate of this host's server must have. It is valid until
 * the next call. */
const char *connection_tls_name(const struct connection_options *, const char *host);

struct connection;
/* Called at most once. status 0: the first connection exists. Else the reason has been
 * printed. UVZK_ENOTSENT: there was no connection within connect_timeout_ms; UV_EMFILE
 * and the like: because the system was short of a resource. UVZK_EAUTH, UVZK_EINTERNAL:
 * there will never be one. */
typedef void (*connection_cb)(struct connection *, int status);

/* Called each time that there is a connection, the first time after connection_cb. */
typedef void (*connected_cb)(struct connection *);

struct connection {
    uvzk_client_t client;
    uv_timer_t connect_timer; /* until the first connection */
    struct no_connection no_connection;
    const struct connection_options *options;
    char *auth;                 /* owned: the line of the auth file; NULL: none */
    char tls[TLS_BYTES];        /* as in uvzk_client_options_t */
    char subject[SUBJECT_SIZE]; /* "PATH: ", which begins each report; "": no one lock */
    bool told;                  /* cb was called */
    uint64_t lost_at; /* uvzk_now() when the connection was lost; 0: it is not */
    connection_cb cb;
    connected_cb connected; /* NULL: nobody asks */
    uv_close_cb closed_cb;
    void *data; /* the user's */
};

/* Starts a session. Returns 0, or an exit code after it has printed what is wrong. In
 * both cases connection_close must be called. The struct must be zeroed, except for
 * `data` and `connected`. The options must outlive it. node_data: the data of the znodes that are
 * created; NULL: uvzk's default, the client's own address. */
int connection_open(struct connection *, uv_loop_t *, const struct connection_options *,
                    const char *node_data, connection_cb cb);

/* Ends the session. cb is called last, by uv_close with the connect timer as its handle;
 * cb may be NULL. */
void connection_close(struct connection *, uv_close_cb cb);

#endif
