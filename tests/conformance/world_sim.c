/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>

#include "sim.h"

#define LOST_MS 40U
#define PATIENCE_MS 60000U

struct world {
    struct sim *sim;
    struct uvzk__port *port;
};

static uint64_t seed = 1;

int world_begin(void)
{
    return 0;
}

void world_end(void)
{
}

struct world *world_new(void)
{
    struct world *world = calloc(1, sizeof(*world));
    world->sim = sim_new(seed++, NULL);
    world->port = sim_port_new(world->sim, "port");
    return world;
}

struct uvzk__port *world_port(struct world *world)
{
    return world->port;
}

bool world_free(struct world *world)
{
    sim_free(world->sim); /* aborts if the port is still there */
    free(world);
    return true;
}

bool world_run_until(struct world *world, bool (*condition)(void *), void *context)
{
    uint64_t deadline = sim_now(world->sim) + PATIENCE_MS;
    while (!condition(context)) {
        if (sim_now(world->sim) > deadline || !sim_step(world->sim)) {
            return condition(context);
        }
    }
    return true;
}

void world_run_for(struct world *world, unsigned ms)
{
    sim_run_for(world->sim, ms);
}

void world_lose(struct world *world)
{
    sim_disconnect(world->port, SIM_RESET, LOST_MS);
}

void world_restore(struct world *world)
{
    (void)world;
}

void world_move(struct world *world)
{
    sim_replace_handle(world->port);
    world_lose(world);
}

bool world_has_persistent_watches(void)
{
    return true;
}

bool world_rearms_any_number(void)
{
    return true;
}

bool world_moves_by_a_new_handle(void)
{
    return true;
}

void world_move_late(struct world *world)
{
    sim_reconnect_unreported(world->port);
    world_lose(world);
}

void world_expire(struct world *world)
{
    sim_expire(world->port);
}

void world_stand_direct(bool direct)
{
    (void)direct;
}

void world_have_long_sessions(bool have)
{
    (void)have;
}

bool world_expire_unheard(struct world *world)
{
    return sim_expire_connected(world->port);
}

void world_create(struct world *world, const char *path)
{
    sim_create_by_hand(world->sim, path, UVZK__PERSISTENT);
}

void world_set(struct world *world, const char *path)
{
    sim_set_by_hand(world->sim, path, "changed", 7);
}

void world_delete(struct world *world, const char *path)
{
    sim_delete_by_hand(world->sim, path);
}

bool world_forgives(void)
{
    return false;
}

long world_watch_count(struct world *world)
{
    return (long)sim_watch_count(world->sim);
}
