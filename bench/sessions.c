/* SPDX-License-Identifier: Apache-2.0 */
/* sessions: what a session costs at rest, how long a turn of the loop takes at most, and
 * how long sessions take to connect, and to connect again after their server was away.
 *
 *   0 all kept their sessions   1 not, or no server   2 bad arguments */
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "latencies.h"
#include "loop_turns.h"
#include "transport.h"
#include "uvzk.h"
#include "window.h"
#include "workload.h"

#define CONNECT_MS 60000U

/* The server goes and comes back in RESTARTING. */
enum phase { STARTING, RESTING, RESTARTING, ENDING };

struct run {
    uv_loop_t loop;
    enum phase phase;
    struct workload workload; /* its hosts, sessions and window_ms */
    uint64_t timeout_ms;      /* of a session */
    uint32_t transport;
    const char *tls;
    bool together;  /* all sessions in one client */
    bool restart;   /* the server, after the rest */
    uint64_t count; /* of clients */
    uvzk_client_t *clients;
    uv_timer_t timer;
    struct loop_turns turns;
    uint64_t connected, lost;   /* clients; sessions */
    uint64_t began_ns;          /* the phase */
    struct latencies came_back; /* from the kill of the server on, of each client */
    double connect_ms;          /* until the last one is connected */
    int64_t init_us;            /* of all uvzk_client_init */
    size_t bytes_before, bytes; /* of the whole heap */
    int threads;
};

static void bad_usage(void)
{
    fputs(
        "usage: sessions --hosts HOSTS [options]\n"
        "\n"
        "N sessions at rest, each of a client of its own. One JSON object on stdout:\n"
        "bytes of heap a session (of the first arena; all of it where there are no\n"
        "threads), the processor time of the longest turn and of all uvzk_client_init,\n"
        "and how long it took until all were connected.\n"
        "\n"
        "  --sessions N    (1)\n"
        "  --together      in one client\n"
        "  --transport T   c-client or native (c-client)\n"
        "  --tls LIST      options.tls; implies native\n"
        "  --window MS     at rest (5000)\n"
        "  --timeout MS    of a session (60000)\n"
        "  --restart       then has with_zookeeper, its parent, kill the server and\n"
        "                  start it again: how long until the clients are connected\n",
        stderr);
    exit(2);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();

    return heap.uordblks + heap.hblkhd;
}

static int count_threads(void)
{
    char line[128];
    int threads = 0;
    FILE *status = fopen("/proc/self/status", "r");

    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        (void)sscanf(line, "Threads: %d", &threads);
    }
    if (status != NULL) {
        fclose(status);
    }
    return threads;
}

static void end(struct run *run)
{
    run->phase = ENDING;
    for (uint64_t i = 0; i < run->count; i++) {
        uvzk_client_close(&run->clients[i], NULL);
    }
    uv_close((uv_handle_t *)&run->timer, NULL);
    loop_turns_close(&run->turns);
}

static void begin_phase(struct run *run, enum phase phase, uv_timer_cb ends, uint64_t ms)
{
    run->phase = phase;
    run->began_ns = window_now();
    uv_timer_start(&run->timer, ends, ms, 0);
}

static void connect_is_late(uv_timer_t *timer)
{
    struct run *run = timer->data;

    run->lost += run->count - run->connected;
    end(run);
}

static void rest_ends(uv_timer_t *timer)
{
    struct run *run = timer->data;

    run->bytes = heap_bytes();
    run->threads = count_threads();
    if (!run->restart) {
        end(run);
        return;
    }
    begin_phase(run, RESTARTING, connect_is_late, CONNECT_MS);
    run->connected = 0;
    kill(getppid(), SIGUSR1);
    kill(getppid(), SIGUSR2);
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct run *run = client->data;

    if (state == UVZK_STATE_CONNECTED && ++run->connected == run->count) {
        run->connect_ms = (double)(window_now() - run->began_ns) / 1e6;
        begin_phase(run, RESTING, rest_ends, run->workload.window_ms);
    } else if (state == UVZK_STATE_LOST ||
               (state == UVZK_STATE_SUSPENDED && run->phase < RESTARTING)) {
        run->lost++;
    } else if (state == UVZK_STATE_RECONNECTED && run->phase == RESTARTING) {
        latencies_add(&run->came_back, window_now() - run->began_ns);
        if (++run->connected == run->count) {
            end(run);
        }
    }
}

