/* The library and Apache Curator's InterProcessMutex on the same paths: they
 * exclude each other, queue in one line, see each other and write alike. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "one_mutex.h"

/* ---------------------------------------------------------- exclusion and order */

static void test_curator_waits_for_us(void **state)
{
    (void)state;
    assert_they_wait_for_us("/interop/first", "mutex");
}

static void test_we_wait_for_curator(void **state)
{
    (void)state;
    assert_we_wait_for_them("/interop/second", "mutex");
}

static void test_one_line_for_both(void **state)
{
    (void)state;
    assert_one_line_for_both("/fifo", "mutex");
}

static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    (void)state;
    assert_two_thousand_grants_in_a_crowd_of_ten("/interop/crowd", "mutex");
}

/* ------------------------------------------------------------- names and data */

static struct one_mutex scene;

static void test_both_see_the_same_participants(void **state)
{
    const char *path = "/interop/seen";
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    assert_int_equal(attempt_start(&scene.ours, &scene.mutex, NULL), 0);
    assert_true(attempt_wait_granted(scene.live.loop, &scene.ours));
    peer_say(&scene.peer, "acquire j L");
    assert_true(live_wait_children(&scene.live, path, 2));
    assert_same_participants(&scene.live, &scene.mutex, &scene.peer, "L", 2);
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.ours));
    assert_non_null(peer_expect(&scene.peer, "granted j"));
    assert_non_null(peer_ask(&scene.peer, "released j", "release j L"));
    one_mutex_end(&scene);
}

static void test_names_and_data_are_alike(void **state)
{
    const char *path = "/interop/names";
    struct raw_names names;
    char node[256], data[2][64];
    struct in_addr address;
    struct Stat stats[2];
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    assert_non_null(peer_ask(&scene.peer, "granted j", "acquire j L"));
    assert_int_equal(attempt_start(&scene.ours, &scene.mutex, NULL), 0);
    assert_true(attempt_wait_queued(scene.live.loop, &scene.ours));
    assert_int_equal(raw_children(scene.live.raw, path, &names), ZOK);
    assert_int_equal(names.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_name_survives(names.names[i], "lock-");
        snprintf(node, sizeof(node), "%s/%s", path, names.names[i]);
        assert_int_equal(raw_get(scene.live.raw, node, data[i], sizeof(data[i])), ZOK);
        assert_int_equal(raw_exists(scene.live.raw, node, &stats[i]), ZOK);
        print_message("%s: %s\n", i == 0 ? "Curator" : "uvzk", data[i]);
        assert_int_equal(inet_pton(AF_INET, data[i], &address), 1);
        assert_int_equal(stats[i].dataLength, strlen(data[i]));
        assert_int_not_equal(stats[i].ephemeralOwner, 0);
    }
    raw_names_free(&names);
    peer_say(&scene.peer, "release j L");
    assert_true(attempt_wait_granted(scene.live.loop, &scene.ours));
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.ours));
    one_mutex_end(&scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_waits_for_us),
        cmocka_unit_test(test_we_wait_for_curator),
        cmocka_unit_test(test_one_line_for_both),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
        cmocka_unit_test(test_both_see_the_same_participants),
        cmocka_unit_test(test_names_and_data_are_alike),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
