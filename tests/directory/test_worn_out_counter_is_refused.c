/* ZOOKEEPER-4706, and several holders at once in clients that sort names as text:
 * near 2147483647 the sequence counter of a directory sticks, repeats, or turns
 * negative. Whoever is given such a number is refused, and leaves nothing behind. */
#include "scene.h"

#include <stdio.h>

#include "base/order.h"

#define SEEDS 8U

static const int32_t worn_out[] = {
    UVZK__SEQUENCE_LIMIT + 1, INT32_MAX - 1, INT32_MAX, INT32_MIN, -2147483638, -1000};
#define WORN_OUT (sizeof(worn_out) / sizeof(worn_out[0]))

static void set_counter(struct scene *scene, int32_t value)
{
    assert_int_equal(sim_set_counter(scene->sim, SCENE_PATH, value), 0);
}

static void check_refused(struct scene *scene, struct claim *claim)
{
    claim_await_status(claim, 1000, UVZK_EEXHAUSTED);
    scene_run_for(scene, 100); /* its znode is withdrawn in the background */
}

/* The last good number holds; whoever comes after it is refused, and it holds on. */
static void newcomers_are_refused(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < WORN_OUT; i++) {
            struct scene scene;
            struct process a, b;
            struct claim last, waiting, refused[3];

            scene_begin_two(&scene, seed, state, &a, &b);
            scene_make_directory(&scene, &a);
            set_counter(&scene, UVZK__SEQUENCE_LIMIT - 1);
            claim_take(&last, &a);
            claim_begin(&waiting, &b, UVZK_WAIT_FOREVER);
            scene_run_for(&scene, 200);
            set_counter(&scene, worn_out[i]);
            claim_begin(&refused[0], &b, UVZK_WAIT_FOREVER);
            claim_begin(&refused[1], &a, UVZK_WAIT_FOREVER);
            claim_begin(&refused[2], &b, 5000);
            for (size_t j = 0; j < 3; j++) {
                check_refused(&scene, &refused[j]);
            }
            assert_int_equal(scene_queue_length(&scene), 2);
            assert_true(uvzk_hold_is_valid(&last.request));
            assert_int_equal(waiting.acquired, 0);
            claim_give_back(&last);
            claim_await(&waiting, 1000);
            claim_give_back(&waiting);
            scene_end(&scene);
        }
    }
}

/* Alone in the directory or not: such a number never holds. */
static void nobody_holds_with_a_worn_out_number(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < WORN_OUT; i++) {
            struct scene scene;
            struct process a, b;
            struct claim claims[4];

            scene_begin_two(&scene, seed, state, &a, &b);
            scene_make_directory(&scene, &a);
            set_counter(&scene, worn_out[i]);
            for (size_t j = 0; j < 4; j++) {
                claim_begin(&claims[j], j % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
            }
            for (size_t j = 0; j < 4; j++) {
                check_refused(&scene, &claims[j]);
            }
            assert_int_equal(scene_queue_length(&scene), 0);
            scene_end(&scene);
        }
    }
}

/* When the directory has been emptied and removed, its successor counts from 0. */
static void a_new_directory_is_good_again(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim first, refused, again;

        scene_begin_one(&scene, seed, state, &a);
        claim_take(&first, &a);
        claim_give_back(&first);
        set_counter(&scene, INT32_MAX);
        claim_begin(&refused, &a, UVZK_WAIT_FOREVER);
        check_refused(&scene, &refused);
        sim_check_containers(scene.sim);
        assert_false(sim_exists(scene.sim, SCENE_PATH));
        claim_take(&again, &a);
        assert_true(again.token > first.token);
        claim_give_back(&again);
        scene_end(&scene);
    }
}

/* Two znodes with one number, whatever their names sort like: not two holders. */
static void a_tie_is_not_broken_by_name(void **state)
{
    static const char *const names[] = {
        SCENE_PATH "/_c_00000000-0000-4000-8000-000000000000-lock-%010d",
        SCENE_PATH "/_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-%010d"};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < 2; i++) {
            struct scene scene;
            struct process a;
            struct claim claim;
            char name[128];

            scene_begin_one(&scene, seed, state, &a);
            scene_make_directory(&scene, &a);
            set_counter(&scene, 77);
            (void)snprintf(name, sizeof(name), names[i], 77);
            const char *tied = sim_create_by_hand(scene.sim, name, UVZK__EPHEMERAL);
            assert_non_null(tied);
            set_counter(&scene, 77);
            claim_begin(&claim, &a, UVZK_WAIT_FOREVER);
            scene_run_for(&scene, 2000);
            assert_int_equal(claim.acquired, 0);
            assert_int_equal(sim_delete_by_hand(scene.sim, name), 0);
            claim_await(&claim, 1000);
            claim_give_back(&claim);
            scene_end(&scene);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(newcomers_are_refused),
        SCENE_TEST(nobody_holds_with_a_worn_out_number),
        SCENE_TEST(a_new_directory_is_good_again),
        SCENE_TEST(a_tie_is_not_broken_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
