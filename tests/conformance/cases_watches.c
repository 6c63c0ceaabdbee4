/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: once, after the reply that arms them, and never after unwatch. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"

/* On something that is there, of which the watch is armed. */
static struct ask *watch(struct probe *probe, enum uvzk__rpc_kind kind, const char *path)
{
    return ask_done(ask_read(probe, kind, path, true));
}

static struct ask *watch_missing(struct probe *probe, const char *path)
{
    struct ask *ask = watch_on(probe, UVZK__RPC_EXISTS, path);
    assert_int_equal(ask->status, UVZK_ENONODE);
    return ask;
}

void watch_fires_once_after_its_reply(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *ask = watch(probe, UVZK__RPC_GET, "/a");
    assert_non_null(ask->watch.armed);
    probe_await_watches(probe, 1);
    world_set(probe->world, "/a");
    ask_await_event(ask, UVZK__WATCH_CHANGED);
    world_set(probe->world, "/a");
    world_delete(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 1);
    probe_await_watches(probe, 0);
}

void watch_waits_for_creation(void **state)
{
    struct probe *probe = connected(state);
    struct ask *ask = watch_missing(probe, "/a");
    world_create(probe->world, "/a");
    ask_await_event(ask, UVZK__WATCH_CREATED);
    ask = watch(probe, UVZK__RPC_EXISTS, "/a");
    world_delete(probe->world, "/a");
    ask_await_event(ask, UVZK__WATCH_DELETED);
}

void watch_on_children(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    world_set(probe->world, "/a");
    world_create(probe->world, "/a/b");
    ask_await_event(ask, UVZK__WATCH_CHILDREN);
}

/* A child comes, a child goes, the directory goes. Each listing arms it anew. */
void watch_on_children_fires_at_each_end(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    world_create(probe->world, "/a/b");
    ask_await_event(ask, UVZK__WATCH_CHILDREN);
    world_create(probe->world, "/a/c"); /* nobody listens */
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 1);

    ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask->count, 2);
    world_delete(probe->world, "/a/c");
    ask_await_event(ask, UVZK__WATCH_CHILDREN);

    ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    world_delete(probe->world, "/a/b");
    ask_await_event(ask, UVZK__WATCH_CHILDREN);
    ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask->count, 0);
    world_delete(probe->world, "/a");
    ask_await_event(ask, UVZK__WATCH_DELETED);
    ask = watch_on(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask->status, UVZK_ENONODE);
    assert_null(ask->watch.armed);
    probe_await_watches(probe, 0);
}

void watch_on_children_is_deaf_to_all_else(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b");
    struct ask *ask = watch(probe, UVZK__RPC_CHILDREN, "/a");
    world_set(probe->world, "/a");
    world_set(probe->world, "/a/b");
    world_create(probe->world, "/a/b/c");
    world_delete(probe->world, "/a/b/c");
    world_create(probe->world, "/aa");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
    probe_await_watches(probe, 1);
    ask_unwatch(ask);
}

