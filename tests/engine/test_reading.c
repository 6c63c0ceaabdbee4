/* SPDX-License-Identifier: Apache-2.0 */
/* A reading (engine/reading.h) of the simplest kind: a get, which sets the watch. */
#include "cmocka_test.h"

#include <string.h>

#include "engine/reading.h"
#include "engine/session.h"
#include "invariants.h"
#include "world.h"

#define PATH "/z"

static struct world world;
static struct process a;
static struct uvzk__reading *table, *reading;
static int begun, shown_count, failed_count, changed_count, freed;
static int last_status;
static bool repeats; /* a failed one is repeated */
static bool ends;    /* it is ended when it is shown */

static struct uvzk__session *session(void)
{
    return a.client.impl;
}

static struct uvzk__reading **table_of(const struct uvzk__session *of)
{
    (void)of;
    return &table;
}

static bool begin_reading(struct uvzk__reading *of)
{
    bool asked = uvzk__reading_ask(of, UVZK__RPC_GET, of->path, true);

    begun += asked;
    return asked;
}

static void shown(struct uvzk__reading *of, const struct uvzk__reply *reply)
{
    shown_count++;
    last_status = reply->status;
    if (ends) {
        uvzk__reading_end(of);
        assert_int_equal(freed, 0); /* it is pinned */
    }
}

static void failed(struct uvzk__reading *of, int status)
{
    failed_count++;
    last_status = status;
    if (repeats) {
        assert_int_equal(uvzk__reading_repeat(of, status), !uvzk__is_transient(status));
    }
}

static void changed(struct uvzk__reading *of, enum uvzk__watch_news news)
{
    (void)of;
    assert_int_not_equal(news, UVZK__NEWS_LOST);
    changed_count++;
}

static void free_memory(struct uvzk__reading *of)
{
    freed++;
    uvzk__free(of);
}

static const struct uvzk__reading_kind kind = {
    table_of, begin_reading, shown, failed, changed, free_memory,
};

static void run_for(uint64_t ms)
{
    world_run_for(&world, ms);
}

/* The znode exists, and there is a connection. Nothing has been read. */
static void begin(void)
{
    struct sim_options options;

    invariants_expect_more_watchers();
    sim_options_init(&options);
    options.trace = false;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    process_begin(&a, &world, "a", NULL);
    run_for(5000);
    assert_non_null(sim_create_by_hand(world.sim, PATH, UVZK__PERSISTENT));
    begun = shown_count = failed_count = changed_count = freed = 0;
    ends = false;
    repeats = true;
    reading = uvzk__calloc(1, sizeof(*reading));
    assert_non_null(reading);
    assert_true(uvzk__reading_init(reading, session(), &kind, PATH));
    assert_ptr_equal(uvzk__reading_find(session(), &kind, PATH), reading);
}

static void read_once(void)
{
    uvzk__reading_pump(reading);
    run_for(100);
    assert_int_equal(shown_count, 1);
}

static void end(void)
{
    uvzk__reading_end(reading);
    assert_int_equal(freed, 1);
    assert_null(uvzk__reading_find(session(), &kind, PATH));
    assert_int_equal(session()->watchers.count, 0);
    world_end(&world);
}

static void it_is_read_when_it_is_pumped_and_after_each_change(void **state)
{
    (void)state;
    begin();
    run_for(1000);
    assert_int_equal(begun, 0);
    read_once();
    uvzk__reading_pump(reading);
    assert_int_equal(begun, 1); /* it is not due */
    assert_int_equal(sim_set_by_hand(world.sim, PATH, "x", 1), 0);
    run_for(100);
    assert_int_equal(changed_count, 1);
    assert_int_equal(shown_count, 2);
    run_for(2 * (uint64_t)session()->connection.timeout_ms); /* and renewed */
    assert_true(shown_count > 2);
    assert_int_equal(shown_count, begun);
    end();
}

static void what_is_wanted_while_it_is_asked_is_read_again(void **state)
{
    (void)state;
    begin();
    uvzk__reading_pump(reading);
    assert_int_equal(reading->state, UVZK__READING_ASKED);
    uvzk__reading_want(reading);
    uvzk__reading_pump(reading);
    assert_int_equal(begun, 1); /* one request at a time */
    run_for(100);
    assert_int_equal(shown_count, 2);
    end();
}

