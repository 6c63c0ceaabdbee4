/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of one client that wait for leases have one ticket for all of them: leases change
 * hands without a request, and whoever else stands in P/locks has his turn all the same. */
#include "cmocka_test.h"

#include <string.h>

#include "foreign_client.h"
#include "locks/semaphore/leases.h"
#include "world.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define LATENCY_MS 5U
#define ROUND_TRIP_MS (2U * LATENCY_MS)
#define OTHERS 9U

static struct world world;
static struct process a, b;
static struct hold others[OTHERS]; /* of A */
static struct hold one;            /* of B */

/* Nobody wants to be told how many stand before it: the seed is even. Sessions are so long
 * that proofs do not meet what is counted. */
static void begin_with(uint32_t leases)
{
    struct sim_options options;
    uvzk_client_options_t settings;

    memset(others, 0, sizeof(others));
    memset(&one, 0, sizeof(one));
    world_exact_options(&options, LATENCY_MS);
    world_begin_with(&world, 2, UVZK__TUNE_ALL, &options);
    process_options(&settings);
    settings.session_timeout_ms = 60000;
    process_begin(&a, &world, "a", &settings);
    process_begin(&b, &world, "b", &settings);
    process_make_semaphore(&a, PATH, leases);
    process_make_semaphore(&b, PATH, leases);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    world_run_for(&world, 3000);
}

static void ask(struct hold *hold, struct process *process, uint32_t leases)
{
    hold_begin_on(hold, process, &process->semaphore, leases, UVZK_WAIT_FOREVER);
}

/* All of A ask; as many as there are leases have them, and one ticket is left. */
static void begin(void)
{
    begin_with(LEASES_MAX);
    for (size_t i = 0; i < OTHERS; i++) {
        ask(&others[i], &a, 1);
    }
    world_run_for(&world, 200);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_true(hold_holds(&others[i]) == (i < LEASES_MAX));
    }
    assert_int_equal(world_children(&world, TICKETS), 1);
}

static void end(void)
{
    for (size_t i = 0; i < OTHERS; i++) {
        hold_release_or_cancel(&others[i]);
    }
    hold_release_or_cancel(&one);
    world_run_for(&world, 2000);
    if (a.port != NULL) {
        assert_int_equal(world_children(&world, TICKETS), 0);
        assert_int_equal(world_children(&world, LEASES), 0);
    }
    world_end(&world);
}

/* ------------------------------------------------------------- nothing is asked for */

static void a_lease_goes_from_hand_to_hand(void **state)
{
    (void)state;
    begin();
    uint64_t before = process_metrics(&a).requests;
    for (size_t i = LEASES_MAX; i < OTHERS - 1; i++) { /* nobody follows the last one */
        hold_release(&others[i - LEASES_MAX]);
        world_run_for(&world, 1);
        assert_true(hold_holds(&others[i]));
        assert_string_equal(others[i].path, others[i - LEASES_MAX].path);
    }
    assert_int_equal(process_metrics(&a).requests, before);
    end();
}

/* Several that are let go in one turn, and those that are waiting for a proof. */
static void all_of_them_at_once(void **state)
{
    (void)state;
    begin();
    uint64_t before = process_metrics(&a).requests;
    for (size_t i = 0; i < LEASES_MAX; i++) {
        hold_release(&others[i]);
    }
    world_run_for(&world, 1);
    for (size_t i = LEASES_MAX; i < 2 * LEASES_MAX; i++) {
        assert_true(hold_holds(&others[i]));
    }
    assert_int_equal(process_metrics(&a).requests, before);
    end();
}

/* Whoever comes while there is room has its lease made with those of others: the first one
 * by itself, with its ticket, and all that have come meanwhile in one multi. */
static void leases_are_made_together(void **state)
{
    (void)state;
    begin_with(OTHERS);
    uint64_t before = process_metrics(&a).requests;
    for (size_t i = 0; i < OTHERS; i++) {
        ask(&others[i], &a, 1);
    }
    world_run_for(&world, 200);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_true(hold_holds(&others[i]));
        assert_int_equal(others[i].token, others[0].token);
    }
    assert_in_range(process_metrics(&a).requests - before, 5, 13);
    assert_int_equal(world_children(&world, TICKETS), 0); /* it is never kept idle */
    end();
}

