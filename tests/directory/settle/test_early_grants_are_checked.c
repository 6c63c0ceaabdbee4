/* SPDX-License-Identifier: Apache-2.0 */
/* Who was granted early, and who released before a delete had checked its znode, may never
 * have been first for the servers: its znode may have been deleted by hand, as a waiter's.
 * Nobody is granted early for the sake of such a znode, and a check counts only for what it
 * was made with. The ACL refuses the deletes for a while, so that they leave one by one. */
#include "world.h"

#define LATENCY 40U
#define LISTED (3 * LATENCY + LATENCY / 8) /* since the call: a create, and a listing */
#define FIRST_PAUSES 700U /* longer than the pause behind a refused delete */

static struct world world;
static struct process a, b;
static struct hold held, early, next, other;

static void check(struct world *of)
{
    (void)of;
    assert_false(hold_holds(&next) && hold_holds(&other) &&
                 uvzk_hold_is_valid(&next.request) && uvzk_hold_is_valid(&other.request));
}

static void delete_refused(struct hold *hold)
{
    hold_release(hold);
    hold_await_released(hold, 1000, UVZK_ENOAUTH);
}

/* Two znodes of a are left. It held by the first one. By the second one it was granted
 * early, and the delete that checked it was refused. */
static void begin(void)
{
    world_begin_exact_two(&world, UVZK__TUNE_ALL, LATENCY, &a, &b);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    world_make_directory(&world, &a);
    hold_take(&held, &a);
    hold_begin(&early, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    assert_int_equal(sim_set_deletable(world.sim, WORLD_PATH, false), 0);
    hold_release(&held);
    world_run_for(&world, 1);
    assert_true(hold_holds(&early));
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    delete_refused(&early);
    assert_int_equal(process_metrics(&a).undeletable, 2);
}

static void permit(void)
{
    assert_int_equal(sim_set_deletable(world.sim, WORLD_PATH, true), 0);
}

/* The next one of a comes while the delete of the first znode is under way, which does not
 * check the second one. Both it and the second one are deleted by hand before that. */
static void a_znode_that_no_delete_has_checked_keeps_nobody_out(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < FIRST_PAUSES; ms += LATENCY / 4) {
        begin();
        world.holder_deleted =
            true; /* a grant may be for a moment, as in the other test */
        world.each_ms = check;
        permit();
        world_delete_child(&world, WORLD_PATH, 1);
        world_run_for(&world, ms);
        hold_begin(&next, &a, UVZK_WAIT_FOREVER);
        world_run_for(&world, LISTED);
        if (world_queue_length(&world) == 2) {
            world_delete_child(&world, WORLD_PATH, 1);
        }
        hold_begin(&other, &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, 1000);
        world_release_and_end(&world);
    }
}

/* The next one of a is granted early for the sake of the first znode, and is checked by
 * its delete. The second znode still stands before it then. It is deleted by hand before
 * the delete of the second one. */
static void a_check_counts_for_the_last_znode_before(void **state)
{
    (void)state;
    begin();
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    hold_await(&next, 200);
    hold_begin(&other, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 200);
    assert_int_equal(world_queue_length(&world), 4);
    permit();
    for (unsigned ms = 0; ms < 2000 && world_queue_length(&world) == 4; ms++) {
        world_run_for(&world, 1);
    }
    assert_int_equal(world_queue_length(&world), 3);
    world_delete_child(&world, WORLD_PATH, 1);
    hold_await_lost(&next, 3 * LATENCY + 10, UVZK_EDELETED);
    hold_acquire_release(&other, 1000);
    world_end(&world);
}

/* Each of them releases as soon as it is granted, before any delete is answered. */
static void a_check_under_way_is_enough(void **state)
{
    struct hold *const waiters[] = {&early, &next, &other};

    (void)state;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, LATENCY, &a, &b);
    assert_true(process_await_connected(&a, 1000));
    world_make_directory(&world, &a);
    hold_take(&held, &a);
    for (size_t i = 0; i < 3; i++) {
        hold_begin(waiters[i], &a, UVZK_WAIT_FOREVER);
        waiters[i]->release_at_once = true;
    }
    world_run_for(&world, 500);
    hold_release(&held);
    world_run_for(&world, LATENCY);
    assert_int_equal(early.answered + next.answered + other.answered, 3);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_znode_that_no_delete_has_checked_keeps_nobody_out),
        cmocka_unit_test(a_check_counts_for_the_last_znode_before),
        cmocka_unit_test(a_check_under_way_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
