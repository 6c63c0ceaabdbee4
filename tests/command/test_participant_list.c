/* SPDX-License-Identifier: Apache-2.0 */
/* The command's census, over the simulator: a lock that is handed on while it is looked at
 * is never told as one that nobody holds. */
#include "cmocka_test.h"

#include <stdio.h>

#include "participant_list.h"
#include "world.h"

#define LOCK "/lock"
#define LATEST_MS 12

static struct world world;
static struct process process, other;
static struct participant_list participant_list;
static int told;

static void on_participant_list(struct participant_list *taken, int status)
{
    assert_ptr_equal(taken, &participant_list);
    assert_int_equal(status, 0);
    told++;
}

static const char *contender(int number)
{
    static char path[64];

    (void)snprintf(path, sizeof(path), LOCK WORLD_FOREIGN_PREFIX "lock-%010d", number);
    return path;
}

static void come(int number)
{
    assert_non_null(sim_create_by_hand(world.sim, contender(number), UVZK__PERSISTENT));
}

static void go(int number)
{
    assert_int_equal(sim_delete_by_hand(world.sim, contender(number)), 0);
}

static void begin(void)
{
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &process, &other);
    world_run_for(&world, 100);
    assert_non_null(sim_create_by_hand(world.sim, LOCK, UVZK__PERSISTENT));
    participant_list = (struct participant_list){0};
    told = 0;
    assert_int_equal(participant_list_init(&participant_list, &process.client, LOCK), 0);
}

static void end(void)
{
    participant_list_free(&participant_list);
    world_release_and_end(&world);
}

/* So long after it has begun the holder goes. */
static void take_while_it_goes(int after_ms, bool another_comes)
{
    begin();
    come(1);
    assert_int_equal(participant_list_read(&participant_list, true, on_participant_list),
                     0);
    world_run_for(&world, (uint64_t)after_ms);
    if (another_comes) {
        come(2);
    }
    go(1);
    assert_true(world_await(&world, &told, 1000));
    assert_false(participant_list.inconsistent);
}

static void test_one_goes_when_another_has_come(void **state)
{
    (void)state;
    for (int after_ms = 0; after_ms < LATEST_MS; after_ms++) {
        take_while_it_goes(after_ms, true);
        assert_true(participant_list.count > 0 && participant_list.participants[0].holds);
        end();
    }
}

static void test_it_changes_hands_faster_than_it_is_read(void **state)
{
    int number = 1;
    (void)state;

    begin();
    come(number);
    assert_int_equal(participant_list_read(&participant_list, true, on_participant_list),
                     0);
    while (told == 0) {
        come(number + 1);
        go(number++);
        world_run_for(&world, 1);
        assert_in_range(number, 0, 1000);
    }
    assert_true(participant_list.inconsistent);
    end();
}

static void test_the_last_one_goes(void **state)
{
    (void)state;
    for (int after_ms = 0; after_ms < LATEST_MS; after_ms++) {
        take_while_it_goes(after_ms, false);
        end();
    }
}

static void test_an_election_is_listed_by_its_names(void **state)
{
    /* By the number, whatever the names begin with. */
    static const char *const paths[] = {LOCK "/_c_b-latch-0000000001",
                                        LOCK "/_c_a-latch-0000000002",
                                        LOCK "/_c_latch-latch-0000000000"};
    (void)state;

    begin();
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(sim_create_by_hand(world.sim, paths[i], UVZK__PERSISTENT));
    }
    assert_non_null(sim_create_by_hand(world.sim, LOCK "/other", UVZK__PERSISTENT));
    assert_int_equal(participant_list_read(&participant_list, true, on_participant_list),
                     0);
    assert_true(world_await(&world, &told, 1000));
    assert_int_equal(participant_list.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(participant_list.participants[i].recipe, RECIPE_LATCH);
        assert_int_equal(participant_list.participants[i].holds, i == 0);
    }
    assert_string_equal(participant_list.participants[0].node, paths[2]);
    assert_false(participant_list_is_mixed(&participant_list, LOCK, RECIPE_LATCH, false));
    assert_true(participant_list_is_mixed(&participant_list, LOCK, RECIPE_MUTEX, false));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_goes_when_another_has_come),
        cmocka_unit_test(test_it_changes_hands_faster_than_it_is_read),
        cmocka_unit_test(test_the_last_one_goes),
        cmocka_unit_test(test_an_election_is_listed_by_its_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
