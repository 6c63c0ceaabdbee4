/* SPDX-License-Identifier: Apache-2.0 */
/* A run of many_locks from setup to teardown: memory, loop, clients, and a watchdog that
 * ends the run if no callback has run for a while. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counting_allocator.h"
#include "leftovers.h"
#include "many_locks_run.h"

enum { CONNECT_SECONDS = 15, STALL_SECONDS = 60 };

static void on_interrupt(uv_signal_t *handle, int number)
{
    struct run *run = handle->data;

    (void)number;
    uv_signal_stop(handle); /* a second SIGINT kills the process */
    run->result->interrupted = true;
    run_give_up(run);
}

/* Runs once a second. */
static void on_watchdog(uv_timer_t *timer)
{
    static const char *const doing[] = {
        "connecting",          "queueing", "draining", "closing the mutexes", "checking",
        "closing the clients", "checking", "done"};
    struct run *run = timer->data;
    uint64_t patience = STALL_SECONDS + run->options->hold_ms / 1000;

    if (run->events != run->events_seen) {
        run->events_seen = run->events;
        run->quiet_seconds = 0;
        return;
    }
    run->quiet_seconds++;
    if (run->phase == CONNECTING && run->quiet_seconds >= CONNECT_SECONDS) {
        run_fail(run, "no ZooKeeper session at %s within %d seconds", run->options->hosts,
                 CONNECT_SECONDS);
    } else if (run->quiet_seconds >= patience) {
        fprintf(stderr, "many_locks: stalled: nothing happened for %u s while %s\n",
                run->quiet_seconds, doing[run->phase]);
        run->quiet_seconds = 0;
        run_fail(run, "stalled while %s (round %zu, %zu placed, %zu ended of %zu)",
                 doing[run->phase], run->round, run->placed, run->ended, run->count);
    }
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct run *run = client->data;

    if (state == UVZK_STATE_CONNECTED && run->phase == CONNECTING &&
        ++run->clients_connected == run->options->clients) {
        rounds_begin(run);
    }
}

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    (void)client;
    fprintf(stderr, "[%d] %s\n", level, line);
}

static void start_clients(struct run *run)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = run->options->hosts;
    options.sessions = (uint32_t)run->options->sessions;
    options.transport = run->options->transport;
    options.tls = run->options->tls;
    options.state_cb = on_state;
    options.log_cb = run->options->verbose ? on_log : NULL;
    for (size_t c = 0; c < run->options->clients; c++) {
        run->clients[c].data = run;
        int rc = uvzk_client_init(&run->loop, &run->clients[c], &options);
        if (rc == 0) {
            run->clients_started++;
            run->clients_open++;
            rc = uvzk_client_start(&run->clients[c]);
        }
        if (rc < 0) {
            run_fail(run, "a client for %s could not be started: %s", run->options->hosts,
                     uvzk_strerror(rc));
            return;
        }
    }
}

static int allocate(struct run *run)
{
    const struct many_locks_options *options = run->options;
    size_t per_lock =
        options->clients < options->contenders ? options->clients : options->contenders;

    run->mutexes_per_lock = per_lock;
    run->count = options->locks * options->contenders;
    run->clients = calloc(options->clients, sizeof(*run->clients));
    run->mutexes = calloc(options->locks * per_lock, sizeof(*run->mutexes));
    run->locks = calloc(options->locks, sizeof(*run->locks));
    run->contenders = calloc(run->count, sizeof(*run->contenders));
    if (run->clients == NULL || run->mutexes == NULL || run->locks == NULL ||
        run->contenders == NULL) {
        return -1;
    }
    for (size_t n = 0; n < run->count; n++) {
        run->contenders[n].lock = (uint32_t)(n / options->contenders);
    }
    size_t samples = run->count * options->rounds;
    return latencies_init(&run->acquire_latencies, samples) != 0 ||
                   latencies_init(&run->handover_latencies, samples) != 0
               ? -1
               : 0;
}

static void free_all(struct run *run)
{
    latencies_free(&run->acquire_latencies);
    latencies_free(&run->handover_latencies);
    free(run->contenders);
    free(run->locks);
    free(run->mutexes);
    free(run->clients);
}

static void start_loop(struct run *run)
{
    uv_loop_init(&run->loop);
    uv_timer_init(&run->loop, &run->hold_timer);
    run->hold_timer.data = run;
    uv_timer_init(&run->loop, &run->watchdog);
    run->watchdog.data = run;
    uv_timer_start(&run->watchdog, on_watchdog, 1000, 1000);
    uv_signal_init(&run->loop, &run->interrupt);
    run->interrupt.data = run;
    uv_signal_start(&run->interrupt, on_interrupt, SIGINT);
}

static void take_latencies(struct run *run)
{
    struct many_locks_result *result = run->result;

    result->acquire_p50_us = latencies_percentile_us(&run->acquire_latencies, 50);
    result->acquire_p99_us = latencies_percentile_us(&run->acquire_latencies, 99);
    result->handover_p50_us = latencies_percentile_us(&run->handover_latencies, 50);
    result->handover_p99_us = latencies_percentile_us(&run->handover_latencies, 99);
}

void many_locks_run(const struct many_locks_options *options,
                    struct many_locks_result *result)
{
    struct run run = {.options = options, .result = result};

    memset(result, 0, sizeof(*result));
    result->left_nodes = LEFTOVERS_UNKNOWN;
    result->left_nodes_closed = LEFTOVERS_UNKNOWN;
    result->left_watches = LEFTOVERS_UNKNOWN;
    snprintf(result->base, sizeof(result->base), "/many-locks/%" PRIx64 "-%x",
             uv_hrtime(), (unsigned)getpid());
    if (counting_allocator_install() != 0 || allocate(&run) != 0) {
        snprintf(result->failure, sizeof(result->failure), "out of memory");
        free_all(&run);
        return;
    }
    progress_init(&run.progress, 2 * run.count * options->rounds);
    run.watches_before = leftovers_watches(options->hosts);
    start_loop(&run);
    run_begin_phase(&run, CONNECTING);
    start_clients(&run);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    result->loop_close = uv_loop_close(&run.loop);
    result->leaked_bytes = counting_allocator_bytes();
    take_latencies(&run);
    free_all(&run);
}
