/* Watches: once, after the reply that arms them, and never after unwatch. */
#include "cases.h"

static struct user *connected(void **state)
{
    struct user *user = *state;
    assert_true(user_connect(user));
    return user;
}

static int watch(struct ask *ask, struct user *user, enum uvzk__rpc_kind kind,
                 const char *path)
{
    ask_init(ask, user, kind, path);
    ask_watch(ask);
    return ask_run(ask);
}

/* A round trip: what the server had to say before it has been told after. */
static void assert_round_trip(struct user *user)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_SYNC, "/");
    assert_int_equal(ask_run(&ask), 0);
}

void watch_fires_once_after_its_reply(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    assert_int_equal(watch(&ask, user, UVZK__RPC_GET, "/a"), 0);
    assert_non_null(ask.watch.armed);
    assert_true(user_wait_watch_count(user, 1));
    world_set(user->world, "/a");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CHANGED);
    world_set(user->world, "/a");
    world_delete(user->world, "/a");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 1);
    assert_true(user_wait_watch_count(user, 0));
}

void watch_waits_for_creation(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(watch(&ask, user, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    world_create(user->world, "/a");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CREATED);
    assert_int_equal(watch(&ask, user, UVZK__RPC_EXISTS, "/a"), 0);
    world_delete(user->world, "/a");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_DELETED);
}

void watch_on_children(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    world_set(user->world, "/a");
    world_create(user->world, "/a/b");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CHILDREN);
}

void watch_of_a_failed_get_is_not_armed(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(watch(&ask, user, UVZK__RPC_GET, "/a"), UVZK_ENONODE);
    assert_null(ask.watch.armed);
    world_create(user->world, "/a");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 0);
    assert_int_equal(world_watch_count(user->world), 0);
}

/* ------------------------------------------------------------------ unwatch */

void unwatch_silences(void **state)
{
    struct user *user = connected(state);
    struct ask ask, list;
    world_create(user->world, "/a");
    world_create(user->world, "/b");
    assert_int_equal(watch(&ask, user, UVZK__RPC_EXISTS, "/a"), 0);
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/b"), 0);
    assert_true(user_wait_watch_count(user, 2));
    ask_unwatch(&ask);
    ask_unwatch(&list);
    assert_null(ask.watch.armed);
    assert_true(user_wait_watch_count(user, 0));
    world_delete(user->world, "/a");
    world_create(user->world, "/b/c");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 0);
    assert_int_equal(list.fired, 0);
    ask_unwatch(&ask); /* nothing is armed: nothing happens */
}

void unwatch_before_the_reply(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    ask_init(&ask, user, UVZK__RPC_GET, "/a");
    ask_watch(&ask);
    ask_submit(&ask);
    ask_unwatch(&ask);
    assert_null(ask.watch.armed);
    assert_true(ask_wait(&ask));
    assert_int_equal(ask.status, 0);
    assert_round_trip(user);
    assert_true(user_wait_watch_count(user, 0));
    world_set(user->world, "/a");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 0);
}

void unwatch_then_watch_again(void **state)
{
    struct user *user = connected(state);
    struct ask old, new;
    world_create(user->world, "/a");
    assert_int_equal(watch(&old, user, UVZK__RPC_GET, "/a"), 0);
    ask_unwatch(&old);
    ask_init(&new, user, UVZK__RPC_EXISTS, "/a");
    ask_watch(&new);
    ask_submit(&new);
    assert_true(ask_wait(&new));
    assert_round_trip(user);
    world_delete(user->world, "/a");
    assert_true(ask_wait_fired(&new));
    assert_int_equal(new.event, UVZK__WATCH_DELETED);
    assert_int_equal(old.fired, 0);
}

void unwatch_while_disconnected(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    assert_int_equal(watch(&ask, user, UVZK__RPC_EXISTS, "/a"), 0);
    assert_true(user_wait_watch_count(user, 1));
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    ask_unwatch(&ask);
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_round_trip(user);
    assert_true(user_wait_watch_count(user, 0));
    world_delete(user->world, "/a");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 0);
}

void watch_survives_a_disconnection(void **state)
{
    struct user *user = connected(state);
    struct ask missed, later;
    world_create(user->world, "/a");
    world_create(user->world, "/b");
    assert_int_equal(watch(&missed, user, UVZK__RPC_EXISTS, "/a"), 0);
    assert_int_equal(watch(&later, user, UVZK__RPC_EXISTS, "/b"), 0);
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_delete(user->world, "/a");
    world_restore(user->world);
    assert_true(ask_wait_fired(&missed));
    assert_int_equal(missed.event, UVZK__WATCH_DELETED);
    assert_int_equal(user->sessions[UVZK__SESSION_CONNECTED], 2);
    assert_int_equal(later.fired, 0);
    assert_round_trip(user);
    world_delete(user->world, "/b");
    assert_true(ask_wait_fired(&later));
    assert_int_equal(later.event, UVZK__WATCH_DELETED);
}
