/* SPDX-License-Identifier: Apache-2.0 */
#include "barrier_kit.h"

#include <string.h>

#include "sim.h"

#define PATIENCE_MS 120000U
#define MEMBERS_MAX 64

void call_prepare(struct recorded_call *recorded, struct world *world)
{
    memset(recorded, 0, sizeof(*recorded));
    recorded->call.data = recorded;
    recorded->world = world;
    recorded->status = BARRIER_NO_STATUS;
}

void call_told(uvzk_req_t *call, int status)
{
    struct recorded_call *recorded = call->data;

    world_note(recorded->world, "a call on a barrier says %s", uvzk_err_name(status));
    if (recorded->told > 0 || call->impl != NULL || status > 0) {
        world_fail(recorded->world, "the callback of a call out of order");
    }
    recorded->told++;
    recorded->status = status;
    recorded->told_ms = world_now(recorded->world);
    if (recorded->hook != NULL) {
        recorded->hook(recorded);
    }
}

void call_await(struct recorded_call *recorded, int status)
{
    if (!world_await_count(recorded->world, &recorded->told, 1, PATIENCE_MS)) {
        world_fail(recorded->world, "a call is never answered");
    }
    assert_int_equal(recorded->status, status);
}

void call_set(struct recorded_call *recorded, struct world *world,
              uvzk_barrier_t *barrier)
{
    call_prepare(recorded, world);
    assert_int_equal(uvzk_barrier_set(barrier, &recorded->call, call_told), 0);
}

void call_remove(struct recorded_call *recorded, struct world *world,
                 uvzk_barrier_t *barrier)
{
    call_prepare(recorded, world);
    assert_int_equal(uvzk_barrier_remove(barrier, &recorded->call, call_told), 0);
}

void call_wait(struct recorded_call *recorded, struct world *world,
               uvzk_barrier_t *barrier, int64_t timeout_ms)
{
    call_prepare(recorded, world);
    assert_int_equal(uvzk_barrier_wait(barrier, &recorded->call, timeout_ms, call_told),
                     0);
}

void call_enter(struct recorded_call *recorded, struct world *world,
                uvzk_double_barrier_t *barrier, int64_t timeout_ms)
{
    call_prepare(recorded, world);
    assert_int_equal(
        uvzk_double_barrier_enter(barrier, &recorded->call, timeout_ms, call_told), 0);
}

void call_leave(struct recorded_call *recorded, struct world *world,
                uvzk_double_barrier_t *barrier, int64_t timeout_ms)
{
    call_prepare(recorded, world);
    assert_int_equal(
        uvzk_double_barrier_leave(barrier, &recorded->call, timeout_ms, call_told), 0);
}

size_t barrier_members(const struct world *world)
{
    return sim_children(world->sim, BARRIER_PATH, NULL, 0) -
           sim_exists(world->sim, BARRIER_READY);
}

bool barrier_is_ready(const struct world *world)
{
    return sim_exists(world->sim, BARRIER_READY);
}

void barrier_create_by_hand(const struct world *world, const char *path,
                            enum uvzk__mode mode)
{
    (void)sim_create_by_hand(world->sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(world->sim, "/app/barriers", UVZK__PERSISTENT);
    (void)sim_create_by_hand(world->sim, BARRIER_PATH, UVZK__PERSISTENT);
    if (strcmp(path, BARRIER_PATH) != 0) {
        assert_non_null(sim_create_by_hand(world->sim, path, mode));
    }
    assert_true(sim_exists(world->sim, path));
}

void barrier_delete_by_hand(const struct world *world, const char *path)
{
    assert_int_equal(sim_delete_by_hand(world->sim, path), 0);
}

void barrier_await_members(struct world *world, size_t members)
{
    uint64_t until = world_now(world) + PATIENCE_MS;

    while (barrier_members(world) != members && world_now(world) < until) {
        world_run_for(world, 1);
    }
    assert_int_equal(barrier_members(world), members);
}
