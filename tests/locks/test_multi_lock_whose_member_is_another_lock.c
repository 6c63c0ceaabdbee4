/* SPDX-License-Identifier: Apache-2.0 */
/* A multi lock knows its members by their structs, which are the user's: one that was
 * closed and made anew, at another path or of another client, is not the member any
 * more. */
#include "world.h"

#include <string.h>

#define MEMBERS 2
#define PATIENCE_MS 60000U

static struct world world;
static struct process a, b;
static uvzk_lock_t locks[MEMBERS];
static uvzk_multilock_t multi;
static struct hold hold;
static int closed;

static struct {
    int count, status;
    const uvzk_lock_t *member;
} failure;

static void on_failed(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    assert_ptr_equal(lock, &multi);
    failure.count++;
    failure.member = member;
    failure.status = status;
}

static void begin(unsigned flags)
{
    uvzk_lock_t *members[MEMBERS] = {&locks[0], &locks[1]};

    memset(locks, 0, sizeof(locks));
    memset(&multi, 0, sizeof(multi));
    memset(&failure, 0, sizeof(failure));
    closed = 0;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 2, &a, &b);
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[0], "/m/a"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[1], "/m/b"), 0);
    assert_int_equal(
        uvzk_multilock_init(&a.client, &multi, members, MEMBERS, flags, on_failed), 0);
    assert_true(process_await_connected(&a, 1000));
}

static void on_closed(uvzk_lock_t *lock)
{
    (void)lock;
    closed++;
}

static void close_member(void)
{
    assert_int_equal(uvzk_lock_close(&locks[1], on_closed), 0);
    assert_true(world_await(&world, &closed, 1000));
}

static void at_another_path(void)
{
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[1], "/another"), 0);
}

static void at_the_path_of_a_member(void)
{
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[1], "/m/a"), 0);
}

static void of_another_kind(void)
{
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &locks[1], "/m/b"), 0);
}

static void of_another_client(void)
{
    assert_int_equal(uvzk_mutex_init(&b.client, &locks[1], "/m/b"), 0);
}

static void as_nothing(void)
{
}

static void (*const anew[])(void) = {
    at_another_path, at_the_path_of_a_member, of_another_kind, of_another_client,
    as_nothing,
};
#define WAYS (sizeof(anew) / sizeof(anew[0]))

static void an_acquire_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * WAYS; i++) {
        begin(i % 2 == 0 ? 0 : UVZK_MULTILOCK_IN_TURN);
        hold_take_on(&hold, &a, &multi, 1);
        hold_give_back(&hold);
        close_member();
        anew[i / 2]();
        assert_int_equal(hold_ask(&hold, &a, &multi, NULL), UVZK_ECLOSED);
        assert_non_null(strstr(uvzk_refusal(UVZK_ECLOSED), "member"));
        world_release_and_end(&world);
    }
}

/* While the first one is waited for, the second is not yet asked for. */
static void one_under_way_ends(void **state)
{
    struct hold before;
    (void)state;

    for (size_t i = 0; i < WAYS; i++) {
        begin(UVZK_MULTILOCK_IN_TURN);
        hold_take_on(&before, &a, &locks[0], 1);
        hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
        world_run_for(&world, 1000);
        close_member();
        anew[i]();
        hold_give_back(&before);
        hold_await_status(&hold, PATIENCE_MS, UVZK_ECLOSED);
        world_run_for(&world, 1000);
        assert_int_equal(failure.count, 1);
        assert_int_equal(failure.status, UVZK_ECLOSED);
        assert_ptr_equal(failure.member, &locks[1]);
        assert_int_equal(world_children(&world, "/m/a"), 0);
        world_release_and_end(&world);
    }
}

/* Nor does it matter to one whose znodes are made: these are at the members' paths. */
static void one_that_holds_goes_on(void **state)
{
    (void)state;
    begin(0);
    hold_take_on(&hold, &a, &multi, 1);
    close_member();
    at_another_path();
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    hold_give_back(&hold);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acquire_is_refused),
        cmocka_unit_test(one_under_way_ends),
        cmocka_unit_test(one_that_holds_goes_on),
    };

    return cmocka_run_group_tests_name("multi lock whose member is another lock", tests,
                                       NULL, NULL);
}