/* The request that is under way carries no watch, because one was set. */
static void a_watch_that_fires_meanwhile_is_set_again(void **state)
{
    (void)state;
    begin();
    read_once();
    uvzk__reading_want(reading);
    uvzk__reading_pump(reading);
    assert_int_equal(sim_set_by_hand(world.sim, PATH, "x", 1), 0);
    run_for(200);
    assert_int_equal(changed_count, 1);
    assert_int_equal(shown_count, 3);
    assert_true(uvzk__watcher_is_armed(&reading->renewed.watcher));
    end();
}

/* The new server may have forgotten the watch, or may know more. */
static void each_connection_reads_it_once(void **state)
{
    (void)state;
    begin();
    read_once();
    sim_repeat_connected(a.port);
    run_for(100);
    uvzk__readings_resume(session(), &kind);
    run_for(100);
    assert_int_equal(shown_count, 2);
    uvzk__readings_resume(session(), &kind);
    assert_int_equal(begun, 2);
    end();
}

static void a_refused_one_is_repeated_after_pauses_that_grow(void **state)
{
    (void)state;
    begin();
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, UINT32_MAX);
    uvzk__reading_pump(reading);
    run_for(50);
    assert_int_equal(reading->state, UVZK__READING_PAUSED);
    uvzk__reading_pump(reading);
    assert_int_equal(begun, 1);
    run_for(950); /* after 100, 300, 700 ms */
    assert_in_range(failed_count, 3, 4);
    assert_int_equal(last_status, UVZK_ENOAUTH);
    sim_refuse(world.sim, UVZK__RPC_GET, 0, 0);
    uvzk__readings_resume(session(), &kind); /* at once */
    assert_int_equal(reading->state, UVZK__READING_ASKED);
    run_for(100);
    assert_int_equal(shown_count, 1);
    end();
}

static void one_that_is_not_repeated_rests(void **state)
{
    (void)state;
    begin();
    repeats = false;
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 1);
    uvzk__reading_pump(reading);
    run_for(5000);
    assert_int_equal(begun, 1);
    assert_int_equal(reading->state, UVZK__READING_IDLE);
    uvzk__reading_pump(reading);
    run_for(100);
    assert_int_equal(shown_count, 1);
    end();
}

static void without_room_for_the_watch_nothing_is_sent(void **state)
{
    (void)state;
    begin();
    session()->watches.bytes += UVZK__WATCH_BYTES_MAX;
    uvzk__reading_pump(reading);
    assert_int_equal(failed_count, 1);
    assert_int_equal(last_status, UVZK_ELIMIT);
    assert_int_equal(reading->state, UVZK__READING_PAUSED);
    run_for(900);
    assert_int_equal(failed_count, 1);
    session()->watches.bytes -= UVZK__WATCH_BYTES_MAX;
    run_for(200);
    assert_int_equal(shown_count, 1);
    end();
}

static void one_that_is_asked_is_freed_by_its_reply(void **state)
{
    (void)state;
    begin();
    uvzk__reading_pump(reading);
    uvzk__reading_end(reading);
    assert_int_equal(freed, 0);
    run_for(100);
    assert_int_equal(freed, 1);
    assert_int_equal(shown_count, 0);
    assert_int_equal(sim_watch_count(world.sim), 0);
    world_end(&world);
}

static void it_may_end_when_it_is_shown(void **state)
{
    (void)state;
    begin();
    ends = true;
    uvzk__reading_pump(reading);
    run_for(100);
    assert_int_equal(freed, 1);
    assert_int_equal(sim_watch_count(world.sim), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_when_it_is_pumped_and_after_each_change),
        cmocka_unit_test(what_is_wanted_while_it_is_asked_is_read_again),
        cmocka_unit_test(a_watch_that_fires_meanwhile_is_set_again),
        cmocka_unit_test(each_connection_reads_it_once),
        cmocka_unit_test(a_refused_one_is_repeated_after_pauses_that_grow),
        cmocka_unit_test(one_that_is_not_repeated_rests),
        cmocka_unit_test(without_room_for_the_watch_nothing_is_sent),
        cmocka_unit_test(one_that_is_asked_is_freed_by_its_reply),
        cmocka_unit_test(it_may_end_when_it_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
