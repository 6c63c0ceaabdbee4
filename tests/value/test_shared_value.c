/* SPDX-License-Identifier: Apache-2.0 */
/* What a shared value and a shared count promise, one by one. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/barrier.h"
#include "engine/submission.h"
#include "engine/watch.h"
#include "value/node_cache.h"
#include "value/shared_value.h"
#include "value_process.h"

/* What somebody sets is told, as the callback that makes it so many. */
static void check_follows(struct value_process *value_process, const char *text, int told)
{
    value_process_set_by_hand(value_process_sim(value_process), text);
    value_process_await(value_process, &value_process->told, told);
    assert_true(value_process_is_current(value_process));
}

/* ------------------------------------------------------------------- the znode */

static void missing_znode_is_made_with_the_seed(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct uvzk__stat stat;

    assert_true(value_process_knows(value_process, "seed"));
    assert_true(value_process_is_current(value_process));
    /* A barrier, up three, down two, two reads. */
    assert_int_equal(sim_submitted(value_process->process.port), 8);
    assert_true(sim_stat(sim, VALUE_PROCESS_PATH, &stat));
    assert_int_equal(stat.version, 0);
    assert_int_equal(stat.ephemeral_owner, 0);
    sim_check_containers(sim);
    assert_true(sim_exists(sim, VALUE_PROCESS_PATH)); /* which is no container itself */
    value_process_end(value_process);
    value_process_delete_by_hand(sim);
    sim_check_containers(sim);
    sim_check_containers(sim);
    assert_false(sim_exists(sim, "/app")); /* its parents were */
}

static void parents_are_persistent_where_there_are_no_containers(void **state)
{
    struct sim_options options;
    struct world world;
    struct value_process value_process;

    (void)state;
    sim_options_init(&options);
    options.no_containers = true;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    value_process_open(&value_process, &world, "c", "seed");
    assert_true(value_process_is_current(&value_process));
    value_process_end(&value_process);
    value_process_delete_by_hand(world.sim);
    sim_check_containers(world.sim);
    assert_true(sim_exists(world.sim, "/app/values"));
    world_end(&world);
}

static void znode_that_exists_keeps_its_data(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    value_process_make_by_hand(sim);
    value_process_set_by_hand(sim, "there before");
    value_process_start(value_process, "seed");
    value_process_await(value_process, &value_process->told, 1);
    assert_true(value_process_knows(value_process, "there before"));
    assert_int_equal(value_process_version(value_process).version, 1);
}

static void an_empty_value_is_a_value(void **state)
{
    struct value_process *value_process = *state;

    value_process_start(value_process, "");
    value_process_await(value_process, &value_process->told, 1);
    assert_true(value_process_knows(value_process, ""));
}

static void refused_seed_is_told_and_the_place_is_watched(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_refuse(sim, UVZK__RPC_CREATE, UVZK_EINVALIDACL, 1);
    value_process_start(value_process, "seed");
    sim_run_for(sim, 3 * WORLD_TIMEOUT_MS);
    assert_int_equal(value_process->told, 1);
    assert_int_equal(value_process->status, UVZK_EINVALIDACL);
    assert_int_equal(uvzk_shared_value_get(&value_process->value, NULL, NULL, NULL),
                     UVZK_ENONODE);
    assert_false(sim_exists(sim, VALUE_PROCESS_PATH));
    value_process_make_by_hand(sim);
    value_process_await(value_process, &value_process->told, 2);
    assert_true(value_process_is_current(value_process));
}

static int seed_closed;

static void on_seed_closed(uvzk_shared_value_t *value)
{
    (void)value;
    seed_closed++;
}

/* The place is watched already, so nothing but the seed makes a reading due. */
static void a_seed_that_could_not_be_sent_is_sent_after_the_pause(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    uvzk_shared_value_t other = {0};

    seed_closed = 0;
    sim_refuse(sim, UVZK__RPC_CREATE, UVZK_EINVALIDACL, 1);
    value_process_start(value_process, "refused");
    sim_run_for(sim, 5000);
    assert_int_equal(value_process->status, UVZK_EINVALIDACL);
    assert_int_equal(uvzk_shared_value_init(&value_process->process.client, &other,
                                            VALUE_PROCESS_PATH, "seed", 4, NULL),
                     0);
    uvzk__back_off(value_process->process.client.impl); /* until after the reply */
    sim_run_for(sim, 500);
    assert_true(sim_exists(sim, VALUE_PROCESS_PATH));
    assert_true(value_process_knows(value_process, "seed"));
    assert_int_equal(uvzk_shared_value_close(&other, on_seed_closed), 0);
    value_process_await(value_process, &seed_closed, 1);
}

/* ------------------------------------------------------------------- following */

static void every_change_by_others_is_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    char text[16];

    for (int i = 1; i <= 20; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        check_follows(value_process, text, 1 + i);
        assert_true(value_process_knows(value_process, text));
        sim_run_for(sim, 10); /* the watch is armed anew */
    }
}