void watch_on_children_fires_once_for_a_multi(void **state)
{
    const struct uvzk__op op = op_create("/a/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    const struct uvzk__op ops[] = {op, op, op};
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    (void)ask_done(ask_multi(probe, ops, 3));
    assert_int_equal(list->fired, 1); /* before the reply of what caused it */
    assert_int_equal(list->event, UVZK__WATCH_CHILDREN);
    list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(list->count, 3);
    probe_round_trip(probe);
    assert_int_equal(list->fired, 0);
    ask_unwatch(list);
}

/* A queue's directory, and the one before us in it. */
void watch_on_children_beside_one_on_a_child(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b");
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    struct ask *child = watch(probe, UVZK__RPC_GET, "/a/b");
    struct ask *missing = watch_missing(probe, "/a/c");
    probe_await_watches(probe, 3);
    world_set(probe->world, "/a/b");
    ask_await_event(child, UVZK__WATCH_CHANGED);
    probe_round_trip(probe);
    assert_int_equal(list->fired + missing->fired, 0);

    child = watch(probe, UVZK__RPC_EXISTS, "/a/b");
    world_delete(probe->world, "/a/b"); /* concerns two of them */
    ask_await_event(child, UVZK__WATCH_DELETED);
    ask_await_event(list, UVZK__WATCH_CHILDREN);
    probe_round_trip(probe);
    assert_int_equal(missing->fired, 0);

    list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    world_create(probe->world, "/a/c");
    ask_await_event(missing, UVZK__WATCH_CREATED);
    ask_await_event(list, UVZK__WATCH_CHILDREN);
    probe_await_watches(probe, 0);
}

void watch_of_a_failed_get_is_not_armed(void **state)
{
    struct probe *probe = connected(state);
    struct ask *ask = watch_on(probe, UVZK__RPC_GET, "/a");
    assert_int_equal(ask->status, UVZK_ENONODE);
    assert_null(ask->watch.armed);
    world_create(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
    assert_int_equal(world_watch_count(probe->world), 0);
}

/* ------------------------------------------------------------------ unwatch */

void unwatch_silences(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/b");
    struct ask *ask = watch(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/b");
    probe_await_watches(probe, 2);
    ask_unwatch(ask);
    ask_unwatch(list);
    probe_await_watches(probe, 0);
    world_delete(probe->world, "/a");
    world_create(probe->world, "/b/c");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
    assert_int_equal(list->fired, 0);
    ask_unwatch(ask); /* nothing is armed: nothing happens */
}

void unwatch_before_the_reply(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *ask = ask_read(probe, UVZK__RPC_GET, "/a", true);
    ask_unwatch(ask);
    (void)ask_done(ask);
    probe_round_trip(probe);
    probe_await_watches(probe, 0);
    world_set(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
}

void unwatch_then_watch_again(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *old = watch(probe, UVZK__RPC_GET, "/a");
    ask_unwatch(old);
    struct ask *new = watch_on(probe, UVZK__RPC_EXISTS, "/a");
    probe_round_trip(probe);
    world_delete(probe->world, "/a");
    ask_await_event(new, UVZK__WATCH_DELETED);
    assert_int_equal(old->fired, 0);
}

/* The children's watch is forgotten, not the one that came after it. */
void unwatch_then_watch_another_kind(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    ask_unwatch(watch(probe, UVZK__RPC_CHILDREN, "/a"));
    struct ask *node = watch(probe, UVZK__RPC_GET, "/a");
    probe_await_watches(probe, 1);
    world_create(probe->world, "/a/b");
    probe_round_trip(probe);
    assert_int_equal(node->fired, 0);
    ask_unwatch(node);
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    probe_await_watches(probe, 1);
    world_set(probe->world, "/a");
    world_delete(probe->world, "/a/b");
    ask_await_event(list, UVZK__WATCH_CHILDREN);
    assert_int_equal(node->fired, 0);
}

void unwatch_leaves_the_neighbours(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b");
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    struct ask *child = watch(probe, UVZK__RPC_EXISTS, "/a/b");
    ask_unwatch(list);
    probe_await_watches(probe, 1);
    world_set(probe->world, "/a/b");
    ask_await_event(child, UVZK__WATCH_CHANGED);
    list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    child = watch(probe, UVZK__RPC_EXISTS, "/a/b");
    ask_unwatch(child);
    probe_await_watches(probe, 1);
    world_delete(probe->world, "/a/b");
    ask_await_event(list, UVZK__WATCH_CHILDREN);
    probe_round_trip(probe);
    assert_int_equal(child->fired, 0);
}

/* ----------------------------------------------------------- disconnections */

void unwatch_while_disconnected(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a");
    struct ask *ask = watch(probe, UVZK__RPC_EXISTS, "/a");
    probe_await_watches(probe, 1);
    probe_lose(probe);
    ask_unwatch(ask);
    probe_regain(probe);
    probe_round_trip(probe);
    probe_await_watches(probe, 0);
    world_delete(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
}

void watch_survives_a_disconnection(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/b");
    struct ask *missed = watch(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *later = watch(probe, UVZK__RPC_EXISTS, "/b");
    probe_lose(probe);
    world_delete(probe->world, "/a");
    world_restore(probe->world);
    ask_await_event(missed, UVZK__WATCH_DELETED);
    assert_int_equal(probe->sessions[UVZK__SESSION_CONNECTED], 2);
    assert_int_equal(later->fired, 0);
    probe_round_trip(probe);
    world_delete(probe->world, "/b");
    ask_await_event(later, UVZK__WATCH_DELETED);
}

/* Neither what happened meanwhile is told nor what happens later, and the user's
 * watches are its own again. */
void watches_are_lost_with_their_handle(void **state)
{
    if (!world_moves_by_a_new_handle()) {
        skip(); /* the next case is about such a port */
    }
    struct probe *probe = CONNECTED_WITH("/a", "/b");
    int64_t session = probe->session_id;
    assert_int_equal(create(probe, "/mine", UVZK__EPHEMERAL), 0);
    struct ask *missed = watch(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *later = watch(probe, UVZK__RPC_EXISTS, "/b");
    assert_false(probe->watches_lost);
    world_move(probe->world);
    probe_await_session(probe, UVZK__SESSION_SUSPENDED, 1);
    world_delete(probe->world, "/a");
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_true(probe->watches_lost);
    assert_true(probe->session_id == session);
    ask_unwatch(missed); /* legal, and nothing */
    struct ask *again = watch(probe, UVZK__RPC_EXISTS, "/b");
    world_delete(probe->world, "/b");
    ask_await_event(again, UVZK__WATCH_DELETED);
    assert_int_equal(missed->fired + later->fired, 0);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/mine"), 0);
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 0);
}

/* What happened meanwhile is told, and what happens later. */
void watches_survive_a_move(void **state)
{
    if (world_moves_by_a_new_handle()) {
        skip(); /* the case before is about such a port */
    }
    struct probe *probe = CONNECTED_WITH("/a", "/b");
    int64_t session = probe->session_id;
    struct ask *meanwhile = watch(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *later = watch(probe, UVZK__RPC_GET, "/b");
    world_move(probe->world);
    probe_await_session(probe, UVZK__SESSION_SUSPENDED, 1);
    world_delete(probe->world, "/a");
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_false(probe->watches_lost);
    assert_true(probe->session_id == session);
    ask_await_event(meanwhile, UVZK__WATCH_DELETED);
    world_set(probe->world, "/b");
    ask_await_event(later, UVZK__WATCH_CHANGED);
    assert_int_equal(meanwhile->fired + later->fired, 2);
}

/* Of four directories: one gets a child meanwhile, one loses one, one goes, and
 * one is left as it was. */
void watch_on_children_survives_a_disconnection(void **state)
{
    enum { MORE, LESS, GONE, SAME, COUNT };
    static const char *const paths[] = {"/more", "/less", "/gone", "/same", NULL};
    struct probe *probe = connected_with(state, paths);
    struct ask *asks[COUNT];
    world_create(probe->world, "/less/child");
    for (int i = 0; i < COUNT; i++) {
        asks[i] = watch(probe, UVZK__RPC_CHILDREN, paths[i]);
    }
    probe_lose(probe);
    world_create(probe->world, "/more/child");
    world_delete(probe->world, "/less/child");
    world_delete(probe->world, "/gone");
    world_set(probe->world, "/same");
    world_restore(probe->world);
    for (int i = 0; i < SAME; i++) {
        ask_await_event(asks[i], i == GONE ? UVZK__WATCH_DELETED : UVZK__WATCH_CHILDREN);
        assert_true(asks[i]->fired_nth > probe->session_nth[UVZK__SESSION_CONNECTED]);
    }
    probe_round_trip(probe);
    assert_int_equal(asks[SAME]->fired, 0);
    probe_await_watches(probe, 1);
    world_create(probe->world, "/same/child");
    ask_await_event(asks[SAME], UVZK__WATCH_CHILDREN);
}

void watches_of_two_kinds_survive_a_disconnection(void **state)
{
    struct probe *probe = CONNECTED_WITH("/a", "/a/b", "/a/c");
    struct ask *list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    struct ask *child = watch(probe, UVZK__RPC_EXISTS, "/a/b");
    struct ask *other = watch(probe, UVZK__RPC_GET, "/a/c");
    probe_lose(probe);
    world_delete(probe->world, "/a/b");
    world_restore(probe->world);
    ask_await_event(child, UVZK__WATCH_DELETED);
    ask_await_event(list, UVZK__WATCH_CHILDREN);
    probe_round_trip(probe);
    assert_int_equal(other->fired, 0);
    list = watch(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(list->count, 1);
    probe_await_watches(probe, 2);
    world_delete(probe->world, "/a/c");
    ask_await_event(other, UVZK__WATCH_DELETED);
    ask_await_event(list, UVZK__WATCH_CHILDREN);
}

/* ------------------------------------------------------------------- very many of them */

#define MANY 100000
#define AT_ONCE 5000 /* requests */

struct many {
    struct probe *probe;
    struct many_watch *watches;
    size_t submitted, replies, fired, awaited;
};

struct many_watch {
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct many *many;
    char path[16];
};

static void many_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct many_watch *watch = UVZK__CONTAINER_OF(rpc, struct many_watch, rpc);

    assert_int_equal(reply->status, UVZK_ENONODE);
    watch->many->replies++;
}

static void many_fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    assert_int_equal(event, UVZK__WATCH_CREATED);
    UVZK__CONTAINER_OF(watch, struct many_watch, watch)->many->fired++;
}

static void watch_one_of_many(struct many *many, size_t i)
{
    struct many_watch *one = &many->watches[i];

    snprintf(one->path, sizeof(one->path), "/w%06zu", i);
    one->many = many;
    one->watch.watch_cb = many_fired;
    one->rpc = (struct uvzk__rpc){.kind = UVZK__RPC_EXISTS,
                                  .path = one->path,
                                  .watch = &one->watch,
                                  .reply_cb = many_replied};
    many->probe->port->submit(many->probe->port, &one->rpc);
}

static bool many_are_answered(void *context)
{
    const struct many *many = context;

    return many->replies == many->submitted;
}

static void watch_many(struct many *many)
{
    while (many->submitted < MANY) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            watch_one_of_many(many, many->submitted);
            many->submitted++;
        }
        assert_true(world_run_until(many->probe->world, many_are_answered, many));
    }
}

static bool awaited_have_fired(void *context)
{
    const struct many *many = context;

    return many->fired == many->awaited;
}

static void await_fired(struct many *many, size_t count)
{
    many->awaited = count;
    assert_true(world_run_until(many->probe->world, awaited_have_fired, many));
}

/* They do not fit into one request that arms them again. */
void a_hundred_thousand_watches_survive_a_disconnection(void **state)
{
    struct many many = {.probe = connected(state)};
    struct world *world = many.probe->world;

    if (!world_rearms_any_number()) {
        skip(); /* the C client; src/ sets no more than fit (engine/watch.h) */
    }
    many.watches = calloc(MANY, sizeof(*many.watches));
    assert_non_null(many.watches);
    watch_many(&many);
    probe_lose(many.probe);
    world_create(world, "/w000000");
    world_create(world, "/w050000");
    world_create(world, "/w099999");
    probe_regain(many.probe);
    await_fired(&many, 3);
    probe_await_watches(many.probe, MANY - 3);
    world_create(world, "/w000001");
    world_create(world, "/w099998");
    await_fired(&many, 5);
    probe_close(many.probe);
    probe_await(many.probe, &many.probe->closed, 1);
    free(many.watches);
}
