/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's InterProcessMutex on the same paths: they
 * exclude each other, queue in one line, see each other and write alike. */
#include <arpa/inet.h>
#include <string.h>

#include "one_mutex.h"

static struct one_mutex scene;

static void test_both_see_the_same_participants(void **state)
{
    const char *path = "/interop/seen";
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    hold_take(&scene.ours, &scene.us);
    peer_say(&scene.peer, "acquire j L");
    assert_true(world_await_children(&scene.world, path, 2));
    assert_same_participants(&scene.world, &scene.us.mutex, &scene.peer, "L", 2);
    hold_give_back(&scene.ours);
    assert_non_null(peer_expect(&scene.peer, "granted j"));
    assert_non_null(peer_ask(&scene.peer, "released j", "release j L"));
    one_mutex_end(&scene);
}

static void test_names_and_data_are_alike(void **state)
{
    const char *path = "/interop/names";
    char data[64];
    struct in_addr address;
    struct Stat stat;
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    assert_non_null(peer_ask(&scene.peer, "granted j", "acquire j L"));
    hold_queue(&scene.ours, &scene.us, NULL);
    assert_int_equal(world_children(&scene.world, path), 2);
    for (size_t i = 0; i < 2; i++) {
        struct world_path node = world_child(&scene.world, path, i);
        assert_name_survives(node.text, "lock-");
        assert_int_equal(raw_get(scene.world.raw, node.text, data, sizeof(data)), ZOK);
        assert_int_equal(raw_exists(scene.world.raw, node.text, &stat), ZOK);
        print_message("%s: %s\n", i == 0 ? "Curator" : "uvzk", data);
        assert_int_equal(inet_pton(AF_INET, data, &address), 1);
        assert_int_equal(stat.dataLength, strlen(data));
        assert_int_not_equal(stat.ephemeralOwner, 0);
    }
    peer_say(&scene.peer, "release j L");
    hold_await(&scene.ours, PATIENCE_MS);
    hold_give_back(&scene.ours);
    one_mutex_end(&scene);
}

/* Curator takes no offence at a traceparent in our data, waits behind it and is granted; and
 * ours waits behind Curator, who has none. */
static void test_curator_beside_a_traceparent(void **state)
{
    const char *path = "/interop/traced";
    const char *wanted =
        "us\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    uvzk_acquire_options_t options;
    uvzk_wait_info_t wait;
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    uvzk_acquire_options_init(&options);
    options.node_data = "us";
    options.node_data_length = 2;
    options.traceparent = strchr(wanted, '0');
    assert_int_equal(hold_ask(&scene.ours, &scene.us, NULL, &options), 0);
    hold_await(&scene.ours, PATIENCE_MS);
    world_assert_data(&scene.world, scene.ours.path, wanted, strlen(wanted));
    peer_say(&scene.peer, "acquire j L");
    assert_true(world_await_children(&scene.world, path, 2));
    assert_same_participants(&scene.world, &scene.us.mutex, &scene.peer, "L", 2);
    hold_give_back(&scene.ours);
    assert_non_null(peer_expect(&scene.peer, "granted j"));
    hold_queue(&scene.ours, &scene.us, NULL);
    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&scene.ours.request, &wait), 0);
    assert_null(wait.traceparent);
    assert_non_null(peer_ask(&scene.peer, "released j", "release j L"));
    hold_await(&scene.ours, PATIENCE_MS);
    hold_give_back(&scene.ours);
    one_mutex_end(&scene);
}

/* Curator waits between ours: passed so often, and not once more. */
static void test_a_cohort_passes_curator_so_often(void **state)
{
    const char *path = "/interop/cohort";
    static uvzk_mutex_t cohort;
    static struct hold holds[4];
    (void)state;
    one_mutex_begin(&scene, path, "mutex");
    memset(&cohort, 0, sizeof(cohort));
    memset(holds, 0, sizeof(holds));
    assert_int_equal(
        uvzk_mutex_init_with_cohort(&scene.us.client, &cohort, path, 2, 60000), 0);
    hold_take_on(&holds[0], &scene.us, &cohort, 0);
    peer_say(&scene.peer, "acquire j L");
    assert_true(world_await_children(&scene.world, path, 2));
    for (size_t i = 1; i < 4; i++) {
        hold_queue(&holds[i], &scene.us, &cohort);
    }
    for (uint32_t i = 0; i < 2; i++) {
        hold_give_back(&holds[i]);
        hold_await(&holds[i + 1], PATIENCE_MS);
        assert_int_equal(uvzk_hold_cohort(&holds[i + 1].request), i + 2);
        assert_true(holds[i + 1].token == holds[0].token);
        hold_verify(&holds[i + 1], PATIENCE_MS, 0);
        assert_null(peer_heard(&scene.peer, "granted j"));
    }
    hold_give_back(&holds[2]);
    assert_non_null(peer_expect(&scene.peer, "granted j"));
    assert_int_equal(holds[3].answered, 0);
    assert_non_null(peer_ask(&scene.peer, "released j", "release j L"));
    hold_await(&holds[3], PATIENCE_MS);
    assert_int_equal(uvzk_hold_cohort(&holds[3].request), 1);
    assert_true(holds[3].token > holds[0].token);
    hold_give_back(&holds[3]);
    assert_int_equal(uvzk_lock_close(&cohort, NULL), 0);
    one_mutex_end(&scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ONE_MUTEX_CASE(test_curator_waits_for_us, test_they_wait_for_us, "/interop/first",
                       "mutex"),
        ONE_MUTEX_CASE(test_we_wait_for_curator, test_we_wait_for_them, "/interop/second",
                       "mutex"),
        ONE_MUTEX_CASE(test_one_line_for_both, test_one_line_for_both, "/fifo", "mutex"),
        ONE_MUTEX_CASE(test_two_thousand_grants_in_a_crowd_of_ten,
                       test_two_thousand_grants_in_a_crowd_of_ten, "/interop/crowd",
                       "mutex"),
        cmocka_unit_test(test_both_see_the_same_participants),
        cmocka_unit_test(test_names_and_data_are_alike),
        cmocka_unit_test(test_curator_beside_a_traceparent),
        cmocka_unit_test(test_a_cohort_passes_curator_so_often),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