static void fast_changes_may_be_skipped_but_not_the_last(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    for (int i = 0; i < 20; i++) {
        value_process_set_by_hand(sim, i < 19 ? "on the way" : "there");
    }
    value_process_await_current(value_process);
    assert_true(value_process_knows(value_process, "there"));
    assert_in_range(value_process->told, 2, 4);
}

static void a_value_at_rest_costs_hardly_anything(void **state)
{
    struct value_process *value_process = *state, *idle = value_process + 1;
    struct sim *sim = value_process_sim(value_process);
    uvzk_client_metrics_t before, after, without;

    value_process_begin(idle, value_process->process.world, "idle", NULL);
    process_start(&idle->process);
    value_process_start(value_process, "seed");
    sim_run_for(sim, 1000);
    uvzk_client_metrics_init(&before);
    uvzk_client_metrics(&value_process->process.client, &before);
    uvzk_client_metrics_init(&without);
    uvzk_client_metrics(&idle->process.client, &without);
    sim_run_for(sim, 100000);
    uvzk_client_metrics_init(&after);
    uvzk_client_metrics(&value_process->process.client, &after);
    uint64_t cost = after.requests - before.requests;
    before = without;
    uvzk_client_metrics_init(&without);
    uvzk_client_metrics(&idle->process.client, &without);
    uint64_t second_looks = 100000 / (WORLD_TIMEOUT_MS - WORLD_TIMEOUT_MS / 4);
    assert_in_range(cost, 0, without.requests - before.requests + 1 + second_looks);
    assert_int_equal(after.watches, 1);
}

static void what_happened_while_cut_off_is_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_disconnect(value_process->process.port, SIM_RESET, 2000);
    sim_run_for(sim, 500);
    assert_int_equal(value_process->told,
                     1); /* the connection is not the value's business */
    check_follows(value_process, "meanwhile", 2);
    sim_run_for(sim, 100);
    check_follows(value_process, "afterwards", 3);
}

static bool is_read(const struct value_process *value_process)
{
    const struct uvzk__reading *reading =
        &value_process_node_cache(value_process)->reading;

    return reading->state == UVZK__READING_ASKED && reading->rpc.kind == UVZK__RPC_GET;
}

/* And not after a rest. */
static void a_read_that_was_cut_off_is_repeated_at_once(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_run_for(sim, 100);
    value_process_set_by_hand(sim, "meanwhile");
    while (!is_read(value_process)) {
        assert_true(sim_step(sim));
    }
    sim_disconnect(value_process->process.port, SIM_RESET, 10);
    while (is_read(value_process)) {
        assert_true(sim_step(sim));
    }
    const struct uvzk__session *session = value_process->process.client.impl;
    while (uvzk_client_state(&value_process->process.client) != UVZK_STATE_RECONNECTED ||
           session->barrier.state != UVZK__BARRIER_OPEN) {
        assert_true(sim_step(sim));
    }
    assert_true(is_read(value_process));
    value_process_await_current(value_process);
}

static void a_reconnection_alone_is_no_news(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    for (int i = 0; i < 5; i++) {
        sim_disconnect(value_process->process.port, SIM_RESET, 500);
        sim_run_for(sim, 3000);
    }
    assert_int_equal(value_process->told, 1);
}

/* Even if a server forgot a watch: after each CONNECTED the value is read. */
static void each_connection_reads_it_once(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_run_for(sim, 100);
    uint64_t stamp = value_process_node_cache(value_process)->reading.stamp;
    sim_repeat_connected(value_process->process.port);
    sim_run_for(sim, 100);
    uint64_t next = value_process_node_cache(value_process)->reading.stamp;
    assert_true(next > stamp);
    assert_int_equal(
        value_process_node_cache(value_process)->reading.renewed.watcher.state,
        UVZK__WATCHER_ARMED);
    sim_run_for(sim, 100);
    assert_true(value_process_node_cache(value_process)->reading.stamp == next);
}

static void it_is_watched_again_in_a_new_session(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    assert_true(sim_expire(value_process->process.port));
    sim_run_for(sim, 5000);
    check_follows(value_process, "in the new session", 2);
}

static void unreadable_znode_is_told_and_watched(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    value_process_make_by_hand(sim);
    sim_refuse(sim, UVZK__RPC_GET, UVZK_ENOAUTH, UINT32_MAX);
    value_process_start(value_process, "seed");
    sim_run_for(sim, 3 * WORLD_TIMEOUT_MS);
    sim_refuse(sim, UVZK__RPC_GET, 0, 0);
    assert_int_equal(value_process->told, 1);
    assert_int_equal(value_process->status, UVZK_ENOAUTH);
    assert_int_equal(
        value_process_node_cache(value_process)->reading.renewed.watcher.state,
        UVZK__WATCHER_ARMED);
    check_follows(value_process, "readable", 2);
}

