/* SPDX-License-Identifier: Apache-2.0 */
/* READ is missing at the very instant in which a znode goes: its watches are used up, and
 * told of nothing. What comes of that, and for how long, is A8 of docs/promise.md: no more
 * than that. */
#include "cmocka_test.h"

#include "world.h"

#define LATENCY 10U
#define TURNS 4U

static struct world world;
static struct process a, b;
static struct hold hold, others, waits;

static void begin(void)
{
    world_begin_exact_two(&world, UVZK__TUNE_ALL, LATENCY, &a, &b);
    world_run_for(&world, 500);
    assert_true(process_connected(&a) && process_connected(&b));
    world.holder_deleted = true;
}

static void settle(void)
{
    world_run_for(&world, 300);
}

static void delete_unread(const char *path)
{
    const struct sim_faults unread = {.blind_removal = 1000000};

    sim_set_faults(world.sim, &unread);
    assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
    sim_set_faults(world.sim, NULL);
}

/* A comes again and again, and lists no more. Then there is another directory, in which B
 * holds, and whose next number is the one that A expects. */
static void begin_with_another_directory(void)
{
    begin();
    for (unsigned i = 0; i < TURNS; i++) {
        hold_take(&hold, &a);
        hold_give_back(&hold);
        settle();
    }
    assert_int_equal(process_watermarks(&a), 1);
    delete_unread(WORLD_PATH);
    assert_non_null(sim_create_by_hand(world.sim, WORLD_PATH, UVZK__PERSISTENT));
    hold_take(&others, &b);
    assert_int_equal(sim_set_counter(world.sim, WORLD_PATH, TURNS), 0);
}

static int64_t token_of(const struct hold *one)
{
    return uvzk_hold_token(&one->request);
}

/* The hole: both are valid until one of them lets go. The tokens tell who came later. */
static void a_directory_counted_up_to_the_mark_gives_two_holds(void **state)
{
    (void)state;
    begin_with_another_directory();
    hold_take(&hold, &a);
    assert_true(uvzk_hold_is_valid(&hold.request) && uvzk_hold_is_valid(&others.request));
    assert_true(token_of(&others) < token_of(&hold));
    assert_true(sim_made_behind_unread(world.sim, WORLD_PATH, token_of(&others),
                                       token_of(&hold), WORLD_TIMEOUT_MS));
    assert_false(sim_made_behind_unread(world.sim, "/locks/b", token_of(&others),
                                        token_of(&hold), WORLD_TIMEOUT_MS));
    assert_false(sim_made_behind_unread(world.sim, WORLD_PATH, token_of(&hold),
                                        token_of(&others), WORLD_TIMEOUT_MS));
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    hold_give_back(&hold);
    hold_give_back(&others);
    hold_acquire_release(&waits, 5000);
    world_end(&world);
}

/* It is open for one session timeout. */
static void and_no_later_than_a_session_timeout(void **state)
{
    (void)state;
    begin_with_another_directory();
    world_run_for(&world, WORLD_TIMEOUT_MS);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_true(hold_pending(&hold));
    hold_give_back(&others);
    hold_acquire_release(&hold, 5000);
    world_end(&world);
}

/* A counter that is one off shows it at once. */
static void and_only_with_that_very_number(void **state)
{
    (void)state;
    begin_with_another_directory();
    assert_int_equal(sim_set_counter(world.sim, WORLD_PATH, TURNS + 1), 0);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_true(hold_pending(&hold));
    hold_give_back(&others);
    hold_acquire_release(&hold, 5000);
    world_end(&world);
}

/* B waits behind A, and somebody deletes its znode. Whoever came behind it holds beside it
 * until B's next proof. */
