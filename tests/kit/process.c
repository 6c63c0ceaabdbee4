/* SPDX-License-Identifier: Apache-2.0 */
/* A process of a test (process.h). Tests, world.c and, in sim/kit, value_process.c call it.
 *
 * The one idea: a process is a plain record. Each state that the client reports is
 * appended to it with the time, and what a process needs of the servers is a function of
 * its world, so that a test reads the same over both. */
#include "process.h"

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
    process->connected += state == UVZK_STATE_CONNECTED;
    process->suspended += state == UVZK_STATE_SUSPENDED;
    process->reconnected += state == UVZK_STATE_RECONNECTED;
    process->lost += state == UVZK_STATE_LOST;
}

void process_options(uvzk_client_options_t *options)
{
    uvzk_client_options_init(options);
    world_client_options(options);
    options->state_cb = on_state;
}

void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options)
{
    memset(process, 0, sizeof(*process));
    process->world = world;
    process->name = name;
    process->client.data = process;
    process->mutex.data = process;
    assert_int_equal(
        world_create_client(world, process, options == NULL ? &world->options : options),
        0);
    assert_int_equal(uvzk_mutex_init(&process->client, &process->mutex, world->path), 0);
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
    return uvzk_lock_init_with_driver(&process->client, &process->mutex,
                                      process->world->path, driver);
}

void process_make_cohort(struct process *process, uint32_t handovers, uint32_t ms)
{
    uvzk__lock_free(process->mutex.impl);
    assert_int_equal(uvzk_mutex_init_with_cohort(&process->client, &process->mutex,
                                                 process->world->path, handovers, ms),
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

void process_forget(struct process *process)
{
    struct process **at = &process->world->processes;

    while (*at != process) {
        at = &(*at)->next;
    }
    *at = process->next;
}

static void on_closed(uvzk_client_t *client)
{
    struct process *process = client->data;

    assert_ptr_equal(client, &process->client);
    process->closed++;
    process->port = NULL; /* the port has freed itself */
    process_forget(process);
}

void process_close(struct process *process)
{
    process->closing = true;
    assert_int_equal(uvzk_client_close(&process->client, on_closed), 0);
    assert_int_equal(process->closed, 0);
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

void process_end(struct process *process)
{
    if (!process->closing) {
        process_close(process);
    }
    if (!world_await(process->world, &process->closed, WORLD_TIMEOUT_MS)) {
        world_fail(process->world, "%s is never closed", process->name);
    }
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

uvzk_client_metrics_t process_metrics(const struct process *process)
{
    uvzk_client_metrics_t metrics;

    uvzk_client_metrics_init(&metrics);
    (void)uvzk_client_metrics(&process->client, &metrics);
    return metrics;
}

uint64_t process_contenders(const struct process *process)
{
    return process_metrics(process).contenders;
}

uint64_t process_watches(const struct process *process)
{
    return process_metrics(process).watches;
}

struct revoke_call {
    uvzk_req_t request;
    int told, status;
};

static void on_revoke(uvzk_req_t *request, int status)
{
    struct revoke_call *call = request->data;

    call->told++;
    call->status = status;
}

int process_revoke(struct process *process, const char *node_path)
{
    struct revoke_call call = {.request = {.data = &call}};

    assert_int_equal(
        uvzk_client_revoke(&process->client, &call.request, node_path, on_revoke), 0);
    assert_true(world_await(process->world, &call.told, WORLD_TIMEOUT_MS));
    return call.status;
}

void process_expire(struct process *process)
{
    process->killed = true;
    world_expire(process->world, process);
}
