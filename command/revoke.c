/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk revoke: asks the holders of a lock to release it, as Curator's Revoker does. It
 * writes __REVOKE__ into their znodes.
 *
 * Whether a holder watches its znode for this message cannot be read from ZooKeeper. But a
 * revocable contender of uvzk or Curator creates its znode without data. A contender with
 * its own data is not revocable, and is not asked, because the message would only replace
 * the data that status shows. With --wait the participants are read again until those
 * that were asked have gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "arguments.h"
#include "query.h"
#include "subcommands.h"

static const char help[] =
    "usage: uvzk revoke [OPTION...] PATH\n"
    "\n"
    "Asks the holders of the lock to release it: writes __REVOKE__ into their znodes.\n"
    "Only holders with --revocable, or programs with a revoke callback, notice it. A\n"
    "holder whose znode has data is not revocable, and is not asked. The exit status is\n"
    "1 if nobody was asked.\n"
    "\n"
    "  -a, --all                 the waiters too\n"
    "  -w, --wait SECONDS        wait until those that were asked have gone; exit "
    "status\n"
    "                            1 if they have not after this time\n"
    "  -j, --json                print how many were asked as one line of JSON\n";

#define REVOKE_MESSAGE "__REVOKE__"

/* The request to one contender. */
struct revoke_request {
    uvzk_req_t request;
    char *node; /* path of its znode, owned */
    bool asked; /* the message was written */
};

struct revoke_requests {
    struct query query;
    bool all;                        /* the waiters too */
    struct revoke_request *requests; /* owned */
    size_t count;                    /* of requests */
    size_t outstanding, asked, not_revocable;
    size_t gone;   /* of those that were asked, with --wait */
    bool answered; /* all requests were answered, without a failure */
    int status;    /* of a request that failed; 0: none */
};

/* Returns true with --wait, if there is a participant to wait for. */
static bool waits(const struct revoke_requests *revoke_requests)
{
    return revoke_requests->query.options->timeout_ms > 0 && revoke_requests->asked > 0;
}

static void all_answered(struct revoke_requests *revoke_requests)
{
    if (revoke_requests->status < 0) {
        query_fail(&revoke_requests->query, "not asked", revoke_requests->status);
        return;
    }
    revoke_requests->answered = true;
    if (waits(revoke_requests)) {
        query_look_again(&revoke_requests->query);
    } else {
        query_end(&revoke_requests->query, revoke_requests->asked == 0 ? 1 : EX_OK);
    }
}

static void on_revoked(uvzk_req_t *request, int status)
{
    struct revoke_requests *revoke_requests = request->data;

    if (status == 0) {
        /* The request is the first field. */
        ((struct revoke_request *)request)->asked = true;
        revoke_requests->asked++;
    } else if (status != UVZK_ENONODE) { /* ENONODE: it was released meanwhile */
        revoke_requests->status = status;
    }
    if (--revoke_requests->outstanding == 0) {
        all_answered(revoke_requests);
    }
}

/* A lease and a participant of an election are not, whatever their data are: the id of a
 * participant may be empty. A contender that was asked before has the message as its
 * data: it may be revocable. */
static bool is_revocable(const struct participant *participant)
{
    return participant->recipe != RECIPE_LEASES && participant->recipe != RECIPE_LATCH &&
           (participant->data_length == 0 ||
            (participant->data_length == strlen(REVOKE_MESSAGE) &&
             memcmp(participant->data, REVOKE_MESSAGE, participant->data_length) == 0));
}

static int ask(struct revoke_requests *revoke_requests,
               const struct participant *participant)
{
    struct revoke_request *request = &revoke_requests->requests[revoke_requests->count];

    request->request.data = revoke_requests;
    request->node = strdup(participant->node);
    if (request->node == NULL) {
        return UV_ENOMEM;
    }
    revoke_requests->count++;
    int status = uvzk_client_revoke(&revoke_requests->query.connection.client,
                                    &request->request, request->node, on_revoked);
    revoke_requests->outstanding += status == 0;
    return status;
}

