/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of a session (engine/watch.h): what several watchers have in common that are
 * on one path. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "engine/session.h"
#include "engine/submission.h"
#include "engine/watch.h"
#include "invariants.h"
#include "world.h"

#define NONE (-1)
#define MANY 300

/* Reads with a watch, and remembers what its watcher is told. */
struct reader {
    struct uvzk__renewed_watcher renewed;
    struct uvzk__rpc rpc;
    int told;  /* how often */
    int news;  /* the last */
    int reply; /* the status */
};

static struct world world;
static struct process a;
static struct reader one, other, many[MANY];
static char paths[MANY][16];

static struct uvzk__session *session(void)
{
    return a.client.impl;
}

static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct reader *reader = UVZK__CONTAINER_OF(watcher, struct reader, renewed.watcher);

    assert_false(uvzk__watcher_is_set(watcher));
    reader->told++;
    reader->news = (int)news;
}

static void begin(void)
{
    struct sim_options options;

    invariants_expect_more_watchers();
    sim_options_init(&options);
    options.trace = false;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    process_begin(&a, &world, "a", NULL);
    world_run_for(&world, 5000); /* it is connected */
    assert_non_null(sim_create_by_hand(world.sim, "/z", UVZK__PERSISTENT));
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    memset(many, 0, sizeof(many));
    uvzk__renewed_watcher_init(&one.renewed, session(), told);
    uvzk__renewed_watcher_init(&other.renewed, session(), told);
}

static void end(void)
{
    uvzk__watch_leave(&one.renewed.watcher);
    uvzk__watch_leave(&other.renewed.watcher);
    assert_int_equal(uvzk__watch_count(&session()->watches), 0);
    assert_int_equal(uvzk__watch_bytes(&session()->watches), 0);
    assert_int_equal(session()->watchers.count, 0);
    world_end(&world);
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct reader *reader = UVZK__CONTAINER_OF(rpc, struct reader, rpc);

    uvzk__answered(session(), rpc, reply->status, false);
    uvzk__watch_answered(&reader->renewed.watcher,
                         reply->status == 0 || (rpc->kind == UVZK__RPC_EXISTS &&
                                                reply->status == UVZK_ENONODE));
    reader->reply = reply->status;
}

static void ask(struct reader *reader, enum uvzk__rpc_kind kind, const char *path)
{
    reader->news = NONE;
    reader->reply = HOLD_NO_STATUS;
    uvzk__rpc_prepare(&reader->rpc, kind, path, replied);
    assert_true(uvzk__watch_join_with(&reader->renewed.watcher, &reader->rpc));
    uvzk__submit(session(), &reader->rpc);
}

static void read_both(enum uvzk__rpc_kind kind, const char *path)
{
    ask(&one, kind, path);
    ask(&other, kind, path);
    world_run_for(&world, 1000);
}

static void each_hears_of_the_event(void **state)
{
    (void)state;
    begin();
    ask(&one, UVZK__RPC_GET, "/z");
    world_run_for(&world, 1000);
    ask(&other, UVZK__RPC_GET, "/z"); /* one stands already */
    world_run_for(&world, 1000);
    assert_int_equal(sim_set_by_hand(world.sim, "/z", "x", 1), 0);
    world_run_for(&world, 1000);
    assert_int_equal(one.told, 1);
    assert_int_equal(one.news, UVZK__NEWS_CHANGED);
    assert_int_equal(other.told, 1);
    assert_int_equal(other.news, UVZK__NEWS_CHANGED);
    end();
}

/* The first watch may have been used up without an event; the one that joins has its own. */
static void who_joins_sets_a_watch_of_its_own(void **state)
{
    (void)state;
    begin();
    read_both(UVZK__RPC_GET, "/z");
    assert_int_equal(sim_armed(a.port), 2);
    assert_ptr_equal(other.rpc.watch, &other.renewed.watcher.watch);
    end();
}

static void a_path_takes_room_once(void **state)
{
    (void)state;
    begin();
    read_both(UVZK__RPC_GET, "/z");
    assert_int_equal(uvzk__watch_count(&session()->watches), 1);
    assert_int_equal(uvzk__watch_bytes(&session()->watches), strlen("/z") + 4);
    uvzk__watch_leave(&one.renewed.watcher);
    assert_int_equal(uvzk__watch_count(&session()->watches), 1);
    uvzk__watch_leave(&other.renewed.watcher);
    assert_int_equal(uvzk__watch_count(&session()->watches), 0);
    end();
}

