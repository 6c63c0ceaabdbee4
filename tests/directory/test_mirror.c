/* SPDX-License-Identifier: Apache-2.0 */
/* A mirrored directory (mirror.h): where a's contenders have had to wait for others, each
 * acquire costs a create and a delete. Whatever the mirror has not heard of, or cannot
 * know, is listed; and nobody is granted past who is there, or whose own znode is gone. */
#include "cmocka_test.h"

#include "directory/mirror.h"
#include "directory/queue.h"
#include "locks/mutex.h"
#include "sim_process.h"
#include "world.h"

#define LATENCY 10U
#define OTHERS "lock-"
#define NO_CONTENDER "watching"

static struct world world;
static struct process a;
static struct hold hold, waits;
static struct world_path before;

static void settle(void)
{
    world_run_for(&world, 300);
}

static const struct uvzk__queue *directory(void)
{
    return uvzk__queue_find(a.client.impl, &uvzk__exclusive, WORLD_PATH);
}

static bool is_mirrored(void)
{
    return directory() != NULL && uvzk__is_mirrored(directory());
}

static struct world_path comes(void)
{
    return world_foreign_node(&world, WORLD_PATH, OTHERS);
}

/* a waits for somebody who comes before it. */
static void begin_to_wait(void)
{
    before = comes();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(waits.answered, 0);
}

static void goes(const struct world_path *path)
{
    world_delete(&world, path);
    hold_await(&waits, 300);
}

/* This one goes, and a, which waits, holds and releases. */
static void have_the_turn(const struct world_path *path)
{
    goes(path);
    hold_give_back(&waits);
    settle();
}

/* a's next contender, `hold`, waits for the last one before it. */
static void next_waits_for(const struct world_path *last)
{
    settle();
    assert_int_equal(hold.answered, 0);
    world_delete(&world, last);
    hold_acquire_release(&hold, 300);
    world_end(&world);
}

static void begin_in(struct sim_options *options)
{
    world_begin_with(&world, WORLD_NO_QUEUED_CB, UVZK__TUNE_ALL, options);
    process_begin(&a, &world, "a", NULL);
    assert_true(process_await_connected(&a, 1000));
    world_make_directory(&world, &a);
    begin_to_wait();
    assert_false(is_mirrored()); /* it might wait here only once */
    have_the_turn(&before);
}

static void begin(void)
{
    struct sim_options options;

    world_exact_options(&options, LATENCY);
    begin_in(&options);
}

/* a waits the second time, and its directory is mirrored. */
static void begin_mirrored(void)
{
    begin();
    begin_to_wait();
    assert_true(is_mirrored());
}

/* ... and then the third time, without any other watch. */
static void begin_followed(void)
{
    begin_mirrored();
    have_the_turn(&before);
    begin_to_wait();
}

static void end(void)
{
    hold_give_back(&waits);
    world_end(&world);
}

/* All but the proofs, which are due now and then. */
static uint64_t sent(void)
{
    uvzk_client_metrics_t metrics = process_metrics(&a);

    return metrics.requests - metrics.others;
}

/* ------------------------------------------------------------------------ what it saves */

static void each_acquire_costs_two_requests(void **state)
{
    (void)state;
    begin_mirrored();
    have_the_turn(&before);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t requests = sent();
        begin_to_wait();
        struct world_path behind = comes();
        have_the_turn(&before);
        assert_int_equal(sent() - requests, 2);
        world_delete(&world, &behind);
    }
    begin_to_wait();
    goes(&before);
    end();
}

/* Nobody else is there any more: still two. */
static void uncontended_acquires_do_too(void **state)
{
    (void)state;
    begin_mirrored();
    have_the_turn(&before);
    uint64_t requests = sent();
    hold_take(&hold, &a);
    hold_give_back(&hold);
    settle();
    assert_int_equal(sent() - requests, 2);
    world_end(&world);
}

/* ------------------------------------------------------------------------- who is before */

/* Those that have come since the mirror began are before who comes later, in any order of
 * their ends. */
