/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_leader SERVERS NAME TIMEOUT_MS c-client|native latch: a lock program (body.py says what
 * that is) whose lock is an election: the leader holds, and resigns to release.
 *
 * docs/recipes/election.md: the leader's work stops in deposed_cb, asks
 * uvzk_election_is_leader before what must not be done twice, and passes the token to the
 * store. The time-out of the session and the servers' tickTime are given; the program asks to
 * be queued when it is told so; all else is as it comes. */
#include <stdio.h>

#include "body.h"

static uvzk_election_t election;
static uvzk_client_t *client;
static char path[256];
static bool stood, resigning;

static void on_leader(uvzk_election_t *of, int64_t token, uint64_t valid_until)
{
    (void)of;
    (void)token;
    (void)valid_until;
    body_locked();
}

static void on_deposed(uvzk_election_t *of, int reason)
{
    (void)of;
    if (resigning) {
        resigning = false;
        body_unlocked(reason);
    } else {
        body_lost(reason);
    }
}

static void on_error(uvzk_election_t *of, int status)
{
    (void)of;
    if (!uvzk_err_is_retriable(status)) {
        body_failed(status);
    }
}

static int init_election(void)
{
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.id = "torture";
    options.manual_requeue = 1;
    options.leader_cb = on_leader;
    options.deposed_cb = on_deposed;
    options.error_cb = on_error;
    return uvzk_election_init(client, &election, path, &options);
}

static void stand(void)
{
    int status = stood ? uvzk_election_requeue(&election) : init_election();

    stood = true;
    if (status < 0) {
        body_failed(status);
    }
}

static bool leads(void)
{
    return uvzk_election_is_leader(&election) != 0;
}

static int64_t term_token(void)
{
    return uvzk_election_token(&election);
}

static void resign(void)
{
    resigning = true;
    int status = uvzk_election_resign(&election);

    if (status < 0) { /* it was deposed */
        resigning = false;
        body_unlocked(status);
    }
}

static int remember(uvzk_client_t *of, const char *at, const char *kind)
{
    (void)kind;
    client = of;
    snprintf(path, sizeof(path), "%s", at);
    return 0; /* it would be queued at once */
}

int main(int argc, char **argv)
{
    static const struct body_lock lock = {stand, leads, term_token, resign};

    return body_run(&lock, remember, argc, argv);
}
