/* SPDX-License-Identifier: Apache-2.0 */
#include "world_probe.h"

static bool run_until(void *place, bool (*condition)(void *), void *context)
{
    return world_run_until(place, condition, context);
}

struct probe *probe_in_world(void)
{
    struct world *world = world_new();

    return probe_over(world_port(world), world, run_until);
}

void probe_connect(struct probe *probe)
{
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 1);
}

struct probe *probe_in_world_connected(void)
{
    struct probe *probe = probe_in_world();

    probe_connect(probe);
    return probe;
}

void probe_leave(struct probe *probe)
{
    struct world *world = probe->world;

    probe_end(probe);
    assert_true(world_free(world));
}

void probe_lose(struct probe *probe)
{
    unsigned before = probe->sessions[UVZK__SESSION_SUSPENDED];

    world_lose(probe->world);
    probe_await_session(probe, UVZK__SESSION_SUSPENDED, before + 1);
}

void probe_regain(struct probe *probe)
{
    unsigned before = probe->sessions[UVZK__SESSION_CONNECTED];

    world_restore(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, before + 1);
}

void probe_reconnect(struct probe *probe)
{
    probe_lose(probe);
    probe_regain(probe);
}

void probe_round_trip(struct probe *probe)
{
    (void)ask_done(ask_sync(probe, "/"));
}

struct wish {
    struct world *world;
    long count;
};

static bool watches_are(void *context)
{
    const struct wish *wish = context;

    return world_watch_count(wish->world) == wish->count;
}

void probe_await_watches(struct probe *probe, long count)
{
    struct wish wish = {probe->world, count};

    assert_true(world_run_until(probe->world, watches_are, &wish));
}
