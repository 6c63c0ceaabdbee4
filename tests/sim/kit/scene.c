#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/lock.h"

/* "[%8llu] " before who a line is about. */
#define STAMP_WIDTH 11U
#define WHO_WIDTH 9U

#define CREATED "server: create " SCENE_PATH "/_c_"

unsigned scene_plain = 0;
unsigned scene_tuned = UVZK__TUNE_ALL;

/* ---------------------------------------------------------------- the trace */

static void keep_line(void *arg, const char *line)
{
    struct scene *scene = arg;

    if (scene->line_count == scene->line_room) {
        scene->line_room = scene->line_room == 0 ? 1024 : 2 * scene->line_room;
        scene->lines = realloc(scene->lines, scene->line_room * sizeof(*scene->lines));
        assert_non_null(scene->lines);
    }
    scene->lines[scene->line_count] = strdup(line);
    assert_non_null(scene->lines[scene->line_count]);
    scene->line_count++;
    if (getenv("UVZK_VERBOSE") != NULL) {
        fprintf(stderr, "%s\n", line);
    }
}

static bool is_about(const char *line, const char *who, const char *text)
{
    size_t length = strlen(who);
    const char *at = line + STAMP_WIDTH;

    if (strncmp(at, who, length) != 0 || at[length] != ' ') {
        return false;
    }
    return strncmp(at + WHO_WIDTH, text, strlen(text)) == 0;
}

size_t scene_line(const struct scene *scene, size_t from, const char *who,
                  const char *text)
{
    for (size_t i = from; i < scene->line_count; i++) {
        if (is_about(scene->lines[i], who, text)) {
            return i;
        }
    }
    return SCENE_NOWHERE;
}

size_t scene_count(const struct scene *scene, size_t from, const char *who,
                   const char *text)
{
    size_t count = 0;

    for (size_t i = from; i < scene->line_count; i++) {
        count += is_about(scene->lines[i], who, text);
    }
    return count;
}

size_t scene_znodes_made(const struct scene *scene, size_t from, const char *who)
{
    size_t count = 0;

    for (size_t i = from; i < scene->line_count; i++) {
        count += is_about(scene->lines[i], who, CREATED) &&
                 strstr(scene->lines[i], "-> ok") != NULL;
    }
    return count;
}

/* ------------------------------------------------------------- beginning, end */

void scene_begin(struct scene *scene, uint64_t seed, void *const *state)
{
    scene_begin_servers(scene, seed, state, 1);
}

void scene_begin_servers(struct scene *scene, uint64_t seed, void *const *state,
                         uint32_t servers)
{
    struct sim_options options;

    memset(scene, 0, sizeof(*scene));
    scene->seed = seed;
    scene->tuning = *(const unsigned *)*state;
    sim_options_init(&options);
    options.session_timeout_ms = SCENE_TIMEOUT_MS;
    options.followers = seed % 2 == 0;
    options.shuffle_ties = seed % 3 == 0;
    options.batches = seed % 8 == 5;
    options.hop_max_ms = options.batches ? 20 : seed % 4 == 3 ? 3 : 0;
    options.servers = servers;
    options.trace_lines = 16;
    options.trace_cb = keep_line;
    options.trace_arg = scene;
    scene->sim = sim_new(seed, &options);
    sim_note(scene->sim, "seed %llu, tuning %u", (unsigned long long)seed, scene->tuning);
}

void scene_begin_one(struct scene *scene, uint64_t seed, void *const *state,
                     struct process *a)
{
    scene_begin(scene, seed, state);
    process_begin(a, scene, "a", NULL);
}

void scene_begin_two(struct scene *scene, uint64_t seed, void *const *state,
                     struct process *a, struct process *b)
{
    scene_begin_one(scene, seed, state, a);
    process_begin(b, scene, "b", NULL);
}

void scene_begin_held(struct scene *scene, uint64_t seed, void *const *state,
                      struct process *a, struct claim *held)
{
    scene_begin_one(scene, seed, state, a);
    claim_take(held, a);
}

void scene_begin_queued(struct scene *scene, uint64_t seed, void *const *state,
                        struct process *a, struct claim *held, struct process *b,
                        struct claim *waits)
{
    scene_begin_two(scene, seed, state, a, b);
    claim_take(held, a);
    claim_begin(waits, b, UVZK_WAIT_FOREVER);
}

void scene_make_directory(struct scene *scene, struct process *process)
{
    claim_take(&scene->first, process);
    claim_give_back(&scene->first);
    assert_int_equal(scene_queue_length(scene), 0);
}

static void check_answers(const struct scene *scene)
{
    for (const struct claim *claim = scene->claims; claim != NULL; claim = claim->next) {
        assert_int_equal(claim->acquired, 1);
        assert_int_equal(claim->lost + claim->released, claim->status == 0 ? 1 : 0);
        assert_null(claim->request.impl);
    }
}

