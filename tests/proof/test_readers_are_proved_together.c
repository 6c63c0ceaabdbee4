/* SPDX-License-Identifier: Apache-2.0 */
/* Many readers of a client wait behind a writer of another one. When that goes, the first
 * of them has a watch on its znode and needs nothing more; for each of the others it must
 * be found out that its znode stands, and one look is enough for them all. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "failing_allocator.h"

#define PATH "/rw"
#define ROUND_TRIP_MS 42U
#define READERS_A_ROUND_TRIP 32U

static struct world world;
static struct process a, b;
static struct hold writing;
static struct hold *readers;
static size_t count;

/* Sessions so long that no other proof falls due while they are counted. */
static void begin(void *const *state, const char *path, size_t readers_count)
{
    uvzk_client_options_t options;

    count = readers_count;
    readers = calloc(count, sizeof(readers[0]));
    assert_non_null(readers);
    process_options(&options);
    options.session_timeout_ms = 600000;
    world_begin(&world, 2, state);
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", &options);
    process_make_rwlock(&a, path);
    process_make_rwlock(&b, path);
    hold_begin_on_for(&writing, &b, &b.rwlock.write, NULL);
    hold_await(&writing, 1000);
    for (size_t i = 0; i < count; i++) {
        hold_begin_on_for(&readers[i], &a, &a.rwlock.read, NULL);
    }
    world_run_for(&world, 3000);
}

static uint64_t proofs(void)
{
    uvzk_client_metrics_t stats;

    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&a.client, &stats);
    return stats.proofs;
}

static void end(void)
{
    for (size_t i = 0; i < count; i++) {
        hold_release(&readers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(world_await(&world, &readers[i].released, 3000));
    }
    world_end(&world);
    free(readers);
}

static void are_granted(void *const *state, const char *path, size_t readers_count,
                        uint64_t proofs_max)
{
    uint64_t ms = (readers_count / READERS_A_ROUND_TRIP + 3) * ROUND_TRIP_MS;

    begin(state, path, readers_count);
    uint64_t before = proofs();
    hold_release(&writing);
    hold_await(&readers[0], 2 * ROUND_TRIP_MS);
    for (size_t i = 1; i < count; i++) {
        hold_await(&readers[i], ms);
        assert_true(readers[i].answered_ms <= readers[0].answered_ms + ms);
    }
    assert_in_range(proofs() - before, 1, proofs_max);
    end();
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
        begin(state, PATH, 3);
        hold_release(&writing);
        failing_allocator_arm(++first, 1);
        for (size_t i = 0; i < count; i++) {
            hold_await(&readers[i], 2000);
        }
        failed = failing_allocator_failures();
        failing_allocator_arm(0, 0);
        end();
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

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
