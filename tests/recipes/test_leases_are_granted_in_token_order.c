/* Tokens rise from grant to grant, in a semaphore as everywhere. Those of one client that
 * are served together have their leases by one multi, and yet not all at once: its reply
 * may be lost, and then each lease is looked for. Whatever comes of that, nobody is
 * granted before one who came first and has to wait on. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES PATH "/leases"
#define FOREIGN TICKETS "/_c_64fc66ae-773f-4d77-9695-eba698b095f7-lock-"
#define LEASES_MAX 4U
#define SEEDS 64U
#define BATCHES 5U /* and every eighth: what has come is told in one turn (world_begin) */

/* Some of A, one behind the other; and what others have. */
struct line {
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct hold before, first, second, third;
    char ticket[128]; /* ahead of all: somebody else's */
};

static void begin(struct line *line, uint64_t seed, void *const *state)
{
    memset(line, 0, sizeof(*line));
    world_begin_two(&line->world, seed, state, &line->a, &line->b);
    assert_int_equal(
        uvzk_semaphore_init(&line->a.client, &line->of_a, PATH, LEASES_MAX, NULL), 0);
    assert_int_equal(
        uvzk_semaphore_init(&line->b.client, &line->of_b, PATH, LEASES_MAX, NULL), 0);
    assert_true(process_await_connected(&line->a, 1000));
    assert_true(process_await_connected(&line->b, 1000));
    hold_take_on(&line->before, &line->b, &line->of_b, 1);
    (void)snprintf(
        line->ticket, sizeof(line->ticket), "%s",
        sim_create_by_hand(line->world.sim, FOREIGN, UVZK__EPHEMERAL_SEQUENTIAL));
}

static void ask(struct line *line, struct hold *hold, uint32_t leases)
{
    hold_begin_on(hold, &line->a, &line->of_a, leases, UVZK_WAIT_FOREVER);
}

/* So many of A wait; then nobody is ahead of them. */
static void let_them_come(struct line *line, size_t waiters)
{
    world_run_for(&line->world, 500);
    assert_int_equal(world_children(&line->world, TICKETS), waiters + 1);
    assert_int_equal(sim_delete_by_hand(line->world.sim, line->ticket), 0);
}

/* Their leases are made, and A does not hear of it. */
static void come_and_lose_the_reply(struct line *line, size_t waiters)
{
    size_t from = line->world.line_count;

    let_them_come(line, waiters);
    assert_true(world_await_line(&line->world, from, "a", "multi", 1000));
    sim_lose_reply(line->a.port);
}

/* A does not know of B's lease when it makes those of both, one too many, and hears
 * nothing of them until it is back and has listed them. */
static void begin_with_one_too_many(struct line *line, uint64_t seed, void *const *state)
{
    begin(line, seed, state);
    ask(line, &line->first, 1);
    ask(line, &line->second, LEASES_MAX - 1);
    come_and_lose_the_reply(line, 2);
    size_t from = line->world.line_count;
    assert_true(world_await_line(&line->world, from, "a", "children -> ok", 1000));
}

static void end(struct line *line)
{
    assert_true(line->first.token < line->second.token);
    hold_give_back(&line->first);
    hold_give_back(&line->second);
    world_end(&line->world);
}

static void of_too_many_the_last_go(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct line line;

        begin_with_one_too_many(&line, seed, state);
        hold_await(&line.first, 3000);
        world_run_for(&line.world, 3000);
        assert_int_equal(line.second.answered, 0);
        hold_give_back(&line.before);
        hold_await(&line.second, 3000);
        end(&line);
    }
}

/* B's goes while A finds its own, one after the other, in batches. */
static void who_is_known_first_does_not_go_for_those_behind(void **state)
{
    for (uint64_t seed = BATCHES; seed <= 8 * SEEDS; seed += 8) {
        static struct line line;

        begin_with_one_too_many(&line, seed, state);
        assert_true(world_await_line(&line.world, line.world.line_count, "a",
                                     "exists -> ok", 1000));
        hold_release(&line.before);
        sim_delay(line.a.port, 40);
        for (unsigned i = 0; i < 3000 && !line.second.answered; i++) {
            world_run_for(&line.world, 1);
        }
        assert_true(line.first.answered && line.second.answered);
        end(&line);
    }
}

/* Those of the second are found before that of the first, and wait for it; and one of them
 * is deleted by hand until the second may be granted: it has to be seen again. */
