#include "process.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct process *process = client->data;

    world_note(process->world, "%s is told state %d", process->name, (int)state);
    if (process->state_count < PROCESS_STATES) {
        process->states[process->state_count++] = state;
    }
    process->connected += state == UVZK_STATE_CONNECTED;
    process->suspended += state == UVZK_STATE_SUSPENDED;
    process->reconnected += state == UVZK_STATE_RECONNECTED;
    process->lost += state == UVZK_STATE_LOST;
}

static void on_log(uvzk_client_t *client, int level, const char *line)
{
    struct process *process = client->data;

    world_note(process->world, "%s logs %d: %s", process->name, level, line);
}

void process_options(uvzk_client_options_t *options)
{
    uvzk_client_options_init(options);
    options->hosts = servers_hosts();
    options->session_timeout_ms = PROCESS_SESSION_MS;
    options->tick_ms = servers_tick_ms();
    options->state_cb = on_state;
    options->log_cb = getenv("UVZK_VERBOSE") != NULL ? on_log : NULL;
}

void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options)
{
    memset(process, 0, sizeof(*process));
    process->world = world;
    process->name = name;
    process->client.data = process;
    process->mutex.data = process;
    assert_int_equal(uvzk_client_init(world->loop, &process->client,
                                      options == NULL ? &world->options : options),
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
    process_forget(process);
}

void process_close(struct process *process)
{
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
    if (uvzk_client_state(&process->client) != UVZK_STATE_CLOSED) {
        process_close(process);
    }
    assert_true(world_await(process->world, &process->closed, PATIENCE_MS));
}

uvzk_client_stats_t process_stats(const struct process *process)
{
    uvzk_client_stats_t stats;

    uvzk_client_stats(&process->client, &stats);
    return stats;
}

void process_assert_idle(struct process *process)
{
    uint64_t since = world_now(process->world);
    uvzk_client_stats_t stats = process_stats(process);

    /* Contenders are deleted in the background after a release, and watches are removed
     * then. */
    while (stats.contenders + stats.watches != 0) {
        if (!world_turn(process->world, since)) {
            world_fail(process->world, "%s: contenders or watches left", process->name);
        }
        stats = process_stats(process);
    }
}

struct plea {
    uvzk_revoke_t request;
    int told, status;
};

static void on_asked(uvzk_revoke_t *request, int status)
{
    struct plea *plea = request->data;

    plea->told++;
    plea->status = status;
}

int process_revoke(struct process *process, const char *node_path)
{
    struct plea plea = {.told = 0};

    plea.request.data = &plea;
    assert_int_equal(
        uvzk_client_revoke(&process->client, &plea.request, node_path, on_asked), 0);
    assert_true(world_await(process->world, &plea.told, PATIENCE_MS));
    return plea.status;
}

void process_expire(struct process *process)
{
    const struct proxy *proxy = &process->world->proxy;

    assert_true(proxy->session_id == uvzk_client_session_id(&process->client));
    assert_int_equal(
        raw_expire_session(servers_hosts(), proxy->session_id, proxy->session_password),
        0);
}