/* ------------------------------------------------------------- whom it serves */

/* Two that want more than there are exclude one another, and are told so by their tokens:
 * each token has been seen, and the most leases of one that had it. */
static void who_excludes_another_has_another_token(void **state)
{
    static const uint32_t wanted[OTHERS] = {1, 2, 1, 3, 1, 1, 3, 2, 1};

    (void)state;
    begin_with(LEASES_MAX);
    for (size_t i = 0; i < OTHERS; i++) {
        ask(&others[i], &a, wanted[i]);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        hold_await(&others[i], 1000);
        for (size_t j = 0; j < i; j++) {
            assert_true(others[j].token <= others[i].token);
            assert_true(others[j].token < others[i].token ||
                        wanted[i] + wanted[j] <= LEASES_MAX);
        }
        hold_release(&others[i]);
    }
    end();
}

/* The first has three of four, the second follows it and has the last one. The ticket goes
 * on to the third, which fits in with the second; so would the fourth, but not with the
 * first, which had the ticket too. */
static void a_ticket_has_a_past(void **state)
{
    (void)state;
    begin_with(4);
    ask(&others[0], &a, 3);
    for (size_t i = 1; i < 3; i++) {
        ask(&others[i], &a, 1);
    }
    world_run_for(&world, 100);
    assert_true(hold_holds(&others[0]) && hold_holds(&others[1]));
    assert_int_equal(others[1].token, others[0].token);
    ask(&others[3], &a, 2);
    hold_release(&others[0]);
    hold_await(&others[3], 1000);
    assert_int_equal(others[2].token, others[0].token);
    assert_true(others[3].token > others[0].token);
    end();
}

/* There are fewer than there were: who had leases with the ticket, and who has them now,
 * exclude one another. */