/* A reconnection names the path for each of them. */
static void data_and_children_take_room_each(void **state)
{
    (void)state;
    begin();
    ask(&one, UVZK__RPC_GET, "/z");
    ask(&other, UVZK__RPC_CHILDREN, "/z");
    world_run_for(&world, 1000);
    assert_int_equal(uvzk__watch_count(&session()->watches), 2);
    assert_non_null(sim_create_by_hand(world.sim, "/z/child", UVZK__PERSISTENT));
    world_run_for(&world, 1000);
    assert_int_equal(one.told, 0);
    assert_int_equal(other.news, UVZK__NEWS_CHILDREN);
    assert_int_equal(uvzk__watch_count(&session()->watches), 1);
    end();
}

static void the_last_one_out_unwatches(void **state)
{
    (void)state;
    begin();
    read_both(UVZK__RPC_GET, "/z");
    uvzk__watch_leave(&one.renewed.watcher);
    world_run_for(&world, 1000);
    assert_int_equal(sim_set_by_hand(world.sim, "/z", "x", 1), 0);
    world_run_for(&world, 1000);
    assert_int_equal(one.told, 0);
    assert_int_equal(other.news, UVZK__NEWS_CHANGED);
    read_both(UVZK__RPC_GET, "/z");
    uvzk__watch_leave(&one.renewed.watcher);
    uvzk__watch_leave(&other.renewed.watcher);
    world_run_for(&world, 1000);
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

static void who_leaves_before_the_reply_hears_nothing(void **state)
{
    (void)state;
    begin();
    ask(&one, UVZK__RPC_GET, "/z");
    uvzk__watch_leave(&one.renewed.watcher);
    world_run_for(&world, 1000);
    assert_int_equal(one.reply, 0);
    assert_false(uvzk__watcher_is_set(&one.renewed.watcher));
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

/* A get sets no watch on a missing znode. */
static void a_request_that_sets_no_watch_takes_no_room(void **state)
{
    (void)state;
    begin();
    ask(&one, UVZK__RPC_GET, "/missing");
    ask(&other, UVZK__RPC_EXISTS, "/missing");
    world_run_for(&world, 1000);
    assert_int_equal(one.reply, UVZK_ENONODE);
    assert_false(uvzk__watcher_is_set(&one.renewed.watcher));
    assert_true(uvzk__watcher_is_set(&other.renewed.watcher));
    assert_int_equal(uvzk__watch_count(&session()->watches), 1);
    end();
}

static void each_is_renewed(void **state)
{
    (void)state;
    begin();
    read_both(UVZK__RPC_GET, "/z");
    world_run_for(&world, 2 * (uint64_t)session()->connection.timeout_ms);
    assert_int_equal(one.told, 1);
    assert_int_equal(one.news, UVZK__NEWS_RENEWAL);
    assert_int_equal(other.told, 1);
    assert_int_equal(other.news, UVZK__NEWS_RENEWAL);
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

static void all_are_told_of_the_loss(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "/%d", i / 2);
        uvzk__renewed_watcher_init(&many[i].renewed, session(), told);
        ask(&many[i], UVZK__RPC_EXISTS, paths[i]);
    }
    world_run_for(&world, 1000);
    assert_int_equal(session()->watchers.count, MANY);
    assert_int_equal(uvzk__watch_count(&session()->watches), MANY / 2);
    assert_true(sim_expire(a.port));
    world_run_for(&world, 3 * (uint64_t)session()->connection.timeout_ms);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(many[i].told, 1);
        assert_int_equal(many[i].news, UVZK__NEWS_LOST);
    }
    end();
}

/* None of the lists that the table has becomes long. */
static void the_table_grows(void **state)
{
    size_t longest = 0;

    (void)state;
    begin();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "/%d", i);
        uvzk__renewed_watcher_init(&many[i].renewed, session(), told);
        ask(&many[i], UVZK__RPC_EXISTS, paths[i]);
    }
    for (uint32_t i = 0; i < session()->watchers.head_count; i++) {
        size_t length = 0;
        const struct uvzk__watcher *watcher = session()->watchers.heads[i];
        for (; watcher != NULL; watcher = watcher->next) {
            length++;
        }
        longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 12);
    world_run_for(&world, 1000);
    for (int i = 0; i < MANY; i++) {
        uvzk__watch_leave(&many[i].renewed.watcher);
    }
    end();
}

