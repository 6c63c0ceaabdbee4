/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk status and uvzk holders: print who holds a lock, and who waits for it, as a table
 * or as JSON. main.c calls subcommand_status and subcommand_holders.
 *
 * query.c makes the participant lists and calls on_seen with each. With --watch on_seen
 * prints a list only if it differs from the last one that was printed, apart from the
 * ages. At a terminal it prints the table each time, because the ages change.
 * --each-server is in each_server.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "arguments.h"
#include "each_server.h"
#include "newest_run.h"
#include "output.h"
#include "query.h"
#include "subcommands.h"

static const char status_help[] =
    "usage: uvzk status [OPTION...] PATH\n"
    "\n"
    "Shows who holds the lock and who waits for it, in order.\n"
    "\n"
    "  -j, --json                as one line of JSON\n"
    "  -W, --watch               show it again whenever something has changed\n"
    "      --interval S          how often to look (1)\n"
    "      --each-server         compare what the servers show: exit status 1 if they "
    "differ\n";

static const char holders_help[] =
    "usage: uvzk holders [OPTION...] PATH\n"
    "\n"
    "Shows who holds the lock. The exit status is 1 if nobody does.\n"
    "\n"
    "  -j, --json                as one line of JSON\n"
    "  -W, --watch               show it again whenever something has changed\n"
    "      --interval S          how often to look (1)\n";

struct view {
    struct query query;
    bool holders_only;
    struct newest_run newest; /* not with holders_only */
    char *lock_node;          /* the lock's path with the namespace; owned */
    struct summary {
        char *text; /* owned; NULL: nothing yet, or no memory */
        size_t length;
    } shown; /* of what was printed last */
};

/* Returns the number of holders, or of waiters. */
static size_t count(const struct view *view, bool holding)
{
    size_t found = 0;

    for (size_t i = 0; i < view->query.participant_list.count; i++) {
        found += view->query.participant_list.participants[i].holds == holding;
    }
    return found;
}

/* -------------------------------------------------------------------------- JSON */

static void print_participant_json(FILE *out, const struct participant *participant)
{
    fprintf(out, "{\"state\":\"%s\",\"kind\":\"%s\",",
            participant->holds ? "holds" : "waits", recipe_name(participant->recipe));
    /* A lease's znode does not show the fencing token of its hold. */
    if (participant->recipe != RECIPE_LEASES) {
        fprintf(out, "\"token\":%" PRId64 ",", participant->token);
    }
    fprintf(out, "\"age_s\":%.1f,\"session\":\"0x%" PRIx64 "\",\"node\":",
            participant_age(participant->since_ms), (uint64_t)participant->session);
    output_json_string(out, participant->node, strlen(participant->node));
    fputs(",\"data\":", out);
    output_json_string(out, participant->data, participant->text_length);
    if (participant->traceparent[0] != '\0') {
        fprintf(out, ",\"traceparent\":\"%s\"", participant->traceparent);
    }
    fputc('}', out);
}

static void print_json(const struct view *view)
{
    const char *comma = "";

    fputs("{\"path\":", stdout);
    output_json_string(stdout, view->query.options->path,
                       strlen(view->query.options->path));
    printf(",\"holders\":%zu,\"waiters\":%zu,", count(view, true), count(view, false));
    if (view->query.options->tells_missing) {
        printf("\"missing\":%s,", view->query.missing ? "true" : "false");
    }
    fputs("\"contenders\":[", stdout);
    for (size_t i = 0; i < view->query.participant_list.count; i++) {
        if (view->query.participant_list.participants[i].holds || !view->holders_only) {
            fputs(comma, stdout);
            print_participant_json(stdout, &view->query.participant_list.participants[i]);
            comma = ",";
        }
    }
    putchar(']');
    if (view->newest.key[0] != '\0') {
        fputs(",\"last_run\":", stdout);
        newest_run_print_json(stdout, &view->newest);
    }
    puts("}");
}

/* ------------------------------------------------------------------------ the table */

static void print_row(const struct participant *participant)
{
    char since[32], token[32] = "-";

    if (participant->recipe != RECIPE_LEASES) {
        snprintf(token, sizeof(token), "%" PRId64, participant->token);
    }
    snprintf(since, sizeof(since), "%.1fs", participant_age(participant->since_ms));
    output_colour(stdout, participant->holds ? COLOUR_GREEN : COLOUR_YELLOW);
    printf("%-5s", participant->holds ? "holds" : "waits");
    output_colour(stdout, COLOUR_NONE);
    printf("  %-5s  %10s  %9s  0x%-16" PRIx64 "  ", recipe_name(participant->recipe),
           token, since, (uint64_t)participant->session);
    output_plain(stdout, participant->data, participant->text_length);
    if (participant->data_length == 0 && recipe_may_be_revocable(participant->recipe)) {
        fputs(NO_NAME, stdout);
    }
    if (participant->traceparent[0] != '\0') {
        printf("%straceparent %s", participant->text_length > 0 ? "  " : "",
               participant->traceparent);
    }
    putchar('\n');
}

