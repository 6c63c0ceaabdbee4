/* SPDX-License-Identifier: Apache-2.0 */
/* redis_tasks: the options, the phases of a run, the JSON object and the exit code.
 * bench/run runs it.
 *
 *   0 everything was right   1 something was wrong, or no server   2 bad arguments */
#include "redis_tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/adapters/libuv.h>
#include <hiredis/hiredis.h>

#include "journal.h"

enum { CONNECT_MS = 15000, STALL_MS = 60000, MOST_SAMPLES = 4000000 };

static void bad_usage(void)
{
    fputs("usage: redis_tasks --hosts HOST:PORT[,HOST:PORT...] [options]\n"
          "\n"
          "What tasks does, by locks on Redis; with several servers on most of them, as\n"
          "Redlock does. One JSON object on stdout.\n"
          "\n"
          "  --wait W        redlock, redis-semaphore or redisson (redlock)\n"
          "  --tasks N       (16)\n"
          "  --paths P       locks; task i is at number i modulo P (1)\n"
          "  --sessions S    connections to each server; those of a path take turns (1)\n"
          "  --hold MS       of each acquire (0)\n"
          "  --in-turn       a task acquires again when another has been granted; one "
          "path\n"
          "  --path KEY      of the locks (one of this process's own)\n"
          "  --journal FILE  of the holds\n"
          "  --warm MS       before the measuring (1000)\n"
          "  --window MS     of measuring (2000)\n",
          stderr);
    exit(2);
}

static const char *const waits[] = {[REDLOCK] = "redlock",
                                    [REDIS_SEMAPHORE] = "redis-semaphore",
                                    [REDISSON] = "redisson"};

static enum redis_wait wait_named(const char *name)
{
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        if (strcmp(name, waits[i]) == 0) {
            return (enum redis_wait)i;
        }
    }
    bad_usage();
    return REDLOCK;
}

static bool set_option(struct redis_run *run, int letter, const char *text)
{
    switch (letter) {
    case 'W':
        run->wait = wait_named(text);
        return true;
    case 'h':
        return workload_number(text, 0, 60000, &run->hold_ms);
    case '1':
        run->in_turn = true;
        return true;
    case 'P':
        run->base = text;
        return true;
    case 'j':
        run->journal_name = text;
        return true;
    case 'r':
        return strcmp(text, "mutex") == 0;
    default:
        return workload_option(&run->workload, letter, text);
    }
}

static void read_options(struct redis_run *run, int argc, char **argv)
{
    static const struct option options[] = {
        WORKLOAD_LONG_OPTIONS,
        {"wait", required_argument, NULL, 'W'},
        {"recipe", required_argument, NULL, 'r'},
        {"hold", required_argument, NULL, 'h'},
        {"in-turn", no_argument, NULL, '1'},
        {"path", required_argument, NULL, 'P'},
        {"journal", required_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!set_option(run, letter, optarg)) {
            bad_usage();
        }
    }
    if (optind < argc || !workload_is_complete(&run->workload) ||
        (run->in_turn && (run->workload.paths > 1 || run->workload.tasks < 2))) {
        bad_usage();
    }
}

/* -------------------------------------------------------------------- phases */

static void close_connections(struct redis_run *run)
{
    run->phase = CLOSING;
    uv_close((uv_handle_t *)&run->phase_ends, NULL);
    for (size_t i = 0; i < run->workload.tasks; i++) {
        if (run->tasks[i].run != NULL) {
            uv_close((uv_handle_t *)&run->tasks[i].timer, NULL);
        }
    }
    for (size_t s = 0; s < run->workload.sessions; s++) {
        struct redis_session *session = &run->sessions[s];
        for (size_t i = 0; i < run->server_count; i++) {
            redisAsyncDisconnect(session->servers[i]);
        }
        if (session->messages != NULL) {
            redisAsyncFree(session->messages); /* its subscriptions never end */
        }
    }
}

