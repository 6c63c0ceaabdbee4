/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-604, CURATOR-206: two holders, because a znode made in one session was
 * still there when the next session listed the queue, and counted as its own. */
#include "world.h"

#define SEEDS 12U

/* The outage that makes a client give its session up. The servers keep the session,
 * and its znode, for a timeout from their return on. */
#define OUTAGE_MS (3U * WORLD_TIMEOUT_MS + 900U)

enum moment { CREATE_KNOWN, CREATE_UNKNOWN, CREATE_KNOWN_LATE, MOMENTS };

static struct world world;
static struct process a, b;
static struct hold old, next;

static void lose_the_servers(struct process *process, enum moment moment)
{
    size_t from = process->world->line_count;

    if (moment == CREATE_UNKNOWN) {
        sim_lose_reply(process->port);
    } else if (moment == CREATE_KNOWN_LATE) {
        sim_delay(process->port, 500); /* its reply too */
    }
    process_await_line(process, from, "server: create " WORLD_PATH "/_c_", 2000);
    sim_restart(process->world->sim, OUTAGE_MS);
}

static void check_moment(void *const *state, uint64_t seed, enum moment moment)
{
    world_begin_one(&world, seed, state, &a);
    world_make_directory(&world, &a);
    int64_t old_session = sim_session_id(a.port);
    hold_begin(&old, &a, UVZK_WAIT_FOREVER);
    lose_the_servers(&a, moment);
    assert_int_equal(world_queue_length(&world), 1);
    struct world_path old_node = world_child(&world, WORLD_PATH, 0);

    /* It does not outlive its session, and says so. */
    hold_await_status(&old, OUTAGE_MS, UVZK_EEXPIRED);
    assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));

    /* The next one finds the old znode still there, and waits for its end. */
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    assert_true(process_await_connected(&a, OUTAGE_MS));
    assert_true(sim_session_id(a.port) != old_session);
    assert_true(sim_session_alive(world.sim, old_session));
    assert_true(sim_exists(world.sim, old_node.text));
    hold_await(&next, 2 * WORLD_TIMEOUT_MS);
    assert_false(sim_exists(world.sim, old_node.text));
    assert_string_not_equal(next.path, old_node.text);
    hold_give_back(&next);
    world_end(&world);
}

static void a_claim_ends_with_its_session(uint64_t seed, void *const *state)
{
    for (enum moment moment = 0; moment < MOMENTS; moment++) {
        check_moment(state, seed, moment);
    }
}

/* The same, with a second client that is next in line: it is granted when the old
 * znode has gone, and there is never a second holder. */
static void the_next_client_waits_for_the_old_node(uint64_t seed, void *const *state)
{
    struct hold again;

    world_begin_one(&world, seed, state, &a);
    world_make_directory(&world, &a);
    hold_begin(&old, &a, UVZK_WAIT_FOREVER);
    lose_the_servers(&a, (enum moment)(seed % MOMENTS));
    hold_await_status(&old, OUTAGE_MS, UVZK_EEXPIRED);
    process_begin(&b, &world, "b", NULL);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    assert_true(process_await_connected(&b, OUTAGE_MS));
    world_run_for(&world, 1000);
    assert_int_equal(next.answered, 0);
    hold_begin(&again, &a, UVZK_WAIT_FOREVER);
    hold_await(&next, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 2000);
    assert_int_equal(again.answered, 0);
    hold_give_back(&next);
    hold_acquire_release(&again, 1000);
    assert_true(again.token > next.token);
    world_end(&world);
}

/* The session is ended by the servers at any moment between the acquire and the
 * grant. Whatever was told before the client heard of it, after that nothing of
 * the old session is held, granted or pending. */
static void nothing_outlives_an_expiry(uint64_t steps, void *const *state)
{
    world_begin_two(&world, steps, state, &a, &b);
    assert_true(process_await_connected(&b, 1000));
    world_make_directory(&world, &a);
    int64_t old_session = sim_session_id(a.port);
    size_t from = world.line_count;
    hold_begin(&old, &a, UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    size_t made = world_znodes_made(&world, from, "a");
    process_expire(&a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    process_await_line(&a, from, "EXPIRED", 2000);
    world_run_for(&world, 50);
    if (made > 0) {
        assert_int_equal(old.answered, 1);
        assert_true(old.status == UVZK_EEXPIRED || old.lost == 1);
    } else if (old.answered == 0) { /* its create never left: it leaves now */
        assert_true(world_await(&world, &next.answered, 2000));
        hold_give_back(&next);
        assert_true(world_await(&world, &old.answered, 2000));
    }
    if (old.status == 0 && old.lost == 0) {
        struct uvzk__stat stat;
        assert_true(sim_stat(world.sim, old.path, &stat));
        assert_true(stat.ephemeral_owner != old_session);
        assert_true(stat.ephemeral_owner == sim_session_id(a.port));
        hold_give_back(&old);
    }
    if (next.released == 0) {
        assert_true(world_await(&world, &next.answered, 2000));
        hold_give_back(&next);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_claim_ends_with_its_session, 1, SEEDS),
        WORLD_SCENARIO(the_next_client_waits_for_the_old_node, 1, SEEDS),
        WORLD_SCENARIO(nothing_outlives_an_expiry, 0, 39),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
