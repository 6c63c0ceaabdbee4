/* A process of a simulated world: a client over the simulator's port and its locks. The
 * tests, world.c and value_process.c call it.
 *
 * The one idea: a process is a plain record. Each state that the client reports is
 * appended to it with the virtual time, and each fault is one call, so that a test can
 * put faults into a table of functions. */
#include "process.h"

#include "directory/queue.h"

#include <string.h>

#include "claim/lock.h"
#include "world.h"

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct process *process = client->data;

    world_note(process->world, "%s is told state %d", process->name, (int)state);
    /* After LOST the client knows that its holds have ended, so they are checked
     * again. */
    process->killed = process->killed && state != UVZK_STATE_LOST;
    assert_true(process->state_count < PROCESS_STATES);
    process->state_ms[process->state_count] = world_now(process->world);
    process->states[process->state_count++] = state;
}

void process_options(uvzk_client_options_t *options)
{
    uvzk_client_options_init(options);
    options->hosts = "simulated:1";
    options->session_timeout_ms = WORLD_TIMEOUT_MS;
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.base_ms = 50;
    options->retry.max_retries = 3;
    options->state_cb = on_state;
}

void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options)
{
    uvzk_client_options_t usual;

    process_options(&usual);
    /* `usual` lives as long as this function; the client copies the options. */
    if (options == NULL) {
        options = &usual;
    }
    memset(process, 0, sizeof(*process));
    process->world = world;
    process->name = name;
    process->sessions = options->sessions == 0 ? 1 : options->sessions;
    for (uint32_t i = 0; i < process->sessions; i++) {
        process->ports[i] = sim_port_new(world->sim, name);
        sim_set_timeout(process->ports[i], options->session_timeout_ms);
    }
    process->port = process->ports[0];
    process->client.data = process;
    process->mutex.data = process;
    assert_int_equal(uvzk__client_create_over(&process->client, process->ports,
                                              process->sessions, options, world->tuning),
                     0);
    assert_int_equal(uvzk_mutex_init(&process->client, &process->mutex, WORLD_PATH), 0);
    process->next = world->processes;
    world->processes = process;
}

void process_start(struct process *process)
{
    assert_int_equal(uvzk_client_start(&process->client), 0);
}

void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options)
{
    process_make(process, world, name, options);
    process_start(process);
}

/* Frees the lock at once instead of closing it, because it has never been used. */
int process_drive(struct process *process, const uvzk_lock_driver_t *driver)
{
    process->persistent = driver->mode == UVZK_NODE_PERSISTENT_SEQUENTIAL;
    uvzk__lock_free(process->mutex.impl);
    return uvzk_driver_lock_init(&process->client, &process->mutex, WORLD_PATH, driver);
}

void process_make_cohort(struct process *process, uint32_t handovers, uint32_t ms)
{
    uvzk__lock_free(process->mutex.impl);
    assert_int_equal(uvzk_mutex_init_cohort(&process->client, &process->mutex, WORLD_PATH,
                                            handovers, ms),
                     0);
}

void process_make_rwlock(struct process *process, const char *path)
{
    assert_int_equal(uvzk_rwlock_init(&process->client, &process->rwlock, path), 0);
}

void process_make_semaphore(struct process *process, const char *path, uint32_t leases)
{
    assert_int_equal(
        uvzk_semaphore_init(&process->client, &process->semaphore, path, leases, NULL),
        0);
}

void process_take_turn(struct process *process)
{
    struct hold hold;

    hold_take(&hold, process);
    hold_give_back(&hold);
}

static void on_closed(uvzk_client_t *client)
{
    struct process *process = client->data;

    process->closed++;
    /* The port has freed itself. */
    process->port = NULL;
}

void process_close(struct process *process)
{
    process->closing = true;
    assert_int_equal(uvzk_client_close(&process->client, on_closed), 0);
}

static void on_mutex_closed(uvzk_mutex_t *mutex)
{
    struct process *process = mutex->data;

    process->mutex_closed++;
}

void process_close_mutex(struct process *process)
{
    assert_int_equal(uvzk_lock_close(&process->mutex, on_mutex_closed), 0);
}

bool process_connected(const struct process *process)
{
    uvzk_client_state_t state = uvzk_client_state(&process->client);

    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

bool process_await_connected(struct process *process, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && !process_connected(process); i++) {
        world_run_for(process->world, 1);
    }
    return process_connected(process);
}

void process_await_line(struct process *process, size_t from, const char *text,
                        uint64_t ms)
{
    if (!world_await_line(process->world, from, process->name, text, ms)) {
        world_fail(process->world, "%s: no line \"%s\"", process->name, text);
    }
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

uvzk_client_stats_t process_stats(const struct process *process)
{
    uvzk_client_stats_t stats;

    uvzk_client_stats(&process->client, &stats);
    return stats;
}

uvzk_client_metrics_t process_metrics(struct process *process)
{
    uvzk_client_metrics_t metrics;

    uvzk_client_metrics_init(&metrics);
    assert_int_equal(uvzk_client_metrics(&process->client, &metrics), 0);
    return metrics;
}

uint64_t process_contenders(const struct process *process)
{
    return process_stats(process).contenders;
}

uint64_t process_watches(const struct process *process)
{
    return process_stats(process).watches;
}

uint64_t process_watermarks(const struct process *process)
{
    const struct uvzk__session *session = process->client.impl;
    const struct uvzk__queue *queue =
        session == NULL ? NULL : uvzk__catalogue_first(&session->directories->catalogue);
    uint64_t count = 0;

    for (; queue != NULL;
         queue = uvzk__catalogue_next(&session->directories->catalogue, queue)) {
        count += uvzk__watermark_watches(queue);
    }
    return count;
}

void process_expire(struct process *process)
{
    process->killed = true;
    assert_true(sim_expire(process->port));
}

void process_no_fault(struct process *process)
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

void process_reply_enomem(struct process *process)
{
    sim_reply_enomem(process->port);
}

void process_reset(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, process->world->outage_ms);
}

void process_silence(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, process->world->outage_ms);
}

void process_lose_servers(struct process *process)
{
    sim_restart(process->world->sim, process->world->outage_ms);
}

void process_lose_leader(struct process *process)
{
    sim_follower_cut(process->port, process->world->outage_ms);
}
