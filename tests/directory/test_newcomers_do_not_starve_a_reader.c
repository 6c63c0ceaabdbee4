/* A reader is granted once its znode has been seen after the last one before it went.
 * Writers of the same client that queue up behind it and give up, again and again, are
 * none of those: what becomes of their znodes must not make old what was seen of its own. */
#include "world.h"

#include <string.h>

#define PATH "/rw"
#define READERS 3
#define WRITERS 8
#define STAY_MS 5U
#define GRANTED_MS 300U /* some round trips, of 42 ms at most */
#define SEEDS 10U

struct stage {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold writing, readers[READERS], writers[WRITERS];
};

/* B writes, and A waits to read. */
static void begin(struct stage *stage, uint64_t seed, void *const *state)
{
    memset(stage, 0, sizeof(*stage));
    world_begin_two(&stage->world, seed, state, &stage->a, &stage->b);
    assert_int_equal(uvzk_rwlock_init(&stage->a.client, &stage->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&stage->b.client, &stage->of_b, PATH), 0);
    hold_begin_on_for(&stage->writing, &stage->b, &stage->of_b.write, NULL);
    hold_await(&stage->writing, 1000);
    for (size_t i = 0; i < READERS; i++) {
        hold_begin_on_for(&stage->readers[i], &stage->a, &stage->of_a.read, NULL);
    }
    world_run_for(&stage->world, 500);
}

/* One comes each few ms, and the oldest one gives up. */
static void writers_come_and_go(struct stage *stage, uint64_t ms)
{
    for (uint64_t i = 0; i * STAY_MS < ms; i++) {
        struct hold *writer = &stage->writers[i % WRITERS];
        if (i >= WRITERS) {
            assert_int_equal(writer->answered, 0);
            hold_cancel(writer);
            assert_true(world_await(&stage->world, &writer->answered, 1));
        }
        hold_begin_on_for(writer, &stage->a, &stage->of_a.write, NULL);
        world_run_for(&stage->world, STAY_MS);
    }
}

static void end_writers(struct stage *stage)
{
    for (size_t i = 0; i < WRITERS; i++) {
        hold_cancel(&stage->writers[i]);
        assert_true(world_await(&stage->world, &stage->writers[i].answered, 1));
    }
}

static void all_readers_are_granted(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage stage;

        begin(&stage, seed, state);
        writers_come_and_go(&stage, 500);
        end_writers(&stage);
        uint64_t since = world_now(&stage.world);
        hold_release(&stage.writing);
        writers_come_and_go(&stage, 2 * GRANTED_MS);
        for (size_t i = 0; i < READERS; i++) {
            assert_true(hold_holds(&stage.readers[i]));
            assert_in_range(stage.readers[i].answered_ms, since, since + GRANTED_MS);
        }
        end_writers(&stage);
        for (size_t i = 0; i < READERS; i++) {
            hold_give_back(&stage.readers[i]);
        }
        world_end(&stage.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(all_readers_are_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