static int start(struct run *run)
{
    uvzk_client_options_t options;
    int status = 0;

    uvzk_client_options_init(&options);
    options.hosts = run->workload.hosts;
    options.transport = run->transport;
    options.tls = run->tls;
    options.state_cb = on_state;
    options.session_timeout_ms = (uint32_t)run->timeout_ms;
    options.sessions = run->together ? (uint32_t)run->workload.sessions : 1;
    for (uint64_t i = 0; i < run->count && status == 0; i++) {
        int64_t before = processor_us();
        run->clients[i].data = run;
        status = uvzk_client_init(&run->loop, &run->clients[i], &options);
        run->init_us += processor_us() - before;
        if (status == 0) {
            status = uvzk_client_start(&run->clients[i]);
        }
    }
    return status;
}

static void read_options(struct run *run, int argc, char **argv)
{
    static const struct option long_options[] = {
        WORKLOAD_LONG_OPTIONS,
        TRANSPORT_LONG_OPTIONS,
        {"together", no_argument, NULL, '1'},
        {"restart", no_argument, NULL, 'r'},
        {"timeout", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (letter == '1') {
            run->together = true;
        } else if (letter == 'r') {
            run->restart = true;
        } else if (letter == 'o') {
            if (!workload_number(optarg, 500, 86400000, &run->timeout_ms)) {
                bad_usage();
            }
        } else if (!transport_option(&run->transport, &run->tls, letter, optarg) &&
                   !workload_option(&run->workload, letter, optarg)) {
            bad_usage();
        }
    }
    if (optind < argc || run->workload.hosts == NULL) {
        bad_usage();
    }
    run->count = run->together ? 1 : run->workload.sessions;
}

static void print(struct run *run)
{
    printf("{\"program\":\"sessions\",\"transport\":\"%s\",\"tls\":%s,"
           "\"sessions\":%" PRIu64 ",\"clients\":%" PRIu64
           ",\"bytes_a_session\":%zu,\"threads\":%d,"
           "\"longest_turn_us\":%" PRId64 ",\"init_us\":%" PRId64 ",\"connect_ms\":%.1f",
           transport_name(run->transport), run->tls != NULL ? "true" : "false",
           run->workload.sessions, run->count,
           (run->bytes - run->bytes_before) / run->workload.sessions, run->threads,
           run->turns.longest_us, run->init_us, run->connect_ms);
    if (run->restart) {
        printf(",\"back_p50_ms\":%.1f,\"back_p99_ms\":%.1f,\"back_ms\":%.1f",
               latencies_percentile_us(&run->came_back, 50) / 1000,
               latencies_percentile_us(&run->came_back, 99) / 1000,
               latencies_percentile_us(&run->came_back, 100) / 1000);
    }
    printf(",\"lost\":%" PRIu64 "}\n", run->lost);
}

int main(int argc, char **argv)
{
    struct run run = {
        .workload = {.tasks = 1, .paths = 1, .sessions = 1, .window_ms = 5000}};

    read_options(&run, argc, argv);
    run.clients = calloc(run.count, sizeof(*run.clients));
    if (run.clients == NULL || latencies_init(&run.came_back, run.count) != 0 ||
        uv_loop_init(&run.loop) != 0) {
        return 1;
    }
    uv_timer_init(&run.loop, &run.timer);
    loop_turns_init(&run.turns, &run.loop);
    run.timer.data = &run;
    run.bytes_before = heap_bytes();
    int status = start(&run);
    if (status < 0) {
        fprintf(stderr, "sessions: %s\n", uvzk_strerror(status));
        return 1;
    }
    begin_phase(&run, STARTING, connect_is_late, CONNECT_MS);
    loop_turns_begin(&run.turns);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    free(run.clients);
    print(&run);
    latencies_free(&run.came_back);
    return run.lost == 0 ? 0 : 1;
}
