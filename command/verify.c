/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk verify: checks whether a fencing token is the token of a holder of the lock.
 *
 * The answer was true at some moment after the command was started. The reason: a quorum
 * must accept the first request on a connection, and reads after it show everything that
 * was committed before. But the answer may be out of date when it is printed. For
 * certainty, pass the token to the store that is written to, and let the store
 * compare. */
#include <stdio.h>
#include <sysexits.h>

#include "arguments.h"
#include "output.h"
#include "query.h"
#include "subcommands.h"

static const char help[] = "usage: uvzk verify [OPTION...] PATH TOKEN\n"
                           "\n"
                           "Checks whether TOKEN is the fencing token of a holder of the "
                           "lock: exit status 0, else 1.\n"
                           "\n"
                           "  -j, --json                print one line of JSON\n";

struct claim {
    struct query query;
    int64_t token;
};

static enum query_next on_seen(struct query *query)
{
    const struct claim *claim = query->data;
    bool holds = false, leases = false;

    for (size_t i = 0; i < query->participant_list.count; i++) {
        const struct participant *participant = &query->participant_list.participants[i];
        leases = leases || participant->recipe == RECIPE_LEASES;
        holds = holds || (participant->holds && participant->recipe != RECIPE_LEASES &&
                          participant->token == claim->token);
    }
    /* A semaphore's token is usually the czxid of a ticket, which is deleted after the
     * grant. */
    if (!holds && leases) {
        output_report("%s is a semaphore, whose znodes do not show tokens",
                      query->options->path);
        query->exit_code = EX_DATAERR;
        return QUERY_END;
    }
    if (query->options->json) {
        printf("{\"holds\":%s}\n", holds ? "true" : "false");
    } else {
        puts(holds ? "holds" : "does not hold");
    }
    query->exit_code = holds ? EX_OK : 1;
    return QUERY_END;
}

int subcommand_verify(int argc, char **argv)
{
    static const struct option options[] = {QUERY_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    static struct claim claim; /* zeroed */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = argument_next(argc, argv, QUERY_SHORT_OPTIONS, options)) != -1) {
        if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    char **words = query_arguments(&asked, argc, argv, 1, help);
    claim.token = (int64_t)argument_number("TOKEN", words[0], 1, INT64_MAX);
    claim.query.data = &claim;
    return query_run(&claim.query, &asked, on_seen);
}
