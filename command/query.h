/* A question about who is at a path, asked once or, to watch it, again and again: connects,
 * takes a participant list, hands it on, and says with what exit status it ends. */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "connection.h"
#include "participant_list.h"

struct query;
/* A participant list is there. It returns whether there is to be another one; else the
 * query has its exit code, or goes on by itself and calls query_end(). */
enum query_next { QUERY_AGAIN, QUERY_END, QUERY_GOES_ON };
typedef enum query_next (*query_seen_cb)(struct query *);

struct query_options {
    struct connection_options connection;
    const char *path;
    bool json;
    bool watch;
    uint64_t interval_ms; /* between two looks */
    uint64_t timeout_ms;  /* 0: none */
    int timeout_code;
};

struct query {
    const struct query_options *options;
    query_seen_cb seen_cb;
    void *data; /* the user's */
    int exit_code;
    bool ending;
    uv_loop_t loop;
    struct connection connection;
    struct participant_list participant_list;
    uv_timer_t again;
    uv_timer_t over;
};

/* Options that all such subcommands have, for their tables and helps. */
#define QUERY_SHORT_OPTIONS "jh" CONNECTION_SHORT_OPTIONS
#define QUERY_LONG_OPTIONS                                              \
    {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, \
        CONNECTION_LONG_OPTIONS

void query_options_init(struct query_options *);

/* Whether the option is one of these; 'h' ends the process. */
bool query_option(struct query_options *, int option, const char *argument,
                  const char *help);

/* The words behind the options: PATH, and so many more. Ends the process if they are
 * not there. The first of the others. */
char **query_arguments(struct query_options *, int argc, char **argv, int others,
                       const char *help);

/* Runs it to its end, and returns the exit status. */
int query_run(struct query *, const struct query_options *, query_seen_cb);
void query_end(struct query *, int exit_code);

/* Says what has gone wrong, and ends it. */
void query_fail(struct query *, const char *what, int status);

#endif
