/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk leader: prints who leads an election, its id and its token. It does not stand for
 * election: it reads the participants (participant_list.h), once, or at intervals with
 * --watch. The participants of a LeaderSelector are those of a mutex. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "arguments.h"
#include "output.h"
#include "query.h"
#include "subcommands.h"

static const char help[] =
    "usage: uvzk leader [OPTION...] PATH\n"
    "\n"
    "Shows who leads the election at PATH: its id and its fencing token. The exit "
    "status\n"
    "is 1 if nobody does.\n"
    "\n"
    "  -j, --json                as one line of JSON\n"
    "  -W, --watch               show it again whenever another one leads\n"
    "      --interval S          how often to look (1)\n";

struct leader {
    struct query query;
    bool shown;          /* something was printed */
    int64_t shown_token; /* of the leader that was printed last; 0: there was none */
};

static bool stands(const struct participant *participant)
{
    return participant->recipe == RECIPE_LATCH || participant->recipe == RECIPE_MUTEX;
}

/* Returns the leader, or NULL. *count: the participants. An inconsistent list shows none:
 * the leader changed while it was read. */
static const struct participant *leader_of(const struct participant_list *list,
                                           size_t *count)
{
    const struct participant *leader = NULL;

    *count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct participant *participant = &list->participants[i];
        *count += stands(participant);
        if (stands(participant) && participant->holds && leader == NULL) {
            leader = participant;
        }
    }
    return leader;
}

static void print_json(const struct query *query, const struct participant *leader,
                       size_t count)
{
    fputs("{\"path\":", stdout);
    output_json_string(stdout, query->options->path, strlen(query->options->path));
    printf(",\"participants\":%zu,\"leader\":", count);
    if (leader == NULL) {
        fputs("null", stdout);
    } else {
        fputs("{\"id\":", stdout);
        output_json_string(stdout, leader->data, leader->data_length);
        printf(",\"token\":%" PRId64 ",\"session\":\"0x%" PRIx64 "\",\"node\":",
               leader->token, (uint64_t)leader->session);
        output_json_string(stdout, leader->node, strlen(leader->node));
        putchar('}');
    }
    puts("}");
}

static void print_line(const struct participant *leader)
{
    if (leader == NULL) {
        puts("nobody leads");
        return;
    }
    output_plain(stdout, leader->data, leader->data_length);
    printf(", token %" PRId64 "\n", leader->token);
}

/* A path with two kinds of elections has two leaders. This does not tell which one. */
static bool is_mixed(const struct query *query, const struct participant *leader)
{
    return leader != NULL &&
           participant_list_is_mixed(&query->participant_list, query->options->path,
                                     leader->recipe, false);
}

static enum query_next on_seen(struct query *query)
{
    struct leader *view = query->data;
    size_t count;
    const struct participant *leader = leader_of(&query->participant_list, &count);
    int64_t token = leader == NULL ? 0 : leader->token;

    if (is_mixed(query, leader)) {
        query->exit_code = EX_DATAERR;
        return QUERY_END;
    }
    if (query->participant_list.inconsistent && leader == NULL) {
        return QUERY_AGAIN;
    }
    if (!view->shown || view->shown_token != token) {
        if (query->options->json) {
            print_json(query, leader, count);
        } else {
            print_line(leader);
        }
        fflush(stdout);
        view->shown = true;
        view->shown_token = token;
    }
    query->exit_code = leader == NULL ? 1 : EX_OK;
    return query->options->watch ? QUERY_AGAIN : QUERY_END;
}

int subcommand_leader(int argc, char **argv)
{
    static const struct option options[] = {{"watch", no_argument, NULL, 'W'},
                                            {"interval", required_argument, NULL, 1},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    static struct leader view; /* zeroed */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = argument_next(argc, argv, "W" QUERY_SHORT_OPTIONS, options)) != -1) {
        if (option == 'W') {
            asked.watch = true;
        } else if (option == 1) {
            asked.interval_ms = argument_milliseconds("--interval", optarg);
        } else if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_arguments(&asked, argc, argv, 0, help);
    view.query.data = &view;
    return query_run(&view.query, &asked, on_seen);
}
