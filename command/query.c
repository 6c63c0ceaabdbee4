/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the subcommands that read the participants of a path (query.h): connect,
 * list, call the subcommand, list again or end. A path that shows no participant is
 * checked for a missing chroot. */
#include "query.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "event_loop.h"
#include "exit_code.h"
#include "output.h"
#include "refusal.h"
#include "subcommands.h"

void query_options_init(struct query_options *options)
{
    *options = (struct query_options){.interval_ms = 1000, .timeout_code = 1};
    connection_options_init(&options->connection);
}

bool query_option(struct query_options *options, int option, const char *argument,
                  const char *help)
{
    if (option == 'h') {
        subcommand_help(help);
    }
    if (option == 'j') {
        options->json = true;
        return true;
    }
    return connection_option(&options->connection, option, argument);
}

char **query_arguments(struct query_options *options, int argc, char **argv, int others,
                       const char *help)
{
    if (argc - optind != 1 + others) {
        subcommand_usage(help);
    }
    options->path = argv[optind];
    subcommand_needs_hosts(&options->connection);
    return argv + optind + 1;
}

void query_end(struct query *query, int exit_code)
{
    if (query->ending) {
        return;
    }
    query->ending = true;
    query->exit_code = exit_code;
    uv_close((uv_handle_t *)&query->again, NULL);
    uv_close((uv_handle_t *)&query->over, NULL);
    connection_close(&query->connection, NULL);
}

static void fail_because(struct query *query, const char *what, int status,
                         const char *why)
{
    if (!query->ending) {
        output_report("%s: %s: %s", query->options->path, what, why);
        query_end(query, exit_code_of(status));
    }
}

void query_fail(struct query *query, const char *what, int status)
{
    fail_because(query, what, status, uvzk_strerror(status));
}

/* The call has just been refused: the library says which argument is wrong. */
static void refused(struct query *query, const char *what, int status)
{
    fail_because(query, what, status, refusal_text(&query->options->connection, status));
}

static void look(struct query *query);

static void on_again(uv_timer_t *timer)
{
    look(timer->loop->data);
}

void query_look_again(struct query *query)
{
    uv_timer_start(&query->again, on_again, query->options->interval_ms, 0);
}

bool query_may_pass(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT ||
           status == UVZK_EEXPIRED || status == UVZK_ETHROTTLED;
}

static void show(struct query *query)
{
    enum query_next next = query->seen_cb(query);

    if (next == QUERY_AGAIN) {
        query_look_again(query);
    } else if (next == QUERY_END) {
        query_end(query, query->exit_code);
    }
}

static void failed(struct query *query, int status, const char *why)
{
    if (query->options->watch && query_may_pass(status)) {
        query_look_again(query);
    } else {
        fail_because(query, "cannot be listed", status, why);
    }
}

static void on_chroot_read(uvzk_req_t *request, int status)
{
    struct query *query = request->data;

    if (query->ending) {
        return;
    }
    /* A refusal (no READ) shows that the chroot exists. */
    if (status < 0 && status != UVZK_ENOAUTH) {
        failed(query, status, refusal_of_chroot(&query->options->connection, status));
    } else {
        show(query);
    }
}

/* No znode is at the path. The path may be below a chroot that does not exist: the user has
 * named another place than the lock's, and must not be told that the lock is free. */
static void read_chroot(struct query *query)
{
    int status;

    query->chroot_read.data = query;
    status = uvzk_client_read(&query->connection.client, &query->chroot_read, "/",
                              on_chroot_read);
    if (status < 0) {
        refused(query, "cannot be listed", status);
    }
}

static void check_chroot(struct query *query)
{
    if (strchr(query->options->connection.hosts, '/') != NULL) {
        read_chroot(query);
    } else {
        show(query);
    }
}

static void on_path_read(uvzk_req_t *request, int status)
{
    struct query *query = request->data;

    if (query->ending) {
        return;
    }
    /* Any other failure shows nothing of the path. */
    query->missing = status == UVZK_ENONODE;
    if (status == 0) {
        show(query); /* and so the chroot exists */
    } else {
        check_chroot(query);
    }
}

/* Nobody is at the path, or there is no such path: a typing error looks like a free lock. */
static void read_path(struct query *query)
{
    int status;

    query->path_read.data = query;
    char *node = connection_node_of(&query->options->connection, query->options->path);
    status = node == NULL ? UV_ENOMEM
                          : uvzk_client_read(&query->connection.client, &query->path_read,
                                             node, on_path_read);
    free(node);
    if (status < 0) {
        refused(query, "cannot be listed", status);
    }
}

static void on_participant_list(struct participant_list *participant_list, int status)
{
    struct query *query = participant_list->data;

    /* Closing the client ends the requests. */
    if (query->ending) {
        return;
    }
    if (status < 0) {
        failed(query, status, uvzk_strerror(status));
    } else if (participant_list->count == 0 && query->options->tells_missing) {
        read_path(query);
    } else if (participant_list->count == 0) {
        check_chroot(query);
    } else {
        query->missing = false;
        show(query);
    }
}

static void look(struct query *query)
{
    int status =
        participant_list_read(&query->participant_list, true, on_participant_list);

    if (status < 0) {
        refused(query, "cannot be listed", status);
    }
}

static void on_connected(struct connection *connection, int status)
{
    struct query *query = connection->data;

    /* connection.c has printed the reason. */
    if (status < 0) {
        query_end(query, exit_code_of(status));
        return;
    }
    status = participant_list_init(&query->participant_list, &connection->client,
                                   query->options->path);
    if (status < 0) {
        refused(query, "not a lock path", status);
    } else {
        look(query);
    }
}

/* timeout_ms has passed. */
static void on_over(uv_timer_t *timer)
{
    struct query *query = timer->loop->data;

    if (!query->connection.told) {
        output_report("no connection to %s%s", query->options->connection.hosts,
                      no_connection_reason_text(&query->connection.client));
        query_end(query, EX_UNAVAILABLE);
    } else {
        query_end(query, query->options->timeout_code);
    }
}

int query_run(struct query *query, const struct query_options *options,
              query_seen_cb seen_cb)
{
    signal(SIGPIPE, SIG_DFL); /* a closed pipe at stdout ends the program silently */
    int failed = event_loop_begin(&query->loop);
    if (failed != EX_OK) {
        return failed;
    }
    query->loop.data = query;
    query->options = options;
    query->seen_cb = seen_cb;
    query->connection.data = query;
    query->participant_list.data = query;
    uv_timer_init(&query->loop, &query->again);
    uv_timer_init(&query->loop, &query->over);
    failed = connection_open(&query->connection, &query->loop, &options->connection, NULL,
                             on_connected);
    if (failed != EX_OK) {
        query_end(query, failed);
    } else if (options->timeout_ms > 0) {
        uv_timer_start(&query->over, on_over, options->timeout_ms, 0);
    }
    uv_run(&query->loop, UV_RUN_DEFAULT);
    uv_loop_close(&query->loop);
    participant_list_free(&query->participant_list);
    return query->exit_code;
}
