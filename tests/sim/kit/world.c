/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the simulated tests: it runs the simulation, checks it at every step,
 * keeps the trace and ends everything. Tests and hold.c call it.
 *
 * The one idea: world_run_for and world_steps, by which the tests let time pass, call
 * world_check after each step. So every test checks exclusion and the clients' invariants
 * at every moment, whatever it is about. A few tests step the simulation themselves and
 * call world_check. */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/session.h"
#include "invariants.h"

/* The width of "[%8llu] ", which is in front of the subject in each line of the trace. */
#define STAMP_WIDTH 11U
/* The width of the subject with the blank after it. */
#define WHO_WIDTH 9U

#define CREATED "server: create " WORLD_PATH "/_c_"
#define PATIENCE_MS 120000U
#define IDLE_MS 100U
/* While one hold is waited for, the others hold for this long at most. */
#define OTHERS_HOLD_MS 30000U

/* The tunings of WORLD_CASE: without and with all optimisations. */
unsigned world_plain = 0;
unsigned world_tuned = UVZK__TUNE_ALL;

/* ---------------------------------------------------------------- the trace */

static void keep_line(struct world *world, const char *line)
{
    if (world->line_count == world->line_room) {
        world->line_room = world->line_room == 0 ? 1024 : 2 * world->line_room;
        world->lines = realloc(world->lines, world->line_room * sizeof(*world->lines));
        assert_non_null(world->lines);
    }
    world->lines[world->line_count] = strdup(line);
    assert_non_null(world->lines[world->line_count]);
    world->line_count++;
}

static void on_line(void *arg, const char *line)
{
    keep_line(arg, line);
    if (getenv("UVZK_VERBOSE") != NULL) {
        fprintf(stderr, "%s\n", line);
    }
}

void world_note(struct world *world, const char *format, ...)
{
    char text[HOLD_PATH_MAX + 64];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sim_note(world->sim, "%s", text);
}

void world_fail(struct world *world, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    /* The hook of a test without a trace may run the test again with one. */
    if (world->failing != NULL) {
        world->failing(world);
    }
    sim_trace_print(world->sim, stderr);
    fail_msg("%s: %s", world->what == NULL ? "world" : world->what, text);
}

/* Returns true if the subject of the line is `who` and the rest of it begins with
 * `text`. */
static bool is_about(const char *line, const char *who, const char *text)
{
    size_t length = strlen(who);
    const char *at = line + STAMP_WIDTH;

    if (strncmp(at, who, length) != 0 || at[length] != ' ') {
        return false;
    }
    return strncmp(at + WHO_WIDTH, text, strlen(text)) == 0;
}

size_t world_line(const struct world *world, size_t from, const char *who,
                  const char *text)
{
    for (size_t i = from; i < world->line_count; i++) {
        if (is_about(world->lines[i], who, text)) {
            return i;
        }
    }
    return WORLD_NO_LINE;
}

size_t world_count(const struct world *world, size_t from, const char *who,
                   const char *text)
{
    size_t count = 0;

    for (size_t i = from; i < world->line_count; i++) {
        count += is_about(world->lines[i], who, text);
    }
    return count;
}

size_t world_znodes_made(const struct world *world, size_t from, const char *who)
{
    size_t count = 0;

    for (size_t i = from; i < world->line_count; i++) {
        count += is_about(world->lines[i], who, CREATED) &&
                 strstr(world->lines[i], "-> ok") != NULL;
    }
    return count;
}

/* ---------------------------------------------------------------- beginning */

void world_begin_with(struct world *world, uint64_t seed, unsigned tuning,
                      const struct sim_options *options)
{
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    world->tuning = tuning;
    world->sim = sim_new(seed, options);
    world->path = WORLD_PATH;
    process_options(&world->options);
    world_note(world, "seed %" PRIu64 ", tuning %u", seed, tuning);
}

