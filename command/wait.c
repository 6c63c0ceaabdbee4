/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk wait: waits until the lock is free. It creates no znode and does not queue: it
 * reads the participants at intervals. */
#include <stdio.h>
#include <sysexits.h>

#include "arguments.h"
#include "output.h"
#include "query.h"
#include "subcommands.h"

static const char help[] =
    "usage: uvzk wait [OPTION...] PATH\n"
    "\n"
    "Waits until nobody holds the lock, without queueing for it.\n"
    "\n"
    "  -n, --nonblock            look once\n"
    "  -w, --wait SECONDS        at most this long\n"
    "  -E, --conflict-exit-code CODE\n"
    "                            exit status if it was held the whole time (1)\n"
    "      --interval S          how often to look (1)\n"
    "  -j, --json                print one line of JSON\n";

/* An inconsistent list counts as held: the lock changed hands while it was read. */
static bool is_held(const struct participant_list *participant_list)
{
    bool held = participant_list->inconsistent;

    for (size_t i = 0; i < participant_list->count; i++) {
        held |= participant_list->participants[i].holds;
    }
    return held;
}

static enum query_next on_seen(struct query *query)
{
    if (is_held(&query->participant_list)) {
        query->exit_code = query->options->timeout_code;
        return query->options->watch ? QUERY_AGAIN : QUERY_END;
    }
    if (query->options->json) {
        puts("{\"free\":true}");
    }
    query->exit_code = EX_OK;
    return QUERY_END;
}

int subcommand_wait(int argc, char **argv)
{
    static const struct option options[] = {
        {"nonblock", no_argument, NULL, 'n'},
        {"wait", required_argument, NULL, 'w'},
        {"conflict-exit-code", required_argument, NULL, 'E'},
        {"interval", required_argument, NULL, 1},
        QUERY_LONG_OPTIONS,
        {NULL, 0, NULL, 0}};
    static struct query query; /* zeroed */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    asked.watch = true; /* also continues after the connection was lost */
    while ((option = argument_next(argc, argv, "nw:E:" QUERY_SHORT_OPTIONS, options)) !=
           -1) {
        if (option == 'w') {
            asked.timeout_ms = argument_milliseconds("--wait", optarg);
            asked.watch = asked.timeout_ms > 0;
        } else if (option == 'n') {
            asked.watch = false;
        } else if (option == 'E') {
            asked.timeout_code = (int)argument_number("-E", optarg, 0, 255);
        } else if (option == 1) {
            asked.interval_ms = argument_milliseconds("--interval", optarg);
        } else if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_arguments(&asked, argc, argv, 0, help);
    return query_run(&query, &asked, on_seen);
}
