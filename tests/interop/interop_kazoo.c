/* The library and kazoo's Lock on the same paths.
 *
 * As it comes, with extra_lock_patterns=("lock-",), kazoo waits for whoever queued
 * before it under Curator's names. Not the reverse: its own znodes, <32 hex
 * digits>__lock__<number>, are no contenders to Curator and to us, so we are granted
 * beside a kazoo that holds. They count as foreign children.
 *
 * Both ways it works as soon as kazoo's znodes are named _c_<32 hex
 * digits>-lock-<number>: two attributes of its Lock set after it was made, see
 * NamedLock in KazooPeer.py. */
#include "one_mutex.h"

/* ----------------------------------------------------------------- as it comes */

static void test_kazoo_waits_for_us(void **state)
{
    (void)state;
    assert_they_wait_for_us("/interop/kazoo", "mutex");
}

/* Many of ours before it: it is let in when the last of them is gone. */
static void test_kazoo_waits_for_all_of_ours(void **state)
{
    static struct one_mutex scene;
    static struct attempt queue[5];
    const char *path = "/interop/behind";
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt_start(&queue[i], &scene.mutex, NULL), 0);
        assert_true(live_wait_children(&scene.live, path, i + 1));
    }
    peer_say(&scene.peer, "acquire k L");
    assert_true(live_wait_children(&scene.live, path, 6));
    for (int i = 0; i < 5; i++) {
        assert_true(attempt_wait_granted(scene.live.loop, &queue[i]));
        assert_null(peer_heard(&scene.peer, "granted k"));
        assert_true(attempt_release_and_wait(scene.live.loop, &queue[i]));
    }
    assert_non_null(peer_expect(&scene.peer, "granted k"));
    assert_non_null(peer_ask(&scene.peer, "released k", "release k L"));
    one_mutex_end(&scene);
}

/* -------------------------------------------------------------- under our names */

static void test_kazoo_under_our_names_waits_for_us(void **state)
{
    (void)state;
    assert_they_wait_for_us("/interop/named", "named_mutex");
}

static void test_we_wait_for_kazoo_under_our_names(void **state)
{
    (void)state;
    assert_we_wait_for_them("/interop/first", "named_mutex");
}

static void test_one_line_for_both_under_our_names(void **state)
{
    (void)state;
    assert_one_line_for_both("/interop/line", "named_mutex");
}

static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    (void)state;
    assert_two_thousand_grants_in_a_crowd_of_ten("/interop/crowd", "named_mutex");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kazoo_waits_for_us),
        cmocka_unit_test(test_kazoo_waits_for_all_of_ours),
        cmocka_unit_test(test_kazoo_under_our_names_waits_for_us),
        cmocka_unit_test(test_we_wait_for_kazoo_under_our_names),
        cmocka_unit_test(test_one_line_for_both_under_our_names),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
