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

/* A child comes, a child goes, the directory goes. Each listing arms it anew. */
void watch_on_children_fires_at_each_end(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    world_create(user->world, "/a/b");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CHILDREN);
    world_create(user->world, "/a/c"); /* nobody listens */
    assert_round_trip(user);
    assert_int_equal(ask.fired, 1);

    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(ask.names, 2);
    world_delete(user->world, "/a/c");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CHILDREN);

    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    world_delete(user->world, "/a/b");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_CHILDREN);
    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(ask.names, 0);
    world_delete(user->world, "/a");
    assert_true(ask_wait_fired(&ask));
    assert_int_equal(ask.event, UVZK__WATCH_DELETED);
    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), UVZK_ENONODE);
    assert_null(ask.watch.armed);
    assert_true(user_wait_watch_count(user, 0));
}

void watch_on_children_is_deaf_to_all_else(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    world_create(user->world, "/a/b");
    assert_int_equal(watch(&ask, user, UVZK__RPC_CHILDREN, "/a"), 0);
    world_set(user->world, "/a");
    world_set(user->world, "/a/b");
    world_create(user->world, "/a/b/c");
    world_delete(user->world, "/a/b/c");
    world_create(user->world, "/aa");
    assert_round_trip(user);
    assert_int_equal(ask.fired, 0);
    assert_true(user_wait_watch_count(user, 1));
    ask_unwatch(&ask);
}

void watch_on_children_fires_once_for_a_multi(void **state)
{
    static const uvzk_acl_t entries[] = {{UVZK_PERM_ALL, "world", "anyone"}};
    static const struct uvzk__acl acl = {entries, 1};
    static const struct uvzk__op create = {.kind = UVZK__OP_CREATE,
                                           .mode = UVZK__EPHEMERAL_SEQUENTIAL,
                                           .path = "/a/n-",
                                           .acl = &acl};
    const struct uvzk__op ops[] = {create, create, create};
    struct user *user = connected(state);
    struct ask list, multi;
    world_create(user->world, "/a");
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    ask_init(&multi, user, UVZK__RPC_MULTI, NULL);
    multi.rpc.ops = ops;
    multi.rpc.op_count = 3;
    assert_int_equal(ask_run(&multi), 0);
    assert_int_equal(list.fired, 1); /* before the reply of what caused it */
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(list.names, 3);
    assert_round_trip(user);
    assert_int_equal(list.fired, 0);
    ask_unwatch(&list);
}

