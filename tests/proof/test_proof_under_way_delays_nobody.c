/* Whoever needs a proof while one is under way that does not name its znode asks for
 * another one as soon as that is answered: only a proof that came to nothing is followed
 * by a rest, which is a good part of a tick. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define LOCKS 3
#define APART_MS 7U
#define ROUND_TRIP_MS 42U
#define SEEDS 20U

/* B writes under each path, two of A wait there to read. */
struct stage {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a[LOCKS], of_b[LOCKS];
    struct hold writing[LOCKS], first[LOCKS], second[LOCKS];
};

static void begin(struct stage *stage, uint64_t seed, void *const *state)
{
    memset(stage, 0, sizeof(*stage));
    world_begin_two(&stage->world, seed, state, &stage->a, &stage->b);
    for (size_t i = 0; i < LOCKS; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "/rw%zu", i);
        assert_int_equal(uvzk_rwlock_init(&stage->a.client, &stage->of_a[i], path), 0);
        assert_int_equal(uvzk_rwlock_init(&stage->b.client, &stage->of_b[i], path), 0);
        hold_begin_on_for(&stage->writing[i], &stage->b, &stage->of_b[i].write, NULL);
        hold_await(&stage->writing[i], 1000);
        hold_begin_on_for(&stage->first[i], &stage->a, &stage->of_a[i].read, NULL);
        hold_begin_on_for(&stage->second[i], &stage->a, &stage->of_a[i].read, NULL);
    }
    world_run_for(&stage->world, 1000);
}

/* The first reader is granted by its watch; the second one's proof may have to wait for
 * one that is under way. */
static void each_takes_a_round_trip_more(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage stage;

        begin(&stage, seed, state);
        for (size_t i = 0; i < LOCKS; i++) {
            hold_release(&stage.writing[i]);
            world_run_for(&stage.world, APART_MS);
        }
        for (size_t i = 0; i < LOCKS; i++) {
            hold_await(&stage.first[i], 1000);
            hold_await(&stage.second[i], 1000);
            uint64_t ms = stage.second[i].answered_ms - stage.first[i].answered_ms;
            assert_in_range(ms, 0, 2 * ROUND_TRIP_MS + 10);
        }
        for (size_t i = 0; i < LOCKS; i++) {
            hold_give_back(&stage.first[i]);
            hold_give_back(&stage.second[i]);
        }
        world_end(&stage.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(each_takes_a_round_trip_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