static void all_before_are_waited_for(void **state)
{
    (void)state;
    begin_mirrored();
    struct world_path second = comes(), third = comes();
    settle();
    goes(&before);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&waits);
    settle();
    world_delete(&world, &third);
    next_waits_for(&second);
}

/* Those behind a's contender, when the mirror began, are before its next one. */
static void who_was_behind_is_known(void **state)
{
    (void)state;
    begin();
    before = comes();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 3 * LATENCY);
    struct world_path behind = comes();
    settle();
    assert_true(is_mirrored());
    have_the_turn(&before);
    uint64_t requests = sent();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(waits.answered, 0);
    have_the_turn(&behind);
    assert_int_equal(sent() - requests, 2);
    world_end(&world);
}

/* A child that is no contender takes a number: the next contender seems to follow one that
 * was not heard of, and a listing shows that there is none. */
static void a_gap_is_listed(void **state)
{
    (void)state;
    begin_mirrored();
    world_foreign_node(&world, WORLD_PATH, NO_CONTENDER);
    struct world_path second = comes();
    settle();
    goes(&before);
    uint64_t listings = process_metrics(&a).listings;
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(process_metrics(&a).listings - listings, 1);
    hold_give_back(&waits);
    next_waits_for(&second);
}

/* The events of some creates are lost, as if READ were missing. */
static void who_was_not_heard_of_is_found(void **state)
{
    (void)state;
    begin_mirrored();
    sim_lose_events(a.port, 1);
    struct world_path unheard = comes();
    settle();
    goes(&before);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    hold_give_back(&waits);
    next_waits_for(&unheard);
}

/* The event of a's own create is lost: it does not know who is before it. */
static void an_own_create_that_was_not_heard_of_is_listed(void **state)
{
    (void)state;
    begin_mirrored();
    goes(&before);
    uint64_t listings = process_metrics(&a).listings;
    sim_lose_events(a.port, 1);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(process_metrics(&a).listings - listings, 1);
    hold_give_back(&waits);
    hold_await(&hold, 300);
    hold_give_back(&hold);
    world_end(&world);
}

/* --------------------------------------------------------------------------- its own node */

/* Deleted by hand while it waits: it contends anew, behind who has come since. */
static void its_own_znode_goes(void **state)
{
    (void)state;
    begin_followed();
    struct world_path own =
        world_child(&world, WORLD_PATH, world_queue_length(&world) - 1);
    struct world_path behind = comes();
    settle();
    world_delete(&world, &own);
    settle();
    world_delete(&world, &before);
    world_run_for(&world, 2000);
    assert_int_equal(waits.answered, 0);
    world_delete(&world, &behind);
    hold_await(&waits, 300);
    end();
}

/* A contender that was not created in its first session has a name of that one, and so has
 * its next znode. */
static void an_earlier_session_named_it(void **state)
{
    (void)state;
    begin();
    sim_disconnect(a.port, SIM_RESET, 3 * WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, 100);
    before = comes();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_true(is_mirrored());
    world_delete_child(&world, WORLD_PATH, 1);
    world_run_for(&world, 2000);
    world_delete(&world, &before);
    hold_await_first(&waits, &hold, 300);
    hold_give_back(hold_holds(&waits) ? &waits : &hold);
    hold_await_first(&waits, &hold, 300);
    hold_give_back(hold_holds(&waits) ? &waits : &hold);
    world_end(&world);
}

/* ... and while it holds, the hold is lost at once. */
static void a_hold_whose_znode_goes_is_lost(void **state)
{
    (void)state;
    begin_followed();
    goes(&before);
    world_delete_child(&world, WORLD_PATH, world_queue_length(&world) - 1);
    hold_await_lost(&waits, 300, UVZK_EDELETED);
    world_end(&world);
}

/* ---------------------------------------------------------------------- its ends, renewals */

/* The watch is set anew before its silence ceases to count, and an event that was withheld
 * is made up for. */
static void a_lost_event_is_made_up_for(void **state)
{
    (void)state;
    begin_mirrored();
    sim_lose_events(a.port, 1);
    world_delete(&world, &before);
    settle();
    assert_int_equal(waits.answered, 0);
    hold_await(&waits, WORLD_TIMEOUT_MS);
    end();
}

