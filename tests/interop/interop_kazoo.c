/* SPDX-License-Identifier: Apache-2.0 */
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

/* Many of ours before it: it is let in when the last of them is gone. */
static void test_kazoo_waits_for_all_of_ours(void **state)
{
    static struct one_mutex scene;
    static struct hold queue[5];
    const char *path = "/interop/behind";
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    for (int i = 0; i < 5; i++) {
        hold_begin(&queue[i], &scene.us, UVZK_WAIT_FOREVER);
        assert_true(world_await_children(&scene.world, path, i + 1));
    }
    peer_say(&scene.peer, "acquire k L");
    assert_true(world_await_children(&scene.world, path, 6));
    for (int i = 0; i < 5; i++) {
        hold_await(&queue[i], PATIENCE_MS);
        assert_null(peer_heard(&scene.peer, "granted k"));
        hold_give_back(&queue[i]);
    }
    assert_non_null(peer_expect(&scene.peer, "granted k"));
    assert_non_null(peer_ask(&scene.peer, "released k", "release k L"));
    one_mutex_end(&scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        /* As it comes, */
        ONE_MUTEX_CASE(test_kazoo_waits_for_us, test_they_wait_for_us, "/interop/kazoo",
                       "mutex"),
        cmocka_unit_test(test_kazoo_waits_for_all_of_ours),
        /* and under our names. */
        ONE_MUTEX_CASE(test_kazoo_under_our_names_waits_for_us, test_they_wait_for_us,
                       "/interop/named", "named_mutex"),
        ONE_MUTEX_CASE(test_we_wait_for_kazoo_under_our_names, test_we_wait_for_them,
                       "/interop/first", "named_mutex"),
        ONE_MUTEX_CASE(test_one_line_for_both_under_our_names, test_one_line_for_both,
                       "/interop/line", "named_mutex"),
        ONE_MUTEX_CASE(test_two_thousand_grants_in_a_crowd_of_ten,
                       test_two_thousand_grants_in_a_crowd_of_ten, "/interop/crowd",
                       "named_mutex"),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
