/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are longer than the jute.maxbuffer of a real server, which closes the
 * connection: uvzk refuses them in the end, or makes them shorter, and the session and all
 * others go on (engine/size_limit.h). */
#include "long_request.h"
#include "servers.h"
#include "world.h"

#define LOCK "/too-long/lock"
#define SMALL 20000U
#define MANY LONG_REQUEST_PARTS

static struct world world;
static struct process a;
static struct long_requests requests;
static struct hold big, other, many[MANY];

static void begin(void)
{
    world_begin_one(&world, LOCK, &a);
    long_requests_make(&requests, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
}

static void ask(struct hold *hold, uvzk_lock_t *lock, size_t bytes)
{
    assert_int_equal(long_request_ask(hold, &a, lock, bytes, 0), 0);
}

/* ------------------------------------------------------------- with a small maximum */

static void test_one_is_refused_and_the_others_go_on(void **state)
{
    (void)state;
    begin();
    ask(&big, &a.mutex, SMALL);
    ask(&other, &requests.mutexes[0], 100);
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    hold_await(&other, PATIENCE_MS);
    int lost = a.suspended;
    for (int i = 0; i < 20; i++) {
        ask(&big, &a.mutex, SMALL);
        hold_take_on(&many[1], &a, &requests.mutexes[1], 1);
        hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
        hold_give_back(&many[1]);
    }
    assert_int_equal(a.suspended, lost);
    assert_int_equal(lost, 4); /* three in a row, and one when it was alone */
    assert_true(hold_holds(&other));
    hold_give_back(&other);
    world_end(&world);
}

static void test_the_multi_of_a_multi_lock(void **state)
{
    (void)state;
    begin();
    long_multilock_is_rejected(&big, &requests, SMALL);
    world_end(&world);
}

static void test_leases(void **state)
{
    (void)state;
    begin();
    long_leases_are_rejected(&big, &requests, SMALL);
    world_end(&world);
}

/* All of them in one turn, so in one batch at first. */
static void test_batches_get_shorter(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < MANY; i++) {
        ask(&many[i], &requests.mutexes[i], 1000);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_await(&many[i], PATIENCE_MS);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_release(&many[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_await_released(&many[i], PATIENCE_MS, 0);
    }
    world_end(&world);
}

/* --------------------------------------------------------- with the default maximum */

/* What is not refused at the call is accepted, up to the last byte. */
static void test_the_longest_is_accepted(void **state)
{
    (void)state;
    begin();
    long_request_is_refused_at_the_call(&big, &a, &requests.all, 0);
    long_request_is_refused_at_the_call(&big, &a, &a.semaphore, MANY);
    ask(&big, &a.mutex, 1000000);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    assert_int_equal(a.suspended, 0);
    world_end(&world);
}

static int start_small(void **state)
{
    (void)state;
    return servers_start_one_with(&(struct server_options){.jute_maxbuffer = SMALL});
}

int main(void)
{
    const struct CMUnitTest small[] = {
        cmocka_unit_test(test_one_is_refused_and_the_others_go_on),
        cmocka_unit_test(test_the_multi_of_a_multi_lock),
        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_batches_get_shorter),
    };
    const struct CMUnitTest usual[] = {cmocka_unit_test(test_the_longest_is_accepted)};
    int failed = cmocka_run_group_tests(small, start_small, servers_stop);

    return failed + cmocka_run_group_tests(usual, servers_start_one, servers_stop);
}