void world_begin_servers(struct world *world, uint64_t seed, void *const *state,
                         uint32_t servers)
{
    struct sim_options options;

    sim_options_init(&options);
    options.session_timeout_ms = WORLD_TIMEOUT_MS;
    /* The periods differ, so that a few seeds give many combinations. world_has_queued_cb
     * depends on the seed too. */
    options.followers = seed % 2 == 0;
    options.shuffle_ties = seed % 3 == 0;
    options.batches = seed % 8 == 5;
    options.to_loop_max_ms = options.batches ? 20 : seed % 4 == 3 ? 3 : 0;
    options.servers = servers;
    options.trace_lines = 16;
    options.trace_cb = on_line;
    options.trace_arg = world;
    world_begin_with(world, seed, *(const unsigned *)*state, &options);
}

void world_begin(struct world *world, uint64_t seed, void *const *state)
{
    world_begin_servers(world, seed, state, 1);
}

void world_exact_options(struct sim_options *options, uint32_t latency_ms)
{
    sim_options_init(options);
    options->latency_min_ms = options->latency_max_ms = latency_ms;
    options->alarm_late_max_ms = 0;
    options->trace_lines = 300;
}

void world_begin_exact(struct world *world, unsigned tuning, uint32_t latency_ms)
{
    struct sim_options options;

    world_exact_options(&options, latency_ms);
    world_begin_with(world, 1, tuning, &options);
}

void world_begin_exact_two(struct world *world, unsigned tuning, uint32_t latency_ms,
                           struct process *a, struct process *b)
{
    world_begin_exact(world, tuning, latency_ms);
    process_begin(a, world, "a", NULL);
    process_begin(b, world, "b", NULL);
}

void world_begin_one(struct world *world, uint64_t seed, void *const *state,
                     struct process *a)
{
    world_begin(world, seed, state);
    process_begin(a, world, "a", NULL);
}

void world_begin_two(struct world *world, uint64_t seed, void *const *state,
                     struct process *a, struct process *b)
{
    world_begin_one(world, seed, state, a);
    process_begin(b, world, "b", NULL);
}

void world_begin_ready(struct world *world, uint64_t seed, void *const *state,
                       struct process *a, struct process *b)
{
    world_begin_two(world, seed, state, a, b);
    assert_true(process_await_connected(a, 1000));
    assert_true(process_await_connected(b, 1000));
}

void world_begin_held(struct world *world, uint64_t seed, void *const *state,
                      struct process *a, struct hold *held)
{
    world_begin_one(world, seed, state, a);
    hold_take(held, a);
}

void world_begin_queued(struct world *world, uint64_t seed, void *const *state,
                        struct process *a, struct hold *held, struct process *b,
                        struct hold *waits)
{
    world_begin_two(world, seed, state, a, b);
    hold_take(held, a);
    hold_begin(waits, b, UVZK_WAIT_FOREVER);
}

void world_run_scenario(void **state)
{
    const struct world_scenario *story = *state;
    void *tuning = story->tuning;

    for (uint64_t seed = story->first; seed <= story->last; seed++) {
        story->run(seed, &tuning);
    }
}

void world_make_directory(struct world *world, struct process *process)
{
    hold_take(&world->first, process);
    hold_give_back(&world->first);
    assert_int_equal(world_queue_length(world), 0);
}

/* ------------------------------------------------------------------ its clients */

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    const struct process *process = client->data;

    (void)module;
    if (level == UVZK_LOG_ERROR && !process->may_log_errors) {
        world_fail(process->world, "%s logs an error: %s", process->name, line);
    }
}

void world_client_options(uvzk_client_options_t *options)
{
    options->log_cb = on_log;
    options->hosts = "simulated:1";
    options->session_timeout_ms = WORLD_TIMEOUT_MS;
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.base_ms = 50;
    options->retry.max_retries = 3;
}

int world_create_client(struct world *world, struct process *process,
                        const uvzk_client_options_t *options)
{
    process->sessions = options->sessions == 0 ? 1 : options->sessions;
    for (uint32_t i = 0; i < process->sessions; i++) {
        process->ports[i] = sim_port_new(world->sim, process->name);
        sim_set_timeout(process->ports[i], options->session_timeout_ms);
    }
    process->port = process->ports[0];
    return uvzk__client_create_over(&process->client, process->ports, process->sessions,
                                    options, world->tuning);
}

void world_expire(struct world *world, struct process *process)
{
    (void)world;
    assert_true(sim_expire(process->port));
}

/* ------------------------------------------------------------------ the checks */

