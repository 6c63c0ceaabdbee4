/* SPDX-License-Identifier: Apache-2.0 */
/* A run of tasks: setup, connecting, warming up, measuring, and teardown. One timer,
 * phase_ends, ends each phase; if a phase should have ended earlier, the run fails then.
 * Only CONNECTING and ENDING usually end before their timer, when all clients are
 * connected or all tasks have ended. */
#include "tasks_run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"

#define WARM_MOST_NS 30000000000U

enum { CONNECT_MS = 15000, WARM_STEP_MS = 20, STALL_MS = 60000, MOST_SAMPLES = 4000000 };

static void close_clients(struct tasks_run *run)
{
    if (run->phase == CLOSING) {
        return;
    }
    run->phase = CLOSING;
    uv_close((uv_handle_t *)&run->phase_ends, NULL);
    for (size_t c = 0; c < run->clients_started; c++) {
        uvzk_client_close(&run->clients[c], NULL);
    }
}

void tasks_fail(struct tasks_run *run, const char *format, ...)
{
    va_list arguments;

    if (run->result->failure[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(run->result->failure, sizeof(run->result->failure), format, arguments);
        va_end(arguments);
    }
    close_clients(run);
}

void tasks_task_ended(struct tasks_run *run)
{
    if (--run->running == 0) {
        close_clients(run);
    }
}

/* -------------------------------------------------------------------- phases */

/* Returns the sum over all clients. */
static uvzk_client_metrics_t stats_of(const struct tasks_run *run)
{
    uvzk_client_metrics_t sum = {0};

    for (size_t c = 0; c < tasks_clients(run->options); c++) {
        uvzk_client_metrics_t one;
        uvzk_client_metrics_init(&one);
        uvzk_client_metrics(&run->clients[c], &one);
        sum.requests += one.requests;
        sum.listings += one.listings;
        sum.proofs += one.proofs;
    }
    return sum;
}

static void on_phase_ends(uv_timer_t *timer);

static void begin_phase(struct tasks_run *run, enum tasks_phase phase,
                        uint64_t at_most_ms)
{
    run->phase = phase;
    uv_timer_start(&run->phase_ends, on_phase_ends, at_most_ms, 0);
}

static void end_window(struct tasks_run *run)
{
    uvzk_client_metrics_t now = stats_of(run);

    window_end(&run->window);
    run->result->window_ns = run->window.length_ns;
    run->result->requests = now.requests - run->before.requests;
    run->result->listings = now.listings - run->before.listings;
    run->result->proofs = now.proofs - run->before.proofs;
}

static void on_phase_ends(uv_timer_t *timer)
{
    struct tasks_run *run = timer->data;

    switch (run->phase) {
    case CONNECTING:
        tasks_fail(run, "no ZooKeeper session at %s within %d ms",
                   run->options->workload.hosts, CONNECT_MS);
        break;
    case WARMING:
        /* Warm up until each task has had a cycle, because the first cycle at a path may
         * have to create directories, but for WARM_MOST_NS at most. */
        if (run->fresh > 0 && window_now() - run->warming_since_ns < WARM_MOST_NS) {
            begin_phase(run, WARMING, WARM_STEP_MS);
            break;
        }
        begin_phase(run, MEASURING, run->options->workload.window_ms);
        run->before = stats_of(run);
        window_begin(&run->window);
        break;
    case MEASURING:
        if (run->result->cycles == 0) { /* extend it: a busy machine may be too slow */
            begin_phase(run, MEASURING, run->options->workload.window_ms);
            break;
        }
        begin_phase(run, ENDING, STALL_MS);
        end_window(run);
        break;
    case ENDING:
        tasks_fail(run, "%zu tasks did not end within %d ms", run->running, STALL_MS);
        break;
    case CLOSING:
        break;
    }
}

static int open_place(struct tasks_run *run, size_t path, size_t session,
                      struct place *place)
{
    char text[256];
    uvzk_client_t *client = &run->clients[session];

    place->open = true;
    if (run->options->base != NULL) {
        snprintf(text, sizeof(text), "%s/%05zu", run->options->base, path);
    } else {
        snprintf(text, sizeof(text), "/tasks/%x/%05zu", (unsigned)getpid(), path);
    }
    switch (run->options->recipe) {
    case SEMAPHORE:
        return uvzk_semaphore_init(client, &place->lock, text,
                                   (uint32_t)run->options->leases, NULL);
    case READ_WRITE:
        return uvzk_rwlock_init(client, &place->both, text);
    case MUTEX:
        break;
    }
    return uvzk_mutex_init(client, &place->lock, text);
}

static void start_tasks(struct tasks_run *run)
{
    const struct tasks_options *options = run->options;

    for (size_t i = 0; i < options->workload.tasks; i++) {
        struct task *task = &run->tasks[i];
        size_t path = i % options->workload.paths;
        size_t session = (path + i / options->workload.paths) % tasks_clients(options);
        task->place = &run->places[path * tasks_clients(options) + session];
        task->path = &run->paths[path];
        task->random = i + 1;
        int rc = task->place->open ? 0 : open_place(run, path, session, task->place);
        if (rc < 0) {
            tasks_fail(run, "a lock could not be made: %s", uvzk_strerror(rc));
            return;
        }
    }
    begin_phase(run, WARMING, options->workload.warm_ms);
    run->running = options->workload.tasks;
    run->fresh = options->workload.tasks;
    run->warming_since_ns = window_now();
    for (size_t i = 0; options->hold_ms > 0 && i < options->workload.tasks; i++) {
        uv_timer_init(&run->loop, &run->tasks[i].hold_ends);
        run->tasks[i].hold_ends.data = &run->tasks[i];
    }
    for (size_t i = 0; i < options->workload.tasks && run->phase == WARMING; i++) {
        task_acquire(run, &run->tasks[i]);
    }
}

/* -------------------------------------------------------------------- set up */

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct tasks_run *run = client->data;

    if (state == UVZK_STATE_CONNECTED && run->phase == CONNECTING &&
        ++run->clients_connected == tasks_clients(run->options)) {
        start_tasks(run);
    }
}

