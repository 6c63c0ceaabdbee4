/* The library and Apache Curator's SharedCount on the same znode: each reads the
 * other's bytes, is told of the other's changes, and finds its own version old when the
 * other was faster. */
#define THREADED /* the C client's blocking calls */
#include <stdio.h>
#include <string.h>

#include "other_side.h"

static struct live live;
static struct peer curator;

/* What our side was told. */
static struct {
    uvzk_shared_count_t count;
    int32_t value;
    int told, set, closed; /* callbacks so far */
    int set_status;
    uvzk_set_t request;
    int left; /* increments still to be done */
} ours;

static void on_changed(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)count;
    assert_int_equal(status, 0);
    ours.value = value;
    ours.told++;
}

static void on_set(uvzk_set_t *request, int status)
{
    (void)request;
    ours.set_status = status;
    ours.set++;
}

static void on_count_closed(uvzk_shared_count_t *count)
{
    (void)count;
    ours.closed++;
}

static void begin(void)
{
    live_open(&live);
    memset(&ours, 0, sizeof(ours));
    other_side_start(&live, &curator, 0);
}

static void we_open(const char *path, int32_t seed)
{
    assert_int_equal(
        uvzk_shared_count_init(&live.client, &ours.count, path, seed, on_changed), 0);
    assert_true(run_until_count(live.loop, &ours.told, 1));
}

static void end(void)
{
    assert_int_equal(uvzk_shared_count_close(&ours.count, on_count_closed), 0);
    assert_true(run_until_count(live.loop, &ours.closed, 1));
    other_side_end(&curator);
    live_end(&live);
}

static bool has_value(void *context)
{
    return ours.told > 0 && ours.value == *(const int32_t *)context;
}

static bool we_are_told(int32_t value)
{
    return run_until(live.loop, has_value, &value, PATIENCE_MS);
}

/* Sets it over this version, or over any if there is none; what is told of it. */
static int we_set(const uvzk_value_version_t *version, int32_t value)
{
    int before = ours.set;
    assert_int_equal(
        version == NULL ? uvzk_shared_count_set(&ours.count, &ours.request, value, on_set)
                        : uvzk_shared_count_try_set(&ours.count, &ours.request, version,
                                                    value, on_set),
        0);
    assert_true(run_until_count(live.loop, &ours.set, before + 1));
    return ours.set_status;
}

static void assert_bytes(const char *path, const char expected[4])
{
    char bytes[16];
    int got = sizeof(bytes);
    assert_int_equal(zoo_get(live.raw, path, 0, bytes, &got, NULL), ZOK);
    assert_int_equal(got, 4);
    assert_memory_equal(bytes, expected, 4);
}

/* ----------------------------------------------------------------------- tests */

static void test_curator_reads_what_we_write(void **state)
{
    const char *path = "/interop/count/ours";
    struct Stat stat;
    (void)state;
    begin();
    we_open(path, 5);
    assert_bytes(path, "\0\0\0\5");
    assert_int_equal(raw_exists(live.raw, path, &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_non_null(peer_ask(&curator, "value N 5 0", "count N %s 77", path));
    assert_int_equal(we_set(NULL, -2), 0);
    assert_bytes(path, "\377\377\377\376");
    assert_non_null(peer_expect(&curator, "changed N -2"));
    assert_int_equal(we_set(NULL, INT32_MIN), 0);
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
    assert_true(we_are_told(-1));
    assert_non_null(peer_ask(&curator, "set N", "set N 2147483647"));
    assert_true(we_are_told(INT32_MAX));
    end();
}

static void test_a_version_is_old_after_the_others_change(void **state)
{
    const char *path = "/interop/count/versions";
    uvzk_value_version_t version;
    int32_t value;
    (void)state;
    begin();
    we_open(path, 1);
    assert_non_null(peer_ask(&curator, "value N 1 0", "count N %s 1", path));
    assert_int_equal(uvzk_shared_count_get(&ours.count, &value, &version), 0);
    assert_int_equal(we_set(&version, 2), 0);
    assert_non_null(peer_ask(&curator, "try_set N false", "try_set N 3"));
    assert_bytes(path, "\0\0\0\2");

    assert_int_equal(uvzk_shared_count_get(&ours.count, &value, &version), 0);
    assert_int_equal(value, 2);
    assert_non_null(peer_ask(&curator, "value N 2 1", "get N"));
    assert_non_null(peer_ask(&curator, "try_set N true", "try_set N 4"));
    assert_int_equal(we_set(&version, 5), UVZK_EBADVERSION);
    assert_bytes(path, "\0\0\0\4");
    /* It was read again before that was told. */
    assert_int_equal(uvzk_shared_count_get(&ours.count, &value, &version), 0);
    assert_int_equal(value, 4);
    assert_int_equal(we_set(&version, 5), 0);
    assert_non_null(peer_expect(&curator, "changed N 5"));
    end();
}

#define INCREMENTS 300

static void increment(void);

static void on_incremented(uvzk_set_t *request, int status)
{
    (void)request;
    if (status == 0) {
        ours.left--;
    } else {
        assert_int_equal(status, UVZK_EBADVERSION);
        ours.set++; /* how often the other side was faster */
    }
    if (ours.left > 0) {
        increment();
    }
}

static void increment(void)
{
    uvzk_value_version_t version;
    int32_t value;
    assert_int_equal(uvzk_shared_count_get(&ours.count, &value, &version), 0);
    assert_int_equal(uvzk_shared_count_try_set(&ours.count, &ours.request, &version,
                                               value + 1, on_incremented),
                     0);
}

static bool has_no_increment_left(void *context)
{
    (void)context;
    return ours.left == 0;
}

/* Both count up at once: no increment is lost. */
static void test_no_increment_is_lost(void **state)
{
    const char *path = "/interop/count/race";
    (void)state;
    begin();
    we_open(path, 0);
    assert_non_null(peer_ask(&curator, "value N 0 0", "count N %s 0", path));
    ours.left = INCREMENTS;
    peer_say(&curator, "increment N %d", INCREMENTS);
    increment();
    assert_true(we_are_told(2 * INCREMENTS));
    assert_true(run_until(live.loop, has_no_increment_left, NULL, PATIENCE_MS));
    assert_non_null(peer_expect(&curator, "increment N"));
    assert_non_null(peer_expect(&curator, "changed N 600"));
    assert_non_null(peer_ask(&curator, "value N 600 600", "get N"));
    print_message("Curator was faster %d times\n", ours.set);
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
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
