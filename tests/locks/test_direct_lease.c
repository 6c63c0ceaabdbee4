/* SPDX-License-Identifier: Apache-2.0 */
/* Where nobody else is a semaphore's lease is made without a ticket: granted if there
 * is room, and nobody is in `locks` after that was counted. Each of these is missing
 * here in turn, and the lease goes at once: a ticket takes its turn. */
#include "cmocka_test.h"

#include <string.h>

#include "directory/queue.h"
#include "world.h"

#define LATENCY 10U
#define TURNS \
    4U /* the last of them is three requests; the next lease's number is as large */
#define PATH "/s"
#define LOCKS PATH "/locks"
#define LEASES PATH "/leases"
#define TICKET "lock-"
#define LEASE "lease-"

static struct world world;
static struct process a, b;
static struct hold hold, next, waits;

static void begin_of(unsigned tuning, uint32_t leases)
{
    struct sim_options options;

    world_exact_options(&options, LATENCY);
    world_begin_with(&world, 2, tuning, &options);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    world_run_for(&world, 500);
    assert_true(process_connected(&a) && process_connected(&b));
    process_make_semaphore(&a, PATH, leases);
    process_make_semaphore(&b, PATH, leases);
}

static void begin(unsigned tuning)
{
    begin_of(tuning, 1);
}

static void settle(void)
{
    world_run_for(&world, 300);
}

static uint64_t cost_of_a_turn(void)
{
    uint64_t before = process_metrics(&a).requests;

    hold_take_on(&hold, &a, &a.semaphore, 1);
    hold_give_back(&hold);
    settle();
    return process_metrics(&a).requests - before;
}

/* A comes to the semaphore again and again. */
static void begin_alone_of(uint32_t leases)
{
    begin_of(UVZK__TUNE_ALL, leases);
    for (unsigned i = 1; i < TURNS; i++) {
        (void)cost_of_a_turn();
    }
    assert_int_equal(cost_of_a_turn(), 3);
}

static void begin_alone(void)
{
    begin_alone_of(1);
}

static void ask(void)
{
    hold_begin_on(&waits, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
}

/* A waits by its ticket, and has no lease, until this one has gone. */
static void await_after(const struct world_path *other)
{
    settle();
    assert_true(hold_pending(&waits));
    assert_int_equal(world_children(&world, LEASES), strstr(other->text, LEASE) != NULL);
    world_delete(&world, other);
    hold_await(&waits, 1000);
    hold_give_back(&waits);
    settle();
    assert_int_equal(world_children(&world, LOCKS), 0);
    assert_int_equal(world_children(&world, LEASES), 0);
    world_end(&world);
}

static struct world_path make_anew(const char *directory, const char *token,
                                   unsigned count)
{
    struct world_path last = {""};

    assert_int_equal(sim_delete_by_hand(world.sim, directory), 0);
    assert_non_null(sim_create_by_hand(world.sim, directory, UVZK__PERSISTENT));
    for (unsigned i = 0; i < count; i++) {
        if (i > 0) {
            world_delete(&world, &last);
        }
        last = world_foreign_node(&world, directory, token);
    }
    return last;
}

/* ---------------------------------------------------------------- nobody is in `locks` */

static void a_ticket_that_stands_goes_first(void **state)
{
    (void)state;
    begin_alone();
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    settle();
    ask();
    await_after(&other);
}

/* A's create is under way. */
static void a_ticket_that_comes_meanwhile_goes_first(void **state)
{
    (void)state;
    begin_alone();
    ask();
    world_run_for(&world, 1);
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    await_after(&other);
}

/* Counted by a listing, the first one: it is not enough that nobody was there when the
 * lease was made. */
static void a_ticket_that_comes_before_the_count_goes_first(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)cost_of_a_turn();
    (void)cost_of_a_turn();
    ask();
    while (world_children(&world, LEASES) == 0) {
        world_steps(&world, 1);
    }
    assert_int_equal(world_children(&world, LOCKS), 0);
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    await_after(&other);
}

/* The number was not the next one, and nobody was there before that was known. */
static void a_ticket_that_comes_before_the_listing_goes_first(void **state)
{
    (void)state;
    begin_alone();
    struct world_path lease = world_foreign_node(&world, LEASES, LEASE);
    world_delete(&world, &lease);
    ask();
    world_run_for(&world, 2 * LATENCY + 2);
    assert_true(hold_pending(&waits));
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    await_after(&other);
}

