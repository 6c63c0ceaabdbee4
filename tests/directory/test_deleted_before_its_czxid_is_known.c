/* SPDX-License-Identifier: Apache-2.0 */
/* A multi has created the znode of a waiter, and the exists that tells the czxid of the
 * multi reads another znode. The waiter's znode is deleted by hand before that exists is
 * answered. The directory is mirrored, so the waiter has no other watch on its znode. It
 * must not be granted beside somebody who came behind it. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "candidate.h"

#define LATENCY 40U
#define ROUND_TRIP (2 * LATENCY)
#define FIRST "/others/first"
#define SECOND "/others/second"

static struct world world;
static struct process a, b, c;
static uvzk_mutex_t first, second;
static struct hold beside, also, waits, held, behind;
static struct candidate leads, other, follows, last;

static void settle(void)
{
    world_run_for(&world, 500);
}

static void begin_processes(void)
{
    struct sim_options options;

    world_exact_options(&options, LATENCY);
    world_begin_with(&world, WORLD_NO_QUEUED_CB, UVZK__TUNE_ALL, &options);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    process_begin(&c, &world, "c", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    assert_true(process_await_connected(&c, 1000));
    world_make_path(&world, FIRST);
    world_make_path(&world, SECOND);
}

/* The znode at the end of the directory, if it is the second one. */
static void delete_waiter(const char *directory)
{
    if (world_children(&world, directory) == 2) {
        world_delete_child(&world, directory, 1);
    }
}

/* ------------------------------------------------------------------------- mutexes */

/* a waits for somebody: where it has had to wait before, the directory is mirrored. */
static void wait_once(void)
{
    struct world_path before = world_foreign_node(&world, WORLD_PATH, "lock-");

    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    world_delete(&world, &before);
    hold_await(&waits, 1000);
    hold_give_back(&waits);
    settle();
}

static void begin(void)
{
    begin_processes();
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    assert_int_equal(uvzk_mutex_init(&a.client, &first, FIRST), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &second, SECOND), 0);
    world_make_directory(&world, &a);
    wait_once();
    wait_once();
    hold_take(&held, &b);
}

/* All in one turn: the exists reads the znode of the first one. */
static void ask(void)
{
    hold_begin_on(&beside, &a, &first, 0, UVZK_WAIT_FOREVER);
    hold_begin_on(&also, &a, &second, 0, UVZK_WAIT_FOREVER);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
}

/* c comes behind a's znode, which has gone. Then b releases. */
static void let_c_in(void)
{
    hold_begin(&behind, &c, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&held);
    settle();
    assert_true(hold_holds(&behind));
    world_release_and_end(&world);
}

static void nobody_is_granted_beside_who_came_behind(void **state)
{
    (void)state;
    for (uint64_t ms = ROUND_TRIP; ms <= 2 * ROUND_TRIP; ms += LATENCY / 4) {
        begin();
        settle();
        ask();
        world_run_for(&world, ms);
        delete_waiter(WORLD_PATH);
        let_c_in();
    }
}

/* The watch of the mirror is set anew at the same time, so that the listing behind it tells
 * that the znode has gone, and no event. The znode that the first exists reads goes as well,
 * so that the czxid is told later than the listing is answered. */
static void nor_if_a_listing_tells_it(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 2 * WORLD_TIMEOUT_MS / 5; ms += LATENCY / 4) {
        begin();
        world_run_for(&world, ms + WORLD_TIMEOUT_MS / 4);
        ask();
        world_run_for(&world, LATENCY);
        world_delete_child(&world, FIRST, 0);
        world_run_for(&world, LATENCY / 2);
        delete_waiter(WORLD_PATH);
        let_c_in();
    }
}

/* ----------------------------------------------------------------------- elections */

/* A selector's directory is a mutex's. */
static void stand(struct candidate *candidate, struct process *process, const char *path)
{
    uvzk_election_options_t options;

    candidate_options(&options, path);
    options.kind = UVZK_ELECTION_SELECTOR;
    options.changed_cb = NULL;
    assert_int_equal(candidate_ask(candidate, process, path, &options), 0);
}

static void begin_election(void)
{
    candidates_reset();
    begin();
    world.each_ms = candidates_check;
    hold_give_back(&held);
    stand(&leads, &b, WORLD_PATH);
    candidate_await_led(&leads, 1, 1000);
    settle();
}

static void end_election(void)
{
    candidate_end(&other);
    candidate_end(&follows);
    candidate_end(&last);
    candidate_end(&leads);
    world.each_ms = NULL;
    world_end(&world);
}

static void no_candidate_leads_beside_who_came_behind(void **state)
{
    (void)state;
    for (uint64_t ms = ROUND_TRIP; ms <= 2 * ROUND_TRIP; ms += LATENCY / 4) {
        begin_election();
        stand(&other, &a, FIRST);
        stand(&follows, &a, WORLD_PATH);
        world_run_for(&world, ms);
        delete_waiter(WORLD_PATH);
        stand(&last, &c, WORLD_PATH);
        settle();
        candidate_resign(&leads);
        settle();
        assert_true(candidate_is_leader(&last));
        end_election();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_granted_beside_who_came_behind),
        cmocka_unit_test(nor_if_a_listing_tells_it),
        cmocka_unit_test(no_candidate_leads_beside_who_came_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
