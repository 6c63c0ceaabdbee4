/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent watches: they fire for each change in a directory, in the order of the
 * changes, until they are removed or the connection ends. A port that has none says so. */
#include <string.h>

#include "cases.h"

/* A persistent watch on this path, in a directory that others may have made. Skips the
 * test if the port has none. */
static struct ask *follow(struct probe *probe, const char *path)
{
    struct ask *ask = ask_add_watch(probe, path);
    int status = ask_wait(ask);

    if (!world_has_persistent_watches()) {
        assert_int_equal(status, UVZK_EUNIMPLEMENTED);
        assert_null(ask->watch.armed);
        skip(); /* the C client has no such request: that it says so is all there is */
    }
    assert_int_equal(status, 0);
    assert_non_null(ask->watch.armed);
    (void)probe_said(probe);
    return ask;
}

/* Of the directory too, and of nothing deeper. */
void persistent_watch_hears_of_children(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b", "/aa");
    struct ask *watch = follow(probe, "/a");
    world_set(probe->world, "/a/b");
    world_create(probe->world, "/a/c");
    world_create(probe->world, "/a/c/d");
    world_set(probe->world, "/a/c/d");
    world_delete(probe->world, "/a/c/d");
    world_set(probe->world, "/aa");
    world_delete(probe->world, "/a/b");
    world_set(probe->world, "/a");
    probe_await(probe, &watch->fired, 4);
    assert_string_equal(probe_said(probe),
                        "watch /a b: changed; watch /a c: created; watch /a b: deleted; "
                        "watch /a: changed");
    probe_round_trip(probe);
    assert_int_equal(watch->fired, 4);
}

/* Of what the port's own requests do, and of each op of a multi. */
void persistent_watch_hears_before_the_reply(void **state)
{
    const struct uvzk__op op = op_create("/a/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    const struct uvzk__op ops[] = {op, op};
    struct probe *probe = CONNECTED_WITH("/a");
    (void)follow(probe, "/a");
    (void)ask_done(ask_multi(probe, ops, 2));
    (void)ask_done(ask_delete(probe, "/a/n-0000000000", -1));
    assert_string_equal(
        probe_said(probe),
        "watch /a n-0000000000: created; watch /a n-0000000001: created; multi: ok; "
        "watch /a n-0000000000: deleted; delete /a/n-0000000000: ok");
}

void persistent_watch_on_what_is_missing(void **state)
{
    struct probe *probe = connected(state);
    struct ask *watch = follow(probe, "/a");
    world_create(probe->world, "/a");
    world_create(probe->world, "/a/b");
    world_delete(probe->world, "/a/b");
    world_delete(probe->world, "/a");
    world_create(probe->world, "/a");
    probe_await(probe, &watch->fired, 5);
    assert_string_equal(probe_said(probe),
                        "watch /a: created; watch /a b: created; watch /a b: deleted; "
                        "watch /a: deleted; watch /a: created");
}

/* Each hears of the child, the one on the child once. */
void persistent_watch_beside_one_on_a_child(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b");
    struct ask *directory = follow(probe, "/a");
    struct ask *child = watch_on(probe, UVZK__RPC_GET, "/a/b");
    world_set(probe->world, "/a/b");
    ask_await_event(child, UVZK__WATCH_CHANGED);
    probe_await(probe, &directory->fired, 1);
    child = watch_on(probe, UVZK__RPC_CHILDREN, "/a/b");
    world_create(probe->world, "/a/b/c");
    ask_await_event(child, UVZK__WATCH_CHILDREN);
    assert_int_equal(directory->fired, 1);
    child = watch_on(probe, UVZK__RPC_GET, "/a/b");
    ask_unwatch(child);
    world_delete(probe->world, "/a/b/c");
    world_delete(probe->world, "/a/b");
    probe_await(probe, &directory->fired, 2);
    assert_int_equal(directory->event, UVZK__WATCH_DELETED);
}

/* Then the path may have a watch of another kind, or such a one again. */
void persistent_watch_is_removed(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *watch = follow(probe, "/a");
    ask_unwatch(watch);
    world_create(probe->world, "/a/b");
    probe_round_trip(probe);
    assert_int_equal(watch->fired, 0);
    probe_await_watches(probe, 0);
    struct ask *once = watch_on(probe, UVZK__RPC_GET, "/a");
    world_set(probe->world, "/a");
    ask_await_event(once, UVZK__WATCH_CHANGED);
    watch = follow(probe, "/a");
    world_delete(probe->world, "/a/b");
    probe_await(probe, &watch->fired, 1);
    assert_int_equal(watch->event, UVZK__WATCH_DELETED);
}

void persistent_watch_is_given_up_unanswered(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    (void)follow(probe, "/a/first");
    struct ask *watch = ask_add_watch(probe, "/a");
    ask_unwatch(watch);
    assert_int_equal(ask_wait(watch), 0);
    world_create(probe->world, "/a/b");
    probe_round_trip(probe);
    assert_int_equal(watch->fired, 0);
}

/* It is not armed again, and nothing of what happened meanwhile is reported. */
void persistent_watch_ends_with_the_connection(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *watch = follow(probe, "/a");
    probe_lose(probe);
    assert_null(watch->watch.armed);
    world_create(probe->world, "/a/b");
    probe_regain(probe);
    world_create(probe->world, "/a/c");
    probe_round_trip(probe);
    assert_int_equal(watch->fired, 0);
    ask_unwatch(watch); /* nothing is armed: nothing happens */
    watch = follow(probe, "/a");
    world_create(probe->world, "/a/d");
    probe_await(probe, &watch->fired, 1);
    assert_string_equal(probe_said(probe), "watch /a d: created");
}

void persistent_watch_ends_with_the_session(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *watch = follow(probe, "/a");
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    assert_null(watch->watch.armed);
    assert_int_equal(watch->fired, 0);
}