static void who_excludes_another_since_the_count_fell(void **state)
{
    static const unsigned char one_lease[4] = {0, 0, 0, 1};
    uvzk_semaphore_t counted = {0};
    uvzk_shared_count_t count = {0};

    (void)state;
    begin_with(LEASES_MAX);
    assert_int_equal(
        uvzk_shared_count_init(&a.client, &count, "/count", LEASES_MAX, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &counted, "/c", 0, &count), 0);
    world_run_for(&world, 100);
    for (size_t i = 0; i < OTHERS; i++) {
        hold_begin_on(&others[i], &a, &counted, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 200);
    assert_int_equal(others[LEASES_MAX - 1].token, others[0].token);
    assert_int_equal(world_children(&world, "/c/locks"), 1);
    assert_int_equal(sim_set_by_hand(world.sim, "/count", one_lease, sizeof(one_lease)),
                     0);
    world_run_for(&world, 100);
    for (size_t i = 0; i < LEASES_MAX; i++) {
        hold_release(&others[i]);
    }
    for (size_t i = LEASES_MAX; i < OTHERS; i++) {
        hold_await(&others[i], 1000);
        assert_true(others[i - 1].token < others[i].token);
        hold_release(&others[i]);
    }
    world_run_for(&world, 1000);
    uvzk_shared_count_close(&count, NULL);
    end();
}

static void a_semaphore_mutex_has_a_token_each_time(void **state)
{
    (void)state;
    begin_with(1);
    for (size_t i = 0; i < OTHERS; i++) {
        ask(&others[i], &a, 1);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        hold_await(&others[i], 1000);
        assert_true(i == 0 || others[i - 1].token < others[i].token);
        hold_release(&others[i]);
    }
    end();
}

/* More than its delete may check is not handed on by one ticket. */
static void what_is_granted_early_is_checked_in_time(void **state)
{
    (void)state;
    begin_with(2 * UVZK__EARLY_GRANTS_MAX);
    for (size_t i = 0; i < 4; i++) {
        ask(&others[i], &a, UVZK__EARLY_GRANTS_MAX);
    }
    world_run_for(&world, 200);
    for (size_t i = 0; i < 2; i++) {
        assert_true(hold_holds(&others[i]) && hold_pending(&others[i + 2]));
        hold_release(&others[i]);
        world_run_for(&world, 1);
        assert_true(hold_holds(&others[i + 2]));
        world_run_for(&world, 200);
    }
    end();
}

/* ------------------------------------------------- beside those with their own tickets */

/* The next one that is asked for wants to be told how many stand before it. */
static void ask_and_be_told(struct hold *hold)
{
    world.seed++;
    ask(hold, &a, 1);
    world.seed--;
}

/* Somebody else is the first in line, and B has so many leases. */
static struct world_path begin_behind_another(uint32_t leases, uint32_t of_b)
{
    begin_with(leases);
    hold_take_on(&one, &b, &b.semaphore, of_b);
    world_run_for(&world, 100);
    return world_foreign_node(&world, TICKETS, "lock-");
}

/* A follower came before the fourth, which is told, and behind the second: that one hands
 * its ticket down, and the fourth has no token before. */
static void tickets_and_sharers_have_their_turns(void **state)
{
    (void)state;
    struct world_path ahead = begin_behind_another(6, 1);
    ask_and_be_told(&others[0]);
    ask_and_be_told(&others[1]);
    ask(&others[2], &a, 1);
    ask_and_be_told(&others[3]);
    world_run_for(&world, 100);
    assert_int_equal(world_children(&world, TICKETS), 4);
    world_delete(&world, &ahead);
    for (size_t i = 0; i < 4; i++) {
        hold_await(&others[i], 1000);
        for (size_t j = 0; j < i; j++) {
            assert_true(others[j].granted_turn < others[i].granted_turn);
            assert_true(others[j].token <= others[i].token);
        }
    }
    end();
}

/* The first gives up, and the second has a ticket: the third, which follows, is behind
 * it. */
static void a_place_is_not_left_to_who_came_later(void **state)
{
    (void)state;
    struct world_path ahead = begin_behind_another(2, 1);
    ask_and_be_told(&others[0]);
    ask_and_be_told(&others[1]);
    ask(&others[2], &a, 1);
    world_run_for(&world, 100);
    hold_cancel(&others[0]);
    world_run_for(&world, 100);
    world_delete(&world, &ahead);
    hold_await(&others[1], 1000);
    assert_true(hold_pending(&others[2]));
    end();
}

/* A member of a multi lock, whose token may be compared with those of others. */
static void a_member_has_its_own_ticket(void **state)
{
    uvzk_multilock_t several = {0};
    uvzk_lock_t *members[] = {&a.semaphore};
    (void)state;
    begin();
    assert_int_equal(uvzk_multilock_init(&a.client, &several, members, 1,
                                         UVZK_MULTILOCK_IN_TURN, NULL),
                     0);
    hold_begin_on(&one, &a, &several, 0, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_int_equal(world_children(&world, TICKETS), 2);
    for (size_t i = 0; i < OTHERS; i++) {
        hold_release_or_cancel(&others[i]);
    }
    hold_await(&one, 1000);
    assert_true(one.token > others[OTHERS - 1].token);
    end();
}

/* ----------------------------------------------------------------- whoever gives up */

static void who_gives_up_leaves_its_place(void **state)
{
    (void)state;
    begin();
    ask(&one, &b, 1);
    world_run_for(&world, 100);
    hold_cancel(&others[LEASES_MAX]);     /* it has the ticket */
    hold_cancel(&others[LEASES_MAX + 2]); /* it follows */
    hold_release(&others[0]);
    world_run_for(&world, 1);
    assert_true(hold_holds(&others[LEASES_MAX + 1]));
    assert_int_equal(others[LEASES_MAX].status, UV_ECANCELED);
    assert_int_equal(others[LEASES_MAX + 2].status, UV_ECANCELED);
    end();
}

static void all_are_told_of_the_end(void **state)
{
    (void)state;
    begin();
    process_expire(&a);
    world_run_for(&world, 5000);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_int_equal(i < LEASES_MAX ? others[i].reason : others[i].status,
                         UVZK_EEXPIRED);
    }
    end();
}

static void all_are_told_that_it_closes(void **state)
{
    (void)state;
    begin();
    process_close(&a);
    world_run_for(&world, 5000);
    for (size_t i = LEASES_MAX; i < OTHERS; i++) {
        assert_int_equal(others[i].status, UVZK_ECLOSED);
    }
    end();
}

/* The lock alone closes, and all that it was asked for ends. */
static void all_are_told_that_the_lock_closes(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvzk_lock_close(&a.semaphore, NULL), 0);
    world_run_for(&world, 1000);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_int_equal(i < LEASES_MAX ? others[i].reason : others[i].status,
                         UVZK_ECLOSED);
    }
    end();
}

