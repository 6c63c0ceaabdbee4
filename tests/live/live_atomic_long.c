/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic long on a real server: many clients count up together, with and without the
 * mutex; lost replies; Curator's TestDistributedAtomicLong, as far as it has a meaning
 * here. */
#include "number.h"

#define NUMBER "/number"
#define MUTEX "/number_mutex"
#define CLIENTS 5
#define ADDS 40

static struct world world;
static struct process processes[CLIENTS];
static struct number numbers[CLIENTS]; /* of each */

static void options_init(uvzk_atomic_long_options_t *options, uint32_t tries,
                         const char *mutex)
{
    uvzk_atomic_long_options_init(options);
    options->retry.max_retries = tries - 1;
    options->mutex_path = mutex;
}

static void join(int i, const uvzk_atomic_long_options_t *options)
{
    process_make(&processes[i], &world, "one", NULL);
    number_begin(&numbers[i], &processes[i], NUMBER, options);
    process_start(&processes[i]);
}

/* Removes the znode too: the next test begins anew. */
static void end(void)
{
    while (world.processes != NULL) {
        process_end(world.processes);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_null(numbers[i].atomic.impl);
    }
    assert_int_equal(raw_delete(world.raw, NUMBER), ZOK);
    world_end(&world);
}

/* TestDistributedAtomicLong.testBasic: what each call replaces and leaves. */
static void test_simple(void **state)
{
    struct number *number = &numbers[0];

    (void)state;
    world_begin(&world, NULL);
    join(0, NULL);
    assert_int_equal(number_add(number, 1), 0);
    assert_int_equal(number_add(number, -2), 0);
    assert_true(number->value.pre_value == 1 && number->value.post_value == -1);
    assert_int_equal(number_compare_and_set(number, 5, 6), UVZK_EBADVERSION);
    assert_int_equal(number_compare_and_set(number, -1, 6), 0);
    assert_int_equal(number_try_set(number, 7), 0);
    assert_true(number->value.pre_value == 6);
    assert_int_equal(number_force_set(number, 8), 0);
    assert_int_equal(number_initialize(number, 9), UVZK_ENODEEXISTS);
    assert_int_equal(number_get(number), 0);
    assert_true(number->value.post_value == 8);
    world_assert_data(&world, NUMBER, "\0\0\0\0\0\0\0\10", 8);
    end();
}

/* TestDistributedAtomicLong.testCorruptedValue. */
static void test_corrupted_data(void **state)
{
    (void)state;
    world_begin(&world, NULL);
    assert_int_equal(raw_create(world.raw, NUMBER), ZOK);
    assert_int_equal(raw_set(world.raw, NUMBER, "foo"), ZOK);
    join(0, NULL);
    assert_int_equal(number_get(&numbers[0]), UVZK_EDATA);
    assert_int_equal(number_add(&numbers[0], 1), UVZK_EDATA);
    assert_int_equal(number_force_set(&numbers[0], 2), 0);
    assert_int_equal(number_add(&numbers[0], 1), 0);
    world_assert_data(&world, NUMBER, "\0\0\0\0\0\0\0\3", 8);
    end();
}

static uvzk_req_t calls[CLIENTS];
static int done[CLIENTS], all_done, tries, promoted;

static void count(int i);

static void on_counted(uvzk_req_t *call, int status)
{
    const uvzk_atomic_value_t *value = call->result->value;
    int i = (int)(call - calls);

    assert_true(status == 0 || status == UVZK_EBADVERSION);
    tries += (int)(value->optimistic_tries + value->promoted_tries);
    promoted += value->promoted_tries > 0;
    if (status == 0) {
        done[i]++;
        all_done++;
    }
    if (done[i] < ADDS) {
        count(i);
    }
}

static void count(int i)
{
    assert_int_equal(uvzk_atomic_long_add(&numbers[i].atomic, &calls[i], 1, on_counted),
                     0);
}

static void count_together(const uvzk_atomic_long_options_t *options)
{
    world_begin(&world, NULL);
    all_done = tries = promoted = 0;
    for (int i = 0; i < CLIENTS; i++) {
        done[i] = 0;
        join(i, options);
        count(i);
    }
    assert_true(world_await_count(&world, &all_done, CLIENTS * ADDS, 4 * PATIENCE_MS));
    assert_int_equal(number_get(&numbers[0]), 0);
    assert_true(numbers[0].value.post_value == CLIENTS * ADDS);
    print_message("%d tries, %d calls promoted\n", tries, promoted);
    end();
}

/* TestDistributedAtomicLong.testSimulation. */
static void test_many_clients_count_together(void **state)
{
    uvzk_atomic_long_options_t options;

    (void)state;
    options_init(&options, 30, NULL);
    count_together(&options);
}

static void test_many_clients_count_together_with_a_mutex(void **state)
{
    uvzk_atomic_long_options_t options;

    (void)state;
    options_init(&options, 1, MUTEX);
    count_together(&options);
    assert_true(promoted > 0);
}

static int lost_status;

static void on_counted_or_not_known(uvzk_req_t *call, int status)
{
    (void)call;
    assert_true(status == 0 || status == UVZK_ECONNLOSS);
    lost_status = status;
    all_done++;
}

/* The connection is cut while a write waits for its reply: added once, or known not to
 * be. */
static void test_a_lost_connection_does_not_add_twice(void **state)
{
    int64_t least = 0, most = 0;

    (void)state;
    world_begin(&world, NULL);
    world_use_proxy(&world);
    join(0, NULL);
    assert_int_equal(number_add(&numbers[0], 0), 0);
    for (int i = 0; i < 5; i++) {
        int told = processes[0].suspended;

        all_done = 0;
        assert_int_equal(uvzk_atomic_long_add(&numbers[0].atomic, &calls[0], 1,
                                              on_counted_or_not_known),
                         0);
        world_run_for(&world, (uint64_t)i);
        proxy_refuse(&world.proxy);
        assert_true(
            world_await_count(&world, &processes[0].suspended, told + 1, PATIENCE_MS));
        proxy_pass(&world.proxy);
        assert_true(world_await(&world, &all_done, PATIENCE_MS));
        assert_true(process_await_connected(&processes[0], PATIENCE_MS));
        least += lost_status == 0;
        most++;
    }
    assert_int_equal(number_get(&numbers[0]), 0);
    assert_in_range(numbers[0].value.post_value, least, most);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_corrupted_data),
        cmocka_unit_test(test_many_clients_count_together),
        cmocka_unit_test(test_many_clients_count_together_with_a_mutex),
        cmocka_unit_test(test_a_lost_connection_does_not_add_twice),
    };

    return cmocka_run_group_tests_name("atomic long", tests, servers_start_one,
                                       servers_stop);
}