/* Told again once it can be read, though it is the same value. */
static void trouble_that_is_over_is_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_run_for(sim, 100);
    sim_refuse(sim, UVZK__RPC_GET, UVZK_EZOOKEEPER, 3);
    sim_repeat_connected(value_process->process.port);
    value_process_await(value_process, &value_process->told, 3);
    assert_int_equal(value_process->troubles, 1);
    assert_int_equal(value_process->status, 0);
    assert_true(value_process_is_current(value_process));
}

static void without_room_for_a_watch_it_waits_for_room(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    struct uvzk__session *session = value_process->process.client.impl;
    session->watches.bytes = UVZK__WATCH_BYTES_MAX;
    value_process_start(value_process, "seed");
    sim_run_for(sim, 5000);
    assert_int_equal(value_process->told, 1);
    assert_int_equal(value_process->status, UVZK_ELIMIT);
    session->watches.bytes = 0;
    value_process_await(value_process, &value_process->told, 2);
    assert_true(value_process_is_current(value_process));
    value_process_close_value(value_process);
    value_process_await(value_process, &value_process->value_closed, 1);
    assert_int_equal(session->watches.bytes, 0);
}

/* By a server that lags behind, after a change of server. */
static void older_data_are_not_believed(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct uvzk__stat stat = {.version = 1000};

    stat.mzxid = value_process_version(value_process).mzxid - 1;
    uvzk__node_cache_update(value_process_node_cache(value_process), &stat,
                            uvzk__memdup("old", 3), 3);
    sim_run_for(sim, 100);
    assert_int_equal(value_process->told, 1);
    assert_true(value_process_knows(value_process, "seed"));
    stat.mzxid += 2; /* and newer data are, whatever their version */
    stat.version = -7;
    uvzk__node_cache_update(value_process_node_cache(value_process), &stat,
                            uvzk__memdup("new", 3), 3);
    value_process_set_by_hand(sim, "next");
    value_process_await(value_process, &value_process->told, 2);
}

/* --------------------------------------------------------------------- setting */

static void a_set_is_known_when_it_is_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    assert_int_equal(set.told, 0);
    value_process_await_set(&set, 0);
    assert_true(value_process_knows(value_process, "mine"));
    assert_true(set.known == value_process_version(value_process).mzxid);
    sim_run_for(sim, 100);
    assert_int_equal(value_process->told, 2); /* and once more is not told by the watch */
    assert_true(value_process_is_current(value_process));
}

/* Sent again it would undo the one behind it; alone it is sent again. */
static void a_throttled_set_does_not_undo_a_later_one(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set first, second;

    sim_refuse(sim, UVZK__RPC_SET, UVZK_ETHROTTLED, 1);
    assert_int_equal(value_process_set(&first, value_process, "first"), 0);
    assert_int_equal(value_process_set(&second, value_process, "second"), 0);
    value_process_await_set(&first, UVZK_ETHROTTLED);
    value_process_await_set(&second, 0);
    sim_run_for(sim, 3000);
    assert_true(value_process_znode_is(sim, "second"));
    sim_refuse(sim, UVZK__RPC_SET, UVZK_ETHROTTLED, 1);
    assert_int_equal(value_process_set(&first, value_process, "third"), 0);
    value_process_await_set(&first, 0);
    assert_true(value_process_znode_is(sim, "third"));
}

static void sets_wait_for_the_connection_and_keep_their_order(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set sets[10];
    char text[16];

    assert_int_equal(value_process_share(value_process, "seed"), 0);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_int_equal(value_process_set(&sets[i], value_process, text), 0);
    }
    sim_run_for(sim, 5000);
    assert_int_equal(sets[0].told, 0);
    process_start(&value_process->process);
    value_process_await(value_process, &sets[4].told, 1);
    sim_disconnect(value_process->process.port, SIM_RESET, 3000);
    sim_run_for(sim, 1000);
    for (int i = 5; i < 10; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_int_equal(value_process_set(&sets[i], value_process, text), 0);
    }
    value_process_await(value_process, &sets[9].told, 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sets[i].told, 1);
        assert_int_equal(sets[i].status, 0);
        assert_true(i == 0 || sets[i].known >= sets[i - 1].known);
    }
    assert_true(value_process_knows(value_process, "9"));
    assert_true(value_process_znode_is(sim, "9"));
    assert_int_equal(value_process_version(value_process).version, 10);
}

static void a_lost_reply_leaves_the_outcome_open(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    sim_run_for(sim, 100);
    sim_lose_reply(value_process->process.port);
    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    value_process_await_set(&set, UVZK_ECONNLOSS);
    value_process_await_current(value_process); /* it was set, once */
    assert_true(value_process_knows(value_process, "mine"));
    assert_int_equal(value_process_version(value_process).version, 1);
}

