/* uvzk revoke: asks the holders of a lock to release it, as Curator's Revoker does. It
 * writes __REVOKE__ into their znodes. */
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

struct revoke_requests {
    struct query query;
    bool all;                /* the waiters too */
    uvzk_revoke_t *requests; /* owned: one for each participant */
    size_t outstanding, asked;
    int status; /* of a request that failed; 0: none */
};

static void end(struct revoke_requests *revoke_requests)
{
    if (revoke_requests->status < 0) {
        query_fail(&revoke_requests->query, "not asked", revoke_requests->status);
        return;
    }
    if (revoke_requests->query.options->json) {
        printf("{\"asked\":%zu}\n", revoke_requests->asked);
    } else {
        printf("%zu asked\n", revoke_requests->asked);
    }
    query_end(&revoke_requests->query, revoke_requests->asked == 0 ? 1 : EX_OK);
}

static void on_revoked(uvzk_revoke_t *request, int status)
{
    struct revoke_requests *revoke_requests = request->data;

    if (status == 0) {
        revoke_requests->asked++;
    } else if (status != UVZK_ENONODE) { /* ENONODE: it was released meanwhile */
        revoke_requests->status = status;
    }
    if (--revoke_requests->outstanding == 0) {
        end(revoke_requests);
    }
}

/* Sends one request for each znode. on_revoked ends the query after the last reply. */
static enum query_next on_seen(struct query *query)
{
    struct revoke_requests *revoke_requests = query->data;
    const struct participant_list *participant_list = &query->participant_list;

    revoke_requests->requests =
        calloc(participant_list->count + 1, sizeof(*revoke_requests->requests));
    revoke_requests->status = revoke_requests->requests == NULL ? UV_ENOMEM : 0;
    for (size_t i = 0; i < participant_list->count && revoke_requests->status == 0; i++) {
        if (participant_list->participants[i].holds || revoke_requests->all) {
            revoke_requests->requests[i].data = revoke_requests;
            revoke_requests->status = uvzk_client_revoke(
                &query->connection.client, &revoke_requests->requests[i],
                participant_list->participants[i].node, on_revoked);
            revoke_requests->outstanding += revoke_requests->status == 0;
        }
    }
    if (revoke_requests->outstanding == 0) {
        end(revoke_requests);
    }
    return QUERY_GOES_ON;
}

int subcommand_revoke(int argc, char **argv)
{
    static const struct option options[] = {
        {"all", no_argument, NULL, 'a'}, QUERY_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    static struct revoke_requests revoke_requests; /* zeroed */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = getopt_long(argc, argv, "a" QUERY_SHORT_OPTIONS, options, NULL)) !=
           -1) {
        if (option == 'a') {
            revoke_requests.all = true;
        } else if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_arguments(&asked, argc, argv, 0, help);
    revoke_requests.query.data = &revoke_requests;
    int exit_code = query_run(&revoke_requests.query, &asked, on_seen);
    free(revoke_requests.requests);
    return exit_code;
}
