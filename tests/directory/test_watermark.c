/* SPDX-License-Identifier: Apache-2.0 */
/* Who is given the number behind a known one is granted without a listing, if all up
 * to that one are known and it is the same directory. Each of the three is missing
 * here in turn: another one stands before who asks then, and only a listing shows him. */
#include "cmocka_test.h"

#include "directory/queue.h"
#include "world.h"

#define LATENCY 10U
#define TURNS 4U /* the last of them is without a listing; the next number is as large */
#define ANYBODY "lock-"

static struct world world;
static struct process a, b;
static struct hold hold, next, waits;

static void begin_with(unsigned tuning, uint64_t seed)
{
    struct sim_options options;

    world_exact_options(&options, LATENCY);
    world_begin_with(&world, seed, tuning, &options);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    world_run_for(&world, 500);
    assert_true(process_connected(&a) && process_connected(&b));
}

static void begin(unsigned tuning)
{
    begin_with(tuning, WORLD_NO_QUEUED_CB);
}

static void settle(void)
{
    world_run_for(&world, 300);
}

static void turn(uvzk_lock_t *lock)
{
    hold_take_on(&hold, &a, lock, 0);
    hold_give_back(&hold);
    settle();
}

static void turns(uvzk_lock_t *lock, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        turn(lock);
    }
}

static uint64_t listings_of_a_turn(uvzk_lock_t *lock)
{
    uint64_t before = process_metrics(&a).listings;

    turn(lock);
    return process_metrics(&a).listings - before;
}

/* A comes to the lock again and again, and lists it no more. */
static void begin_marked(void)
{
    begin(UVZK__TUNE_ALL);
    turns(NULL, TURNS - 1);
    assert_int_equal(listings_of_a_turn(NULL), 0);
    assert_int_equal(process_watermarks(&a), 1);
}

static void others_come(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    }
}

/* Another directory at its place, in which so many stand. */
static void make_anew(unsigned count)
{
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    assert_non_null(sim_create_by_hand(world.sim, WORLD_PATH, UVZK__PERSISTENT));
    others_come(count);
}

static void end_with(struct hold *last)
{
    hold_await(last, 5000);
    hold_give_back(last);
    world_end(&world);
}

static void end_with_both(struct hold *first, struct hold *last)
{
    hold_await(first, 1000);
    hold_give_back(first);
    end_with(last);
}

static void it_waits_until_all_go(void)
{
    assert_true(hold_pending(&waits));
    while (world_queue_length(&world) > 1) { /* the last one is A's */
        world_delete_child(&world, WORLD_PATH, 0);
    }
    end_with(&waits);
}

static void ask_and_wait(void)
{
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    it_waits_until_all_go();
}

/* Who wants to know how many are before it is told: it is listed for. */
static void who_wants_its_position_is_told(void **state)
{
    (void)state;
    begin_with(UVZK__TUNE_ALL, WORLD_QUEUED_CB);
    turns(NULL, TURNS);
    assert_int_equal(listings_of_a_turn(NULL), 0);
    hold_take(&hold, &a);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    hold_await_queued(&waits);
    hold_give_back(&hold);
    end_with(&waits);
}

/* ----------------------------------------------------------------- the next number */

static void a_number_further_on_is_listed(void **state)
{
    (void)state;
    begin_marked();
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    ask_and_wait();
}

/* And the next one behind it is known again. */
static void one_who_has_come_and_gone_costs_a_listing(void **state)
{
    (void)state;
    begin_marked();
    hold_take(&next, &b);
    hold_give_back(&next);
    assert_int_equal(listings_of_a_turn(NULL), 1);
    assert_int_equal(listings_of_a_turn(NULL), 1); /* it leaves in the pipeline still */
    assert_int_equal(listings_of_a_turn(NULL), 0);
    world_end(&world);
}

/* ---------------------------------------------------------------- all up to the mark */

/* He came behind A's create and before its listing, which shows him; the view does not keep
 * who stands behind the last of ours, and so the mark is at A's own number. */
static void who_stands_behind_us_is_not_known(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL & ~(unsigned)UVZK__TUNE_PIPELINE);
    turn(NULL);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, LATENCY + 2);
    assert_int_equal(world_queue_length(&world), 1);
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    settle();
    assert_true(hold_holds(&hold));
    assert_int_equal(process_watermarks(&a), 1);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&hold);
    settle();
    it_waits_until_all_go();
}

/* A's own: it may not be deleted, and stands until it may. It keeps others out, and A knows
 * of it: nothing is listed. */
