/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-211, CURATOR-307: a read lock whose own znode was missing from the listing was
 * granted, or died of the index 2147483647. Here that is a usual case: who waits without
 * a znode queues up again if the retry policy allows it, and is refused if not. */
#include "world.h"

#include <string.h>

#define PATH "/rw"
#define STEPS 40U

static struct world world;
static struct process a, b;
static struct hold writing, reading;

/* B writes, A's reader is on its way or waits. */
static void begin(uint64_t seed, void *const *state, uint32_t retries)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.retry.max_retries = retries;
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", NULL);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&writing, &b, &b.rwlock.write, NULL);
    hold_await(&writing, 1000);
    assert_true(process_await_connected(&a, 1000));
    hold_begin_on_for(&reading, &a, &a.rwlock.read, NULL);
}

/* As soon as it stands, and so many events later. */
static void delete_the_reader(uint64_t steps)
{
    while (world_children(&world, PATH) < 2) {
        world_steps(&world, 1);
    }
    assert_non_null(strstr(world_child(&world, PATH, 1).text, "-__READ__"));
    world_steps(&world, steps);
    world_delete_child(&world, PATH, 1);
    world_run_for(&world, 500);
}

static void it_queues_up_again(uint64_t steps, void *const *state)
{
    begin(steps, state, 3);
    delete_the_reader(steps);
    assert_int_equal(reading.answered, 0);
    hold_give_back(&writing);
    hold_acquire_release(&reading, 3000); /* on a znode that stands */
    assert_true(reading.token > writing.token);
    world_end(&world);
}

static void it_is_refused_without_retries(uint64_t steps, void *const *state)
{
    begin(steps, state, 0);
    delete_the_reader(steps);
    hold_give_back(&writing);
    hold_await_status(&reading, 3000, UVZK_EDELETED);
    world_run_for(&world, 500);
    assert_int_equal(world_children(&world, PATH), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(it_queues_up_again, 0, STEPS - 1),
        WORLD_SCENARIO(it_is_refused_without_retries, 0, STEPS - 1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
