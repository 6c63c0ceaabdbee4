/* SPDX-License-Identifier: Apache-2.0 */
/* ZOOKEEPER-4706, and several holders at once in clients that sort names as text:
 * near 2147483647 the sequence counter of a directory sticks, repeats, or turns
 * negative. Whoever is given such a number is refused, and leaves nothing behind. */
#include "world.h"

#include "base/place.h"

#define SEEDS 8U

static struct world world;
static struct process a, b;

static const int32_t worn_out[] = {
    UVZK__SEQUENCE_LIMIT + 1, INT32_MAX - 1, INT32_MAX, INT32_MIN, -2147483638, -1000};
#define WORN_OUT (sizeof(worn_out) / sizeof(worn_out[0]))

static void set_counter(int32_t value)
{
    assert_int_equal(sim_set_counter(world.sim, WORLD_PATH, value), 0);
}

static void check_refused(struct hold *hold)
{
    hold_await_status(hold, 1000, UVZK_EEXHAUSTED);
    world_run_for(&world, 100); /* its znode is withdrawn in the background */
}

/* The last good number holds; whoever comes after it is refused, and it holds on. */
static void newcomers_are_refused(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < WORN_OUT; i++) {
        struct hold last, waiting, refused[3];

        world_begin_two(&world, seed, state, &a, &b);
        world_make_directory(&world, &a);
        set_counter(UVZK__SEQUENCE_LIMIT - 1);
        hold_take(&last, &a);
        hold_begin(&waiting, &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, 200);
        set_counter(worn_out[i]);
        hold_begin(&refused[0], &b, UVZK_WAIT_FOREVER);
        hold_begin(&refused[1], &a, UVZK_WAIT_FOREVER);
        hold_begin(&refused[2], &b, 5000);
        for (size_t j = 0; j < 3; j++) {
            check_refused(&refused[j]);
        }
        assert_int_equal(world_queue_length(&world), 2);
        assert_true(uvzk_hold_is_valid(&last.request));
        assert_int_equal(waiting.answered, 0);
        hold_give_back(&last);
        hold_acquire_release(&waiting, 1000);
        world_end(&world);
    }
}

/* Alone in the directory or not: such a number never holds. */
static void nobody_holds_with_a_worn_out_number(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < WORN_OUT; i++) {
        struct hold holds[4];

        world_begin_two(&world, seed, state, &a, &b);
        world_make_directory(&world, &a);
        set_counter(worn_out[i]);
        for (size_t j = 0; j < 4; j++) {
            hold_begin(&holds[j], j % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
        }
        for (size_t j = 0; j < 4; j++) {
            check_refused(&holds[j]);
        }
        assert_int_equal(world_queue_length(&world), 0);
        world_end(&world);
    }
}

/* When the directory has been emptied and removed, its successor counts from 0. */
static void a_new_directory_is_good_again(uint64_t seed, void *const *state)
{
    struct hold refused, again;

    world_begin_one(&world, seed, state, &a);
    world_make_directory(&world, &a);
    set_counter(INT32_MAX);
    hold_begin(&refused, &a, UVZK_WAIT_FOREVER);
    check_refused(&refused);
    sim_check_containers(world.sim);
    assert_false(sim_exists(world.sim, WORLD_PATH));
    hold_take(&again, &a);
    assert_true(again.token > world.first.token);
    hold_give_back(&again);
    world_end(&world);
}

/* Two znodes with one number, whatever their names sort like: not two holders. */
static void a_tie_is_not_broken_by_name(uint64_t seed, void *const *state)
{
    static const char *const tied[] = {
        WORLD_PATH "/_c_00000000-0000-4000-8000-000000000000-lock-0000000077",
        WORLD_PATH "/_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-0000000077"};

    for (size_t i = 0; i < 2; i++) {
        struct hold hold;

        world_begin_one(&world, seed, state, &a);
        world_make_directory(&world, &a);
        assert_non_null(sim_create_by_hand(world.sim, tied[i], UVZK__EPHEMERAL));
        set_counter(77);
        hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
        world_run_for(&world, 2000);
        assert_int_equal(hold.answered, 0);
        assert_int_equal(sim_delete_by_hand(world.sim, tied[i]), 0);
        hold_acquire_release(&hold, 1000);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(newcomers_are_refused, 1, SEEDS),
        WORLD_SCENARIO(nobody_holds_with_a_worn_out_number, 1, SEEDS),
        WORLD_SCENARIO(a_new_directory_is_good_again, 1, SEEDS),
        WORLD_SCENARIO(a_tie_is_not_broken_by_name, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