static void another_directory_of_tickets_is_looked_at(void **state)
{
    (void)state;
    begin_alone();
    struct world_path other = make_anew(LOCKS, TICKET, 1);
    ask();
    await_after(&other);
}

/* Whose ticket came while there was no connection. */
static void a_ticket_in_an_outage_goes_first(void **state)
{
    (void)state;
    begin_alone();
    sim_disconnect(a.port, SIM_RESET, 1000);
    world_run_for(&world, 100);
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    assert_true(process_await_connected(&a, 5000));
    settle();
    ask();
    await_after(&other);
}

/* The lease is found on the next connection: it was not counted, and goes. */
static void a_lost_reply_counts_nothing(void **state)
{
    (void)state;
    begin_alone();
    ask();
    world_run_for(&world, LATENCY + 2);
    assert_int_equal(world_children(&world, LEASES), 1);
    sim_disconnect(a.port, SIM_RESET, 1000);
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    world_run_for(&world, 2000);
    await_after(&other);
}

/* Who may not read `locks` does not know who is there. */
static void who_may_not_look_has_a_ticket(void **state)
{
    (void)state;
    begin_alone();
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ENOAUTH, 1);
    assert_in_range(cost_of_a_turn(), 7, 9);
    world_end(&world);
}

static void a_server_that_lags_tells_it_in_order(uint64_t seed, void *const *state)
{
    world_begin_servers(&world, seed, state, 3);
    process_begin(&a, &world, "a", NULL);
    process_make_semaphore(&a, PATH, 1);
    assert_true(process_await_connected(&a, 60000));
    sim_connect_to(a.port, (sim_leader(world.sim) + 1) % 3);
    world_run_for(&world, 2000);
    for (unsigned i = 0; i < TURNS; i++) {
        (void)cost_of_a_turn();
    }
    sim_lag(world.sim, sim_server_of(a.port), 2000);
    struct world_path other = world_foreign_node(&world, LOCKS, TICKET);
    ask();
    world_run_for(&world, 5000);
    assert_true(hold_pending(&waits));
    world_delete(&world, &other);
    hold_await(&waits, 8000);
    hold_give_back(&waits);
    world_end(&world);
}

/* ------------------------------------------------------------------- there is room */

/* Whoever has made it, as one of Curator's whose session has expired. */
static void a_lease_that_stands_is_counted(void **state)
{
    (void)state;
    begin_alone();
    struct world_path other = world_foreign_node(&world, LEASES, LEASE);
    ask();
    await_after(&other);
}

static void another_directory_of_leases_is_counted(void **state)
{
    (void)state;
    begin_alone();
    struct world_path other = make_anew(LEASES, LEASE, TURNS);
    ask();
    await_after(&other);
}

/* Of several: as many as there is room for, whoever has the others. */
static void one_of_several_stands_beside_others(void **state)
{
    (void)state;
    begin_alone_of(3);
    (void)world_foreign_node(&world, LEASES, LEASE);
    (void)cost_of_a_turn();
    (void)cost_of_a_turn();
    assert_int_equal(cost_of_a_turn(), 3);
    hold_take_on(&next, &a, &a.semaphore, 1);
    assert_int_equal(cost_of_a_turn(), 3);
    hold_give_back(&next);
    world_end(&world);
}

static void the_last_of_several_is_not_had_twice(void **state)
{
    (void)state;
    begin_alone_of(2);
    hold_take_on(&next, &a, &a.semaphore, 1);
    struct world_path other = world_foreign_node(&world, LEASES, LEASE);
    ask();
    settle();
    assert_true(hold_pending(&waits));
    assert_int_equal(world_children(&world, LEASES), 2);
    world_delete(&world, &other);
    hold_await(&waits, 1000);
    hold_give_back(&waits);
    hold_give_back(&next);
    settle();
    assert_int_equal(world_children(&world, LEASES), 0);
    world_end(&world);
}

/* When a count falls one of each client may be on its way to a lease: that with the
 * ticket. */
static void who_follows_a_shared_count_has_a_ticket(void **state)
{
    (void)state;
    uvzk_shared_count_t count = {0};
    uvzk_semaphore_t counted = {0};

    begin_alone();
    assert_int_equal(uvzk_shared_count_init(&a.client, &count, "/count", 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &counted, PATH, 0, &count), 0);
    settle();
    uint64_t before = process_metrics(&a).requests;
    hold_take_on(&hold, &a, &counted, 1);
    hold_give_back(&hold);
    settle();
    assert_true(process_metrics(&a).requests - before > 3);
    assert_int_equal(uvzk_lock_close(&counted, NULL), 0);
    assert_int_equal(uvzk_shared_count_close(&count, NULL), 0);
    settle();
    world_end(&world);
}

