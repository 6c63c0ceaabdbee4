/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever needs a proof while one is under way that does not name its znode asks for
 * another one as soon as that is answered: only a proof that came to nothing is followed
 * by a rest, which is a good part of a tick. */
#include "world.h"

#include <stdio.h>

#define LOCKS 3
#define APART_MS 7U
#define ROUND_TRIP_MS 42U
#define SEEDS 20U

/* B writes under each path, two of A wait there to read. */
static struct world world;
static struct process a, b;
static uvzk_rwlock_t of_a[LOCKS], of_b[LOCKS];
static struct hold writing[LOCKS], first[LOCKS], second[LOCKS];

static void begin(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    for (size_t i = 0; i < LOCKS; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "/rw%zu", i);
        assert_int_equal(uvzk_rwlock_init(&a.client, &of_a[i], path), 0);
        assert_int_equal(uvzk_rwlock_init(&b.client, &of_b[i], path), 0);
        hold_begin_on_for(&writing[i], &b, &of_b[i].write, NULL);
        hold_await(&writing[i], 1000);
        hold_begin_on_for(&first[i], &a, &of_a[i].read, NULL);
        hold_begin_on_for(&second[i], &a, &of_a[i].read, NULL);
    }
    world_run_for(&world, 1000);
}

/* The first reader is granted by its watch; the second one's proof may have to wait for
 * one that is under way. */
static void each_takes_a_round_trip_more(uint64_t seed, void *const *state)
{
    begin(seed, state);
    for (size_t i = 0; i < LOCKS; i++) {
        hold_release(&writing[i]);
        world_run_for(&world, APART_MS);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        hold_await(&first[i], 1000);
        hold_await(&second[i], 1000);
        uint64_t ms = second[i].answered_ms - first[i].answered_ms;
        assert_in_range(ms, 0, 2 * ROUND_TRIP_MS + 10);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        hold_give_back(&first[i]);
        hold_give_back(&second[i]);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(each_takes_a_round_trip_more, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