/* Sends one request for each znode. */
static void ask_all(struct revoke_requests *revoke_requests)
{
    const struct participant_list *participant_list =
        &revoke_requests->query.participant_list;

    revoke_requests->requests =
        calloc(participant_list->count + 1, sizeof(*revoke_requests->requests));
    revoke_requests->status = revoke_requests->requests == NULL ? UV_ENOMEM : 0;
    for (size_t i = 0; i < participant_list->count && revoke_requests->status == 0; i++) {
        const struct participant *participant = &participant_list->participants[i];
        if (!participant->holds && !revoke_requests->all) {
            continue;
        }
        if (is_revocable(participant)) {
            revoke_requests->status = ask(revoke_requests, participant);
        } else {
            revoke_requests->not_revocable++;
        }
    }
    if (revoke_requests->outstanding == 0) {
        all_answered(revoke_requests);
    }
}

static bool is_listed(const struct participant_list *participant_list, const char *node)
{
    for (size_t i = 0; i < participant_list->count; i++) {
        if (strcmp(participant_list->participants[i].node, node) == 0) {
            return true;
        }
    }
    return false;
}

static void count_gone(struct revoke_requests *revoke_requests)
{
    revoke_requests->gone = 0;
    for (size_t i = 0; i < revoke_requests->count; i++) {
        const struct revoke_request *request = &revoke_requests->requests[i];
        revoke_requests->gone +=
            request->asked &&
            !is_listed(&revoke_requests->query.participant_list, request->node);
    }
}

static enum query_next on_seen(struct query *query)
{
    struct revoke_requests *revoke_requests = query->data;

    if (!revoke_requests->answered) {
        ask_all(revoke_requests);
        return QUERY_GOES_ON;
    }
    count_gone(revoke_requests);
    query->exit_code = EX_OK;
    return revoke_requests->gone < revoke_requests->asked ? QUERY_AGAIN : QUERY_END;
}

static void print(const struct revoke_requests *revoke_requests)
{
    printf("%zu asked", revoke_requests->asked);
    if (revoke_requests->not_revocable > 0) {
        printf(", %zu not revocable", revoke_requests->not_revocable);
    }
    if (waits(revoke_requests)) {
        printf(", %zu gone", revoke_requests->gone);
    }
    putchar('\n');
}

static void print_json(const struct revoke_requests *revoke_requests)
{
    printf("{\"asked\":%zu,\"not_revocable\":%zu", revoke_requests->asked,
           revoke_requests->not_revocable);
    if (waits(revoke_requests)) {
        printf(",\"gone\":%zu", revoke_requests->gone);
    }
    puts("}");
}

static void free_requests(struct revoke_requests *revoke_requests)
{
    for (size_t i = 0; i < revoke_requests->count; i++) {
        free(revoke_requests->requests[i].node);
    }
    free(revoke_requests->requests);
}

int subcommand_revoke(int argc, char **argv)
{
    static const struct option options[] = {{"all", no_argument, NULL, 'a'},
                                            {"wait", required_argument, NULL, 'w'},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    static struct revoke_requests revoke_requests; /* zeroed */
    struct query_options asked;
    int option;

    query_options_init(&asked);
    while ((option = argument_next(argc, argv, "aw:" QUERY_SHORT_OPTIONS, options)) !=
           -1) {
        if (option == 'a') {
            revoke_requests.all = true;
        } else if (option == 'w') {
            asked.timeout_ms = argument_milliseconds("--wait", optarg);
            asked.watch = asked.timeout_ms > 0;
        } else if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    query_arguments(&asked, argc, argv, 0, help);
    revoke_requests.query.data = &revoke_requests;
    int exit_code = query_run(&revoke_requests.query, &asked, on_seen);
    if (revoke_requests.answered && asked.json) {
        print_json(&revoke_requests);
    } else if (revoke_requests.answered) {
        print(&revoke_requests);
    }
    free_requests(&revoke_requests);
    return exit_code;
}