static void print_table(const struct view *view)
{
    size_t holders = count(view, true), waiters = count(view, false);

    if (view->query.options->watch && isatty(STDOUT_FILENO)) {
        fputs("\033[H\033[J", stdout);
    }
    if (!view->holders_only) {
        output_colour(stdout, COLOUR_BOLD);
        output_plain(stdout, view->query.options->path,
                     strlen(view->query.options->path));
        output_colour(stdout, COLOUR_NONE);
        printf(": %zu %s, %zu %s%s\n", holders, holders == 1 ? "holds it" : "hold it",
               waiters, waiters == 1 ? "waits" : "wait",
               view->query.missing ? "; there is no znode at this path" : "");
    }
    if (holders + (view->holders_only ? 0 : waiters) > 0) {
        printf("%-5s  %-5s  %10s  %9s  %-18s  %s\n", "STATE", "KIND", "TOKEN", "AGE",
               "SESSION", "DATA");
    }
    for (size_t i = 0; i < view->query.participant_list.count; i++) {
        if (view->query.participant_list.participants[i].holds || !view->holders_only) {
            print_row(&view->query.participant_list.participants[i]);
        }
    }
    if (view->newest.key[0] != '\0') {
        fputs("last run ", stdout);
        newest_run_print(stdout, &view->newest);
        putchar('\n');
    }
}

/* -------------------------------------------------------------------------- watching */

/* Returns what is shown as one text, apart from the ages, which always change. The
 * data may contain any byte. The caller frees the text. */
static struct summary summarize(const struct view *view)
{
    struct summary summary = {NULL, 0};
    FILE *out = open_memstream(&summary.text, &summary.length);

    if (out != NULL) {
        fprintf(out, "%d ", view->query.missing);
    }
    for (size_t i = 0; out != NULL && i < view->query.participant_list.count; i++) {
        const struct participant *participant =
            &view->query.participant_list.participants[i];
        fprintf(out, "%d %s %zu ", participant->holds, participant->node,
                participant->data_length);
        fwrite(participant->data, 1, participant->data_length, out);
    }
    if (out != NULL) {
        newest_run_print(out, &view->newest);
        fclose(out);
    }
    return summary;
}

/* Returns true if the list differs from the last one. Without memory for a summary it
 * counts as changed. */
static bool has_changed(struct view *view)
{
    struct summary now = summarize(view), last = view->shown;
    bool same = now.text != NULL && last.text != NULL && now.length == last.length &&
                memcmp(now.text, last.text, now.length) == 0;

    free(last.text);
    view->shown = now;
    return !same;
}

static enum query_next show_now(struct query *query)
{
    struct view *view = query->data;
    bool live = !query->options->json && isatty(STDOUT_FILENO);

    if (has_changed(view) || live) {
        if (query->options->json) {
            print_json(view);
        } else {
            print_table(view);
        }
        fflush(stdout);
    }
    query->exit_code = view->holders_only && count(view, true) == 0 ? 1 : EX_OK;
    return query->options->watch ? QUERY_AGAIN : QUERY_END;
}

/* Closing the client ends the request. What --watch cannot read now it reads later. */
static void on_newest(struct newest_run *newest, int status)
{
    struct query *query = newest->data;

    if (query->ending) {
        return;
    }
    if (status < 0 && query->options->watch && query_may_pass(status)) {
        query_look_again(query);
    } else if (status < 0) {
        query_fail(query, "the last run cannot be read", status);
    } else if (show_now(query) == QUERY_AGAIN) {
        query_look_again(query);
    } else {
        query_end(query, query->exit_code);
    }
}

static enum query_next on_seen(struct query *query)
{
    struct view *view = query->data;

    if (view->holders_only) {
        return show_now(query);
    }
    newest_run_read(&view->newest, &query->connection.client, view->lock_node, on_newest);
    return QUERY_GOES_ON;
}

static int show(const struct query_options *asked, bool holders_only)
{
    static struct view view; /* zeroed */

    view.holders_only = holders_only;
    view.query.data = &view;
    view.newest.data = &view.query;
    view.lock_node = connection_node_of(&asked->connection, asked->path);
    if (view.lock_node == NULL) {
        output_report("%s", uv_strerror(UV_ENOMEM));
        return EX_OSERR;
    }
    int exit_code = query_run(&view.query, asked, on_seen);
    free(view.shown.text);
    free(view.lock_node);
    newest_run_free(&view.newest);
    return exit_code;
}

/* ------------------------------------------------------------------ the command line */

/* Reads the command line. Returns true if --each-server was given. */
static bool understand(int argc, char **argv, struct query_options *asked,
                       const struct option *options, const char *help)
{
    bool each_server = false;
    int option;

    query_options_init(asked);
    while ((option = argument_next(argc, argv, "W" QUERY_SHORT_OPTIONS, options)) != -1) {
        if (option == 'W') {
            asked->watch = true;
        } else if (option == 1) {
            asked->interval_ms = argument_milliseconds("--interval", optarg);
        } else if (option == 2) {
            each_server = true;
        } else if (!query_option(asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_arguments(asked, argc, argv, 0, help);
    if (each_server && asked->watch) {
        subcommand_usage(help);
    }
    return each_server;
}

int subcommand_status(int argc, char **argv)
{
    static const struct option options[] = {{"watch", no_argument, NULL, 'W'},
                                            {"interval", required_argument, NULL, 1},
                                            {"each-server", no_argument, NULL, 2},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    struct query_options asked;

    if (understand(argc, argv, &asked, options, status_help)) {
        return each_server_run(&asked);
    }
    asked.tells_missing = true;
    return show(&asked, false);
}

int subcommand_holders(int argc, char **argv)
{
    static const struct option options[] = {{"watch", no_argument, NULL, 'W'},
                                            {"interval", required_argument, NULL, 1},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    struct query_options asked;

    understand(argc, argv, &asked, options, holders_help);
    return show(&asked, true);
}