static void an_overloaded_server_is_asked_again(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    sim_refuse(sim, UVZK__RPC_SET, UVZK_ETHROTTLED, 3);
    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    value_process_await_set(&set, 0);
    assert_true(value_process_znode_is(sim, "mine"));
}

/* What is known of it is told, though the value was closed before. */
static void closing_does_not_hide_an_outcome(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    uvzk_value_version_t version = value_process_version(value_process);
    value_process_set_by_hand(sim, "another");
    assert_int_equal(value_process_try_set(&set, value_process, &version, "mine"), 0);
    struct uvzk__value_set *inside = set.request.impl;
    while (inside->state != UVZK__SET_REREADING) {
        assert_true(sim_step(sim));
    }
    value_process_close_value(value_process);
    value_process_await(value_process, &value_process->value_closed, 1);
    assert_int_equal(set.status, UVZK_EBADVERSION);
}

static void an_expired_session_leaves_the_outcome_open(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    assert_true(sim_expire_connected(value_process->process.port));
    value_process_await_set(&set, UVZK_ECONNLOSS);
    sim_run_for(sim, 1000);
    value_process_await_current(value_process);
}

static void try_set_replaces_what_was_read_and_nothing_else(void **state)
{
    struct value_process *one = *state, *two = one + 1;
    struct value_process_set first, second;

    value_process_open(two, one->process.world, "two", "seed");
    uvzk_value_version_t version = value_process_version(one);
    assert_memory_equal(&(int64_t){version.mzxid},
                        &(int64_t){value_process_version(two).mzxid}, sizeof(int64_t));
    assert_int_equal(value_process_try_set(&first, one, &version, "one's"), 0);
    assert_int_equal(value_process_try_set(&second, two, &version, "two's"), 0);
    value_process_await(one, &first.told, 1);
    value_process_await(two, &second.told, 1);
    struct value_process_set *loser = first.status == 0 ? &second : &first;
    assert_int_equal(first.status + second.status, UVZK_EBADVERSION);
    /* It was read again before it was told. */
    assert_true(loser->known > version.mzxid);
    assert_true(value_process_znode_is(value_process_sim(one),
                                       first.status == 0 ? "one's" : "two's"));
    version = value_process_version(loser->value_process);
    assert_int_equal(
        value_process_try_set(loser, loser->value_process, &version, "again"), 0);
    value_process_await_set(loser, 0);
    assert_true(value_process_znode_is(value_process_sim(one), "again"));
}

static void try_set_of_what_is_outdated_costs_no_request(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    uvzk_value_version_t version = value_process_version(value_process);
    value_process_set_by_hand(sim, "another");
    value_process_await(value_process, &value_process->told, 2);
    sim_run_for(sim, 10);
    uint64_t submitted = sim_submitted(value_process->process.port);
    assert_int_equal(value_process_try_set(&set, value_process, &version, "mine"), 0);
    assert_int_equal(set.told, 0); /* not from inside the call */
    value_process_await_set(&set, UVZK_EBADVERSION);
    assert_int_equal(sim_submitted(value_process->process.port), submitted);
    assert_true(value_process_znode_is(sim, "another"));
}

/* Its version number is the same, its mzxid is not. */
static void try_set_does_not_take_a_new_znode_for_the_old_one(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    uvzk_value_version_t version = value_process_version(value_process);
    value_process_delete_by_hand(sim);
    value_process_make_by_hand(sim);
    value_process_await_current(value_process);
    assert_int_equal(value_process_version(value_process).version, version.version);
    assert_int_equal(value_process_try_set(&set, value_process, &version, "mine"), 0);
    value_process_await_set(&set, UVZK_EBADVERSION);
    assert_false(value_process_znode_is(sim, "mine"));
}

static void a_set_of_what_is_deleted_says_so(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    value_process_delete_by_hand(sim);
    value_process_await(value_process, &value_process->told, 2);
    assert_int_equal(value_process->status, UVZK_ENONODE);
    assert_true(
        value_process_knows(value_process, "seed")); /* the last one stays known */
    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    value_process_await_set(&set, UVZK_ENONODE);
    assert_false(sim_exists(sim, VALUE_PROCESS_PATH));
}

static void a_million_bytes_are_a_value(void **state)
{
    struct value_process *value_process = *state;
    struct value_process_set set;
    char *text = malloc(1000002);

    memset(text, 'x', 1000001);
    text[1000001] = '\0';
    assert_int_equal(value_process_share(value_process, text), UV_EINVAL);
    value_process_start(value_process, text + 1);
    value_process_await(value_process, &value_process->told, 1);
    assert_true(value_process_knows(value_process, text + 1));
    assert_int_equal(value_process_set(&set, value_process, text), UV_EINVAL);
    text[1] = 'y';
    assert_int_equal(value_process_set(&set, value_process, text + 1), 0);
    text[1] = 'z'; /* it was copied */
    value_process_await_set(&set, 0);
    text[1] = 'y';
    assert_true(value_process_knows(value_process, text + 1));
    free(text);
}

