/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens rise from grant to grant, in a semaphore as everywhere. Those of one client that
 * are served together have their leases by one multi, and yet not all at once: its reply
 * may be lost, and then each lease is looked for. Whatever comes of that, nobody is
 * granted before one who came first and has to wait on. */
#include "world.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES PATH "/leases"
#define LEASES_MAX 4U
#define SEEDS 64U
#define BATCHES 5U /* and every eighth: what has come is told in one turn (world_begin) */

/* Some of A, one behind the other; and what others have. */
static struct world world;
static struct process a, b;
static struct hold before, first, second, third, last;
static struct world_path ticket; /* ahead of all: somebody else's */

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    process_make_semaphore(&b, PATH, LEASES_MAX);
    hold_take_on(&before, &b, &b.semaphore, 1);
    ticket = world_foreign_node(&world, TICKETS, "lock-");
}

static void ask(struct hold *hold, uint32_t leases)
{
    hold_begin_on(hold, &a, &a.semaphore, leases, UVZK_WAIT_FOREVER);
}

/* So many of A wait; then nobody is ahead of them. Their leases are made, and A does not
 * hear of it. */
static void come_and_lose_the_reply(size_t waiters)
{
    size_t from = world.line_count;

    world_run_for(&world, 500);
    assert_in_range(world_children(&world, TICKETS), 2, waiters + 1); /* some share one */
    world_delete(&world, &ticket);
    process_await_line(&a, from, "multi", 1000);
    sim_lose_reply(a.port);
}

/* A does not know of B's lease when it makes those of both, one too many, and hears
 * nothing of them until it is back and has listed them. */
static void begin_with_one_too_many(uint64_t seed, void *const *state)
{
    begin(seed, state);
    ask(&first, 1);
    ask(&second, LEASES_MAX - 1);
    come_and_lose_the_reply(2);
    process_await_line(&a, world.line_count, "children -> ok", 1000);
}

static void end(void)
{
    assert_true(first.token < second.token);
    hold_give_back(&first);
    hold_give_back(&second);
    world_end(&world);
}

static void of_too_many_the_last_go(uint64_t seed, void *const *state)
{
    begin_with_one_too_many(seed, state);
    hold_await(&first, 3000);
    world_run_for(&world, 3000);
    assert_int_equal(second.answered, 0);
    hold_give_back(&before);
    hold_await(&second, 3000);
    end();
}

/* B's goes while A finds its own, one after the other, in batches. */
static void who_is_known_first_does_not_go_for_those_behind(void **state)
{
    for (uint64_t seed = BATCHES; seed <= 8 * SEEDS; seed += 8) {
        begin_with_one_too_many(seed, state);
        process_await_line(&a, world.line_count, "exists -> ok", 1000);
        hold_release(&before);
        sim_delay(a.port, 40);
        hold_await(&second, 3000);
        assert_true(hold_holds(&first));
        end();
    }
}

/* Those of the second are found before that of the first, and wait for it; and one of them
 * is deleted by hand until the second may be granted: it has to be seen again. */
static void who_is_held_back_is_seen_again(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_give_back(&before);
    ask(&first, 1);
    ask(&second, 2);
    come_and_lose_the_reply(2);
    size_t from = world.line_count;
    process_await_line(&a, from, "exists " LEASES, 1000);
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ETHROTTLED, 1);
    process_await_line(&a, from, "exists -> ETHROTTLED", 1000);
    world_run_for(&world, 60); /* before it asks again */
    assert_int_equal(second.answered, 0);
    world_delete_child(&world, LEASES, world_children(&world, LEASES) - 1);
    hold_acquire_release(&first, 3000);
    hold_finish(&second, 3000); /* not without its leases */
    world_end(&world);
}

static void serve_b_instead(void)
{
    process_await_line(&a, world.line_count, "SUSPENDED", 1000);
    sim_disconnect(a.port, SIM_RESET, 2000);
    assert_int_equal(world_children(&world, TICKETS), 1);
    world_delete_child(&world, TICKETS, 0);
    hold_take_on(&second, &b, &b.semaphore, 1);
    assert_int_equal(first.answered, 0);
    hold_await(&first, 5000);
    assert_true(second.token < first.token);
    hold_give_back(&before);
    hold_give_back(&first);
    hold_give_back(&second);
    world_end(&world);
}

/* While A is cut off its ticket is deleted by hand, and B is served: A's lease, which has
 * been made, has the lesser token, and would be granted later. */
static void who_lost_its_place_is_served_anew(uint64_t seed, void *const *state)
{
    begin(seed, state);
    ask(&first, 1);
    come_and_lose_the_reply(1);
    serve_b_instead();
}

/* The same for a ticket that nobody was ahead of, so that it never waited. */
static void who_did_not_wait_is_served_anew(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_delete(&world, &ticket);
    size_t from = world.line_count;
    ask(&first, 1);
    process_await_line(&a, from, "multi", 1000);
    sim_lose_reply(a.port);
    serve_b_instead();
}

