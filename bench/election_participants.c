/* SPDX-License-Identifier: Apache-2.0 */
/* election_participants: participants of one election, for bench/elections. Each has a
 * session of its own. It prints "leads" whenever one of them begins to lead. A line on
 * standard input begins the turns: from then on each leader gives up at once, and after
 * --turns leaders "done" and the time are printed. The end of standard input ends all.
 *
 *   0 ended as it was asked to   1 no election   2 bad arguments */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "transport.h"
#include "uvzk.h"
#include "workload.h"

#define PATH "/bench/election"

struct participant {
    uvzk_client_t client;
    uvzk_election_t election;
    struct run *run;
};

struct run {
    uv_loop_t loop;
    const char *hosts, *tls;
    uint32_t transport;
    uint64_t count, session_ms, turns;
    struct participant *participants;
    uv_pipe_t input;
    char room[64];
    uint64_t led; /* turns so far */
    uint64_t began_us;
    bool taking_turns, closing, failed;
};

static void bad_usage(void)
{
    fputs("usage: election_participants --hosts HOSTS [options]\n"
          "\n"
          "  --sessions N    participants, each with a session (1)\n"
          "  --window MS     session timeout (6000)\n"
          "  --tasks N       turns (100)\n"
          "  --transport T   c-client or native (c-client)\n"
          "  --tls LIST      options.tls; implies native\n",
          stderr);
    exit(2);
}

static void close_all(struct run *run)
{
    if (run->closing) {
        return;
    }
    run->closing = true;
    for (uint64_t i = 0; i < run->count; i++) {
        uvzk_client_close(&run->participants[i].client, NULL);
    }
    uv_close((uv_handle_t *)&run->input, NULL);
}

/* ------------------------------------------------------------------------- turns */

static void take_turn(struct run *run, struct participant *leader)
{
    if (run->led == run->turns) {
        run->taking_turns = false;
        printf("done %.3f\n", (double)(uv_hrtime() / 1000 - run->began_us) / 1e6);
        fflush(stdout);
        return;
    }
    run->led++;
    uvzk_election_resign(&leader->election);
}

static void on_leader(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    struct participant *participant = election->data;

    (void)token;
    (void)valid_until;
    if (participant->run->taking_turns) {
        take_turn(participant->run, participant);
    } else {
        puts("leads");
        fflush(stdout);
    }
}

static void on_refused(uvzk_election_t *election, int status)
{
    struct run *run = ((struct participant *)election->data)->run;

    if (!run->closing && !uvzk_err_is_retriable(status)) {
        fprintf(stderr, "not elected: %s\n", uvzk_strerror(status));
        run->failed = true;
        close_all(run);
    }
}

static void begin_turns(struct run *run)
{
    run->taking_turns = true;
    run->began_us = uv_hrtime() / 1000;
    for (uint64_t i = 0; i < run->count; i++) {
        if (uvzk_election_is_leader(&run->participants[i].election)) {
            take_turn(run, &run->participants[i]);
            return;
        }
    }
}

/* ------------------------------------------------------------------ the driver's word */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct run *run = handle->data;

    (void)suggested;
    *room = uv_buf_init(run->room, sizeof(run->room));
}

static void on_input(uv_stream_t *input, ssize_t length, const uv_buf_t *room)
{
    (void)room;
    if (length < 0) {
        close_all(input->data);
    } else if (length > 0) {
        begin_turns(input->data);
    }
}

/* ------------------------------------------------------------------------- the whole */

static void parse(struct run *run, int argc, char **argv)
{
    static const struct option options[] = {
        TRANSPORT_LONG_OPTIONS, WORKLOAD_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    struct workload workload = {
        .tasks = 100, .paths = 1, .sessions = 1, .window_ms = 6000};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!transport_option(&run->transport, &run->tls, option, optarg) &&
            !workload_option(&workload, option, optarg)) {
            bad_usage();
        }
    }
    if (optind < argc || !workload_is_complete(&workload)) {
        bad_usage();
    }
    run->hosts = workload.hosts;
    run->count = workload.sessions;
    run->session_ms = workload.window_ms;
    run->turns = workload.tasks;
}

static int stand(struct run *run, struct participant *participant)
{
    uvzk_client_options_t client;
    uvzk_election_options_t election;

    uvzk_client_options_init(&client);
    client.hosts = run->hosts;
    client.session_timeout_ms = (uint32_t)run->session_ms;
    client.transport = run->transport;
    client.tls = run->tls;
    uvzk_election_options_init(&election);
    election.id = "bench";
    election.leader_cb = on_leader;
    election.error_cb = on_refused;
    participant->run = run;
    participant->election.data = participant;
    int status = uvzk_client_init(&run->loop, &participant->client, &client);
    if (status == 0) {
        status = uvzk_client_start(&participant->client);
    }
    return status < 0 ? status
                      : uvzk_election_init(&participant->client, &participant->election,
                                           PATH, &election);
}

static int begin(struct run *run)
{
    int status = uv_pipe_init(&run->loop, &run->input, 0);

    run->input.data = run;
    if (status == 0) {
        status = uv_pipe_open(&run->input, 0);
    }
    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&run->input, on_room, on_input);
    }
    for (uint64_t i = 0; status == 0 && i < run->count; i++) {
        status = stand(run, &run->participants[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct run run; /* all zeros */

    parse(&run, argc, argv);
    run.participants = calloc(run.count, sizeof(struct participant));
    if (run.participants == NULL || uv_loop_init(&run.loop) < 0) {
        return 1;
    }
    int status = begin(&run);
    if (status < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(status));
        run.failed = true;
        close_all(&run);
    }
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    free(run.participants);
    return run.failed ? 1 : 0;
}
