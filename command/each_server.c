/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a lock through each server of the list, in up to three passes, and prints the
 * comparison (uvzk status --each-server; called by status.c).
 *
 * In one pass all servers are read at the same time, each in its own ZooKeeper session
 * whose list of servers has only this server. uv_run returns when all these sessions are
 * closed, so the next pass begins with new connections. comparison.h says what the passes
 * prove. If all servers show the same in pass 1, there are no other passes. */
#include "each_server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "event_loop.h"
#include "exit_code.h"
#include "output.h"
#include "server_list.h"

struct survey;

/* One reading of one server: a session, and one participant list. */
struct look {
    struct survey *each_server;
    struct reading *reading;           /* the result, in each_server->comparison */
    struct connection_options options; /* the user's, with this server as hosts */
    struct connection connection;
    struct participant_list participant_list;
    char hosts[512]; /* "address:port/chroot" */
    bool closing;    /* the session is being closed: the reading is over */
};

struct survey {
    const struct query_options *options;
    uv_loop_t loop;
    struct server_list servers;
    struct comparison comparison;
    struct look looks[SERVER_LIST_MAX]; /* of the current pass, one for each server */
    int failed;                         /* an exit code; EX_OK: nothing has failed */
};

_Static_assert(SERVER_LIST_MAX == COMPARISON_SERVERS, "each has a bit");

/* ---------------------------------------------------------------- one server */

static void end_look(struct look *look)
{
    if (!look->closing) {
        look->closing = true;
        connection_close(&look->connection, NULL);
    }
}

/* Copies the participants into the reading. */
static void keep(struct look *look)
{
    const struct participant_list *participant_list = &look->participant_list;
    bool kept = reading_begin(look->reading, participant_list->count);

    for (size_t i = 0; i < participant_list->count && kept; i++) {
        const struct participant *participant = &participant_list->participants[i];
        kept = reading_add(look->reading, participant->node, participant->token,
                           participant->session);
    }
    if (kept) {
        reading_end(look->reading);
    } else {
        look->each_server->failed = EX_OSERR;
    }
}

/* A server could not be read. EX_UNAVAILABLE concerns this server only. Any other failure,
 * such as missing credentials, would be the same at each server, and ends the run without
 * waiting for servers that do not answer. */
static void note(const struct look *look, int status)
{
    struct survey *each_server = look->each_server;

    if (exit_code_of(status) == EX_UNAVAILABLE) {
        return;
    }
    each_server->failed = exit_code_of(status);
    for (size_t i = 0; i < each_server->servers.count; i++) {
        end_look(&each_server->looks[i]);
    }
}

static void complain(const struct look *look, int status)
{
    output_report("%s: the lock cannot be listed: %s", look->hosts,
                  uvzk_strerror(status));
    note(look, status);
}

static void on_participant_list(struct participant_list *participant_list, int status)
{
    struct look *look = participant_list->data;

    /* Closing the session also ends the request. */
    if (look->closing) {
        return;
    }
    if (status < 0) {
        complain(look, status);
    } else {
        keep(look);
    }
    end_look(look);
}

static void on_connected(struct connection *connection, int status)
{
    struct look *look = connection->data;

    if (status == 0) {
        status = participant_list_init(&look->participant_list, &connection->client,
                                       look->each_server->options->path);
        status = status < 0 ? status
                            : participant_list_read(&look->participant_list, true,
                                                    on_participant_list);
        if (status < 0) {
            complain(look, status);
        }
    } else {
        note(look, status); /* connection.c has printed why there was no connection */
    }
    if (status < 0) {
        end_look(look);
    }
}

/* at: the pass, counted from 0. */
static void begin_look(struct survey *each_server, size_t server, size_t at)
{
    struct look *look = &each_server->looks[server];

    *look = (struct look){.each_server = each_server,
                          .reading = &each_server->comparison.readings[at][server],
                          .options = each_server->options->connection};
    snprintf(look->hosts, sizeof(look->hosts), "%s%s",
             each_server->servers.addresses[server], each_server->servers.chroot);
    look->options.hosts = look->hosts;
    look->options.tls_host = each_server->servers.names[server];
    look->connection.data = look;
    look->participant_list.data = look;
    int failed = connection_open(&look->connection, &each_server->loop, &look->options,
                                 NULL, on_connected);
    if (failed != EX_OK) {
        each_server->failed = failed;
        end_look(look);
    }
}

/* ----------------------------------------------------------------- all servers */

/* Makes one pass: reads all servers at the same time. Returns when each has answered or
 * failed, and all sessions are closed. */
static void look_through_all(struct survey *each_server, size_t at)
{
    for (size_t i = 0; i < each_server->servers.count; i++) {
        begin_look(each_server, i, at);
    }
    uv_run(&each_server->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < each_server->servers.count; i++) {
        participant_list_free(&each_server->looks[i].participant_list);
    }
}

static bool all_have_told(const struct survey *each_server, size_t at)
{
    for (size_t i = 0; i < each_server->servers.count; i++) {
        if (!each_server->comparison.readings[at][i].answered) {
            return false;
        }
    }
    return true;
}

/* Makes the passes that are needed, and finds the differences. Returns whether every
 * server answered in each of these passes. */
static bool compare(struct survey *each_server)
{
    each_server->comparison.servers = each_server->servers.count;
    look_through_all(each_server, 0);
    bool complete = all_have_told(each_server, 0);
    if (each_server->failed != EX_OK || comparison_is_equal(&each_server->comparison)) {
        return complete;
    }
    for (size_t at = 1; at < COMPARISON_LOOKS && each_server->failed == EX_OK; at++) {
        look_through_all(each_server, at);
        complete = complete && all_have_told(each_server, at);
    }
    if (each_server->failed == EX_OK && !comparison_find(&each_server->comparison)) {
        each_server->failed = EX_OSERR;
    }
    return complete;
}