/* What the clients have been given back is withdrawn in the background. */
static void check_residue(struct scene *scene)
{
    for (struct process *process = scene->processes; process != NULL;
         process = process->next) {
        uvzk_client_stats_t stats;
        if (process->closed > 0 || !process_connected(process)) {
            continue;
        }
        uvzk_client_stats(&process->client, &stats);
        for (const struct claim *claim = scene->claims; claim != NULL;
             claim = claim->next) {
            if (claim->process == process && claim->request.impl != NULL) {
                stats.contenders = stats.watches = 0; /* it is still in use */
            }
        }
        assert_int_equal(stats.contenders, 0);
        assert_int_equal(stats.watches, 0);
        assert_int_equal(sim_armed(process->port), 0);
    }
}

void scene_end(struct scene *scene)
{
    scene_run_for(scene, 3000);
    check_residue(scene);
    for (struct process *process = scene->processes; process != NULL;
         process = process->next) {
        if (process->client.impl != NULL &&
            uvzk_client_state(&process->client) != UVZK_STATE_CLOSED) {
            process_close(process);
        }
    }
    for (struct process *process = scene->processes; process != NULL;
         process = process->next) {
        assert_true(scene_await(scene, &process->closed, SCENE_TIMEOUT_MS));
    }
    check_answers(scene);
    scene_run_for(scene, SCENE_TIMEOUT_MS + 5000); /* of sessions that were left */
    assert_int_equal(sim_session_count(scene->sim), 0);
    assert_int_equal(sim_watch_count(scene->sim), 0);
    sim_free(scene->sim);
    for (size_t i = 0; i < scene->line_count; i++) {
        free(scene->lines[i]);
    }
    free(scene->lines);
}

/* --------------------------------------------------------------- time passes */

static void check_exclusion(const struct scene *scene)
{
    int64_t holder = 0; /* by its token: re-entries of one hold share it */

    for (const struct claim *claim = scene->claims; claim != NULL; claim = claim->next) {
        int64_t token = uvzk_hold_token(&claim->request);
        if (claim->process->killed || !uvzk_hold_is_valid(&claim->request)) {
            continue;
        }
        assert_true(token > 0);
        assert_true(holder == 0 || holder == token);
        holder = token;
    }
}

static void pass(struct scene *scene)
{
    sim_run_for(scene->sim, 1);
    check_exclusion(scene);
}

void scene_run_for(struct scene *scene, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        pass(scene);
    }
}

void scene_steps(struct scene *scene, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(sim_step(scene->sim));
        check_exclusion(scene);
    }
}

bool scene_await(struct scene *scene, const int *counter, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && *counter == 0; i++) {
        pass(scene);
    }
    return *counter > 0;
}

bool scene_await_line(struct scene *scene, size_t from, const char *who, const char *text,
                      uint64_t ms)
{
    uint64_t end = sim_now(scene->sim) + ms;

    while (scene_line(scene, from, who, text) == SCENE_NOWHERE) {
        if (sim_now(scene->sim) >= end) {
            return false;
        }
        from = scene->line_count; /* what was there has been looked at */
        scene_steps(scene, 1);
    }
    return true;
}

void scene_delete_child(const struct scene *scene, const char *parent, size_t index)
{
    const char *names[8];
    char path[256];

    assert_true(index < 8 && sim_children(scene->sim, parent, names, 8) > index);
    (void)snprintf(path, sizeof(path), "%s/%s", parent, names[index]);
    assert_int_equal(sim_delete_by_hand(scene->sim, path), 0);
}

size_t scene_queue_length(const struct scene *scene)
{
    return sim_children(scene->sim, SCENE_PATH, NULL, 0);
}

/* ------------------------------------------------------------------- processes */

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct process *process = client->data;

    assert_true(process->state_count < SCENE_STATES);
    sim_note(process->scene->sim, "%s is told state %d", process->name, (int)state);
    process->state_ms[process->state_count] = sim_now(process->scene->sim);
    process->states[process->state_count++] = state;
}

void process_options(uvzk_client_options_t *options)
{
    uvzk_client_options_init(options);
    options->hosts = "simulated:1";
    options->session_timeout_ms = SCENE_TIMEOUT_MS;
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.base_ms = 50;
    options->retry.max_retries = 3;
    options->state_cb = on_state;
}

void process_begin(struct process *process, struct scene *scene, const char *name,
                   const uvzk_client_options_t *options)
{
    uvzk_client_options_t usual;

    memset(process, 0, sizeof(*process));
    process_options(&usual);
    process->scene = scene;
    process->name = name;
    process->port = sim_port_new(scene->sim, name);
    process->client.data = process;
    if (options == NULL) {
        options = &usual;
    }
    sim_set_timeout(process->port, options->session_timeout_ms);
    assert_int_equal(
        uvzk__client_create(&process->client, process->port, options, scene->tuning), 0);
    assert_int_equal(uvzk_mutex_init(&process->client, &process->mutex, SCENE_PATH), 0);
    assert_int_equal(uvzk_client_start(&process->client), 0);
    process->next = scene->processes;
    scene->processes = process;
}

void process_drive(struct process *process, const uvzk_lock_driver_t *driver)
{
    uvzk__lock_free(process->mutex.impl);
    assert_int_equal(
        uvzk_driver_lock_init(&process->client, &process->mutex, SCENE_PATH, driver), 0);
}