/* Returns true if the hold is of its process's mutex. Other locks are at other paths, and
 * may be held at the same time. */
static bool is_of_its_mutex(const struct hold *hold)
{
    return hold->lock == &hold->process->mutex;
}

static void check_exclusion(struct world *world)
{
    int64_t holder = 0; /* the fencing token of the holder: re-entrant holds share it */

    /* Holds of killed processes are skipped, as their clients do not know it yet. */
    for (const struct hold *hold = world->holder_deleted ? NULL : world->holds;
         hold != NULL; hold = hold->next) {
        if (!is_of_its_mutex(hold) || hold->process->killed ||
            !uvzk_hold_is_valid(&hold->request)) {
            continue;
        }
        int64_t token = uvzk_hold_token(&hold->request);
        if (token <= 0 || (holder != 0 && holder != token)) {
            world_fail(world, "two valid holds");
        }
        holder = token;
    }
}

static void check_structures(struct world *world)
{
    for (const struct process *process = world->processes; process != NULL;
         process = process->next) {
        const struct uvzk__session *session = process->client.impl;
        if (session != NULL && uvzk__is_broken(session)) {
            continue; /* its structures are not promised to be sound any more */
        }
        const char *broken = invariants_sampled(&process->client, world_now(world));
        if (broken != NULL) {
            world_fail(world, "%s: %s", process->name, broken);
        }
    }
}

void world_check(struct world *world)
{
    check_exclusion(world);
    check_structures(world);
}

/* Time alone ends a hold's validity. What a client keeps changes only with an event: what a
 * test calls in between has events of its own. */
static void check_after_time(struct world *world)
{
    uint64_t steps = sim_steps(world->sim);

    check_exclusion(world);
    if (steps != world->checked_steps) {
        world->checked_steps = steps;
        check_structures(world);
    }
}

static bool is_session_of(const struct process *process, int64_t session_id)
{
    for (uint32_t i = 0; i < process->sessions; i++) {
        if (sim_session_id(process->ports[i]) == session_id) {
            return true;
        }
    }
    return false;
}

/* Returns true if the znode exists and belongs to a living session of the process. A
 * znode of a lock driver may be persistent instead. */
static bool is_its_own(const struct process *process, const char *path)
{
    struct uvzk__stat stat;

    if (!sim_stat(process->world->sim, path, &stat)) {
        return false;
    }
    return (process->persistent && stat.ephemeral_owner == 0) ||
           (is_session_of(process, stat.ephemeral_owner) &&
            sim_session_alive(process->world->sim, stat.ephemeral_owner));
}

/* Fails the test if a granted hold lacks leases or its znodes do not exist. A process
 * whose session was ended early may not know that yet, so it is skipped. */
static void check_znodes(struct world *world, const struct hold *hold)
{
    const struct process *process = hold->process;
    uint32_t count = uvzk_hold_node_count(&hold->request);

    if (count < hold->leases) {
        world_fail(world, "%s has %" PRIu32 " leases", process->name, count);
    }
    for (uint32_t i = 0; i < count && !process->killed && !world->holder_deleted; i++) {
        if (!is_its_own(process, uvzk_hold_node_path(&hold->request, i))) {
            world_fail(world, "%s is granted without a znode of its own", process->name);
        }
    }
}

void world_granted(struct world *world, struct hold *hold)
{
    check_znodes(world, hold);
    if (is_of_its_mutex(hold)) {
        check_exclusion(world);
    }
}

bool world_has_queued_cb(const struct world *world)
{
    return world->seed % 2 == 1;
}

/* --------------------------------------------------------------------------- time */

uint64_t world_now(const struct world *world)
{
    return sim_now(world->sim);
}

void world_run_for(struct world *world, uint64_t ms)
{
    while (ms > 0) {
        /* Without a hold or a pending acquire nothing is checked each ms, so longer steps
         * are enough. */
        bool is_idle = world->holds == NULL && world->each_ms == NULL;
        uint64_t step = !is_idle ? 1 : ms < IDLE_MS ? ms : IDLE_MS;
        sim_run_for(world->sim, step);
        check_after_time(world);
        if (world->each_ms != NULL) {
            world->each_ms(world);
        }
        ms -= step;
    }
}

