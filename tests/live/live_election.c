/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on a real server: who leads in which order, over resignations, closes, the end
 * of sessions and lost connections, and what followers are told. */
#include <string.h>

#include "candidate.h"
#include "world.h"

static struct world world;
static struct process a, b, c;
static struct candidate first, second, third;

static void begin(void)
{
    candidates_reset();
    world_begin_two(&world, NULL, &a, &b);
}

static void begin_led(uvzk_election_kind_t kind)
{
    begin();
    candidate_begin_as(&first, &a, "first", kind, true);
    candidate_await_led(&first, 1, PATIENCE_MS);
    candidate_begin_as(&second, &b, "second", kind, true);
    candidate_await_leader(&second, "first", PATIENCE_MS);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 2));
}

static void end(void)
{
    candidate_end(&first);
    candidate_end(&second);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 0));
    world_end(&world);
}

static void test_they_take_turns(void **state)
{
    const uvzk_election_kind_t *kind = *state;

    begin_led(*kind);
    for (int round = 1; round <= 5; round++) {
        candidate_resign(&first);
        candidate_await_led(&second, round, PATIENCE_MS);
        candidate_await_leader(&first, "second", PATIENCE_MS);
        candidate_resign(&second);
        candidate_await_led(&first, round + 1, PATIENCE_MS);
        candidate_await_leader(&second, "first", PATIENCE_MS);
        assert_int_equal(candidates_leading(), 1);
    }
    end();
}

/* A third one comes and goes, and is told; then the leader is closed silently. */
static void test_followers(void **state)
{
    (void)state;
    begin_led(UVZK_ELECTION_LATCH);
    process_begin(&c, &world, "c", NULL);
    candidate_begin(&third, &c, "third");
    candidate_await_leader(&third, "first", PATIENCE_MS);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 3));
    candidate_close(&first, UVZK_ELECTION_SILENT);
    candidate_await_led(&second, 1, PATIENCE_MS);
    candidate_await_leader(&third, "second", PATIENCE_MS);
    candidate_end(&first);
    candidate_begin(&first, &a, "first again");
    candidate_await_leader(&first, "second", PATIENCE_MS);
    candidate_end(&third);
    candidate_resign(&second);
    candidate_await_led(&first, 1, PATIENCE_MS);
    end();
}

/* The session of the leader is ended: it is deposed, and leads again by a new znode. */
static void test_the_session_ends(void **state)
{
    (void)state;
    candidates_reset();
    world_begin(&world, NULL);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    world.options.hosts = server_hosts(live_server);
    process_begin(&b, &world, "b", NULL);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, PATIENCE_MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", PATIENCE_MS);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 2));
    process_expire(&a);
    candidate_await_deposed(&first, 1, PATIENCE_MS);
    candidate_await_led(&second, 1, PATIENCE_MS);
    candidate_await_leader(&first, "second", PATIENCE_MS);
    assert_true(second.token > first.token);
    candidate_resign(&second);
    candidate_await_led(&first, 2, PATIENCE_MS);
    end();
}

/* Closed before there is anything to close. */
static void test_close_at_once(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 20; i++) {
        candidate_begin(&first, &a, "first");
        candidate_close(&first, i % 2 == 0 ? UVZK_ELECTION_NOTIFY : UVZK_ELECTION_SILENT);
        candidate_end(&first);
    }
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, PATIENCE_MS);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 1));
    candidate_begin(&second, &b, "second");
    end();
}

int main(void)
{
    static uvzk_election_kind_t latch = UVZK_ELECTION_LATCH,
                                selector = UVZK_ELECTION_SELECTOR;
    const struct CMUnitTest tests[] = {
        {"they take turns, latch", test_they_take_turns, NULL, NULL, &latch},
        {"they take turns, selector", test_they_take_turns, NULL, NULL, &selector},
        cmocka_unit_test(test_followers),
        cmocka_unit_test(test_the_session_ends),
        cmocka_unit_test(test_close_at_once),
    };

    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