static int children_heard_of;

static void heard(struct uvzk__watch *watch, enum uvzk__watch_event event,
                  const char *child)
{
    (void)watch;
    (void)event;
    children_heard_of += child != NULL;
}

/* A persistent one, by `other`. */
static bool mirror(const char *path)
{
    other.news = NONE;
    uvzk__watcher_init(&other.renewed.watcher, session(), told);
    other.renewed.watcher.watch.child_cb = heard;
    uvzk__rpc_prepare(&other.rpc, UVZK__RPC_ADD_WATCH, path, replied);
    if (!uvzk__watch_join(&other.renewed.watcher, path, UVZK__WATCH_PERSISTENT)) {
        return false;
    }
    other.rpc.watch = &other.renewed.watcher.watch;
    uvzk__submit(session(), &other.rpc);
    world_run_for(&world, 1000);
    return true;
}

/* Before ZooKeeper 3.9.0 each of the two overrides the other (ZOOKEEPER-4466). */
static void a_persistent_one_yields_its_path(void **state)
{
    (void)state;
    begin();
    children_heard_of = 0;
    assert_true(mirror("/z"));
    assert_non_null(sim_create_by_hand(world.sim, "/z/child", UVZK__PERSISTENT));
    world_run_for(&world, 1000);
    assert_int_equal(children_heard_of, 1);
    assert_true(uvzk__watcher_is_armed(&other.renewed.watcher));
    ask(&one, UVZK__RPC_GET, "/z");
    assert_int_equal(other.told, 1);
    assert_int_equal(other.news, UVZK__NEWS_YIELDED);
    world_run_for(&world, 1000);
    assert_int_equal(sim_armed(a.port), 1);
    assert_int_equal(sim_set_by_hand(world.sim, "/z", "x", 1), 0);
    world_run_for(&world, 1000);
    assert_int_equal(one.news, UVZK__NEWS_CHANGED);
    end();
}

static void a_persistent_one_joins_nobody(void **state)
{
    (void)state;
    begin();
    ask(&one, UVZK__RPC_CHILDREN, "/z"); /* being armed is enough */
    assert_false(mirror("/z"));
    assert_false(uvzk__watcher_is_set(&other.renewed.watcher));
    world_run_for(&world, 1000);
    assert_false(mirror("/z"));
    uvzk__watch_leave(&one.renewed.watcher);
    assert_true(mirror("/z"));
    end();
}

/* Its child is another path. */
static void a_persistent_one_yields_to_nobody_below(void **state)
{
    (void)state;
    begin();
    assert_true(mirror("/z"));
    ask(&one, UVZK__RPC_EXISTS, "/z/child");
    world_run_for(&world, 1000);
    assert_true(uvzk__watcher_is_armed(&one.renewed.watcher));
    assert_true(uvzk__watcher_is_armed(&other.renewed.watcher));
    assert_int_equal(other.told, 0);
    end();
}

static void one_that_is_not_renewed_stands(void **state)
{
    (void)state;
    begin();
    uvzk__watcher_init(&one.renewed.watcher, session(), told);
    ask(&one, UVZK__RPC_GET, "/z");
    world_run_for(&world, 2 * (uint64_t)session()->connection.timeout_ms);
    assert_int_equal(one.told, 0);
    assert_true(uvzk__watcher_is_armed(&one.renewed.watcher));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_hears_of_the_event),
        cmocka_unit_test(who_joins_sets_a_watch_of_its_own),
        cmocka_unit_test(a_path_takes_room_once),
        cmocka_unit_test(data_and_children_take_room_each),
        cmocka_unit_test(the_last_one_out_unwatches),
        cmocka_unit_test(who_leaves_before_the_reply_hears_nothing),
        cmocka_unit_test(a_request_that_sets_no_watch_takes_no_room),
        cmocka_unit_test(each_is_renewed),
        cmocka_unit_test(all_are_told_of_the_loss),
        cmocka_unit_test(the_table_grows),
        cmocka_unit_test(a_persistent_one_yields_its_path),
        cmocka_unit_test(a_persistent_one_joins_nobody),
        cmocka_unit_test(a_persistent_one_yields_to_nobody_below),
        cmocka_unit_test(one_that_is_not_renewed_stands),
    };

    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