static void a_try_behind_them_is_refused(void **state)
{
    (void)state;
    begin();
    uint64_t before = process_metrics(&a).requests;
    hold_begin_on(&one, &a, &a.semaphore, 1, UVZK_TRY_ONCE);
    world_run_for(&world, 1);
    assert_int_equal(one.status, UV_ETIMEDOUT);
    assert_int_equal(process_metrics(&a).requests, before);
    end();
}

/* Somebody deletes the ticket: it is made anew, and all that follow are served. */
static void without_the_ticket_they_go_on(void **state)
{
    (void)state;
    begin();
    world_delete_child(&world, TICKETS, world_children(&world, TICKETS) - 1);
    world_run_for(&world, 1000);
    for (size_t i = LEASES_MAX; i < OTHERS; i++) {
        hold_release(&others[i - LEASES_MAX]);
        hold_await(&others[i], 1000);
    }
    end();
}

/* ------------------------------------------------------------------- somebody else */

/* Each of A's comes again as soon as it has gone, and holds for a while. */
static void come_again(uint64_t ms)
{
    static uint64_t holds_since[OTHERS];

    for (uint64_t i = 0; i < ms; i++) {
        for (size_t j = 0; j < OTHERS; j++) {
            if (hold_over(&others[j])) {
                ask(&others[j], &a, 1);
                holds_since[j] = 0;
            } else if (hold_holds(&others[j]) && holds_since[j] == 0) {
                holds_since[j] = world_now(&world);
            } else if (hold_holds(&others[j]) && !others[j].releasing &&
                       world_now(&world) - holds_since[j] >= 20 + 3 * j) {
                hold_release(&others[j]);
            }
        }
        world_run_for(&world, 1);
    }
}

/* How many of A's are granted until somebody else is, who asks at some moment. */
static int granted_before(struct foreign_client *curator, struct foreign_claim *theirs,
                          uint64_t at_most_ms)
{
    int before = world.grants;

    memset(theirs, 0, sizeof(*theirs));
    foreign_claim_begin(theirs, curator, FOREIGN_SEMAPHORE, PATH, 1, LEASES_MAX, 60000);
    for (uint64_t ms = 0; !theirs->held && ms < at_most_ms; ms++) {
        come_again(1);
    }
    assert_true(theirs->held);
    return world.grants - before;
}

/* Curator's request has a round trip for its create, and our event one more; then what is
 * under way is granted. lost: A is told of nothing, and looks at the clock. */
static void curator_has_its_turn(bool lost, uint64_t at_most_ms, int at_most)
{
    struct foreign_client curator;
    struct foreign_claim theirs;

    begin();
    foreign_client_begin(&curator, world.sim, "curator", CURATOR, WORLD_TIMEOUT_MS);
    sim_set_latency(curator.port, LATENCY_MS, LATENCY_MS);
    come_again(1000);
    for (uint64_t turn = 0; turn < 20; turn++) {
        if (lost) {
            sim_lose_events(a.port, 1);
        }
        assert_in_range(granted_before(&curator, &theirs, at_most_ms), 0, at_most);
        come_again(7 + turn);
        foreign_claim_release(&theirs);
        come_again(200 + 13 * turn);
    }
    sim_lose_events(a.port, 0);
    foreign_client_close(&curator);
    world_run_for(&world, 100);
    assert_null(curator.port);
    end();
}

/* B stands behind A's first ticket, which has taken three leases; whoever has it then, and
 * has not come before B, does not take a lease from it. */
static void who_is_there_already_is_served_next(void **state)
{
    (void)state;
    begin_with(LEASES_MAX);
    for (size_t i = 0; i < OTHERS; i++) {
        ask(&others[i], &a, 1);
    }
    ask(&one, &b, 1);
    world_run_for(&world, 200);
    hold_release(&others[0]);
    world_run_for(&world, 1);
    assert_true(hold_holds(&others[LEASES_MAX]));
    hold_release(&others[1]);
    hold_await(&one, 100);
    assert_false(hold_holds(&others[LEASES_MAX + 1]));
    end();
}