static void what_we_could_not_delete_is_known(void **state)
{
    (void)state;
    begin_marked();
    hold_take(&hold, &a);
    assert_int_equal(sim_set_deletable(world.sim, WORLD_PATH, false), 0);
    hold_release(&hold);
    settle();
    assert_int_equal(hold.release_status, UVZK_ENOAUTH);
    uint64_t listings = process_metrics(&a).listings;
    hold_take(&hold, &a);
    assert_int_equal(process_metrics(&a).listings, listings);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 5000);
    assert_int_equal(next.answered, 0);
    assert_int_equal(sim_set_deletable(world.sim, WORLD_PATH, true), 0);
    hold_give_back(&hold);
    hold_acquire_release(&next, WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* ---------------------------------------------------------------- the same directory */

static void a_directory_made_anew_is_listed(void **state)
{
    (void)state;
    begin_marked();
    make_anew(TURNS);
    ask_and_wait();
}

/* The news of it come with the create's reply, before it. */
static void the_news_come_before_the_number(void **state)
{
    (void)state;
    begin_marked();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    make_anew(TURNS);
    settle();
    it_waits_until_all_go();
}

/* Of what happens without a connection nothing needs to be told before the next reply. */
static void a_directory_made_anew_in_an_outage_is_listed(void **state)
{
    (void)state;
    begin_marked();
    sim_disconnect(a.port, SIM_RESET, 1000);
    world_run_for(&world, 100);
    make_anew(TURNS);
    sim_lose_events(a.port, 1);
    assert_true(process_await_connected(&a, 5000));
    settle();
    ask_and_wait();
}

/* Who may not read the directory is not told that it has gone: silence is believed for one
 * session timeout, from the moment when the watch was set. */
static void silence_is_not_believed_for_ever(void **state)
{
    (void)state;
    begin_marked();
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    turn(NULL);
    sim_lose_events(a.port, 1);
    make_anew(TURNS + 1);
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    ask_and_wait();
}

/* Nobody may read the directory any more, so that its watch is told of nothing. What else
 * we see of that gives it away. */
static void begin_deaf(void)
{
    begin_marked();
    assert_int_equal(sim_set_readable(world.sim, WORLD_PATH, false), 0);
}

/* Numbers only grow: one that is not larger is of another directory. */
static void a_smaller_number_ends_it(void **state)
{
    (void)state;
    begin_deaf();
    make_anew(0);
    turn(NULL);
    assert_int_equal(process_watermarks(&a), 0);
    others_come(TURNS - 1);
    ask_and_wait();
}

static void a_listing_that_is_refused_ends_it(void **state)
{
    (void)state;
    begin_deaf();
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    world_delete_child(&world, WORLD_PATH, 0);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    hold_await_status(&hold, 1000, UVZK_ENOAUTH);
    settle();
    assert_int_equal(process_watermarks(&a), 0);
    make_anew(TURNS);
    ask_and_wait();
}

/* Ours makes another one, in which others are before its znode is. */
static void a_missing_directory_ends_it(void **state)
{
    (void)state;
    begin_deaf();
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    while (sim_set_counter(world.sim, WORLD_PATH, TURNS - 1) != 0) {
        world_run_for(&world, 1);
    }
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    settle();
    it_waits_until_all_go();
}

/* A server that lags tells of it before it tells of a create behind it. */
static void a_server_that_lags_tells_it_in_order(uint64_t seed, void *const *state)
{
    world_begin_servers(&world, seed, state, 3);
    process_begin(&a, &world, "a", NULL);
    assert_true(process_await_connected(&a, 60000));
    sim_connect_to(a.port, (sim_leader(world.sim) + 1) % 3);
    world_run_for(&world, 2000);
    turns(NULL, TURNS);
    sim_lag(world.sim, sim_server_of(a.port), 2000);
    make_anew(TURNS);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 4000);
    it_waits_until_all_go();
}

/* -------------------------------------------------------------------- its watch */

static void a_lock_of_another_kind_has_one_too(void **state)
{
    (void)state;
    begin_marked();
    process_make_rwlock(&a, WORLD_PATH);
    turns(&a.rwlock.write, TURNS);
    assert_int_equal(listings_of_a_turn(&a.rwlock.write), 0);
    assert_int_equal(process_watermarks(&a), 2);
    turns(NULL, 2); /* others have come and gone */
    assert_int_equal(listings_of_a_turn(NULL), 0);
    world_end(&world);
}

static void it_is_beside_a_shared_value(void **state)
{
    uvzk_shared_value_t value = {0};

    (void)state;
    begin_marked();
    assert_int_equal(
        uvzk_shared_value_init(&a.client, &value, WORLD_PATH, "seed", 4, NULL), 0);
    settle();
    assert_int_equal(process_watermarks(&a), 1);
    for (unsigned i = 0; i < TURNS; i++) {
        assert_int_equal(listings_of_a_turn(NULL), 0);
    }
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    settle();
    assert_int_equal(process_watermarks(&a), 1);
    assert_int_equal(listings_of_a_turn(NULL), 0);
    world_end(&world);
}