/* And where those ahead went at once. */
static void who_waited_for_two_is_served_anew(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path other = world_foreign_node(&world, TICKETS, "lock-");
    ask(&first, 1);
    world_run_for(&world, 500);
    world_delete(&world, &other);
    world_delete(&world, &ticket);
    size_t from = world.line_count;
    process_await_line(&a, from, "multi", 1000);
    sim_lose_reply(a.port);
    serve_b_instead();
}

/* The ticket that the second shares is deleted by hand, so the first has one behind all
 * others, and the second shares that of the third. The multi for both never comes. */
static void begin_with_a_later_ones_ticket(uint64_t seed, void *const *state)
{
    begin(seed, state);
    ask(&first, 1);
    ask(&second, 1);
    ask(&third, LEASES_MAX - 1); /* two of this size share no ticket */
    ask(&last, LEASES_MAX - 1);
    world_run_for(&world, 500);
    world_delete_child(&world, TICKETS, 1);
    world_run_for(&world, 1000);
    size_t from = world.line_count;
    world_delete(&world, &ticket);
    process_await_line(&a, from, "multi", 1000);
    sim_lose_request(a.port);
}

/* B's lease leaves room for the third's leases only. The third waits for the second, and A
 * has to notice that B's lease goes. */
static void who_keeps_its_turn_waits_for_room(uint64_t seed, void *const *state)
{
    begin_with_a_later_ones_ticket(seed, state);
    world_run_for(&world, 3000);
    hold_give_back(&before);
    hold_await(&second, 3000);
    world_release_and_end(&world);
}

/* The last one gives up meanwhile, so the first stands next behind the third. The second
 * came after the first, and may not be served by the third's ticket any more: the third
 * does not wait for it. With a queued_cb the second would have a ticket of its own. */
static void who_may_share_no_longer_holds_nobody_back(void **state)
{
    for (uint64_t seed = WORLD_NO_QUEUED_CB; seed <= SEEDS; seed += 2) {
        begin_with_a_later_ones_ticket(seed, state);
        hold_cancel(&last);
        hold_await(&third, 3000);
        assert_int_equal(second.answered, 0);
        hold_give_back(&third);
        hold_await(&second, 3000);
        assert_true(third.token < first.token && first.token <= second.token);
        world_release_and_end(&world);
    }
}

static void stop(struct hold *hold)
{
    sim_jump_clock(hold->process->port, 2 * WORLD_TIMEOUT_MS);
    hold->hook = NULL;
}

static void note_second(struct hold *hold)
{
    (void)hold;
    assert_int_equal(second.answered, 1);
}

/* A busy loop finds what has come of two of the leases, and that the third was refused. */
static void find_two_of_three(void)
{
    size_t from = world.line_count;
    const char *served = "server: exists " LEASES;

    process_await_line(&a, from, "exists " LEASES, 1000);
    sim_stall(a.port, 90);
    while (world_count(&world, from, "a", served) < 2) {
        world_steps(&world, 1);
    }
    assert_int_equal(world_count(&world, from, "a", served), 2);
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ETHROTTLED, 1);
}

/* The process is stopped between the grants of the first two and the callback of the
 * second, which has to be granted again: before the third, which was behind it. */
static void who_is_ungranted_has_its_place_in_line(void **state)
{
    for (uint64_t seed = BATCHES; seed <= SEEDS; seed += 8) {
        begin(seed, state);
        hold_give_back(&before);
        ask(&first, 1);
        ask(&second, 1);
        ask(&third, 1);
        first.hook = stop;
        third.hook = note_second;
        come_and_lose_the_reply(3);
        find_two_of_three();
        hold_await(&first, 1000);
        assert_int_equal(second.answered, 0);
        hold_await(&third, 3000);
        assert_int_equal(first.reason, UVZK_EPROOF);
        assert_true(second.token < third.token);
        hold_give_back(&second);
        hold_give_back(&third);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(of_too_many_the_last_go, 1, SEEDS),
        WORLD_TEST(who_is_known_first_does_not_go_for_those_behind),
        WORLD_SCENARIO(who_is_held_back_is_seen_again, 1, SEEDS),
        WORLD_SCENARIO(who_lost_its_place_is_served_anew, 1, SEEDS),
        WORLD_SCENARIO(who_did_not_wait_is_served_anew, 1, SEEDS),
        WORLD_SCENARIO(who_waited_for_two_is_served_anew, 1, SEEDS),
        WORLD_SCENARIO(who_keeps_its_turn_waits_for_room, 1, SEEDS),
        WORLD_CASE(who_may_share_no_longer_holds_nobody_back, tuned),
        WORLD_CASE(who_is_ungranted_has_its_place_in_line, tuned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
