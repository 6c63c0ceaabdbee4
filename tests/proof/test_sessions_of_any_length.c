/* SPDX-License-Identifier: Apache-2.0 */
/* Until when a hold is valid, where the session is not what it was: a server allows
 * less than the one before it; round trips take longer than the servers' tick; a
 * server hears late of its leader, and is then cut off from it; a client has been
 * idle. The world finds two valid holds, if there are any. */
#include "world.h"

#include <string.h>

#include "proof/prover.h"
#include "proof/validity.h"

#define SEEDS 40U
#define TICK_MS 2000U
#define SHORT_MS (2 * TICK_MS)
#define READS 128U

static struct world world;
static struct process a, b;
static struct hold held, next;

/* ------------------------------------------------------- servers with unlike limits */

static void begin_apart(uint64_t seed, void *const *state)
{
    world_begin_servers(&world, seed, state, 3);
    memset(&held, 0, sizeof(held));
    memset(&next, 0, sizeof(next));
    sim_set_limit(world.sim, 1, SHORT_MS);
    process_make(&a, &world, "a", NULL);
    process_make(&b, &world, "b", NULL);
    sim_connect_to(a.port, 0);
    sim_connect_to(b.port, 2);
    process_start(&a);
    process_start(&b);
    assert_true(process_await_connected(&a, 10000));
    assert_true(process_await_connected(&b, 10000));
    world_run_for(&world, 3000);
    hold_take(&held, &a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
}

static void go_over(struct process *process, int server)
{
    sim_connect_to(process->port, server);
    sim_disconnect(process->port, SIM_RESET, 0);
    uint64_t until = world_now(&world) + 5000;
    while (sim_server_of(process->port) != server || !process_connected(process)) {
        assert_true(world_now(&world) < until);
        world_run_for(&world, 1);
    }
    world_run_for(&world, 20); /* it may have been told of neither yet */
}

/* It has touched the session with less, and is cut off at once. */
static void a_server_that_allows_less_ends_it_sooner(uint64_t seed, void *const *state)
{
    begin_apart(seed, state);
    world_run_for(&world, 4000 + sim_random(world.sim, 4000));
    go_over(&a, 1);
    assert_true(uvzk_hold_valid_until(&held.request) <= world_now(&world) + SHORT_MS);
    sim_follower_cut(a.port, 4ULL * WORLD_TIMEOUT_MS);
    hold_await_lost(&held, SHORT_MS, UVZK_EPROOF);
    hold_acquire_release(&next, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(next.answered_ms >= held.lost_ms);
    world_end(&world);
}

/* But if nothing else happens it goes on. */
static void a_shorter_session_goes_on(uint64_t seed, void *const *state)
{
    begin_apart(seed, state);
    world_run_for(&world, 4000 + sim_random(world.sim, 4000));
    go_over(&a, 1);
    world_run_for(&world, 5ULL * SHORT_MS);
    assert_int_equal(held.lost, 0);
    go_over(&a, 0);
    world_run_for(&world, 5ULL * SHORT_MS);
    assert_int_equal(held.lost, 0);
    assert_true(uvzk_hold_is_valid(&held.request));
    hold_give_back(&held);
    hold_acquire_release(&next, WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* Its loop hears of nothing before all is over. */
static void a_late_loop_believes_no_longer_session(uint64_t seed, void *const *state)
{
    begin_apart(seed, state);
    world_run_for(&world, 4000 + sim_random(world.sim, 4000));
    uint64_t before = uvzk_hold_valid_until(&held.request);
    sim_stall(a.port, UINT64_MAX);
    sim_connect_to(a.port, 1);
    sim_disconnect(a.port, SIM_RESET, 0);
    while (uvzk_hold_valid_until(&held.request) == before) {
        assert_true(world_now(&world) < before);
        world_run_for(&world, 1);
    }
    assert_true(uvzk_hold_valid_until(&held.request) <= world_now(&world) + SHORT_MS);
    assert_int_equal(held.lost, 0);
    sim_follower_cut(a.port, 4ULL * WORLD_TIMEOUT_MS);
    hold_await(&next, 3ULL * WORLD_TIMEOUT_MS);
    assert_false(uvzk_hold_is_valid(&held.request));
    sim_resume(a.port);
    assert_true(world_await(&world, &held.lost, 100));
    hold_give_back(&next);
    world_end(&world);
}

/* A comes through to server 1 by a handle that is closed. */
static void begin_unheard(uint64_t seed, void *const *state)
{
    begin_apart(seed, state);
    sim_reconnect_unreported(a.port);
    sim_connect_to(a.port, 1);
    sim_disconnect(a.port, SIM_RESET, 0);
    uint64_t until = world_now(&world) + 5000;
    while (uvzk__port_least_timeout(a.port) != SHORT_MS) {
        assert_true(world_now(&world) < until);
        world_run_for(&world, 1);
    }
}

/* It comes through to server 1 by a handle that is closed, and hears of server 0
 * alone; but the former may touch the session once more. */
static void a_connection_that_is_unheard_of_counts(uint64_t seed, void *const *state)
{
    begin_unheard(seed, state);
    sim_connect_to(a.port, 0);
    world_run_for(&world, SHORT_MS);
    assert_true(sim_server_of(a.port) == 0 && process_connected(&a));
    for (uint64_t ms = 0; ms < 4ULL * SHORT_MS;
         ms++) { /* not by the latest answer alone */
        world_run_for(&world, 1);
        assert_true(uvzk_hold_valid_until(&held.request) + TICK_MS / 2 <=
                    world_now(&world) + SHORT_MS);
    }
    assert_int_equal(held.lost, 0);
    assert_true(uvzk_hold_is_valid(&held.request));
    hold_give_back(&held);
    hold_acquire_release(&next, WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* It comes to nothing further: the loss is told at the moment that follows from what
 * it never heard of, and not at the one before. */
static void and_the_end_is_told_by_it(uint64_t seed, void *const *state)
{
    begin_unheard(seed, state);
    sim_disconnect(a.port, SIM_RESET, 4ULL * WORLD_TIMEOUT_MS);
    uint64_t until = uvzk_hold_valid_until(&held.request);
    assert_true(until <= world_now(&world) + SHORT_MS);
    hold_await_lost(&held, SHORT_MS + 100, UVZK_EPROOF);
    assert_true(held.lost_ms >= until && held.lost_ms <= until + 100);
    hold_acquire_release(&next, 3ULL * WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* After that end the proof still says that the session is valid, by the timeout that the
 * loop knows. A grant would be taken back at once, and the next turn would grant again. */
static void and_nothing_is_granted_after_it(uint64_t seed, void *const *state)
{
    begin_unheard(seed, state);
    sim_disconnect(a.port, SIM_RESET, 4ULL * WORLD_TIMEOUT_MS);
    hold_await_lost(&held, SHORT_MS + 100, UVZK_EPROOF);
    struct uvzk__session *session = a.client.impl;
    assert_true(uvzk__proof_grants(uvzk__prover_proof(session), world_now(&world)));
    assert_false(uvzk__may_be_granted(session));
    hold_acquire_release(&next, 3ULL * WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* And the next session is as long as it is given. */
static void what_one_session_was_given_is_over_with_it(uint64_t seed, void *const *state)
{
    begin_apart(seed, state);
    go_over(&a, 1);
    hold_give_back(&held);
    hold_acquire_release(&next, WORLD_TIMEOUT_MS);
    sim_connect_to(a.port, 0);
    size_t told = a.state_count;
    assert_true(sim_expire(a.port));
    uint64_t end = world_now(&world) + WORLD_TIMEOUT_MS;
    while (!process_was_told(&a, told, UVZK_STATE_LOST)) {
        assert_true(world_now(&world) < end);
        world_run_for(&world, 1);
    }
    assert_true(process_await_connected(&a, WORLD_TIMEOUT_MS));
    hold_take(&held, &a);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_true(uvzk_hold_valid_until(&held.request) > world_now(&world) + SHORT_MS);
    hold_give_back(&held);
    world_end(&world);
}

/* -------------------------------------------------------------- round trips of ticks */

static uvzk_req_t reads[READS];
static int reads_under_way;

static void on_read(uvzk_req_t *request, int status)
{
    const void *data = request->result->data;
    (void)status;
    (void)data;
    request->data = NULL;
    reads_under_way--;
}

/* Twenty a second, whatever is under way. */
static void read_on(struct world *of)
{
    if (world_now(of) % 50 != 0 || !process_connected(&a)) {
        return;
    }
    for (size_t i = 0; i < READS; i++) {
        if (reads[i].data == NULL) {
            reads[i].data = &a;
            reads_under_way++;
            assert_int_equal(uvzk_client_read(&a.client, &reads[i], WORLD_PATH, on_read),
                             0);
            return;
        }
    }
}

static void a_busy_client_far_away_loses_nothing(void **state)
{
    struct sim_options options;

    memset(reads, 0, sizeof(reads));
    world_exact_options(&options, 2000);
    options.session_timeout_ms = 60000;
    world_begin_with(&world, 1, *(const unsigned *)*state, &options);
    memset(&held, 0, sizeof(held));
    process_make(&a, &world, "a", NULL);
    sim_set_timeout(a.port, 60000);
    process_start(&a);
    assert_true(process_await_connected(&a, 60000));
    hold_begin(&held, &a, UVZK_WAIT_FOREVER);
    hold_await(&held, 120000);
    world.each_ms = read_on;
    world_run_for(&world, 240000);
    assert_int_equal(held.lost, 0);
    assert_true(uvzk_hold_valid_until(&held.request) > world_now(&world) + 20000);
    world.each_ms = NULL;
    while (reads_under_way > 0) {
        world_run_for(&world, 100);
    }
    sim_set_latency(a.port, 10, 10);
    world_run_for(&world, 5000);
    hold_give_back(&held);
    world_end(&world);
}

/* --------------------------------------------------------------------- late pings */

/* Until its server has heard what the leader said meanwhile, and answered us; but no answer
 * to a ping has left it. */
static void a_server_that_answers_late_and_is_cut_off(uint64_t seed, void *const *state)
{
    struct sim_options options;

    sim_options_init(&options);
    options.followers = options.late_pings = true;
    options.servers = 3;
    options.latency_max_ms = 3;
    options.lag_max_ms = 2;
    options.trace = false;
    world_begin_with(&world, seed, *(const unsigned *)*state, &options);
    memset(&held, 0, sizeof(held));
    memset(&next, 0, sizeof(next));
    process_make(&a, &world, "a", NULL);
    process_make(&b, &world, "b", NULL);
    sim_connect_to(a.port, 1);
    sim_connect_to(b.port, 2);
    process_start(&a);
    process_start(&b);
    assert_true(process_await_connected(&a, 10000));
    world_run_for(&world, 3000);
    hold_take(&held, &a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 4000 + sim_random(world.sim, 4000));
    uint64_t ms = 1000 + sim_random(world.sim, 3000);
    sim_lag_and_cut(world.sim, 1, ms);
    world_run_for(&world, ms + 4ULL * WORLD_TIMEOUT_MS);
    world_release_and_end(&world);
}

/* ------------------------------------------------------- observers fed by followers */

static void take_another(void)
{
    static struct hold other;

    memset(&other, 0, sizeof(other));
    hold_take_on(&other, &a, &a.semaphore, 1);
    hold_give_back(&other);
}

/* What was answered half a tick before the last but one write, and little before that:
 * by the last one, as much is proved as can be. */
static void prove_the_most(void)
{
    world_run_for(&world, 4000 + sim_random(world.sim, 8000));
    take_another();
    world_run_for(&world, 1000 + sim_random(world.sim, 20));
    take_another();
}

/* What an observer has heard comes to the leader up to two half ticks later. */
static void twice_the_tick_covers_two_hops(uint64_t seed, void *const *state)
{
    struct sim_options options;
    uvzk_client_options_t client;

    sim_options_init(&options);
    options.followers = options.two_hops = true;
    options.latency_max_ms = 3;
    options.trace = false;
    world_begin_with(&world, seed, *(const unsigned *)*state, &options);
    memset(&held, 0, sizeof(held));
    memset(&next, 0, sizeof(next));
    process_options(&client);
    client.tick_ms = 2 * options.tick_ms;
    process_begin(&a, &world, "a", &client);
    process_begin(&b, &world, "b", &client);
    hold_take(&held, &a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    process_make_semaphore(&a, "/locks/other", 4);
    prove_the_most();
    sim_pause(a.port, UINT64_MAX);
    sim_follower_cut(a.port, WORLD_TIMEOUT_MS / 2);
    hold_await(&next, 3ULL * WORLD_TIMEOUT_MS);
    assert_false(uvzk_hold_is_valid(&held.request));
    sim_resume(a.port);
    world_release_and_end(&world);
}

/* --------------------------------------------------------------------- idle clients */

static void who_has_been_idle_need_not_wait(void **state)
{
    world_begin_exact(&world, *(const unsigned *)*state, 10);
    memset(&held, 0, sizeof(held));
    process_begin(&a, &world, "a", NULL);
    process_take_turn(&a);
    world_run_for(&world, 30000);
    uint64_t asked_ms = world_now(&world);
    hold_take(&held, &a);
    assert_true(held.answered_ms - asked_ms <=
                40 + 1); /* a create, and a listing at most */
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_server_that_allows_less_ends_it_sooner, 1, SEEDS),
        WORLD_SCENARIO(a_shorter_session_goes_on, 1, 8),
        WORLD_SCENARIO(a_late_loop_believes_no_longer_session, 1, SEEDS),
        WORLD_SCENARIO(a_connection_that_is_unheard_of_counts, 1, 8),
        WORLD_SCENARIO(and_the_end_is_told_by_it, 1, 8),
        WORLD_SCENARIO(and_nothing_is_granted_after_it, 1, 8),
        WORLD_SCENARIO(what_one_session_was_given_is_over_with_it, 1, 8),
        WORLD_TEST(a_busy_client_far_away_loses_nothing),
        WORLD_SCENARIO(a_server_that_answers_late_and_is_cut_off, 1, SEEDS),
        WORLD_SCENARIO(twice_the_tick_covers_two_hops, 1, 400),
        WORLD_TEST(who_has_been_idle_need_not_wait),
    };
    return cmocka_run_group_tests_name("sessions_of_any_length", tests, NULL, NULL);
}
