/* The command's census, over the simulator: a lock that is handed on while it is looked at
 * is never told as one that nobody holds. */
#include "cmocka_test.h"

#include <stdio.h>

#include "census.h"
#include "world.h"

#define LOCK "/lock"
#define LATEST_MS 12

static struct world world;
static struct process process, other;
static struct census census;
static int told;

static void on_census(struct census *taken, int status)
{
    assert_ptr_equal(taken, &census);
    assert_int_equal(status, 0);
    told++;
}

static const char *contender(int number)
{
    static char path[64];

    (void)snprintf(path, sizeof(path), LOCK WORLD_STRANGER "lock-%010d", number);
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
    census = (struct census){0};
    told = 0;
    assert_int_equal(census_init(&census, &process.client, LOCK), 0);
}

static void end(void)
{
    census_free(&census);
    world_wind_up(&world);
}

/* So long after it has begun the holder goes. */
static void take_while_it_goes(int after_ms, bool another_comes)
{
    begin();
    come(1);
    assert_int_equal(census_take(&census, true, on_census), 0);
    world_run_for(&world, (uint64_t)after_ms);
    if (another_comes) {
        come(2);
    }
    go(1);
    assert_true(world_await(&world, &told, 1000));
    assert_false(census.torn);
}

static void test_one_goes_when_another_has_come(void **state)
{
    (void)state;
    for (int after_ms = 0; after_ms < LATEST_MS; after_ms++) {
        take_while_it_goes(after_ms, true);
        assert_true(census.count > 0 && census.residents[0].holds);
        end();
    }
}

static void test_it_changes_hands_faster_than_it_is_read(void **state)
{
    int number = 1;
    (void)state;

    begin();
    come(number);
    assert_int_equal(census_take(&census, true, on_census), 0);
    while (told == 0) {
        come(number + 1);
        go(number++);
        world_run_for(&world, 1);
        assert_in_range(number, 0, 1000);
    }
    assert_true(census.torn);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_goes_when_another_has_come),
        cmocka_unit_test(test_it_changes_hands_faster_than_it_is_read),
        cmocka_unit_test(test_the_last_one_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
