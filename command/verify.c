/* uvzk verify: whether a fencing token is that of whoever holds the lock.
 *
 * The answer is no older than the run: the first request on a connection is one that a
 * quorum has to agree to, and what is read behind it has all that was committed before. It
 * may be true no more when it is printed; who must know for certain hands the token to
 * the store that he writes to. */
#include <stdio.h>
#include <sysexits.h>

#include "arguments.h"
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
    if (!holds && leases) { /* the token's znode stood in the line, and has gone */
        fprintf(stderr, "uvzk: %s is a semaphore, whose znodes do not show tokens\n",
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
    static struct claim claim; /* zeros */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = getopt_long(argc, argv, QUERY_SHORT_OPTIONS, options, NULL)) != -1) {
        if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    char **words = query_arguments(&asked, argc, argv, 1, help);
    claim.token = (int64_t)argument_number("TOKEN", words[0], 1, INT64_MAX);
    claim.query.data = &claim;
    return query_run(&claim.query, &asked, on_seen);
}