/* -------------------------------------------------------------- several on a path */

static int other_told;

static void on_other(uvzk_shared_value_t *value, int status)
{
    (void)value;
    other_told += status == 0;
}

static int other_closed;

static void on_other_closed(uvzk_shared_value_t *value)
{
    (void)value;
    other_closed++;
}

static void two_values_of_a_client_share_a_watch(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    uvzk_shared_value_t other = {0};
    uvzk_client_metrics_t stats;

    other_told = other_closed = 0;
    assert_int_equal(uvzk_shared_value_init(&value_process->process.client, &other,
                                            VALUE_PROCESS_PATH, "x", 1, on_other),
                     0);
    value_process_await(value_process, &other_told,
                        1); /* what the first one knows already */
    value_process_set_by_hand(sim, "for both");
    value_process_await(value_process, &other_told, 2);
    assert_int_equal(value_process->told, 2);
    sim_run_for(sim, 10);
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&value_process->process.client, &stats);
    assert_int_equal(stats.watches, 1);
    value_process_close_value(value_process);
    value_process_await(value_process, &value_process->value_closed, 1);
    value_process_set_by_hand(sim, "for one");
    value_process_await(value_process, &other_told, 3);
    assert_int_equal(uvzk_shared_value_close(&other, on_other_closed), 0);
    value_process_await(value_process, &other_closed, 1);
    sim_run_for(sim, 10);
    assert_int_equal(sim_watch_count(sim), 0);
}

/* The first one, which is to be written, goes with its value or stays: both are
 * right, but there is one. */
static void a_value_may_close_while_another_goes_on(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 40; ms++) {
        struct world world;
        struct value_process value_process;
        uvzk_shared_value_t other = {0};
        other_told = other_closed = 0;
        world_begin_exact(&world, UVZK__TUNE_ALL, 1);
        value_process_begin(&value_process, &world, "c", NULL);
        assert_int_equal(uvzk_shared_value_init(&value_process.process.client, &other,
                                                VALUE_PROCESS_PATH, "other", 5, on_other),
                         0);
        value_process_start(&value_process, "seed");
        world_run_for(&world, ms);
        assert_int_equal(uvzk_shared_value_close(&other, on_other_closed), 0);
        value_process_await(&value_process, &value_process.told, 1);
        value_process_await(&value_process, &other_closed, 1);
        assert_true(value_process_is_current(&value_process));
        assert_true(value_process_knows(&value_process, "seed") ||
                    value_process_knows(&value_process, "other"));
        value_process_end(&value_process);
        world_end(&world);
    }
}

/* --------------------------------------------------------------------- re-entry */

static void close_from_inside(struct value_process *value_process)
{
    value_process_close_value(value_process);
}

static void close_from_inside_a_set(struct value_process_set *set)
{
    value_process_close_value(set->value_process);
}

static void set_again_from_inside(struct value_process_set *set)
{
    struct value_process *value_process = set->value_process;

    if (value_process->told < 10) {
        assert_int_equal(value_process_set(set, value_process, "again"), 0);
        set->hook = set_again_from_inside;
    }
}

static void callbacks_may_close_and_set(void **state)
{
    struct value_process *one = *state, *two = one + 1;
    struct value_process_set set, other;

    one->hook = close_from_inside;
    value_process_start(one, "seed");
    value_process_await(one, &one->value_closed, 1);
    value_process_end(one);
    value_process_begin(two, one->process.world, "two", NULL);
    value_process_start(two, "seed");
    assert_int_equal(value_process_set(&set, two, "first"), 0);
    set.hook = set_again_from_inside;
    value_process_await(two, &two->told, 10);
    sim_run_for(value_process_sim(two), 100);
    assert_true(value_process_set_over(&set));
    assert_int_equal(value_process_set(&set, two, "last"), 0);
    assert_int_equal(value_process_set(&other, two, "never told more than closed"), 0);
    set.hook = close_from_inside_a_set;
    value_process_await(two, &two->value_closed, 1);
    assert_true(value_process_set_over(&other));
}

/* ---------------------------------------------------------------------- trouble */

static void refused_credentials_are_told(void **state)
{
    struct value_process *value_process = *state;
    struct value_process_set before, after;
    uvzk_shared_value_t late = {0};

    sim_fail_auth(value_process->process.port);
    assert_int_equal(value_process_set(&before, value_process, "mine"), 0);
    value_process_await_set(&before, UVZK_EAUTH);
    assert_int_equal(value_process->status, UVZK_EAUTH);
    assert_int_equal(value_process_set(&after, value_process, "mine"), 0);
    value_process_await_set(&after, UVZK_EAUTH);
    assert_int_equal(uvzk_shared_value_init(&value_process->process.client, &late,
                                            "/late", "x", 1, NULL),
                     0);
    sim_run_for(value_process_sim(value_process), 1000);
    value_process_end(value_process);
    assert_null(late.impl);
}