/* ------------------------------------------------------------------ printing */

/* Prints the addresses of the servers whose bits are set in `which`, separated by
 * commas. quote: what is printed before and after each. */
static void print_servers(FILE *out, const struct survey *each_server, uint64_t which,
                          const char *quote)
{
    const char *comma = "";

    for (size_t i = 0; i < each_server->servers.count; i++) {
        if ((which >> i & 1) != 0) {
            fprintf(out, "%s%s%s%s", comma, quote, each_server->servers.addresses[i],
                    quote);
            comma = ",";
        }
    }
}

/* told: the servers that answered. */
static void print_json(const struct survey *each_server, uint64_t told)
{
    const struct comparison *comparison = &each_server->comparison;
    int odd = comparison_outlier(comparison);

    fputs("{\"path\":", stdout);
    output_json_string(stdout, each_server->options->path,
                       strlen(each_server->options->path));
    fputs(",\"servers\":[", stdout);
    print_servers(stdout, each_server, told, "\"");
    fputs("],\"silent\":[", stdout);
    print_servers(stdout, each_server, ~told, "\"");
    fputs("],\"differs\":", stdout);
    if (odd < 0) {
        fputs("null", stdout);
    } else {
        print_servers(stdout, each_server, (uint64_t)1 << odd, "\"");
    }
    fputs(",\"differences\":[", stdout);
    for (size_t i = 0; i < comparison->count; i++) {
        const struct difference *difference = &comparison->differences[i];
        const struct sighting *znode = difference->znode;
        fputs(i == 0 ? "{\"node\":" : ",{\"node\":", stdout);
        output_json_string(stdout, znode->node, strlen(znode->node));
        printf(",\"czxid\":%" PRId64 ",\"session\":\"0x%" PRIx64 "\",\"shown_by\":[",
               znode->czxid, (uint64_t)znode->session);
        print_servers(stdout, each_server, difference->shown_by, "\"");
        fputs("],\"not_by\":[", stdout);
        print_servers(stdout, each_server, difference->not_by, "\"");
        fputs("]}", stdout);
    }
    puts("]}");
}

static void print_difference(const struct survey *each_server,
                             const struct difference *difference)
{
    output_plain(stdout, difference->znode->node, strlen(difference->znode->node));
    printf("\n  czxid %" PRId64 ", session 0x%" PRIx64 "\n  shown by ",
           difference->znode->czxid, (uint64_t)difference->znode->session);
    print_servers(stdout, each_server, difference->shown_by, "");
    fputs("\n  not by   ", stdout);
    print_servers(stdout, each_server, difference->not_by, "");
    putchar('\n');
}

static void print_text(const struct survey *each_server, uint64_t told)
{
    const struct comparison *comparison = &each_server->comparison;
    int odd = comparison_outlier(comparison);

    output_colour(stdout, COLOUR_BOLD);
    output_plain(stdout, each_server->options->path, strlen(each_server->options->path));
    output_colour(stdout, COLOUR_NONE);
    if (odd >= 0) {
        printf(": %s differs from the others\n", each_server->servers.addresses[odd]);
    } else if (comparison->count > 0) {
        puts(": the servers differ");
    } else if (told == 0) {
        puts(": no server has answered");
    } else {
        fputs(": the same through ", stdout);
        print_servers(stdout, each_server, told, "");
        putchar('\n');
    }
    for (size_t i = 0; i < comparison->count; i++) {
        print_difference(each_server, &comparison->differences[i]);
    }
}

/* Returns the servers that answered in pass 1, one bit each. */
static uint64_t those_that_told(const struct survey *each_server)
{
    uint64_t told = 0;

    for (size_t i = 0; i < each_server->servers.count; i++) {
        told |= (uint64_t)each_server->comparison.readings[0][i].answered << i;
    }
    return told;
}

/* Prints the result and returns the exit status. */
static int tell(const struct survey *each_server, bool complete)
{
    uint64_t told = those_that_told(each_server);

    if (each_server->options->json) {
        print_json(each_server, told);
    } else {
        print_text(each_server, told);
    }
    if (each_server->comparison.count > 0) {
        return 1;
    }
    return complete ? EX_OK : EX_UNAVAILABLE;
}

int each_server_run(const struct query_options *options)
{
    struct survey *each_server = calloc(1, sizeof(*each_server));

    if (each_server == NULL) {
        return EX_OSERR;
    }
    signal(SIGPIPE, SIG_DFL); /* a closed pipe at stdout ends the program silently */
    int exit_code = event_loop_begin(&each_server->loop);
    if (exit_code != EX_OK) {
        free(each_server);
        return exit_code;
    }
    each_server->options = options;
    exit_code = server_list_make(&each_server->servers, options->connection.hosts);
    if (exit_code == EX_OK && each_server->servers.count < 2) {
        output_report("there is only one server, nothing to compare");
        exit_code = EX_USAGE;
    }
    if (exit_code == EX_OK) {
        exit_code = event_loop_has_room(each_server->servers.count);
    }
    if (exit_code == EX_OK) {
        bool complete = compare(each_server);
        exit_code = each_server->failed != EX_OK ? each_server->failed
                                                 : tell(each_server, complete);
    }
    uv_loop_close(&each_server->loop);
    comparison_free(&each_server->comparison);
    server_list_free(&each_server->servers);
    free(each_server);
    return exit_code;
}