void world_run_until(struct world *world, uint64_t at_ms)
{
    if (at_ms > world_now(world)) {
        world_run_for(world, at_ms - world_now(world));
    }
}

void world_steps(struct world *world, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(sim_step(world->sim));
        world_check(world);
    }
}

bool world_await_count(struct world *world, const int *counter, int value, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && *counter < value; i++) {
        world_run_for(world, 1);
    }
    return *counter >= value;
}

bool world_await(struct world *world, const int *counter, uint64_t ms)
{
    return world_await_count(world, counter, 1, ms);
}

bool world_await_line(struct world *world, size_t from, const char *who, const char *text,
                      uint64_t ms)
{
    uint64_t end = world_now(world) + ms;

    while (world_line(world, from, who, text) == WORLD_NO_LINE) {
        if (world_now(world) >= end) {
            return false;
        }
        from = world->line_count; /* the earlier lines do not match */
        world_steps(world, 1);
    }
    return true;
}

/* Counts the holders. *last_ms: the time of the latest grant among them. */
static size_t count_holders(const struct hold *holds, size_t count, uint64_t *last_ms)
{
    size_t held = 0;

    *last_ms = 0;
    for (size_t i = 0; i < count; i++) {
        if (hold_holds(&holds[i])) {
            held++;
            *last_ms = holds[i].answered_ms > *last_ms ? holds[i].answered_ms : *last_ms;
        }
    }
    return held;
}

bool world_await_all(struct world *world, const struct hold *holds, size_t count,
                     uint64_t by_ms)
{
    uint64_t from_ms = world_now(world), last_ms;

    world_run_until(world, by_ms);
    size_t held = count_holders(holds, count, &last_ms);
    if (held == count) {
        return true;
    }
    print_error("%zu of %zu hold after %" PRIu64 " ms\n", held, count, by_ms - from_ms);
    world_run_for(world, 60000);
    held = count_holders(holds, count, &last_ms);
    print_error("%zu of %zu hold after a minute, the last of them after %" PRId64 " ms\n",
                held, count, (int64_t)(last_ms - from_ms));
    return false;
}

/* ----------------------------------------------------------------- release and end */

/* Releases all holds except `but`. */
static void release_all(struct world *world, const struct hold *but)
{
    struct hold *next;

    for (struct hold *hold = world->holds; hold != NULL; hold = next) {
        next = hold->next;
        if (hold != but && hold_holds(hold) && !hold->releasing) {
            hold_release(hold);
        }
    }
}

/* Runs the simulation for 1 ms while `hold` is waited for since the time `since`. After
 * OTHERS_HOLD_MS, all other holds are released; after PATIENCE_MS, the test fails. */
static void let_others_go(struct world *world, const struct hold *hold, uint64_t since)
{
    uint64_t waited = world_now(world) - since;

    if (waited > PATIENCE_MS) {
        world_fail(world, "%s is never answered", hold->process->name);
    }
    if (waited > OTHERS_HOLD_MS) {
        release_all(world, hold);
    }
    world_run_for(world, 1);
}

void world_await_answer(struct world *world, const struct hold *hold)
{
    uint64_t since = world_now(world);

    while (hold_pending(hold)) {
        let_others_go(world, hold, since);
    }
}

void world_finish(struct world *world, struct hold *hold)
{
    uint64_t since = world_now(world);

    while (!hold_over(hold)) {
        if (hold_holds(hold) && !hold->releasing) {
            hold_release(hold);
        }
        let_others_go(world, hold, since);
    }
}

static bool has_holds(const struct world *world, const struct process *process)
{
    const struct hold *hold = world->holds;

    while (hold != NULL && hold->process != process) {
        hold = hold->next;
    }
    return hold != NULL;
}

static size_t armed(const struct process *process)
{
    size_t count = 0;

    for (uint32_t i = 0; i < process->sessions; i++) {
        count += sim_armed(process->ports[i]);
    }
    return count;
}

/* Fails the test if a client without holds has contenders or watches left. Only what
 * watermarks need may be left: each has a watch of its own at the port, and those of one
 * path count once in the client's statistics. */
