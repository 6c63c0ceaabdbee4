/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's SharedCount on the same znode: each reads the
 * other's bytes, is told of the other's changes, and finds its own version old when the
 * other was faster. */
#include "counter.h"
#include "other_side.h"

static struct world world;
static struct process us;
static struct peer curator;
static struct counter ours;

static void begin(void)
{
    both_sides_begin(&world, NULL, &us, &curator);
}

static void we_open(const char *path, int32_t seed)
{
    counter_begin(&ours, &us, path, seed);
    counter_await(&ours, 1);
}

static void end(void)
{
    assert_int_equal(ours.troubles, 0);
    counter_close(&ours);
    both_sides_end(&world, &curator);
}

static void we_are_told(int32_t value)
{
    uint64_t since = world_now(&world);
    while (ours.told == 0 || ours.value != value) {
        assert_true(world_turn(&world, since));
    }
}

/* ----------------------------------------------------------------------- tests */

static void test_curator_reads_what_we_write(void **state)
{
    const char *path = "/interop/count/ours";
    struct Stat stat;
    (void)state;
    begin();
    we_open(path, 5);
    world_assert_data(&world, path, "\0\0\0\5", 4);
    assert_int_equal(raw_exists(world.raw, path, &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_non_null(peer_ask(&curator, "value N 5 0", "count N %s 77", path));
    assert_int_equal(counter_set(&ours, -2), 0);
    world_assert_data(&world, path, "\377\377\377\376", 4);
    assert_non_null(peer_expect(&curator, "changed N -2"));
    assert_int_equal(counter_set(&ours, INT32_MIN), 0);
    assert_non_null(peer_expect(&curator, "changed N -2147483648"));
    assert_non_null(peer_ask(&curator, "value N -2147483648 2", "get N"));
    end();
}

static void test_we_read_what_curator_writes(void **state)
{
    const char *path = "/interop/count/theirs";
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "value N 66051 0", "count N %s 66051", path));
    we_open(path, 77);
    assert_int_equal(ours.value, 66051);
    assert_non_null(peer_ask(&curator, "set N", "set N -1"));
    we_are_told(-1);
    assert_non_null(peer_ask(&curator, "set N", "set N 2147483647"));
    we_are_told(INT32_MAX);
    end();
}

static void test_a_version_is_old_after_the_others_change(void **state)
{
    const char *path = "/interop/count/versions";
    (void)state;
    begin();
    we_open(path, 1);
    assert_non_null(peer_ask(&curator, "value N 1 0", "count N %s 1", path));
    assert_int_equal(counter_try_set(&ours, counter_version(&ours), 2), 0);
    assert_non_null(peer_ask(&curator, "try_set N false", "try_set N 3"));
    world_assert_data(&world, path, "\0\0\0\2", 4);

    uvzk_value_version_t version = counter_version(&ours);
    assert_int_equal(counter_value(&ours), 2);
    assert_non_null(peer_ask(&curator, "value N 2 1", "get N"));
    assert_non_null(peer_ask(&curator, "try_set N true", "try_set N 4"));
    assert_int_equal(counter_try_set(&ours, version, 5), UVZK_EBADVERSION);
    world_assert_data(&world, path, "\0\0\0\4", 4);
    /* It was read again before that was told. */
    assert_int_equal(counter_value(&ours), 4);
    assert_int_equal(counter_try_set(&ours, counter_version(&ours), 5), 0);
    assert_non_null(peer_expect(&curator, "changed N 5"));
    end();
}

#define INCREMENTS 300

static uvzk_req_t increments;
static int done, outrun; /* increments, and how often the other side was faster */

static void increment(void);

static void on_incremented(uvzk_req_t *request, int status)
{
    (void)request;
    if (status == 0) {
        done++;
    } else {
        assert_int_equal(status, UVZK_EBADVERSION);
        outrun++;
    }
    if (done < INCREMENTS) {
        increment();
    }
}

static void increment(void)
{
    uvzk_value_version_t version = counter_version(&ours);
    int32_t value = counter_value(&ours) + 1;
    assert_int_equal(uvzk_shared_count_try_set(&ours.count, &increments, &version, value,
                                               on_incremented),
                     0);
}

/* Both count up at once: no increment is lost. */
static void test_no_increment_is_lost(void **state)
{
    const char *path = "/interop/count/race";
    (void)state;
    begin();
    we_open(path, 0);
    assert_non_null(peer_ask(&curator, "value N 0 0", "count N %s 0", path));
    done = outrun = 0;
    peer_say(&curator, "increment N %d", INCREMENTS);
    increment();
    we_are_told(2 * INCREMENTS);
    assert_true(world_await_count(&world, &done, INCREMENTS, PATIENCE_MS));
    assert_non_null(peer_expect(&curator, "increment N"));
    assert_non_null(peer_expect(&curator, "changed N 600"));
    assert_non_null(peer_ask(&curator, "value N 600 600", "get N"));
    print_message("Curator was faster %d times\n", outrun);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_reads_what_we_write),
        cmocka_unit_test(test_we_read_what_curator_writes),
        cmocka_unit_test(test_a_version_is_old_after_the_others_change),
        cmocka_unit_test(test_no_increment_is_lost),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
