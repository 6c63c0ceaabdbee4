/* uvzk revoke: asks those that hold the lock to give it back, as Curator's Revoker does. */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "query.h"
#include "subcommands.h"

static const char help[] =
    "usage: uvzk revoke [OPTION...] PATH\n"
    "\n"
    "Asks the holders of the lock to release it: writes __REVOKE__ into their znodes.\n"
    "Only holders with --revocable, or programs with a revoke callback, notice it.\n"
    "The exit status is 1 if nobody holds it.\n"
    "\n"
    "  -a, --all                 the waiters too\n"
    "  -j, --json                print how many were asked as one line of JSON\n";

struct pleas {
    struct query query;
    bool all;
    uvzk_revoke_t *requests; /* one for each that is there */
    size_t outstanding, asked;
    int status;
};

static void end(struct pleas *pleas)
{
    if (pleas->status < 0) {
        query_fail(&pleas->query, "not asked", pleas->status);
        return;
    }
    if (pleas->query.options->json) {
        printf("{\"asked\":%zu}\n", pleas->asked);
    } else {
        printf("%zu asked\n", pleas->asked);
    }
    query_end(&pleas->query, pleas->asked == 0 ? 1 : EX_OK);
}

static void on_revoked(uvzk_revoke_t *request, int status)
{
    struct pleas *pleas = request->data;

    if (status == 0) {
        pleas->asked++;
    } else if (status != UVZK_ENONODE) { /* has gone by itself */
        pleas->status = status;
    }
    if (--pleas->outstanding == 0) {
        end(pleas);
    }
}

static enum query_next on_seen(struct query *query)
{
    struct pleas *pleas = query->data;
    const struct census *census = &query->census;

    pleas->requests = calloc(census->count + 1, sizeof(*pleas->requests));
    pleas->status = pleas->requests == NULL ? UV_ENOMEM : 0;
    for (size_t i = 0; i < census->count && pleas->status == 0; i++) {
        if (census->residents[i].holds || pleas->all) {
            pleas->requests[i].data = pleas;
            pleas->status =
                uvzk_client_revoke(&query->connection.client, &pleas->requests[i],
                                   census->residents[i].node, on_revoked);
            pleas->outstanding += pleas->status == 0;
        }
    }
    if (pleas->outstanding == 0) {
        end(pleas);
    }
    return QUERY_GOES_ON;
}

int subcommand_revoke(int argc, char **argv)
{
    static const struct option options[] = {
        {"all", no_argument, NULL, 'a'}, QUERY_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    static struct pleas pleas; /* zeros */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = getopt_long(argc, argv, "a" QUERY_SHORT_OPTIONS, options, NULL)) !=
           -1) {
        if (option == 'a') {
            pleas.all = true;
        } else if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_words(&asked, argc, argv, 0, help);
    pleas.query.data = &pleas;
    int exit_code = query_run(&pleas.query, &asked, on_seen);
    free(pleas.requests);
    return exit_code;
}