static void host_names_that_do_not_resolve_are_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    assert_int_equal(value_process_share(value_process, "seed"), 0);
    assert_int_equal(value_process_set(&set, value_process, "mine"), 0);
    value_process->process.may_log_errors = true;
    for (int i = 0; i < 5 && set.told == 0; i++) {
        sim_fail_open(value_process->process.port, UV_EAI_AGAIN);
        if (i == 0) {
            process_start(&value_process->process);
        }
        sim_run_for(sim, 50);
    }
    assert_int_equal(set.told, 1);
    assert_int_equal(set.status, UVZK_ENOTSENT);
    assert_int_equal(value_process->status, UVZK_ENOTSENT);
    value_process_await_current(value_process); /* it goes on trying */
    assert_true(value_process_knows(value_process, "seed"));
}

static void misuse_is_refused(void **state)
{
    struct value_process *value_process = *state;
    struct value_process_set set;
    uvzk_shared_value_t value = {0};
    uvzk_value_version_t any = {5, -1}, version = {5, 5};
    uvzk_client_t *client = &value_process->process.client;

    assert_int_equal(uvzk_shared_value_init(NULL, &value, "/a", "", 0, NULL), UV_EINVAL);
    assert_int_equal(uvzk_shared_value_init(client, NULL, "/a", "", 0, NULL), UV_EINVAL);
    assert_int_equal(uvzk_shared_value_init(client, &value, NULL, "", 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_shared_value_init(client, &value, "/a", NULL, 1, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_shared_value_init(client, &value, "/", "", 0, NULL),
                     UVZK_EPATH);
    assert_int_equal(uvzk_shared_value_init(client, &value, "a", "", 0, NULL),
                     UVZK_EPATH);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_shared_value_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_shared_value_get(&value, NULL, NULL, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_shared_value_get(NULL, NULL, NULL, NULL), UV_EINVAL);
    assert_int_equal(value_process_share(value_process, "seed"), 0);
    assert_int_equal(value_process_share(value_process, "seed"), UV_EBUSY);
    assert_int_equal(uvzk_shared_value_get(&value_process->value, NULL, NULL, NULL),
                     UVZK_ENONODE);
    assert_int_equal(value_process_try_set(&set, value_process, NULL, "x"), UV_EINVAL);
    assert_int_equal(value_process_try_set(&set, value_process, &any, "x"), UV_EINVAL);
    assert_int_equal(
        uvzk_shared_value_set(&value_process->value, &set.request, "", 0, NULL),
        UV_EINVAL);
    assert_int_equal(value_process_try_set(&set, value_process, &version, "x"), 0);
    assert_int_equal(uvzk_shared_value_set(&value_process->value, &set.request, "", 0,
                                           (uvzk_req_cb)abort),
                     UV_EBUSY);
    value_process_close_value(value_process);
    assert_int_equal(uvzk_shared_value_close(&value_process->value, NULL), UVZK_ESTATE);
    struct value_process_set late;
    assert_int_equal(value_process_set(&late, value_process, "x"), UVZK_ECLOSED);
    value_process_await(value_process, &value_process->value_closed, 1);
    assert_int_equal(set.status, UVZK_ECLOSED);
    process_close(&value_process->process);
    assert_int_equal(uvzk_shared_value_init(client, &value, "/a", "", 0, NULL),
                     UVZK_ESTATE);
}

static void the_namespace_goes_before_the_path(void **state)
{
    struct value_process *value_process = (struct value_process *)*state + 1;
    uvzk_client_options_t options;

    process_options(&options);
    options.ns = "ns";
    value_process_begin(value_process, (value_process - 1)->process.world, "ns",
                        &options);
    value_process_start(value_process, "seed");
    value_process_await(value_process, &value_process->told, 1);
    assert_true(sim_exists(value_process_sim(value_process), "/ns" VALUE_PROCESS_PATH));
    assert_false(sim_exists(value_process_sim(value_process), VALUE_PROCESS_PATH));
}

/* ------------------------------------------------------------------------ counts */

struct counted {
    struct uvzk__value_listener listener;
    uvzk_shared_count_t count;
    int told, status, closed, heard, set;
    int32_t value, heard_value;
    bool heard_first;
};

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    struct counted *counted = count->data;
    int32_t got = 0;

    (void)uvzk_shared_count_get(count, &got, NULL);
    assert_int_equal(got, value);
    counted->told++;
    counted->status = status;
    counted->value = value;
}

static void on_changed(struct uvzk__value_listener *listener)
{
    struct counted *counted = UVZK__CONTAINER_OF(listener, struct counted, listener);
    int32_t before = counted->heard_value;

    counted->heard++;
    (void)uvzk_shared_count_get(&counted->count, &counted->heard_value, NULL);
    counted->heard_first |=
        before != counted->heard_value && counted->value != counted->heard_value;
}

static void on_count_closed(uvzk_shared_count_t *count)
{
    struct counted *counted = count->data;

    assert_null(count->impl);
    assert_null(count->value.impl);
    counted->closed++;
}

static void on_count_set(uvzk_req_t *request, int status)
{
    struct counted *counted = request->data;

    assert_int_equal(status, 0);
    counted->set++;
}

static void count_open(struct counted *counted, struct value_process *value_process,
                       int32_t seed)
{
    memset(counted, 0, sizeof(*counted));
    counted->count.data = counted;
    counted->listener.changed = on_changed;
    assert_int_equal(uvzk_shared_count_init(&value_process->process.client,
                                            &counted->count, VALUE_PROCESS_PATH, seed,
                                            on_count),
                     0);
    uvzk__shared_count_listen(&counted->count, &counted->listener);
}

static void count_close(struct counted *counted,
                        const struct value_process *value_process)
{
    assert_int_equal(uvzk_shared_count_close(&counted->count, on_count_closed), 0);
    assert_int_equal(uvzk_shared_count_close(&counted->count, NULL), UVZK_ESTATE);
    value_process_await(value_process, &counted->closed, 1);
    assert_true(uvzk__list_empty(&counted->listener.link));
}

static void counts_are_four_bytes_the_high_one_first(void **state)
{
    static const struct {
        int32_t count;
        const char *bytes;
    } table[] = {
        {5, "\0\0\0\5"},
        {-2, "\xff\xff\xff\xfe"},
        {0, "\0\0\0\0"},
        {INT32_MIN, "\x80\0\0\0"},
        {INT32_MAX, "\x7f\xff\xff\xff"},
        {0x01020304, "\1\2\3\4"},
    };
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct counted counted;
    size_t length;

    count_open(&counted, value_process, -559038737);
    assert_int_equal(uvzk_shared_count_get(&counted.count, NULL, NULL), UVZK_ENONODE);
    process_start(&value_process->process);
    value_process_await(value_process, &counted.told, 1);
    assert_memory_equal(sim_data(sim, VALUE_PROCESS_PATH, &length), "\xde\xad\xbe\xef",
                        4);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uvzk_req_t set = {.data = &counted};
        sim_run_for(sim, 10);
        assert_int_equal(
            uvzk_shared_count_set(&counted.count, &set, table[i].count, on_count_set), 0);
        value_process_await(value_process, &counted.set, (int)i + 1);
        assert_memory_equal(sim_data(sim, VALUE_PROCESS_PATH, &length), table[i].bytes,
                            4);
        assert_int_equal(length, 4);
        assert_int_equal(counted.value, table[i].count);
        assert_int_equal(sim_set_by_hand(sim, VALUE_PROCESS_PATH, "\1\1\1\1", 4), 0);
        sim_run_for(sim, 10);
        assert_int_equal(counted.value, 0x01010101);
        assert_int_equal(sim_set_by_hand(sim, VALUE_PROCESS_PATH, table[i].bytes, 4), 0);
        sim_run_for(sim, 10);
        assert_int_equal(counted.value, table[i].count);
        assert_int_equal(counted.heard_value, table[i].count);
    }
    assert_true(counted.heard_first); /* the library before the user */
    assert_int_equal(counted.heard, counted.told);
    count_close(&counted, value_process);
}