/* Somebody waits for a lease, and a mutex is in the leases' directory. */
static void it_is_beside_the_watch_for_a_lease(void **state)
{
    uvzk_mutex_t mutex = {0};

    (void)state;
    begin(UVZK__TUNE_ALL);
    process_make_semaphore(&a, "/s", 1);
    assert_int_equal(uvzk_mutex_init(&a.client, &mutex, "/s/leases"), 0);
    turns(&mutex, TURNS);
    assert_int_equal(process_watermarks(&a), 1);
    struct world_path lease = world_foreign_node(&world, "/s/leases", "lease-");
    hold_begin_on(&waits, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    settle();
    assert_true(hold_pending(&waits));
    turns(&mutex, TURNS);
    assert_int_equal(process_watermarks(&a), 1);
    world_delete(&world, &lease);
    end_with(&waits);
}

/* While its request is under way, too. */
static void it_is_armed_beside_a_shared_value(void **state)
{
    uvzk_shared_value_t value = {0};

    (void)state;
    begin(UVZK__TUNE_ALL);
    turn(NULL);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    hold_await(&hold, 1000);
    assert_int_equal(process_watermarks(&a), 1);
    assert_true(sim_outstanding(a.port) > 0);
    assert_int_equal(
        uvzk_shared_value_init(&a.client, &value, WORLD_PATH, "seed", 4, NULL), 0);
    world_run_for(&world, 2);
    assert_int_equal(process_watermarks(&a), 1);
    settle();
    assert_int_equal(process_watermarks(&a), 1);
    hold_give_back(&hold);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    world_end(&world);
}

static void nothing_is_left_of_it(void)
{
    assert_int_equal(process_metrics(&a).watches, 0);
    assert_int_equal(sim_watch_count(world.sim), 0);
    assert_null(uvzk__catalogue_first(
        &((struct uvzk__session *)a.client.impl)->directories->catalogue));
    world_end(&world);
}

/* A while after the last one has gone. */
static void it_is_given_up_when_nobody_comes(void **state)
{
    (void)state;
    begin_marked();
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    turn(NULL);
    world_run_for(&world, WORLD_TIMEOUT_MS - 1000);
    assert_int_equal(process_metrics(&a).watches, 1);
    world_run_for(&world, 1000);
    nothing_is_left_of_it();
}

/* Nor when its lock has closed. */
static void it_is_given_up_with_its_lock(void **state)
{
    (void)state;
    begin_marked();
    process_close_mutex(&a);
    settle();
    nothing_is_left_of_it();
}

/* It has saved nothing, and is not set anew. */
static void one_that_is_of_no_use_ends(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    turns(NULL, 2);
    assert_int_equal(process_watermarks(&a), 1);
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(process_watermarks(&a), 0);
    world_delete_child(&world, WORLD_PATH, 0);
    end_with_both(&waits, &next);
}

/* -------------------------------------------------------------- several of ours at once */

/* Who holds lets go, and asks again behind the other two. */
static void pass_on(struct hold *holds, struct hold *follows)
{
    hold_give_back(holds);
    hold_await(follows, 1000);
    hold_begin(holds, &a, UVZK_WAIT_FOREVER);
    settle();
}

static void pass_round(void)
{
    pass_on(&hold, &next);
    pass_on(&next, &waits);
    pass_on(&waits, &hold);
}

/* A listing behind the watch serves all who are there; whoever comes afterwards needs
 * none. */
static void several_of_ours_are_listed_once(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    hold_take(&hold, &a);
    assert_int_equal(process_watermarks(&a), 0);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(process_watermarks(&a), 1);
    pass_round();
    uint64_t before = process_metrics(&a).listings;
    pass_round();
    pass_round();
    assert_int_equal(process_metrics(&a).listings, before);
    hold_give_back(&hold);
    end_with_both(&next, &waits);
}

/* Where others are it would save little. */
static void several_beside_others_have_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    turn(NULL);
    (void)world_foreign_node(&world, WORLD_PATH, ANYBODY);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(process_watermarks(&a), 0);
    world_delete_child(&world, WORLD_PATH, 0);
    end_with_both(&next, &waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_wants_its_position_is_told),
        cmocka_unit_test(a_number_further_on_is_listed),
        cmocka_unit_test(one_who_has_come_and_gone_costs_a_listing),
        cmocka_unit_test(who_stands_behind_us_is_not_known),
        cmocka_unit_test(what_we_could_not_delete_is_known),
        cmocka_unit_test(a_directory_made_anew_is_listed),
        cmocka_unit_test(the_news_come_before_the_number),
        cmocka_unit_test(a_directory_made_anew_in_an_outage_is_listed),
        cmocka_unit_test(silence_is_not_believed_for_ever),
        cmocka_unit_test(a_smaller_number_ends_it),
        cmocka_unit_test(a_listing_that_is_refused_ends_it),
        cmocka_unit_test(a_missing_directory_ends_it),
        WORLD_SCENARIO_CASE(a_server_that_lags_tells_it_in_order, 0, 7, tuned),
        cmocka_unit_test(a_lock_of_another_kind_has_one_too),
        cmocka_unit_test(it_is_beside_a_shared_value),
        cmocka_unit_test(it_is_beside_the_watch_for_a_lease),
        cmocka_unit_test(it_is_armed_beside_a_shared_value),
        cmocka_unit_test(it_is_given_up_when_nobody_comes),
        cmocka_unit_test(it_is_given_up_with_its_lock),
        cmocka_unit_test(one_that_is_of_no_use_ends),
        cmocka_unit_test(several_of_ours_are_listed_once),
        cmocka_unit_test(several_beside_others_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
