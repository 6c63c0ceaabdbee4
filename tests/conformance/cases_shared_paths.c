/* SPDX-License-Identifier: Apache-2.0 */
/* Several watches of one port on one path. The server has one of each kind there, and a
 * removal removes that one. */
#include "base/list.h"
#include "cases.h"

static struct ask *watch(struct probe *probe, enum uvzk__rpc_kind kind, const char *path)
{
    return ask_done(ask_read(probe, kind, path, true));
}

/* Those of a kind in the order of their arming. */
void watches_of_one_path_fire_together(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *first = watch(probe, UVZK__RPC_GET, "/a");
    struct ask *children = watch(probe, UVZK__RPC_CHILDREN, "/a");
    struct ask *second = watch(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *third = watch(probe, UVZK__RPC_GET, "/a");
    world_set(probe->world, "/a");
    ask_await_event(third, UVZK__WATCH_CHANGED);
    ask_await_event(second, UVZK__WATCH_CHANGED);
    ask_await_event(first, UVZK__WATCH_CHANGED);
    assert_true(first->fired_nth < second->fired_nth);
    assert_true(second->fired_nth < third->fired_nth);
    probe_round_trip(probe);
    assert_int_equal(children->fired, 0);
    first = watch(probe, UVZK__RPC_EXISTS, "/a");
    world_delete(probe->world, "/a");
    ask_await_event(first, UVZK__WATCH_DELETED);
    ask_await_event(children, UVZK__WATCH_DELETED);
    probe_round_trip(probe);
    assert_int_equal(second->fired + third->fired, 2);
    probe_await_watches(probe, 0);
}

/* The one that is given up may be the older one or the younger one. */
void unwatch_leaves_the_others_of_the_path(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    for (int older = 0; older < 2; older++) {
        struct ask *asks[] = {watch(probe, UVZK__RPC_GET, "/a"),
                              watch(probe, UVZK__RPC_EXISTS, "/a")};
        struct ask *children = watch(probe, UVZK__RPC_CHILDREN, "/a");
        ask_unwatch(asks[older]);
        ask_unwatch(children);
        probe_round_trip(probe);
        world_set(probe->world, "/a");
        ask_await_event(asks[1 - older], UVZK__WATCH_CHANGED);
        probe_round_trip(probe);
        assert_int_equal(asks[older]->fired + children->fired, 0);
        probe_await_watches(probe, 0);
    }
}

void the_last_unwatch_of_the_path_removes_them_all(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *first = watch(probe, UVZK__RPC_GET, "/a");
    struct ask *second = watch(probe, UVZK__RPC_GET, "/a");
    struct ask *third = watch(probe, UVZK__RPC_EXISTS, "/a");
    ask_unwatch(second);
    ask_unwatch(first);
    ask_unwatch(third);
    probe_round_trip(probe);
    probe_await_watches(probe, 0);
    first = watch(probe, UVZK__RPC_GET, "/a");
    world_set(probe->world, "/a");
    ask_await_event(first, UVZK__WATCH_CHANGED);
    probe_round_trip(probe);
    assert_int_equal(second->fired + third->fired, 0);
}

/* A removal would come behind the request of the other one. */
void unwatch_while_another_is_being_armed(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *old = watch(probe, UVZK__RPC_GET, "/a");
    struct ask *next = ask_read(probe, UVZK__RPC_GET, "/a", true);
    ask_unwatch(old);
    (void)ask_done(next);
    probe_round_trip(probe);
    world_set(probe->world, "/a");
    ask_await_event(next, UVZK__WATCH_CHANGED);
    assert_int_equal(old->fired, 0);
    probe_await_watches(probe, 0);
}

void watches_are_armed_behind_a_removal(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *old = watch(probe, UVZK__RPC_GET, "/a");
    ask_unwatch(old);
    struct ask *first = ask_read(probe, UVZK__RPC_GET, "/a", true);
    struct ask *second = ask_read(probe, UVZK__RPC_EXISTS, "/a", true);
    (void)ask_done(second);
    ask_unwatch(first);
    probe_round_trip(probe);
    world_set(probe->world, "/a");
    ask_await_event(second, UVZK__WATCH_CHANGED);
    assert_int_equal(old->fired + first->fired, 0);
}

/* The get arms nothing, and nobody else wants the watch of the exists. */
void unwatch_while_another_fails_to_be_armed(void **state)
{
    struct probe *probe = connected(state);
    struct ask *missing = watch_on(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *failing = ask_read(probe, UVZK__RPC_GET, "/a", true);
    ask_unwatch(missing);
    assert_int_equal(ask_wait(failing), UVZK_ENONODE);
    assert_null(failing->watch.armed);
    probe_round_trip(probe);
    probe_await_watches(probe, 0);
    world_create(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(missing->fired + failing->fired, 0);
}

void watches_of_one_path_survive_a_disconnection(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/b");
    struct ask *missed[] = {watch(probe, UVZK__RPC_GET, "/a"),
                            watch(probe, UVZK__RPC_GET, "/a"),
                            watch(probe, UVZK__RPC_CHILDREN, "/a")};
    struct ask *given_up = watch(probe, UVZK__RPC_GET, "/b");
    struct ask *kept = watch(probe, UVZK__RPC_EXISTS, "/b");
    probe_lose(probe);
    ask_unwatch(given_up);
    ask_unwatch(missed[0]);
    world_delete(probe->world, "/a");
    world_restore(probe->world);
    ask_await_event(missed[1], UVZK__WATCH_DELETED);
    ask_await_event(missed[2], UVZK__WATCH_DELETED);
    probe_round_trip(probe);
    assert_int_equal(kept->fired, 0);
    world_set(probe->world, "/b");
    ask_await_event(kept, UVZK__WATCH_CHANGED);
    probe_round_trip(probe);
    assert_int_equal(missed[0]->fired + given_up->fired, 0);
    probe_await_watches(probe, 0);
}

static struct ask *next_one;

/* A callback gives up the next one. */
static void fired_first(struct uvzk__watch *fired, enum uvzk__watch_event event)
{
    struct ask *ask = UVZK__CONTAINER_OF(fired, struct ask, watch);
    (void)event;
    ask->fired++;
    ask_unwatch(next_one);
}

void unwatch_inside_the_event_of_the_path(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *first = watch(probe, UVZK__RPC_GET, "/a");
    struct ask *second = watch(probe, UVZK__RPC_GET, "/a");
    first->watch.watch_cb = fired_first;
    next_one = second;
    world_set(probe->world, "/a");
    probe_await(probe, &first->fired, 1);
    probe_round_trip(probe);
    assert_int_equal(first->fired, 1);
    assert_int_equal(second->fired, 0);
    probe_await_watches(probe, 0);
}
