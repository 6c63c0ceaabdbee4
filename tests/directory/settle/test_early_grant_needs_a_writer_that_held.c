/* SPDX-License-Identifier: Apache-2.0 */
/* A writer may be granted while the one before it, of the same client, is still to be
 * deleted: nobody passes that one. But of one that never held nobody knows whether it
 * stands; it and its successor may have been deleted by hand, and others been let in. */
#include "world.h"

#include <string.h>

#define PATH "/rw"
#define WRITERS 2

/* A reads, and two of it wait to write; B waits to read. */
static struct world world;
static struct process a, b;
static struct hold reading, first, second, other;

static void begin(void *const *state)
{
    world_begin_two(&world, 1, state, &a, &b);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&reading, &a, &a.rwlock.read, &reading);
    hold_await(&reading, 2000);
    hold_begin_on_for(&first, &a, &a.rwlock.write, &first);
    hold_begin_on_for(&second, &a, &a.rwlock.write, &second);
    world_run_for(&world, 500);
    hold_begin_on_for(&other, &b, &b.rwlock.read, &other);
    world_run_for(&world, 500);
    assert_int_equal(other.answered, 0);
}

/* Behind the reader. */
static void delete_writers(void)
{
    const char *names[2];

    for (int i = 0; i < WRITERS; i++) {
        assert_true(sim_children(world.sim, PATH, names, 2) > 1);
        assert_non_null(strstr(names[1], "__WRIT__"));
        world_delete_child(&world, PATH, 1);
    }
}

static void nobody_writes_beside_a_reader(void **state)
{
    begin(state);
    delete_writers();
    hold_await(&other, 1000);
    sim_disconnect(a.port, SIM_RESET, 1000);
    hold_release(&reading);
    hold_cancel(&first);
    for (unsigned i = 0; i < 3000; i++) {
        world_run_for(&world, 1);
        assert_true(hold_holds(&other));
        assert_false(hold_holds(&second));
    }
    hold_give_back(&other);
    hold_acquire_release(&second, 2000);
    assert_int_equal(reading.released, 1);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(nobody_writes_beside_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
