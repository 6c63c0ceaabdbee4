#include "waiters.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#define STRANGER "/_c_0123456789abcdef0123456789abcdef-"

/* ------------------------------------------------------------------- the world */

static void on_closed(uvzk_client_t *client)
{
    ((struct world *)client->data)->closed++;
}

/* A znode on the way may stand already. */
static void make_directory(struct world *world, const char *path)
{
    char way[256];

    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] == '/' || path[i] == '\0') {
            (void)snprintf(way, sizeof(way), "%.*s", (int)i, path);
            (void)sim_create_by_hand(world->sim, way, UVZK__PERSISTENT);
        }
    }
    assert_int_equal(sim_set_counter(world->sim, path, 1), 0);
}

void world_begin(struct world *world, unsigned tuning, const char *const *paths)
{
    static const char *const names[CLIENTS] = {"a", "b"};
    struct sim_options settings;
    uvzk_client_options_t options;

    memset(world, 0, sizeof(*world));
    sim_options_init(&settings);
    settings.latency_min_ms = settings.latency_max_ms = LATENCY_MS;
    settings.alarm_late_max_ms = 0;
    settings.tick_ms = TICK_MS;
    settings.trace_lines = 10;
    world->sim = sim_new(1, &settings);
    for (; *paths != NULL; paths++) {
        make_directory(world, *paths);
    }
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = SESSION_MS;
    for (int i = 0; i < CLIENTS; i++) {
        world->ports[i] = sim_port_new(world->sim, names[i]);
        sim_set_timeout(world->ports[i], SESSION_MS);
        world->clients[i].data = world;
        assert_int_equal(
            uvzk__client_create(&world->clients[i], world->ports[i], &options, tuning),
            0);
        assert_int_equal(uvzk_client_start(&world->clients[i]), 0);
    }
    sim_run_for(world->sim, 1000);
}

void world_end(struct world *world)
{
    sim_run_for(world->sim, 5000);
    for (int i = 0; i < CLIENTS; i++) {
        uvzk_client_stats_t stats;
        uvzk_client_stats(&world->clients[i], &stats);
        assert_int_equal(stats.contenders, 0);
        assert_int_equal(uvzk_client_close(&world->clients[i], on_closed), 0);
    }
    sim_run_for(world->sim, 2 * SESSION_MS);
    assert_int_equal(world->closed, CLIENTS);
    assert_int_equal(sim_watch_count(world->sim), 0);
    assert_int_equal(sim_session_count(world->sim), 0);
    sim_free(world->sim);
}

/* ------------------------------------------------------------------- the waiters */

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct waiter *waiter = hold->data;

    waiter->told = true;
    waiter->status = status;
    waiter->holds = status == 0;
    waiter->granted_ms = sim_now(waiter->sim);
    if (waiter->hook != NULL) {
        waiter->hook(waiter);
    }
}

static void on_over(uvzk_hold_t *hold, int status)
{
    struct waiter *waiter = hold->data;

    (void)status;
    waiter->holds = false;
    if (waiter->hook != NULL) {
        waiter->hook(waiter);
    }
}

int waiter_request(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                   uint32_t leases, void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.leases = leases;
    options.owner = owner;
    memset(&waiter->request, 0, sizeof(waiter->request));
    waiter->request.data = waiter;
    waiter->sim = world->sim;
    waiter->told = waiter->holds = false;
    return uvzk_lock_acquire(lock, &waiter->request, &options, on_acquired, on_over);
}

void waiter_ask(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                uint32_t leases, void *owner)
{
    assert_int_equal(waiter_request(waiter, world, lock, leases, owner), 0);
}

void waiter_let_go(struct waiter *waiter)
{
    if (waiter->holds) {
        assert_int_equal(uvzk_hold_release(&waiter->request, on_over), 0);
    } else if (!waiter->told) {
        assert_int_equal(uvzk_hold_cancel(&waiter->request), 0);
    }
}

void waiter_take(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                 uint32_t leases)
{
    waiter_ask(waiter, world, lock, leases, NULL);
    assert_true(all_hold_by(world, waiter, 1, sim_now(world->sim) + 1000));
}

bool all_hold_by(struct world *world, const struct waiter *waiters, size_t count,
                 uint64_t by_ms)
{
    size_t held = 0;
    uint64_t from_ms = sim_now(world->sim);

    sim_run_until(world->sim, by_ms);
    for (size_t i = 0; i < count; i++) {
        held += waiters[i].holds;
    }
    if (held == count) {
        return true;
    }
    print_error("%zu of %zu hold after %d ms\n", held, count, (int)(by_ms - from_ms));
    sim_run_for(world->sim, 60000);
    uint64_t last_ms = 0;
    held = 0;
    for (size_t i = 0; i < count; i++) {
        held += waiters[i].holds;
        last_ms = waiters[i].holds && waiters[i].granted_ms > last_ms
                      ? waiters[i].granted_ms
                      : last_ms;
    }
    print_error("%zu of %zu hold after a minute, the last of them after %d ms\n", held,
                count, (int)(last_ms - from_ms));
    return false;
}

/* ----------------------------------------------------------------- the foreigners */

static const char *foreigner(struct world *world, const char *directory, const char *end)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s" STRANGER "%s", directory, end);
    const char *made = sim_create_by_hand(world->sim, path, UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(made);
    return made;
}

const char *foreign_mutex(struct world *world, const char *directory)
{
    return foreigner(world, directory, "lock-");
}

const char *foreign_writer(struct world *world, const char *directory)
{
    return foreigner(world, directory, "__WRIT__");
}

const char *foreign_reader(struct world *world, const char *directory)
{
    return foreigner(world, directory, "__READ__");
}

const char *foreign_lease(struct world *world, const char *directory)
{
    return foreigner(world, directory, "lease-");
}

void foreigner_goes(struct world *world, const char *path)
{
    char copy[256]; /* the path goes with the znode */

    (void)snprintf(copy, sizeof(copy), "%s", path);
    assert_int_equal(sim_delete_by_hand(world->sim, copy), 0);
}