static void on_closed(uvzk_client_t *client)
{
    struct process *process = client->data;

    process->closed++;
    process->port = NULL;
}

void process_close(struct process *process)
{
    assert_int_equal(uvzk_client_close(&process->client, on_closed), 0);
}

void process_expire(struct process *process)
{
    process->killed = true;
    assert_true(sim_expire(process->port));
}

void process_in_peace(struct process *process)
{
    (void)process;
}

void process_lose_request(struct process *process)
{
    sim_lose_request(process->port);
}

void process_lose_reply(struct process *process)
{
    sim_lose_reply(process->port);
}

void process_spoil_reply(struct process *process)
{
    sim_spoil_reply(process->port);
}

bool process_connected(const struct process *process)
{
    uvzk_client_state_t state = uvzk_client_state(&process->client);

    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

bool process_await_connected(struct process *process, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && !process_connected(process); i++) {
        pass(process->scene);
    }
    return process_connected(process);
}

bool process_was_told(const struct process *process, size_t from,
                      uvzk_client_state_t state)
{
    for (size_t i = from; i < process->state_count; i++) {
        if (process->states[i] == state) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------------- claims */

static struct claim *claim_of(uvzk_hold_t *hold)
{
    return hold->data;
}

static struct sim *sim_of(const struct claim *claim)
{
    return claim->process->scene->sim;
}

static void note_hold(struct claim *claim)
{
    struct uvzk__stat stat;

    claim->token = uvzk_hold_token(&claim->request);
    (void)snprintf(claim->path, sizeof(claim->path), "%s",
                   uvzk_hold_path(&claim->request));
    claim->owner =
        sim_stat(sim_of(claim), claim->path, &stat) ? stat.ephemeral_owner : -1;
    check_exclusion(claim->process->scene);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct claim *claim = claim_of(hold);

    sim_note(sim_of(claim), "%s is told %s", claim->process->name, uvzk_err_name(status));
    assert_int_equal(claim->acquired++, 0);
    claim->status = status;
    claim->acquired_ms = sim_now(sim_of(claim));
    if (status == 0) {
        note_hold(claim);
    }
    if (claim->hook != NULL) {
        claim->hook(claim);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct claim *claim = claim_of(hold);

    sim_note(sim_of(claim), "%s has lost the lock, %s", claim->process->name,
             uvzk_err_name(reason));
    assert_int_equal(claim->acquired, 1);
    assert_int_equal(claim->status, 0);
    assert_int_equal(claim->released, 0);
    assert_int_equal(claim->lost++, 0);
    assert_false(uvzk_hold_is_valid(hold));
    claim->reason = reason;
    claim->lost_ms = sim_now(sim_of(claim));
    if (claim->hook != NULL) {
        claim->hook(claim);
    }
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct claim *claim = claim_of(hold);

    sim_note(sim_of(claim), "%s has released, %s", claim->process->name,
             uvzk_err_name(status));
    assert_int_equal(claim->lost, 0);
    assert_int_equal(claim->released++, 0);
    claim->release_status = status;
    claim->released_ms = sim_now(sim_of(claim));
    claim->stood_when_released = sim_exists(sim_of(claim), claim->path);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct claim *claim = claim_of(hold);

    assert_int_equal(claim->acquired, 0);
    assert_true(ahead > 0);
    claim->queued++;
    claim->ahead = ahead;
}

void claim_begin_for(struct claim *claim, struct process *process, void *owner,
                     int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    memset(claim, 0, sizeof(*claim));
    claim->process = process;
    claim->request.data = claim;
    claim->next = process->scene->claims;
    process->scene->claims = claim;
    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.timeout_ms = timeout_ms;
    options.queued_cb = process->scene->seed % 2 == 1 ? on_queued : NULL;
    assert_int_equal(uvzk_lock_acquire(&process->mutex, &claim->request, &options,
                                       on_acquired, on_lost),
                     0);
}

void claim_begin(struct claim *claim, struct process *process, int64_t timeout_ms)
{
    claim_begin_for(claim, process, NULL, timeout_ms);
}

void claim_release(struct claim *claim)
{
    assert_int_equal(uvzk_hold_release(&claim->request, on_released), 0);
}

void claim_await_status(struct claim *claim, uint64_t ms, int status)
{
    assert_true(scene_await(claim->process->scene, &claim->acquired, ms));
    assert_int_equal(claim->status, status);
}

void claim_await(struct claim *claim, uint64_t ms)
{
    claim_await_status(claim, ms, 0);
}

void claim_take(struct claim *claim, struct process *process)
{
    claim_begin(claim, process, UVZK_WAIT_FOREVER);
    claim_await(claim, SCENE_TIMEOUT_MS);
}

void claim_give_back(struct claim *claim)
{
    claim_release(claim);
    assert_true(scene_await(claim->process->scene, &claim->released, SCENE_TIMEOUT_MS));
    assert_int_equal(claim->release_status, 0);
}