static void a_waiter_that_is_not_told_holds_until_its_proof(void **state)
{
    struct hold behind;

    (void)state;
    begin();
    hold_take(&hold, &a);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    settle();
    struct world_path node = world_child(&world, WORLD_PATH, 1);
    struct uvzk__stat stat;
    assert_true(sim_stat(world.sim, node.text, &stat));
    delete_unread(node.text);
    assert_true(sim_went_unread(world.sim, stat.czxid, 0));
    hold_begin(&behind, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&hold);
    settle();
    assert_true(hold_holds(&behind) && uvzk_hold_is_valid(&behind.request));
    if (hold_holds(&waits)) {
        assert_true(token_of(&waits) == stat.czxid);
        hold_await_lost(&waits, WORLD_TIMEOUT_MS / 6 + 100, UVZK_EDELETED);
    }
    assert_true(sim_went_unread(world.sim, stat.czxid, WORLD_TIMEOUT_MS));
    hold_give_back(&behind);
    hold_finish(&waits, 2 * WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* Who waits for one that went so is late by a session timeout at most, or a quarter
 * more. */
static void who_waits_for_it_is_late(void **state)
{
    (void)state;
    begin();
    struct world_path other = world_foreign_node(&world, WORLD_PATH, "lock-");
    if (other.text[0] == '\0') {
        world_make_directory(&world, &a);
        other = world_foreign_node(&world, WORLD_PATH, "lock-");
    }
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    settle();
    delete_unread(other.text);
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    assert_true(hold_pending(&waits));
    hold_acquire_release(&waits, WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* READ has been missing for a moment from one of A's znodes, so that the check of it was
 * refused, and it holds. */
static void begin_behind_a_refused_check(void)
{
    begin();
    hold_take(&hold, &a);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    struct world_path node = world_child(&world, WORLD_PATH, 1);
    assert_int_equal(sim_set_readable(world.sim, node.text, false), 0);
    hold_give_back(&hold);
    hold_await(&waits, 1000);
    settle();
    assert_int_equal(sim_set_readable(world.sim, node.text, true), 0);
}

/* A's `last` stands behind one that A releases now, and B behind both. The znode of `last` was
 * deleted by hand, so B holds, and `last` not beside it. */
static void release_before_one_that_has_gone(struct hold *released, struct hold *last)
{
    world_delete_child(&world, WORLD_PATH, 1);
    world_run_for(&world, 5000);
    hold_release(released);
    for (unsigned ms = 0; ms < 5000; ms++) {
        world_run_for(&world, 1);
        assert_false(hold_holds(last) && hold_holds(&others) &&
                     uvzk_hold_is_valid(&last->request) &&
                     uvzk_hold_is_valid(&others.request));
    }
    assert_true(hold_over(released) && hold_holds(&others));
    hold_give_back(&others);
    hold_finish(last, 5000);
}

/* The one behind it is not granted before its delete is answered. */
static void one_that_may_not_be_checked_hides_no_other(void **state)
{
    struct hold last;

    (void)state;
    begin_behind_a_refused_check();
    hold_begin(&last, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_begin(&others, &b, UVZK_WAIT_FOREVER);
    settle();
    release_before_one_that_has_gone(&waits, &last);
    world_end(&world);
}

/* The one after that is granted early again, so the delete checks its znode: it is not
 * enough that a check in this directory was refused once. */
static void later_handovers_are_checked_again(void **state)
{
    struct hold behind, last;

    (void)state;
    begin_behind_a_refused_check();
    hold_begin(&behind, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&waits);
    hold_await(&behind, 1000);
    hold_begin(&last, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_begin(&others, &b, UVZK_WAIT_FOREVER);
    settle();
    release_before_one_that_has_gone(&behind, &last);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_counted_up_to_the_mark_gives_two_holds),
        cmocka_unit_test(and_no_later_than_a_session_timeout),
        cmocka_unit_test(and_only_with_that_very_number),
        cmocka_unit_test(a_waiter_that_is_not_told_holds_until_its_proof),
        cmocka_unit_test(who_waits_for_it_is_late),
        cmocka_unit_test(one_that_may_not_be_checked_hides_no_other),
        cmocka_unit_test(later_handovers_are_checked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