static void data_that_are_no_count_are_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct counted counted;
    uvzk_value_version_t version, later;

    value_process_make_by_hand(sim);
    count_open(&counted, value_process, 1);
    process_start(&value_process->process);
    value_process_await(value_process, &counted.told, 1); /* it is empty */
    assert_int_equal(counted.status, UVZK_EDATA);
    assert_int_equal(uvzk_shared_count_get(&counted.count, NULL, NULL), UVZK_EDATA);
    assert_int_equal(sim_set_by_hand(sim, VALUE_PROCESS_PATH, "\0\0\0\7 and more", 13),
                     0);
    value_process_await(value_process, &counted.told, 2);
    assert_int_equal(counted.status, 0);
    assert_int_equal(counted.value, 7);
    assert_int_equal(uvzk_shared_count_get(&counted.count, NULL, &version), 0);
    sim_run_for(sim, 10);
    assert_int_equal(sim_set_by_hand(sim, VALUE_PROCESS_PATH, "abc", 3), 0);
    value_process_await(value_process, &counted.told, 3);
    assert_int_equal(counted.status, UVZK_EDATA);
    assert_int_equal(counted.value, 7);
    assert_int_equal(uvzk_shared_count_get(&counted.count, NULL, &later), 0);
    assert_true(later.mzxid == version.mzxid);
    count_close(&counted, value_process);
}

