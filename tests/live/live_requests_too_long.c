/* Requests that are longer than the jute.maxbuffer of a real server, which closes the
 * connection: uvzk refuses them in the end, or makes them shorter, and the session and all
 * others go on (engine/size_limit.h). */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "servers.h"

#define LOCK "/too-long/lock"
#define SMALL 20000U
#define MANY 100

static struct world world;
static struct process a;
static uvzk_mutex_t members[MANY];
static uvzk_multilock_t all;
static struct hold big, other, many[MANY];
static char data[1000000];

static void begin(void)
{
    char path[32];

    world_begin_one(&world, LOCK, &a);
    memset(members, 0, sizeof(members));
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(path, sizeof(path), "/too-long/%zu", i);
        assert_int_equal(uvzk_mutex_init(&a.client, &members[i], path), 0);
    }
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
}

static void make_multi_lock(void)
{
    uvzk_lock_t *list[MANY];

    for (size_t i = 0; i < MANY; i++) {
        list[i] = &members[i];
    }
    memset(&all, 0, sizeof(all));
    assert_int_equal(uvzk_multilock_init(&a.client, &all, list, MANY, 0, NULL), 0);
}

static int ask(struct hold *hold, uvzk_lock_t *lock, size_t bytes, uint32_t leases)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = data;
    options.node_data_length = bytes;
    options.leases = leases;
    return hold_ask(hold, &a, lock, &options);
}

/* ------------------------------------------------------------- with a small maximum */

static void test_one_is_refused_and_the_others_go_on(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(&big, &a.mutex, SMALL, 0), 0);
    assert_int_equal(ask(&other, &members[0], 100, 0), 0);
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    hold_await(&other, PATIENCE_MS);
    int lost = a.suspended;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask(&big, &a.mutex, SMALL, 0), 0);
        hold_take_on(&many[1], &a, &members[1], 1);
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
    make_multi_lock();
    assert_int_equal(ask(&big, &all, SMALL / MANY, 0), 0);
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    assert_int_equal(ask(&big, &members[0], SMALL / MANY, 0), 0);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    world_end(&world);
}

static void test_leases(void **state)
{
    (void)state;
    begin();
    process_make_semaphore(&a, "/too-long/semaphore", 60);
    assert_int_equal(ask(&big, &a.semaphore, SMALL / 60, 60), 0);
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    assert_int_equal(ask(&big, &a.semaphore, SMALL / 60, 20), 0);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    world_end(&world);
}

/* All of them in one turn, so in one batch at first. */
static void test_batches_get_shorter(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(ask(&many[i], &members[i], 1000, 0), 0);
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
    const char *sentence;
    size_t size, bytes = 11000;
    (void)state;

    begin();
    make_multi_lock();
    assert_int_equal(ask(&big, &all, bytes, 0), UV_EINVAL);
    sentence = strstr(uvzk_refusal(UV_EINVAL), "request of");
    assert_non_null(sentence);
    assert_int_equal(sscanf(sentence, "request of %zu bytes", &size), 1);
    bytes -= (size - 1048575 + MANY - 1) / MANY;
    assert_int_equal(ask(&big, &all, bytes + 1, 0), UV_EINVAL);
    assert_int_equal(ask(&big, &all, bytes, 0), 0);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    process_make_semaphore(&a, "/too-long/semaphore", 60);
    assert_int_equal(ask(&big, &a.semaphore, 20000, 60), UV_EINVAL);
    assert_int_equal(ask(&big, &a.mutex, sizeof(data), 0), 0);
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