static void start_clients(struct tasks_run *run)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = run->options->workload.hosts;
    options.state_cb = on_state;
    options.sessions =
        run->options->together ? (uint32_t)run->options->workload.sessions : 1;
    options.transport = run->options->transport;
    options.tls = run->options->tls;
    begin_phase(run, CONNECTING, CONNECT_MS);
    for (size_t c = 0; c < tasks_clients(run->options); c++) {
        run->clients[c].data = run;
        int rc = uvzk_client_init(&run->loop, &run->clients[c], &options);
        if (rc == 0) {
            run->clients_started++;
            rc = uvzk_client_start(&run->clients[c]);
        }
        if (rc < 0) {
            tasks_fail(run, "a client could not be started: %s", uvzk_strerror(rc));
            return;
        }
    }
}

static bool allocate(struct tasks_run *run)
{
    const struct tasks_options *options = run->options;

    run->clients = calloc(tasks_clients(options), sizeof(*run->clients));
    run->places =
        calloc(options->workload.paths * tasks_clients(options), sizeof(*run->places));
    run->paths = calloc(options->workload.paths, sizeof(*run->paths));
    run->tasks = calloc(options->workload.tasks, sizeof(*run->tasks));
    if (run->clients == NULL || run->places == NULL || run->paths == NULL ||
        run->tasks == NULL || latencies_init(&run->acquires, MOST_SAMPLES) != 0 ||
        latencies_init(&run->cycles, MOST_SAMPLES) != 0 ||
        latencies_init(&run->handovers, MOST_SAMPLES) != 0) {
        return false;
    }
    for (size_t p = 0; p < options->workload.paths; p++) {
        run->paths[p].together =
            options->recipe == SEMAPHORE ? options->leases : SIZE_MAX;
        run->paths[p].overlaps = &run->result->overlaps;
        run->paths[p].out_of_order = &run->result->out_of_order;
    }
    return true;
}

static void take_latencies(struct latencies *bag, double *figures)
{
    const double percents[] = {50, 99, 99.9};

    for (size_t i = 0; i < 3; i++) {
        figures[i] = latencies_percentile_us(bag, percents[i]);
    }
    latencies_free(bag);
}

void tasks_run(const struct tasks_options *options, struct tasks_result *result)
{
    struct tasks_run run = {.options = options, .result = result};

    memset(result, 0, sizeof(*result));
    if (options->journal != NULL &&
        (run.journal = journal_open(options->journal)) == NULL) {
        snprintf(result->failure, sizeof(result->failure), "no journal");
    } else if (allocate(&run)) {
        uv_loop_init(&run.loop);
        uv_timer_init(&run.loop, &run.phase_ends);
        run.phase_ends.data = &run;
        start_clients(&run);
        uv_run(&run.loop, UV_RUN_DEFAULT);
        if (uv_loop_close(&run.loop) != 0 && result->failure[0] == '\0') {
            snprintf(result->failure, sizeof(result->failure), "the loop is in use");
        }
    } else {
        snprintf(result->failure, sizeof(result->failure), "out of memory");
    }
    take_latencies(&run.acquires, result->acquire_us);
    take_latencies(&run.cycles, result->cycle_us);
    take_latencies(&run.handovers, result->handover_us);
    journal_close(run.journal);
    free(run.tasks);
    free(run.paths);
    free(run.places);
    free(run.clients);
}