/* Those that wait rely on the mirror, so it is there again at once. What has happened in the
 * second outage is listed. */
static void an_outage_lists_anew(void **state)
{
    (void)state;
    begin_mirrored();
    sim_disconnect(a.port, SIM_RESET, 500);
    world_run_for(&world, 1500);
    assert_true(is_mirrored());
    sim_disconnect(a.port, SIM_RESET, 500);
    world_run_for(&world, 100);
    world_delete(&world, &before);
    struct world_path missed = comes();
    hold_await(&waits, 2000);
    hold_give_back(&waits);
    settle();
    begin_to_wait();
    world_delete(&world, &before);
    settle();
    assert_int_equal(waits.answered, 0);
    goes(&missed);
    end();
}

/* The directory goes, and another one is made, which counts from 0. */
static void another_directory_is_not_mirrored(void **state)
{
    (void)state;
    begin_mirrored();
    have_the_turn(&before);
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    world_make_directory(&world, &a);
    struct world_path first = comes();
    uint64_t listings = process_metrics(&a).listings;
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_true(process_metrics(&a).listings > listings);
    assert_int_equal(hold.answered, 0);
    world_delete(&world, &first);
    hold_await(&hold, 300);
    hold_give_back(&hold);
    world_end(&world);
}

/* ... not even if it counts to the mark, and nothing but the end of the first one is heard
 * of. */
static void nor_is_one_that_counts_to_the_mark(void **state)
{
    struct world_path last;
    (void)state;
    begin_mirrored();
    have_the_turn(&before);
    int32_t mark = uvzk__mark_of(directory())->sequence;
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    (void)sim_create_by_hand(world.sim, WORLD_PATH, UVZK__PERSISTENT);
    settle();
    sim_lose_events(a.port, 2 * (uint32_t)mark + 1);
    for (int32_t i = 0; i <= mark; i++) {
        last = comes();
        if (i < mark) {
            world_delete(&world, &last);
        }
    }
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(hold.answered, 0);
    world_delete(&world, &last);
    hold_await(&hold, WORLD_TIMEOUT_MS);
    hold_give_back(&hold);
    world_end(&world);
}

/* A directory that nobody uses keeps its mirror for a session timeout. */
static void an_unused_mirror_ends(void **state)
{
    (void)state;
    begin_mirrored();
    have_the_turn(&before);
    assert_true(is_mirrored());
    world_run_for(&world, 3 * WORLD_TIMEOUT_MS);
    assert_null(directory());
    assert_int_equal(process_metrics(&a).watches, 0);
    world_end(&world);
}

/* ---------------------------------------------------------------------------- where none is */

/* A contender of the session with this number, as its name tells. */
static struct world_path of_session(unsigned number)
{
    struct world_path path;
    char name[128];

    (void)snprintf(name, sizeof(name),
                   WORLD_PATH "/_c_%08x-0000-4000-8000-000000000000-" OTHERS, number);
    (void)snprintf(path.text, sizeof(path.text), "%s",
                   sim_create_by_hand(world.sim, name, UVZK__EPHEMERAL_SEQUENTIAL));
    return path;
}

static void many_sessions_have_no_mirror(void **state)
{
    struct world_path others[UVZK__FEW_SESSIONS];
    (void)state;
    begin();
    for (unsigned i = 0; i < UVZK__FEW_SESSIONS; i++) {
        others[i] = of_session(i);
    }
    begin_to_wait(); /* behind one more */
    assert_false(is_mirrored());
    for (unsigned i = 0; i < UVZK__FEW_SESSIONS; i++) {
        world_delete(&world, &others[i]);
    }
    goes(&before);
    end();
}

/* The sessions behind a's contender show only when the directory is mirrored: then they are
 * too many, and it is not tried again. */