void redis_fail(struct redis_run *run, const char *why)
{
    run->failures++;
    fprintf(stderr, "redis_tasks: WRONG: %s\n", why);
    exit(1); /* nothing is left to be measured */
}

void redis_task_ended(struct redis_run *run)
{
    if (--run->running == 0) {
        close_connections(run);
    }
}

static void on_phase_ends(uv_timer_t *timer);

static void begin_phase(struct redis_run *run, enum redis_phase phase,
                        uint64_t at_most_ms)
{
    run->phase = phase;
    uv_timer_start(&run->phase_ends, on_phase_ends, at_most_ms, 0);
}

static void on_phase_ends(uv_timer_t *timer)
{
    struct redis_run *run = timer->data;

    switch (run->phase) {
    case CONNECTING:
        redis_fail(run, "no connection to a server");
        break;
    case WARMING:
        begin_phase(run, MEASURING, run->workload.window_ms);
        window_begin(&run->window);
        break;
    case MEASURING:
        if (run->cycle_count == 0) {
            begin_phase(run, MEASURING, run->workload.window_ms);
            break;
        }
        begin_phase(run, ENDING, STALL_MS);
        window_end(&run->window);
        if (run->resting != NULL) {
            redis_task_ended(run);
        }
        break;
    case ENDING:
        redis_fail(run, "the tasks did not end");
        break;
    case CLOSING:
        break;
    }
}

static void set_up_place(struct redis_run *run, size_t path, size_t session)
{
    struct redis_place *place = &run->places[path * run->workload.sessions + session];

    if (run->base != NULL) {
        snprintf(place->key, sizeof(place->key), "%s/%zu", run->base, path);
    } else {
        snprintf(place->key, sizeof(place->key), "redis-tasks/%d/%zu", (int)getpid(),
                 path);
    }
    snprintf(place->channel, sizeof(place->channel), "released:%s", place->key);
    place->session = &run->sessions[session];
}

static void start_tasks(struct redis_run *run)
{
    const struct workload *workload = &run->workload;

    begin_phase(run, WARMING, workload->warm_ms);
    run->running = workload->tasks;
    for (size_t i = 0; i < workload->tasks; i++) {
        struct redis_task *task = &run->tasks[i];
        size_t path = i % workload->paths;
        size_t session = (path + i / workload->paths) % workload->sessions;
        set_up_place(run, path, session);
        task->run = run;
        task->place = &run->places[path * workload->sessions + session];
        task->path = &run->paths[path];
        uv_timer_init(&run->loop, &task->timer);
        task->timer.data = task;
        redis_acquire(task);
    }
}

/* ------------------------------------------------------------------- connect */

static void on_script_loaded(redisAsyncContext *context, void *reply, void *data)
{
    struct redis_run *run = data;
    const redisReply *answer = reply;

    (void)context;
    if (answer == NULL || answer->type != REDIS_REPLY_STRING) {
        redis_fail(run, "a server does not take the script");
        return;
    }
    snprintf(run->release_sha, sizeof(run->release_sha), "%s", answer->str);
    if (++run->connected == run->connections) {
        start_tasks(run);
    }
}

static redisAsyncContext *connect_to(struct redis_run *run, const char *host_and_port)
{
    char host[64];
    unsigned port = 0;
    redisAsyncContext *context = NULL;

    if (sscanf(host_and_port, "%63[^:]:%u", host, &port) == 2) {
        context = redisAsyncConnect(host, (int)port);
    }
    if (context == NULL || context->err != 0 ||
        redisLibuvAttach(context, &run->loop) != REDIS_OK) {
        redis_fail(run, context == NULL ? host_and_port : context->errstr);
    }
    return context;
}