static void who_is_held_back_is_seen_again(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct line line;

        begin(&line, seed, state);
        hold_give_back(&line.before);
        ask(&line, &line.first, 1);
        ask(&line, &line.second, 2);
        come_and_lose_the_reply(&line, 2);
        size_t from = line.world.line_count;
        assert_true(world_await_line(&line.world, from, "a", "exists " LEASES, 1000));
        sim_refuse(line.world.sim, UVZK__RPC_EXISTS, UVZK_ETHROTTLED, 1);
        assert_true(
            world_await_line(&line.world, from, "a", "exists -> ETHROTTLED", 1000));
        world_run_for(&line.world, 60); /* before it asks again */
        assert_int_equal(line.second.answered, 0);
        size_t made = world_children(&line.world, LEASES);
        world_delete_child(&line.world, LEASES, made - 1);
        hold_await(&line.first, 3000);
        hold_give_back(&line.first);
        hold_finish(&line.second, 3000); /* not without its leases */
        world_end(&line.world);
    }
}

/* While A is cut off its ticket is deleted by hand, and B is served: A's lease, which has
 * been made, has the lesser token, and would be granted later. */
static void who_lost_its_place_is_served_anew(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct line line;

        begin(&line, seed, state);
        ask(&line, &line.first, 1);
        come_and_lose_the_reply(&line, 1);
        assert_true(
            world_await_line(&line.world, line.world.line_count, "a", "SUSPENDED", 1000));
        sim_disconnect(line.a.port, SIM_RESET, 2000);
        assert_int_equal(world_children(&line.world, TICKETS), 1);
        world_delete_child(&line.world, TICKETS, 0);
        hold_take_on(&line.second, &line.b, &line.of_b, 1);
        assert_int_equal(line.first.answered, 0);
        hold_await(&line.first, 5000);
        assert_true(line.second.token < line.first.token);
        hold_give_back(&line.before);
        hold_give_back(&line.first);
        hold_give_back(&line.second);
        world_end(&line.world);
    }
}

static void stop(struct hold *hold)
{
    sim_jump_clock(hold->process->port, 2 * WORLD_TIMEOUT_MS);
    hold->hook = NULL;
}

static void note_second(struct hold *third)
{
    const struct line *line = UVZK__CONTAINER_OF(third, struct line, third);

    assert_int_equal(line->second.answered, 1);
}

/* A busy loop finds what has come of two of the leases, and that the third was refused. */
static void find_two_of_three(struct line *line)
{
    size_t from = line->world.line_count;
    const char *served = "server: exists " LEASES;

    assert_true(world_await_line(&line->world, from, "a", "exists " LEASES, 1000));
    sim_stall(line->a.port, 90);
    while (world_count(&line->world, from, "a", served) < 2) {
        world_steps(&line->world, 1);
    }
    assert_int_equal(world_count(&line->world, from, "a", served), 2);
    sim_refuse(line->world.sim, UVZK__RPC_EXISTS, UVZK_ETHROTTLED, 1);
}

/* The process is stopped between the grants of the first two and the callback of the
 * second, which has to be granted again: before the third, which was behind it. */
static void who_is_ungranted_has_its_place_in_line(void **state)
{
    for (uint64_t seed = BATCHES; seed <= SEEDS; seed += 8) {
        static struct line line;

        begin(&line, seed, state);
        hold_give_back(&line.before);
        ask(&line, &line.first, 1);
        ask(&line, &line.second, 1);
        ask(&line, &line.third, 1);
        line.first.hook = stop;
        line.third.hook = note_second;
        come_and_lose_the_reply(&line, 3);
        find_two_of_three(&line);
        hold_await(&line.first, 1000);
        assert_int_equal(line.second.answered, 0);
        hold_await(&line.third, 3000);
        assert_int_equal(line.first.reason, UVZK_EPROOF);
        assert_true(line.second.token < line.third.token);
        hold_give_back(&line.second);
        hold_give_back(&line.third);
        world_end(&line.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(of_too_many_the_last_go),
        WORLD_TEST(who_is_known_first_does_not_go_for_those_behind),
        WORLD_TEST(who_is_held_back_is_seen_again),
        WORLD_TEST(who_lost_its_place_is_served_anew),
        WORLD_CASE(who_is_ungranted_has_its_place_in_line, tuned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
