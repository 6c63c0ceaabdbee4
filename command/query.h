/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a subcommand that reads the participants of a path, once or repeatedly:
 * connects, makes a participant list, and passes it to the subcommand, which decides what
 * comes next. Used by status, holders, wait, revoke and verify. */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "connection.h"
#include "participant_list.h"

struct query;
/* What the query does after the callback. */
enum query_next {
    QUERY_AGAIN,  /* makes another participant list after interval_ms */
    QUERY_END,    /* ends with query->exit_code, which the callback has set */
    QUERY_GOES_ON /* nothing: the subcommand calls one of the functions below itself */
};
/* Called with each participant list that was made without a failure. */
typedef enum query_next (*query_seen_cb)(struct query *);

struct query_options {
    struct connection_options connection;
    const char *path;
    bool json;
    bool watch;           /* read repeatedly, even after a lost connection */
    uint64_t interval_ms; /* from one participant list to the next request */
    uint64_t timeout_ms;  /* for the whole run; 0: none */
    bool tells_missing;   /* asks whether the path exists if nobody is there */
    int timeout_code;     /* after timeout_ms, if the client has connected */
};

struct query {
    const struct query_options *options;
    query_seen_cb seen_cb;
    void *data; /* the user's */
    int exit_code;
    bool ending; /* query_end() was called */
    uv_loop_t loop;
    struct connection connection;
    struct participant_list participant_list;
    uvzk_req_t path_read;   /* whether the path exists */
    uvzk_req_t chroot_read; /* whether the chroot exists */
    bool missing;           /* no znode was at the path */
    uv_timer_t again;       /* interval_ms */
    uv_timer_t over;        /* timeout_ms */
};

/* The options that all these subcommands have, for getopt_long. */
#define QUERY_SHORT_OPTIONS "jh" CONNECTION_SHORT_OPTIONS
#define QUERY_LONG_OPTIONS                                              \
    {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, \
        CONNECTION_LONG_OPTIONS

/* Sets the defaults. */
void query_options_init(struct query_options *);

/* Returns true if `option`, a result of getopt_long, is one of these options. If it is,
 * its value is stored. 'h' prints the help and ends the process. */
bool query_option(struct query_options *, int option, const char *argument,
                  const char *help);

/* Reads the words after the options: PATH, and `others` more words. If the number of
 * words is different, or no servers are given, the process exits with EX_USAGE. Returns
 * the words after PATH. */
char **query_arguments(struct query_options *, int argc, char **argv, int others,
                       const char *help);

/* Runs the query and returns the exit status. The query must be zeroed, except for
 * `data`. */
int query_run(struct query *, const struct query_options *, query_seen_cb);
/* Ends the query with this exit code. Does nothing if it is ending already. */
void query_end(struct query *, int exit_code);
/* Makes another participant list after interval_ms, as QUERY_AGAIN does. */
void query_look_again(struct query *);

/* Returns true if the failure is temporary: the client connects again by itself, so a
 * query that watches tries again. */
bool query_may_pass(int status);

/* Prints what has failed, and ends the query. status: the error code. */
void query_fail(struct query *, const char *what, int status);

#endif