static void connect_sessions(struct redis_run *run)
{
    const char *servers[REDIS_MOST_SERVERS] = {run->workload.hosts};

    run->server_count = 1;
    for (const char *comma; run->server_count < REDIS_MOST_SERVERS &&
                            (comma = strchr(servers[run->server_count - 1], ',')) != NULL;
         run->server_count++) {
        servers[run->server_count] = comma + 1;
    }
    run->connections = run->workload.sessions * run->server_count;
    begin_phase(run, CONNECTING, CONNECT_MS);
    for (size_t s = 0; s < run->workload.sessions; s++) {
        struct redis_session *session = &run->sessions[s];
        for (size_t i = 0; i < run->server_count; i++) {
            session->servers[i] = connect_to(run, servers[i]);
            redisAsyncCommand(session->servers[i], on_script_loaded, run,
                              "SCRIPT LOAD %s", redis_release_script);
        }
        if (run->wait == REDISSON) {
            session->messages = connect_to(run, servers[0]);
        }
    }
}

/* -------------------------------------------------------------------- result */

static void print_percentiles(const char *what, struct latencies *bag)
{
    printf("\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f,\"%s_p999_us\":%.1f,", what,
           latencies_percentile_us(bag, 50), what, latencies_percentile_us(bag, 99), what,
           latencies_percentile_us(bag, 99.9));
}

static bool print_result(struct redis_run *run)
{
    double seconds = (double)run->window.length_ns / 1e9;
    bool right = run->cycle_count > 0 && run->overlaps + run->failures == 0;

    printf("{\"program\":\"redis\",\"wait\":\"%s\",\"servers\":%zu,\"seconds\":%.3f,"
           "\"cycles\":%" PRIu64 ",\"cycles_per_s\":%.1f,",
           waits[run->wait], run->server_count, seconds, run->cycle_count,
           seconds > 0 ? (double)run->cycle_count / seconds : 0);
    print_percentiles("acquire", &run->acquires);
    print_percentiles("cycle", &run->cycles);
    printf("\"overlaps\":%" PRIu64 ",\"failures\":%" PRIu64 ",\"right\":%s}\n",
           run->overlaps, run->failures, right ? "true" : "false");
    return right;
}

static bool allocate(struct redis_run *run)
{
    const struct workload *workload = &run->workload;

    run->sessions = calloc(workload->sessions, sizeof(*run->sessions));
    run->places = calloc(workload->paths * workload->sessions, sizeof(*run->places));
    run->paths = calloc(workload->paths, sizeof(*run->paths));
    run->tasks = calloc(workload->tasks, sizeof(*run->tasks));
    if (run->sessions == NULL || run->places == NULL || run->paths == NULL ||
        run->tasks == NULL || latencies_init(&run->acquires, MOST_SAMPLES) != 0 ||
        latencies_init(&run->cycles, MOST_SAMPLES) != 0) {
        return false;
    }
    for (size_t p = 0; p < workload->paths; p++) {
        run->paths[p].together = SIZE_MAX;
        run->paths[p].overlaps = &run->overlaps;
        run->paths[p].out_of_order = &run->out_of_order;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct redis_run run = {
        .workload =
            {.tasks = 16, .paths = 1, .sessions = 1, .warm_ms = 1000, .window_ms = 2000},
    };

    read_options(&run, argc, argv);
    srand((unsigned)getpid() ^ (unsigned)window_now());
    if (run.journal_name != NULL) {
        run.journal = journal_open(run.journal_name);
    }
    if (!allocate(&run) || (run.journal_name != NULL && run.journal == NULL)) {
        fputs("redis_tasks: out of memory, or no journal\n", stderr);
        return 1;
    }
    uv_loop_init(&run.loop);
    uv_timer_init(&run.loop, &run.phase_ends);
    run.phase_ends.data = &run;
    connect_sessions(&run);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    bool right = print_result(&run);
    journal_close(run.journal);
    latencies_free(&run.acquires);
    latencies_free(&run.cycles);
    free(run.tasks);
    free(run.paths);
    free(run.places);
    free(run.sessions);
    return right ? 0 : 1;
}
