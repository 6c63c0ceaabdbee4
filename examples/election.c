/* SPDX-License-Identifier: Apache-2.0 */
/* election [HOSTS]: two participants elect a leader among them, and take turns.
 *
 * There are two clients, as if in two processes. Ann queues first, so she leads. She
 * works for a moment and resigns. Then Ben leads, and Ann, who is in the queue again, is
 * told so. After Ben's turn the elections are closed. A LeaderLatch of a Java program on
 * the same path takes part in the same election. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

struct participant {
    const char *id;
    uvzk_client_t client;
    uvzk_election_t election;
};

static struct participant ann = {.id = "ann"}, ben = {.id = "ben"};
static uv_timer_t work;
static int64_t last_token;
static int led;

static void begin(struct participant *participant);

static void finish(void)
{
    if (!uv_is_closing((uv_handle_t *)&work)) {
        uv_close((uv_handle_t *)&work, NULL);
        uvzk_client_close(&ann.client, NULL);
        uvzk_client_close(&ben.client, NULL);
    }
}

/* First Ann's, so that she does not lead again, then Ben's. */
static void on_closed(uvzk_election_t *election)
{
    const struct participant *participant = election->data;

    printf("%s: the election is closed\n", participant->id);
    if (participant == &ann) {
        uvzk_election_close(&ben.election, UVZK_ELECTION_NOTIFY, on_closed);
    } else {
        finish();
    }
}

/* The work is done. Ann gives the leadership to the next one. After Ben's turn all is
 * over. */
static void on_work_done(uv_timer_t *timer)
{
    if (timer->data == &ann) {
        uvzk_election_resign(&ann.election);
    } else {
        uvzk_election_close(&ann.election, UVZK_ELECTION_SILENT, on_closed);
    }
}

/* Start the leader's work here. Pass the token to each store that the work writes to, so
 * that the store can refuse a leader that was deposed. */
static void on_lead(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    struct participant *participant = election->data;

    printf("%s: leads%s, for %s\n", participant->id,
           token > last_token ? " with a greater token" : "",
           valid_until > uvzk_now() ? "some seconds at least" : "no time");
    last_token = token;
    led++;
    work.data = participant;
    uv_timer_start(&work, on_work_done, 300, 0);
}

/* Stop it here, before the callback returns: then another participant may lead. */
static void on_deposed(uvzk_election_t *election, int reason)
{
    const struct participant *participant = election->data;

    printf("%s: is deposed, %s\n", participant->id,
           reason == 0 ? "as it wished" : uvzk_strerror(reason));
}

static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct participant *participant = election->data;

    if (participant == &ann && leader != NULL) {
        printf("ann: sees that %s leads\n", leader->id);
        if (ben.election.impl == NULL) {
            begin(&ben); /* behind ann */
        }
    }
}

static void on_error(uvzk_election_t *election, int status)
{
    const struct participant *participant = election->data;

    if (status != UVZK_ECLOSED) { /* at the end the client is closed */
        printf("%s: %s\n", participant->id, uvzk_strerror(status));
    }
}

static void begin(struct participant *participant)
{
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.id = participant->id;
    options.leader_cb = on_lead;
    options.deposed_cb = on_deposed;
    options.changed_cb = on_changed;
    options.error_cb = on_error;
    participant->election.data = participant;
    int rc = uvzk_election_init(&participant->client, &participant->election,
                                "/examples/election", &options);
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_refusal(rc));
        finish();
    }
}

static int open_client(uv_loop_t *loop, uvzk_client_t *client, const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int rc = uvzk_client_init(loop, client, &options);
    return rc < 0 ? rc : uvzk_client_start(client);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";

    uv_timer_init(loop, &work);
    int rc = open_client(loop, &ann.client, hosts);
    if (rc == 0) {
        rc = open_client(loop, &ben.client, hosts);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    } else {
        begin(&ann);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && led == 2 ? 0 : 1;
}
