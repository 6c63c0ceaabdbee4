/* SPDX-License-Identifier: Apache-2.0 */
/* A reader is granted once its znode has been seen after the last one before it went.
 * Writers of the same client that queue up behind it and give up, again and again, are
 * none of those: what becomes of their znodes must not make old what was seen of its
 * own. */
#include "world.h"

#define PATH "/rw"
#define READERS 3
#define WRITERS 8
#define STAY_MS 5U
#define GRANTED_MS 300U /* some round trips, of 42 ms at most */
#define SEEDS 10U

static struct world world;
static struct process a, b;
static struct hold writing, readers[READERS], writers[WRITERS];

/* B writes, and A waits to read. */
static void begin(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&writing, &b, &b.rwlock.write, NULL);
    hold_await(&writing, 1000);
    for (size_t i = 0; i < READERS; i++) {
        hold_begin_on_for(&readers[i], &a, &a.rwlock.read, NULL);
    }
    world_run_for(&world, 500);
}

static void give_up(struct hold *writer)
{
    hold_cancel(writer);
    hold_await_status(writer, 1, UV_ECANCELED);
}

/* One comes each few ms, and the oldest one gives up. */
static void writers_come_and_go(uint64_t ms)
{
    for (uint64_t i = 0; i * STAY_MS < ms; i++) {
        struct hold *writer = &writers[i % WRITERS];
        if (i >= WRITERS) {
            assert_int_equal(writer->answered, 0);
            give_up(writer);
        }
        hold_begin_on_for(writer, &a, &a.rwlock.write, NULL);
        world_run_for(&world, STAY_MS);
    }
}

static void end_writers(void)
{
    for (size_t i = 0; i < WRITERS; i++) {
        give_up(&writers[i]);
    }
}

static void all_readers_are_granted(uint64_t seed, void *const *state)
{
    begin(seed, state);
    writers_come_and_go(500);
    end_writers();
    uint64_t since = world_now(&world);
    hold_release(&writing);
    writers_come_and_go(2 * GRANTED_MS);
    for (size_t i = 0; i < READERS; i++) {
        assert_true(hold_holds(&readers[i]));
        assert_in_range(readers[i].answered_ms, since, since + GRANTED_MS);
    }
    end_writers();
    for (size_t i = 0; i < READERS; i++) {
        hold_give_back(&readers[i]);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(all_readers_are_granted, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