/* A queue's directory, and the one before us in it. */
void watch_on_children_beside_one_on_a_child(void **state)
{
    struct user *user = connected(state);
    struct ask list, child, missing;
    world_create(user->world, "/a");
    world_create(user->world, "/a/b");
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(watch(&child, user, UVZK__RPC_GET, "/a/b"), 0);
    assert_int_equal(watch(&missing, user, UVZK__RPC_EXISTS, "/a/c"), UVZK_ENONODE);
    assert_true(user_wait_watch_count(user, 3));
    world_set(user->world, "/a/b");
    assert_true(ask_wait_fired(&child));
    assert_int_equal(child.event, UVZK__WATCH_CHANGED);
    assert_round_trip(user);
    assert_int_equal(list.fired + missing.fired, 0);

    assert_int_equal(watch(&child, user, UVZK__RPC_EXISTS, "/a/b"), 0);
    world_delete(user->world, "/a/b"); /* concerns two of them */
    assert_true(ask_wait_fired(&child) && ask_wait_fired(&list));
    assert_int_equal(child.event, UVZK__WATCH_DELETED);
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_round_trip(user);
    assert_int_equal(missing.fired, 0);

    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    world_create(user->world, "/a/c");
    assert_true(ask_wait_fired(&missing) && ask_wait_fired(&list));
    assert_int_equal(missing.event, UVZK__WATCH_CREATED);
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_true(user_wait_watch_count(user, 0));
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

/* The children's watch is forgotten, not the one that came after it. */
void unwatch_then_watch_another_kind(void **state)
{
    struct user *user = connected(state);
    struct ask list, node;
    world_create(user->world, "/a");
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    ask_unwatch(&list);
    assert_int_equal(watch(&node, user, UVZK__RPC_GET, "/a"), 0);
    assert_true(user_wait_watch_count(user, 1));
    world_create(user->world, "/a/b");
    assert_round_trip(user);
    assert_int_equal(node.fired, 0);
    ask_unwatch(&node);
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_true(user_wait_watch_count(user, 1));
    world_set(user->world, "/a");
    world_delete(user->world, "/a/b");
    assert_true(ask_wait_fired(&list));
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_int_equal(node.fired, 0);
}

void unwatch_leaves_the_neighbours(void **state)
{
    struct user *user = connected(state);
    struct ask list, child;
    world_create(user->world, "/a");
    world_create(user->world, "/a/b");
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(watch(&child, user, UVZK__RPC_EXISTS, "/a/b"), 0);
    ask_unwatch(&list);
    assert_true(user_wait_watch_count(user, 1));
    world_set(user->world, "/a/b");
    assert_true(ask_wait_fired(&child));
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(watch(&child, user, UVZK__RPC_EXISTS, "/a/b"), 0);
    ask_unwatch(&child);
    assert_true(user_wait_watch_count(user, 1));
    world_delete(user->world, "/a/b");
    assert_true(ask_wait_fired(&list));
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_round_trip(user);
    assert_int_equal(child.fired, 0);
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

/* Neither what happened meanwhile is told nor what happens later, and the user's
 * watches are its own again. */
void watches_are_lost_with_their_handle(void **state)
{
    struct user *user = connected(state);
    struct ask missed, later;
    int64_t session = user->session_id;
    world_create(user->world, "/a");
    world_create(user->world, "/b");
    assert_int_equal(user_create(user, "/mine", UVZK__EPHEMERAL), 0);
    assert_int_equal(watch(&missed, user, UVZK__RPC_EXISTS, "/a"), 0);
    assert_int_equal(watch(&later, user, UVZK__RPC_EXISTS, "/b"), 0);
    assert_false(user->watches_lost);
    world_move(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_delete(user->world, "/a");
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_true(user->watches_lost);
    assert_true(user->session_id == session);
    assert_null(missed.watch.armed);
    assert_null(later.watch.armed);
    ask_unwatch(&missed); /* legal, and nothing */
    struct ask again;
    assert_int_equal(watch(&again, user, UVZK__RPC_EXISTS, "/b"), 0);
    world_delete(user->world, "/b");
    assert_true(ask_wait_fired(&again));
    assert_int_equal(missed.fired + later.fired, 0);
    ask_init(&again, user, UVZK__RPC_EXISTS, "/mine");
    assert_int_equal(ask_run(&again), 0);
    assert_int_equal(user->sessions[UVZK__SESSION_EXPIRED], 0);
}

/* Of four directories: one gets a child meanwhile, one loses one, one goes, and
 * one is left as it was. */
void watch_on_children_survives_a_disconnection(void **state)
{
    enum { MORE, LESS, GONE, SAME, COUNT };
    static const char *const paths[] = {"/more", "/less", "/gone", "/same"};
    struct user *user = connected(state);
    struct ask asks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        world_create(user->world, paths[i]);
    }
    world_create(user->world, "/less/child");
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(watch(&asks[i], user, UVZK__RPC_CHILDREN, paths[i]), 0);
    }
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_create(user->world, "/more/child");
    world_delete(user->world, "/less/child");
    world_delete(user->world, "/gone");
    world_set(user->world, "/same");
    world_restore(user->world);
    for (int i = 0; i < SAME; i++) {
        assert_true(ask_wait_fired(&asks[i]));
        assert_int_equal(asks[i].event,
                         i == GONE ? UVZK__WATCH_DELETED : UVZK__WATCH_CHILDREN);
    }
    assert_true(user_find(user, 0, NOTE_WATCH, UVZK__WATCH_CHILDREN) >
                user_find(user, 1, NOTE_SESSION, UVZK__SESSION_CONNECTED));
    assert_round_trip(user);
    assert_int_equal(asks[SAME].fired, 0);
    assert_true(user_wait_watch_count(user, 1));
    world_create(user->world, "/same/child");
    assert_true(ask_wait_fired(&asks[SAME]));
    assert_int_equal(asks[SAME].event, UVZK__WATCH_CHILDREN);
}

void watches_of_two_kinds_survive_a_disconnection(void **state)
{
    struct user *user = connected(state);
    struct ask list, child, other;
    world_create(user->world, "/a");
    world_create(user->world, "/a/b");
    world_create(user->world, "/a/c");
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(watch(&child, user, UVZK__RPC_EXISTS, "/a/b"), 0);
    assert_int_equal(watch(&other, user, UVZK__RPC_GET, "/a/c"), 0);
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_delete(user->world, "/a/b");
    world_restore(user->world);
    assert_true(ask_wait_fired(&child) && ask_wait_fired(&list));
    assert_int_equal(child.event, UVZK__WATCH_DELETED);
    assert_int_equal(list.event, UVZK__WATCH_CHILDREN);
    assert_round_trip(user);
    assert_int_equal(other.fired, 0);
    assert_int_equal(watch(&list, user, UVZK__RPC_CHILDREN, "/a"), 0);
    assert_int_equal(list.names, 1);
    assert_true(user_wait_watch_count(user, 2));
    world_delete(user->world, "/a/c");
    assert_true(ask_wait_fired(&other) && ask_wait_fired(&list));
}