/* Two look, and see nobody: each counts the other's lease, and has its turn by a ticket. */
static void two_that_come_at_once_do_not_both_hold(void **state)
{
    (void)state;
    begin_alone();
    for (unsigned i = 0; i < TURNS; i++) {
        hold_take_on(&next, &b, &b.semaphore, 1);
        hold_give_back(&next);
        settle();
    }
    ask();
    hold_begin_on(&next, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(hold_holds(&waits) + hold_holds(&next), 1);
    struct hold *first = hold_holds(&waits) ? &waits : &next;
    struct hold *second = first == &waits ? &next : &waits;
    hold_give_back(first);
    hold_await(second, 2000);
    assert_true(second->token > first->token);
    hold_give_back(second);
    world_end(&world);
}

/* ------------------------------------------------------------------------- its end */

static void given_up_it_leaves_nothing(void **state)
{
    (void)state;
    begin_alone();
    ask();
    world_run_for(&world, 2);
    hold_cancel(&waits);
    settle();
    assert_int_equal(waits.status, UV_ECANCELED);
    assert_int_equal(world_children(&world, LEASES), 0);
    assert_int_equal(world_children(&world, LOCKS), 0);
    world_end(&world);
}

static void it_ends_with_the_session(void **state)
{
    (void)state;
    begin_alone();
    ask();
    world_run_for(&world, 2);
    process_expire(&a);
    hold_await_status(&waits, 60000, UVZK_EEXPIRED);
    assert_true(process_await_connected(&a, 60000));
    (void)cost_of_a_turn();
    world_end(&world);
}

/* Those of ours that come at once come in their order. */
static void the_next_one_of_ours_comes_behind(void **state)
{
    (void)state;
    begin_alone();
    ask();
    hold_begin_on(&next, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    settle();
    assert_true(hold_holds(&waits) && hold_pending(&next));
    hold_give_back(&waits);
    hold_await(&next, 1000);
    assert_true(next.token > waits.token);
    hold_give_back(&next);
    world_end(&world);
}

/* A client that has met somebody counts, then has a ticket, until it has been alone
 * again. */
static void who_meets_others_has_tickets(void **state)
{
    (void)state;
    begin_alone();
    hold_take_on(&next, &b, &b.semaphore, 1);
    hold_give_back(&next);
    settle();
    assert_int_equal(cost_of_a_turn(), 2 + 3 + 1); /* the look was too early, once */
    assert_in_range(cost_of_a_turn(), 5, 6);
    assert_in_range(cost_of_a_turn(), 3, 5);
    assert_int_equal(cost_of_a_turn(), 3);
    world_end(&world);
}

static void nothing_is_left_when_nobody_comes(void **state)
{
    (void)state;
    begin_alone();
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(process_metrics(&a).watches, 0);
    assert_int_equal(sim_watch_count(world.sim), 0);
    assert_null(uvzk__catalogue_first(
        &((struct uvzk__session *)a.client.impl)->directories->catalogue));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_that_stands_goes_first),
        cmocka_unit_test(a_ticket_that_comes_meanwhile_goes_first),
        cmocka_unit_test(a_ticket_that_comes_before_the_count_goes_first),
        cmocka_unit_test(a_ticket_that_comes_before_the_listing_goes_first),
        cmocka_unit_test(another_directory_of_tickets_is_looked_at),
        cmocka_unit_test(a_ticket_in_an_outage_goes_first),
        cmocka_unit_test(a_lost_reply_counts_nothing),
        cmocka_unit_test(who_may_not_look_has_a_ticket),
        WORLD_SCENARIO_CASE(a_server_that_lags_tells_it_in_order, 0, 7, tuned),
        cmocka_unit_test(a_lease_that_stands_is_counted),
        cmocka_unit_test(another_directory_of_leases_is_counted),
        cmocka_unit_test(one_of_several_stands_beside_others),
        cmocka_unit_test(the_last_of_several_is_not_had_twice),
        cmocka_unit_test(who_follows_a_shared_count_has_a_ticket),
        cmocka_unit_test(two_that_come_at_once_do_not_both_hold),
        cmocka_unit_test(given_up_it_leaves_nothing),
        cmocka_unit_test(it_ends_with_the_session),
        cmocka_unit_test(the_next_one_of_ours_comes_behind),
        cmocka_unit_test(who_meets_others_has_tickets),
        cmocka_unit_test(nothing_is_left_when_nobody_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