/* In the time of a hold, of which there are three at a time, and a few round trips. */
static void whoever_comes_is_served_next(void **state)
{
    (void)state;
    curator_has_its_turn(false, 50 + 10 * ROUND_TRIP_MS, 15);
}

static void it_does_not_take_an_event(void **state)
{
    (void)state;
    curator_has_its_turn(true, UVZK__TICKET_MS + 50 + 10 * ROUND_TRIP_MS,
                         15 + (int)(UVZK__TICKET_MS * LEASES_MAX / 20));
}

/* ------------------------------------------------------------- what is handed on stands */

/* A lease is deleted by hand, and nobody tells; it goes to the next of A, whose ticket goes
 * to the one behind. B's turn comes when that is deleted, with a check of the lease. */
static void who_lets_the_next_one_in_has_leases(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 40; ms++) {
        begin();
        sim_lose_events(a.port, 1000);
        a.killed = true; /* it holds on until it has looked */
        assert_int_equal(sim_delete_by_hand(world.sim, others[0].path), 0);
        hold_release(&others[0]);
        world_run_for(&world, 1);
        assert_true(hold_holds(&others[LEASES_MAX]));
        ask(&one, &b, 1);
        world_run_for(&world, UVZK__TICKET_MS - 210 + 10 * ms); /* around its end */
        hold_release(&others[1]);
        world_run_for(&world, UVZK__TICKET_MS);
        hold_release(&others[2]);
        hold_await(&one, 3000);
        assert_false(hold_holds(&others[LEASES_MAX]));
        end();
    }
}

/* `locks` and `leases` are missing, so tickets and leases are made once more: who follows
 * may be planned for with a ticket before that of one who came earlier is made again.
 * Whenever the third one comes, all are served. (What is planned in vain in the end:
 * test_leases_are_granted_in_token_order.) */
static void what_was_planned_in_vain_is_planned_anew(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < 60; steps++) {
        uvzk_semaphore_t again = {.data = NULL};
        uvzk_multilock_t both = {.data = NULL};
        uvzk_mutex_t last = {.data = NULL};
        uvzk_lock_t *members[] = {&again, &last};

        begin_with(LEASES_MAX);
        assert_int_equal(uvzk_semaphore_init(&a.client, &again, PATH, LEASES_MAX, NULL),
                         0);
        assert_int_equal(uvzk_mutex_init(&a.client, &last, "/t"), 0);
        assert_int_equal(uvzk_multilock_init(&a.client, &both, members, 2,
                                             UVZK_MULTILOCK_IN_TURN, NULL),
                         0);
        world_make_path(&world, PATH); /* `locks` and `leases` are missing */
        ask(&others[0], &a, 1);
        ask(&others[1], &a, 1);
        world_steps(&world, steps);
        hold_begin_on(&others[2], &a, &both, 0, UVZK_WAIT_FOREVER);
        for (int i = 0; i < 3; i++) {
            hold_await(&others[i], 1000);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_goes_from_hand_to_hand),
        cmocka_unit_test(all_of_them_at_once),
        cmocka_unit_test(leases_are_made_together),
        cmocka_unit_test(who_excludes_another_has_another_token),
        cmocka_unit_test(a_ticket_has_a_past),
        cmocka_unit_test(who_excludes_another_since_the_count_fell),
        cmocka_unit_test(a_semaphore_mutex_has_a_token_each_time),
        cmocka_unit_test(what_is_granted_early_is_checked_in_time),
        cmocka_unit_test(tickets_and_sharers_have_their_turns),
        cmocka_unit_test(a_place_is_not_left_to_who_came_later),
        cmocka_unit_test(a_member_has_its_own_ticket),
        cmocka_unit_test(who_gives_up_leaves_its_place),
        cmocka_unit_test(all_are_told_of_the_end),
        cmocka_unit_test(all_are_told_that_it_closes),
        cmocka_unit_test(all_are_told_that_the_lock_closes),
        cmocka_unit_test(a_try_behind_them_is_refused),
        cmocka_unit_test(without_the_ticket_they_go_on),
        cmocka_unit_test(who_is_there_already_is_served_next),
        cmocka_unit_test(whoever_comes_is_served_next),
        cmocka_unit_test(it_does_not_take_an_event),
        cmocka_unit_test(who_lets_the_next_one_in_has_leases),
        cmocka_unit_test(what_was_planned_in_vain_is_planned_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
