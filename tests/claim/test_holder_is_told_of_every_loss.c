/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-465: a holder whose session or znode is gone goes on believing that it
 * holds, re-enters, and releases without a word.
 *
 *   held ── connection lost: the client is told SUSPENDED
 *     └──── lost, whatever the reason: lost_cb, once, and nothing is held then */
#include "world.h"

#define SEEDS 10U
#define OWNER ((void *)&world_plain)

static struct world world;
static struct process a, b;
static struct hold held;

static void expire_connected(struct process *process)
{
    process->killed = true;
    assert_true(sim_expire_connected(process->port));
}

static void delete_node(struct process *process)
{
    (void)process;
    assert_int_equal(sim_delete_by_hand(world.sim, held.path), 0);
}

static void refuse_credentials(struct process *process)
{
    sim_fail_auth(process->port);
}

static const struct way {
    const char *name;
    void (*lose)(struct process *);
    int reason;
} ways[] = {
    {"the session ends", process_expire, UVZK_EEXPIRED},
    {"the session ends, told at once", expire_connected, UVZK_EEXPIRED},
    {"silence", process_silence, UVZK_EPROOF},
    {"disconnection", process_reset, UVZK_EPROOF},
    {"the znode is deleted", delete_node, UVZK_EDELETED},
    {"the credentials are refused", refuse_credentials, UVZK_EAUTH},
    {"the mutex is closed", process_close_mutex, UVZK_ECLOSED},
    {"the client is closed", process_close, UVZK_ECLOSED},
};

/* A hold that is not valid any more was told to be lost, at most the lateness of
 * an alarm ago: from the first millisecond on. */
static void check_loss_is_told(uint64_t ms)
{
    uint64_t invalid_ms = 0;

    while (ms-- > 0 && held.lost == 0) {
        invalid_ms = uvzk_hold_is_valid(&held.request) ? 0 : invalid_ms + 1;
        assert_in_range(invalid_ms, 0, 5);
        world_run_for(&world, 1);
    }
    assert_int_equal(held.lost, 1);
}

static void check_nothing_is_held(void)
{
    if (a.mutex.impl != NULL) {
        assert_false(uvzk_lock_is_held(&a.mutex));
        assert_false(uvzk_lock_is_held_by(&a.mutex, OWNER));
    }
}

/* A holds for OWNER. */
static void begin_owned(uint64_t seed, void *const *state)
{
    world_begin_one(&world, seed, state, &a);
    hold_begin_for(&held, &a, OWNER, UVZK_WAIT_FOREVER);
    hold_await(&held, 2000);
}

static void the_holder_is_told(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct hold reentry;

        begin_owned(seed, state);
        world_note(&world, "%s", ways[i].name);
        hold_begin_for(&reentry, &a, OWNER, UVZK_WAIT_FOREVER);
        hold_await(&reentry, 100);
        world_run_for(&world, sim_random(world.sim, 5000));

        world.outage_ms = 2 * WORLD_TIMEOUT_MS;
        ways[i].lose(&a);
        check_loss_is_told(2 * WORLD_TIMEOUT_MS);
        assert_int_equal(held.reason, ways[i].reason);
        world_steps(&world, 1);
        assert_int_equal(reentry.lost, 1);
        assert_int_equal(reentry.reason, ways[i].reason);
        check_nothing_is_held();
        assert_int_equal(uvzk_hold_release(&held.request, hold_unexpected_cb),
                         UVZK_ENOTHELD);
        world_end(&world);
    }
}

/* What may become of the hold is told before it is lost. */
static void the_holder_is_warned(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    size_t told = a.state_count;
    sim_disconnect(a.port, SIM_SILENT, 2 * WORLD_TIMEOUT_MS);
    assert_true(world_await(&world, &held.lost, WORLD_TIMEOUT_MS));
    assert_true(a.state_count > told);
    assert_int_equal(a.states[told], UVZK_STATE_SUSPENDED);
    assert_true(a.state_ms[told] <= held.lost_ms);
    world_end(&world);
}

/* A short interruption is not a loss. */
static void a_short_interruption_is_survived(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    size_t told = a.state_count;
    sim_disconnect(a.port, SIM_RESET, 2000);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_true(process_was_told(&a, told, UVZK_STATE_SUSPENDED));
    assert_true(process_was_told(&a, told, UVZK_STATE_RECONNECTED));
    assert_false(process_was_told(&a, told, UVZK_STATE_LOST));
    assert_int_equal(held.lost, 0);
    assert_true(uvzk_hold_is_valid(&held.request));
    hold_give_back(&held);
    world_end(&world);
}

/* After a loss the same owner queues like anybody else. */
static void a_lost_hold_is_not_re_entered(uint64_t seed, void *const *state)
{
    struct hold other, again;

    begin_owned(seed, state);
    process_begin(&b, &world, "b", NULL);
    hold_begin(&other, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    assert_int_equal(sim_delete_by_hand(world.sim, held.path), 0);
    a.killed = true; /* until it is told, nothing protects its hold */
    assert_true(world_await(&world, &held.lost, WORLD_TIMEOUT_MS));
    hold_begin_for(&again, &a, OWNER, UVZK_WAIT_FOREVER);
    a.killed = false;
    hold_await(&other, 1000);
    world_run_for(&world, 1000);
    assert_int_equal(again.answered, 0);
    hold_give_back(&other);
    hold_acquire_release(&again, 1000);
    assert_string_not_equal(again.path, held.path);
    assert_true(again.token > other.token);
    world_end(&world);
}

/* A hold that is over by the clock, before its loop has come to telling so, is not
 * re-entered either. */
static void an_invalid_hold_is_not_re_entered(uint64_t seed, void *const *state)
{
    struct hold again;

    begin_owned(seed, state);
    sim_stall(a.port, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS - 1);
    assert_false(uvzk_hold_is_valid(&held.request));
    assert_false(uvzk_lock_is_held_by(&a.mutex, OWNER));
    assert_int_equal(held.lost, 0);
    hold_begin_for(&again, &a, OWNER, UVZK_WAIT_FOREVER);
    hold_await(&again, 5000);
    assert_int_equal(held.lost, 1);
    assert_true(again.token > held.token);
    hold_give_back(&again);
    world_end(&world);
}

/* The client is connected with another session, and nobody has said that the one before
 * has ended: nothing of it is held any more. */
static void a_replaced_session_is_lost(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    const struct uvzk__session_event event = {.kind = UVZK__SESSION_CONNECTED,
                                              .session_id = sim_session_id(a.port) + 1,
                                              .timeout_ms = WORLD_TIMEOUT_MS,
                                              .local_address = "",
                                              .server = ""};
    a.port->user->session(a.port->user, &event);
    hold_await_lost(&held, 10, UVZK_EEXPIRED);
    assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));
    process_close(&a);
    assert_true(world_await(&world, &a.closed, 5000));
    world_end(&world);
}

/* Who releases what was lost is told so. */
static void releasing_a_lost_hold_says_so(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    assert_int_equal(sim_delete_by_hand(world.sim, held.path), 0);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ELOST);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_holder_is_told, 1, SEEDS),
        WORLD_SCENARIO(the_holder_is_warned, 1, SEEDS),
        WORLD_SCENARIO(a_short_interruption_is_survived, 1, SEEDS),
        WORLD_SCENARIO(a_lost_hold_is_not_re_entered, 1, SEEDS),
        WORLD_SCENARIO(an_invalid_hold_is_not_re_entered, 1, SEEDS),
        WORLD_SCENARIO(a_replaced_session_is_lost, 1, SEEDS),
        WORLD_SCENARIO(releasing_a_lost_hold_says_so, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