static void a_second_count_knows_at_once_what_the_first_knows(void **state)
{
    struct value_process *value_process = *state;
    struct counted first, second;
    int32_t value = 0;

    count_open(&first, value_process, 11);
    process_start(&value_process->process);
    value_process_await(value_process, &first.told, 1);
    count_open(&second, value_process, 12);
    assert_int_equal(uvzk_shared_count_get(&second.count, &value, NULL), 0);
    assert_int_equal(value, 11);
    value_process_await(value_process, &second.told, 1);
    assert_int_equal(second.value, 11);
    count_close(&first, value_process);
    process_close(&value_process->process); /* with the second */
    value_process_await(value_process, &value_process->process.closed, 1);
    assert_null(second.count.impl);
    assert_null(second.count.value.impl);
    assert_int_equal(second.closed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VALUE_PROCESS_CASE(missing_znode_is_made_with_the_seed, value_process_told),
        cmocka_unit_test(parents_are_persistent_where_there_are_no_containers),
        VALUE_PROCESS_CASE(znode_that_exists_keeps_its_data, value_process_made),
        VALUE_PROCESS_CASE(an_empty_value_is_a_value, value_process_made),
        VALUE_PROCESS_CASE(a_seed_that_could_not_be_sent_is_sent_after_the_pause,
                           value_process_made),
        VALUE_PROCESS_CASE(refused_seed_is_told_and_the_place_is_watched,
                           value_process_made),
        VALUE_PROCESS_CASE(every_change_by_others_is_told, value_process_told),
        VALUE_PROCESS_CASE(fast_changes_may_be_skipped_but_not_the_last,
                           value_process_told),
        VALUE_PROCESS_CASE(a_value_at_rest_costs_hardly_anything, value_process_made),
        VALUE_PROCESS_CASE(what_happened_while_cut_off_is_told, value_process_told),
        VALUE_PROCESS_CASE(a_read_that_was_cut_off_is_repeated_at_once,
                           value_process_told),
        VALUE_PROCESS_CASE(a_reconnection_alone_is_no_news, value_process_told),
        VALUE_PROCESS_CASE(each_connection_reads_it_once, value_process_told),
        VALUE_PROCESS_CASE(it_is_watched_again_in_a_new_session, value_process_told),
        VALUE_PROCESS_CASE(unreadable_znode_is_told_and_watched, value_process_made),
        VALUE_PROCESS_CASE(trouble_that_is_over_is_told, value_process_told),
        VALUE_PROCESS_CASE(without_room_for_a_watch_it_waits_for_room,
                           value_process_made),
        VALUE_PROCESS_CASE(older_data_are_not_believed, value_process_told),
        VALUE_PROCESS_CASE(a_set_is_known_when_it_is_told, value_process_told),
        VALUE_PROCESS_CASE(a_throttled_set_does_not_undo_a_later_one, value_process_told),
        VALUE_PROCESS_CASE(sets_wait_for_the_connection_and_keep_their_order,
                           value_process_made),
        VALUE_PROCESS_CASE(a_lost_reply_leaves_the_outcome_open, value_process_told),
        VALUE_PROCESS_CASE(an_overloaded_server_is_asked_again, value_process_told),
        VALUE_PROCESS_CASE(closing_does_not_hide_an_outcome, value_process_told),
        VALUE_PROCESS_CASE(an_expired_session_leaves_the_outcome_open,
                           value_process_told),
        VALUE_PROCESS_CASE(try_set_replaces_what_was_read_and_nothing_else,
                           value_process_told),
        VALUE_PROCESS_CASE(try_set_of_what_is_outdated_costs_no_request,
                           value_process_told),
        VALUE_PROCESS_CASE(try_set_does_not_take_a_new_znode_for_the_old_one,
                           value_process_told),
        VALUE_PROCESS_CASE(a_set_of_what_is_deleted_says_so, value_process_told),
        VALUE_PROCESS_CASE(a_million_bytes_are_a_value, value_process_made),
        VALUE_PROCESS_CASE(two_values_of_a_client_share_a_watch, value_process_told),
        cmocka_unit_test(a_value_may_close_while_another_goes_on),
        VALUE_PROCESS_CASE(callbacks_may_close_and_set, value_process_made),
        VALUE_PROCESS_CASE(refused_credentials_are_told, value_process_told),
        VALUE_PROCESS_CASE(host_names_that_do_not_resolve_are_told, value_process_made),
        VALUE_PROCESS_CASE(misuse_is_refused, value_process_made),
        VALUE_PROCESS_CASE(the_namespace_goes_before_the_path, value_process_made),
        VALUE_PROCESS_CASE(counts_are_four_bytes_the_high_one_first, value_process_made),
        VALUE_PROCESS_CASE(data_that_are_no_count_are_told, value_process_made),
        VALUE_PROCESS_CASE(a_second_count_knows_at_once_what_the_first_knows,
                           value_process_made),
    };

    return cmocka_run_group_tests_name("shared value", tests, NULL, NULL);
}
