/* Many readers of a client wait behind a writer of another one. When that goes, the first
 * of them has a watch on its znode and needs nothing more; for each of the others it must
 * be found out that its znode stands, and one look is enough for them all. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "scarce.h"

#define PATH "/rw"
#define ROUND_TRIP_MS 42U
#define READERS_A_ROUND_TRIP 32U

struct crowd {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold writing;
    struct hold *readers;
    size_t count;
};

/* Sessions so long that no other proof falls due while they are counted. */
static void begin(struct crowd *crowd, void *const *state, const char *path, size_t count)
{
    uvzk_client_options_t options;

    memset(crowd, 0, sizeof(*crowd));
    crowd->count = count;
    crowd->readers = calloc(count, sizeof(crowd->readers[0]));
    assert_non_null(crowd->readers);
    process_options(&options);
    options.session_timeout_ms = 600000;
    world_begin(&crowd->world, 2, state);
    process_begin(&crowd->a, &crowd->world, "a", &options);
    process_begin(&crowd->b, &crowd->world, "b", &options);
    assert_int_equal(uvzk_rwlock_init(&crowd->a.client, &crowd->of_a, path), 0);
    assert_int_equal(uvzk_rwlock_init(&crowd->b.client, &crowd->of_b, path), 0);
    hold_begin_on_for(&crowd->writing, &crowd->b, &crowd->of_b.write, NULL);
    hold_await(&crowd->writing, 1000);
    for (size_t i = 0; i < count; i++) {
        hold_begin_on_for(&crowd->readers[i], &crowd->a, &crowd->of_a.read, NULL);
    }
    world_run_for(&crowd->world, 3000);
}

static uint64_t proofs(const struct crowd *crowd)
{
    uvzk_client_stats_t stats;

    uvzk_client_stats(&crowd->a.client, &stats);
    return stats.proofs;
}

static void end(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++) {
        hold_release(&crowd->readers[i]);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        assert_true(world_await(&crowd->world, &crowd->readers[i].released, 3000));
    }
    world_end(&crowd->world);
    free(crowd->readers);
}

static void are_granted(void *const *state, const char *path, size_t count,
                        uint64_t proofs_max)
{
    struct crowd crowd;
    uint64_t ms = (count / READERS_A_ROUND_TRIP + 3) * ROUND_TRIP_MS;

    begin(&crowd, state, path, count);
    uint64_t before = proofs(&crowd);
    hold_release(&crowd.writing);
    hold_await(&crowd.readers[0], 2 * ROUND_TRIP_MS);
    for (size_t i = 1; i < count; i++) {
        hold_await(&crowd.readers[i], ms);
        assert_true(crowd.readers[i].answered_ms <= crowd.readers[0].answered_ms + ms);
    }
    assert_in_range(proofs(&crowd) - before, 1, proofs_max);
    end(&crowd);
}

static void ten(void **state)
{
    are_granted(state, PATH, 10, 1);
}

static void a_hundred(void **state)
{
    are_granted(state, PATH, 100, 1);
}

/* As many as one request takes, and some more. */
static void two_and_a_half_thousand(void **state)
{
    are_granted(state, PATH, 2500, 4);
}

/* Fewer, and yet more than one request takes, which a server reads a megabyte of. */
static void eleven_hundred_with_long_paths(void **state)
{
    char path[UVZK__PATH_MAX + 1] = "/";

    memset(path + 1, 'l', UVZK__PATH_MAX - 1);
    are_granted(state, path, 1100, 6);
}

/* One allocation fails after the other, that of the proof among them: it is tried again
 * soon, not when the next proof would be due, which is 100 s later. */
static void without_memory(void **state)
{
    uint64_t first = 0, failed;

    do {
        struct crowd crowd;
        begin(&crowd, state, PATH, 3);
        hold_release(&crowd.writing);
        scarce_arm(++first, 1);
        for (size_t i = 0; i < crowd.count; i++) {
            hold_await(&crowd.readers[i], 2000);
        }
        failed = scarce_failed();
        scarce_arm(0, 0);
        end(&crowd);
    } while (failed > 0);
    assert_true(first > 1); /* there was something to fail */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(ten),
        WORLD_TEST(a_hundred),
        WORLD_TEST(two_and_a_half_thousand),
        WORLD_TEST(eleven_hundred_with_long_paths),
        WORLD_TEST(without_memory),
    };

    if (scarce_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
