/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's DistributedAtomicLong on the same znode: each reads the
 * other's bytes, none overwrites what the other has added, and both are promoted to the
 * same mutex. */
#include "number.h"
#include "other_side.h"

static struct world world;
static struct process us;
static struct peer curator;
static struct number ours;

static void begin(const char *path, const uvzk_atomic_long_options_t *options)
{
    both_sides_begin(&world, NULL, &us, &curator);
    number_begin(&ours, &us, path, options);
}

static void end(void)
{
    number_close(&ours);
    both_sides_end(&world, &curator);
}

/* ----------------------------------------------------------------------- tests */

static void test_curator_reads_what_we_write(void **state)
{
    const char *path = "/interop/atomic/ours";
    struct Stat stat;

    (void)state;
    begin(path, NULL);
    assert_int_equal(number_add(&ours, 258), 0);
    world_assert_data(&world, path, "\0\0\0\0\0\0\1\2", 8);
    assert_int_equal(raw_exists(world.raw, path, &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_non_null(peer_ask(&curator, "made N", "atomic N %s 3", path));
    assert_non_null(peer_ask(&curator, "value N true 258 258", "get N"));
    assert_int_equal(number_add(&ours, -260), 0);
    world_assert_data(&world, path, "\377\377\377\377\377\377\377\376", 8);
    assert_non_null(peer_ask(&curator, "value N true -2 40", "add N 42"));
    assert_int_equal(number_try_set(&ours, INT64_MIN), 0);
    assert_true(ours.value.pre_value == 40);
    assert_non_null(peer_ask(
        &curator, "value N true -9223372036854775808 -9223372036854775808", "get N"));
    end();
}

static void test_we_read_what_curator_writes(void **state)
{
    const char *path = "/interop/atomic/theirs";

    (void)state;
    begin(path, NULL);
    assert_int_equal(number_compare_and_set(&ours, 0, 1), UVZK_ENONODE);
    assert_non_null(peer_ask(&curator, "made N", "atomic N %s 3", path));
    assert_non_null(peer_ask(&curator, "initialized N true", "initialize N 5"));
    assert_int_equal(number_initialize(&ours, 6), UVZK_ENODEEXISTS);
    assert_int_equal(number_get(&ours), 0);
    assert_true(ours.value.post_value == 5);
    assert_non_null(peer_ask(&curator, "value N true 5 7", "compare_and_set N 5 7"));
    assert_int_equal(number_compare_and_set(&ours, 5, 8), UVZK_EBADVERSION);
    assert_true(ours.value.pre_value == 7);
    assert_int_equal(number_compare_and_set(&ours, 7, 8), 0);
    assert_non_null(peer_ask(&curator, "set N", "force_set N 9223372036854775807"));
    assert_int_equal(number_add(&ours, 1), UV_ERANGE);
    assert_int_equal(number_force_set(&ours, 11), 0);
    assert_non_null(peer_ask(&curator, "value N true 11 11", "get N"));
    end();
}

#define INCREMENTS 200

static uvzk_req_t increments;
static int done, outrun, promoted;

static void increment(void);

static void on_incremented(uvzk_req_t *call, int status)
{
    const uvzk_atomic_value_t *value = call->result->value;
    (void)call;
    if (status == 0) {
        done++;
    } else {
        assert_int_equal(status, UVZK_EBADVERSION);
        outrun++;
    }
    promoted += value->promoted_tries > 0;
    if (done < INCREMENTS) {
        increment();
    }
}

static void increment(void)
{
    assert_int_equal(uvzk_atomic_long_add(&ours.atomic, &increments, 1, on_incremented),
                     0);
}

static void count_up_together(void)
{
    int64_t before;

    assert_int_equal(number_get(&ours), 0);
    before = ours.value.post_value;
    done = outrun = promoted = 0;
    peer_say(&curator, "increment N %d", INCREMENTS);
    increment();
    assert_true(world_await_count(&world, &done, INCREMENTS, PATIENCE_MS));
    assert_non_null(peer_expect(&curator, "incremented N"));
    assert_int_equal(number_get(&ours), 0);
    assert_true(ours.value.post_value == before + 2 * INCREMENTS);
    print_message("outrun %d times, promoted %d times\n", outrun, promoted);
}

/* Both count up at once: no increment is lost, and none is counted twice. */
static void test_no_increment_is_lost(void **state)
{
    const char *path = "/interop/atomic/race";

    (void)state;
    begin(path, NULL);
    assert_non_null(peer_ask(&curator, "made N", "atomic N %s 3", path));
    count_up_together();
    world_assert_data(&world, path, "\0\0\0\0\0\0\1\220", 8);
    end();
}

/* Whether the two meet is a matter of chance: the test counts on until they have. */
#define MOST_ROUNDS 20

/* The mutex of the promoted phase is the same: Curator's call waits while we hold it, and
 * both sides come through with one try each. */
static void test_both_are_promoted_to_the_same_mutex(void **state)
{
    const char *path = "/interop/atomic/promoted", *mutex = "/interop/atomic/mutex";
    uvzk_atomic_long_options_t options;
    uvzk_mutex_t same = {.data = NULL};
    int rounds = 0;

    (void)state;
    uvzk_atomic_long_options_init(&options);
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 0;
    options.retry.max_retries = 0;
    options.mutex_path = mutex;
    begin(path, &options);
    assert_int_equal(uvzk_mutex_init(&us.client, &same, mutex), 0);
    assert_non_null(peer_ask(&curator, "made N", "promoted N %s 1 %s", path, mutex));
    do {
        count_up_together();
    } while (promoted == 0 && ++rounds < MOST_ROUNDS);
    assert_true(promoted > 0);
    assert_int_equal(uvzk_lock_close(&same, NULL), 0);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_reads_what_we_write),
        cmocka_unit_test(test_we_read_what_curator_writes),
        cmocka_unit_test(test_no_increment_is_lost),
        cmocka_unit_test(test_both_are_promoted_to_the_same_mutex),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