static void check_clients(struct world *world)
{
    for (const struct process *process = world->processes; process != NULL;
         process = process->next) {
        if (!process->closing && process_connected(process) &&
            !has_holds(world, process) &&
            (process_contenders(process) != 0 ||
             armed(process) != process_watermarks(process) ||
             process_watches(process) > process_watermarks(process) ||
             (process_watches(process) == 0) != (process_watermarks(process) == 0))) {
            world_fail(world, "%s: contenders or watches left", process->name);
        }
    }
}

/* The watermarks of all clients. They are kept for some time after the last hold. */
static size_t watermarks(const struct world *world)
{
    size_t count = 0;

    for (const struct process *process = world->processes; process != NULL;
         process = process->next) {
        count += process_watermarks(process);
    }
    return count;
}

void world_release_all(struct world *world)
{
    uint64_t since = world_now(world);

    while (world->holds != NULL) {
        if (world_now(world) - since > PATIENCE_MS) {
            world_fail(world, "%s is never answered", world->holds->process->name);
        }
        release_all(world, NULL);
        world_run_for(world, 1);
    }
    world_run_for(world, 3ULL * WORLD_TIMEOUT_MS);
    check_clients(world);
    if (sim_watch_count(world->sim) != watermarks(world) ||
        world_queue_length(world) != 0) {
        world_fail(world, "%zu watches and %zu znodes left", sim_watch_count(world->sim),
                   world_queue_length(world));
    }
}

void world_end(struct world *world)
{
    world_run_for(world, 3000);
    check_clients(world);
    for (struct process *process = world->processes; process != NULL;
         process = process->next) {
        if (!process->closing) {
            process_close(process);
        }
    }
    /* A process leaves the list when it is closed, but keeps its `next`. */
    for (struct process *process = world->processes; process != NULL;
         process = process->next) {
        if (!world_await(world, &process->closed, PATIENCE_MS)) {
            world_fail(world, "%s is never closed", process->name);
        }
    }
    if (world->holds != NULL) {
        world_fail(world, "%s is never answered", world->holds->process->name);
    }
    world_run_for(world, 3ULL * WORLD_TIMEOUT_MS); /* abandoned sessions expire */
    if (sim_session_count(world->sim) != 0 || sim_watch_count(world->sim) != 0) {
        world_fail(world, "sessions or watches left");
    }
    sim_free(world->sim);
    for (size_t i = 0; i < world->line_count; i++) {
        free(world->lines[i]);
    }
    free(world->lines);
}

void world_release_and_end(struct world *world)
{
    world_release_all(world);
    world_end(world);
}

/* -------------------------------------------------------- changes by an operator */

void world_make_path(struct world *world, const char *path)
{
    char way[HOLD_PATH_MAX];

    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] == '/' || path[i] == '\0') {
            (void)snprintf(way, sizeof(way), "%.*s", (int)i, path);
            (void)sim_create_by_hand(world->sim, way, UVZK__PERSISTENT);
        }
    }
    assert_int_equal(sim_set_counter(world->sim, path, 1), 0);
}

struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end)
{
    struct world_path path;

    (void)snprintf(path.text, sizeof(path.text), "%s" WORLD_FOREIGN_PREFIX "%s",
                   directory, end);
    const char *made =
        sim_create_by_hand(world->sim, path.text, UVZK__EPHEMERAL_SEQUENTIAL);
    (void)snprintf(path.text, sizeof(path.text), "%s", made == NULL ? "" : made);
    return path;
}

void world_delete(struct world *world, const struct world_path *path)
{
    if (path->text[0] != '\0') {
        assert_int_equal(sim_delete_by_hand(world->sim, path->text), 0);
    }
}

struct world_path world_child(const struct world *world, const char *parent, size_t index)
{
    const char *names[8];
    struct world_path path;

    assert_true(index < 8 && sim_children(world->sim, parent, names, 8) > index);
    (void)snprintf(path.text, sizeof(path.text), "%s/%s", parent, names[index]);
    return path;
}

void world_delete_child(struct world *world, const char *parent, size_t index)
{
    struct world_path path = world_child(world, parent, index);

    world_delete(world, &path);
}

size_t world_children(const struct world *world, const char *path)
{
    return sim_children(world->sim, path, NULL, 0);
}

size_t world_queue_length(const struct world *world)
{
    return world_children(world, WORLD_PATH);
}