static void many_sessions_behind_end_the_mirror(void **state)
{
    struct world_path others[UVZK__FEW_SESSIONS + 1];
    (void)state;
    begin();
    before = comes();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 3 * LATENCY); /* its place is known, and nobody is behind it */
    for (unsigned i = 0; i <= UVZK__FEW_SESSIONS; i++) {
        others[i] = of_session(i);
    }
    settle();
    const struct uvzk__session *session = a.client.impl;
    assert_int_equal(uvzk__requests(&session->submissions, UVZK__RPC_ADD_WATCH), 1);
    assert_false(is_mirrored());
    have_the_turn(&before);
    for (unsigned i = 0; i <= UVZK__FEW_SESSIONS; i++) {
        world_delete(&world, &others[i]);
    }
    begin_to_wait();
    assert_int_equal(uvzk__requests(&session->submissions, UVZK__RPC_ADD_WATCH), 1);
    goes(&before);
    end();
}

/* The C client says so, or an old server does: it is asked once. */
static void a_port_without_persistent_watches_is_asked_once(void **state)
{
    struct sim_options options;
    (void)state;
    world_exact_options(&options, LATENCY);
    options.no_persistent_watches = true;
    begin_in(&options);
    for (unsigned i = 0; i < 3; i++) {
        begin_to_wait();
        assert_false(is_mirrored());
        have_the_turn(&before);
    }
    const struct uvzk__session *session = a.client.impl;
    assert_int_equal(uvzk__requests(&session->submissions, UVZK__RPC_ADD_WATCH), 1);
    world_end(&world);
}

/* ... and the refusal delays neither the grant nor the release. */
static void a_refused_mirror_holds_up_nobody(void **state)
{
    struct sim_options options;
    (void)state;
    world_exact_options(&options, LATENCY);
    options.no_persistent_watches = true;
    begin_in(&options);
    before = comes();
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    const struct uvzk__session *session = a.client.impl;
    while (uvzk__requests(&session->submissions, UVZK__RPC_ADD_WATCH) == 0) {
        world_run_for(&world, 1);
    }
    world_run_for(&world, 2 * LATENCY); /* it is refused */
    world_delete(&world, &before);
    hold_await(&waits, 3 * LATENCY);
    hold_release(&waits);
    world_run_for(&world, 3 * LATENCY);
    assert_int_equal(world_queue_length(&world), 0);
    world_end(&world);
}

/* A server that throttles is asked as seldom as with other requests, and afterwards the
 * directory is mirrored. */
static void a_throttled_watch_is_asked_for_seldom(void **state)
{
    (void)state;
    begin();
    sim_refuse(world.sim, UVZK__RPC_ADD_WATCH, UVZK_ETHROTTLED, 1000);
    begin_to_wait();
    world_run_for(&world, 2000);
    const struct uvzk__session *session = a.client.impl;
    assert_in_range(uvzk__requests(&session->submissions, UVZK__RPC_ADD_WATCH), 2, 30);
    sim_refuse(world.sim, UVZK__RPC_ADD_WATCH, 0, 0);
    settle();
    assert_true(is_mirrored());
    goes(&before);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_acquire_costs_two_requests),
        cmocka_unit_test(uncontended_acquires_do_too),
        cmocka_unit_test(all_before_are_waited_for),
        cmocka_unit_test(who_was_behind_is_known),
        cmocka_unit_test(a_gap_is_listed),
        cmocka_unit_test(who_was_not_heard_of_is_found),
        cmocka_unit_test(an_own_create_that_was_not_heard_of_is_listed),
        cmocka_unit_test(its_own_znode_goes),
        cmocka_unit_test(an_earlier_session_named_it),
        cmocka_unit_test(a_hold_whose_znode_goes_is_lost),
        cmocka_unit_test(a_lost_event_is_made_up_for),
        cmocka_unit_test(an_outage_lists_anew),
        cmocka_unit_test(another_directory_is_not_mirrored),
        cmocka_unit_test(nor_is_one_that_counts_to_the_mark),
        cmocka_unit_test(an_unused_mirror_ends),
        cmocka_unit_test(many_sessions_have_no_mirror),
        cmocka_unit_test(many_sessions_behind_end_the_mirror),
        cmocka_unit_test(a_port_without_persistent_watches_is_asked_once),
        cmocka_unit_test(a_refused_mirror_holds_up_nobody),
        cmocka_unit_test(a_throttled_watch_is_asked_for_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
