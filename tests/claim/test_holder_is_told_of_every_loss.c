/* CURATOR-465: a holder whose session or znode is gone goes on believing that it
 * holds, re-enters, and releases without a word.
 *
 *   held ── connection lost: the client is told SUSPENDED
 *     └──── lost, whatever the reason: lost_cb, once, and nothing is held then */
#include "scene.h"

#define SEEDS 10U
#define OWNER ((void *)&scene_plain)

static void lose_session(struct process *process, struct claim *claim)
{
    (void)claim;
    process_expire(process);
}

static void lose_session_while_connected(struct process *process, struct claim *claim)
{
    (void)claim;
    process->killed = true;
    assert_true(sim_expire_connected(process->port));
}

static void lose_connection_silently(struct process *process, struct claim *claim)
{
    (void)claim;
    sim_disconnect(process->port, SIM_SILENT, 2 * SCENE_TIMEOUT_MS);
}

static void lose_connection(struct process *process, struct claim *claim)
{
    (void)claim;
    sim_disconnect(process->port, SIM_RESET, 2 * SCENE_TIMEOUT_MS);
}

static void lose_node(struct process *process, struct claim *claim)
{
    assert_int_equal(sim_delete_by_hand(process->scene->sim, claim->path), 0);
}

static void lose_credentials(struct process *process, struct claim *claim)
{
    (void)claim;
    sim_fail_auth(process->port);
}

static void lose_mutex(struct process *process, struct claim *claim)
{
    (void)claim;
    assert_int_equal(uvzk_lock_close(&process->mutex, NULL), 0);
}

static void lose_client(struct process *process, struct claim *claim)
{
    (void)claim;
    process_close(process);
}

static const struct way {
    const char *name;
    void (*lose)(struct process *, struct claim *);
    int reason;
} ways[] = {
    {"the session ends", lose_session, UVZK_EEXPIRED},
    {"the session ends, told at once", lose_session_while_connected, UVZK_EEXPIRED},
    {"silence", lose_connection_silently, UVZK_EPROOF},
    {"disconnection", lose_connection, UVZK_EPROOF},
    {"the znode is deleted", lose_node, UVZK_EDELETED},
    {"the credentials are refused", lose_credentials, UVZK_EAUTH},
    {"the mutex is closed", lose_mutex, UVZK_ECLOSED},
    {"the client is closed", lose_client, UVZK_ECLOSED},
};

/* A hold that is not valid any more was told to be lost, at most the lateness of
 * an alarm ago: from the first millisecond on. */
static void check_loss_is_told(struct scene *scene, struct claim *claim, uint64_t ms)
{
    uint64_t invalid_ms = 0;

    while (ms-- > 0 && claim->lost == 0) {
        invalid_ms = uvzk_hold_is_valid(&claim->request) ? 0 : invalid_ms + 1;
        assert_in_range(invalid_ms, 0, 5);
        scene_run_for(scene, 1);
    }
    assert_int_equal(claim->lost, 1);
}

static void check_nothing_is_held(const struct process *process)
{
    if (process->mutex.impl != NULL) {
        assert_false(uvzk_lock_is_held(&process->mutex));
        assert_false(uvzk_lock_is_held_by(&process->mutex, OWNER));
    }
}

static void never_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
    fail();
}

/* A holds for OWNER. */
static void begin_owned(struct scene *scene, uint64_t seed, void *const *state,
                        struct process *a, struct claim *held)
{
    scene_begin_one(scene, seed, state, a);
    claim_begin_for(held, a, OWNER, UVZK_WAIT_FOREVER);
    claim_await(held, 2000);
}

static void the_holder_is_told(void **state)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct scene scene;
            struct process a;
            struct claim first, reentry;

            begin_owned(&scene, seed, state, &a, &first);
            sim_note(scene.sim, "%s", ways[i].name);
            claim_begin_for(&reentry, &a, OWNER, UVZK_WAIT_FOREVER);
            claim_await(&reentry, 100);
            scene_run_for(&scene, sim_random(scene.sim, 5000));

            ways[i].lose(&a, &first);
            check_loss_is_told(&scene, &first, 2 * SCENE_TIMEOUT_MS);
            assert_int_equal(first.reason, ways[i].reason);
            scene_steps(&scene, 1);
            assert_int_equal(reentry.lost, 1);
            assert_int_equal(reentry.reason, ways[i].reason);
            check_nothing_is_held(&a);
            assert_int_equal(uvzk_hold_release(&first.request, never_released),
                             UVZK_ENOTHELD);
            scene_end(&scene);
        }
    }
}

/* What may become of the hold is told before it is lost. */
static void the_holder_is_warned(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        scene_begin_held(&scene, seed, state, &a, &claim);
        size_t told = a.state_count;
        sim_disconnect(a.port, SIM_SILENT, 2 * SCENE_TIMEOUT_MS);
        assert_true(scene_await(&scene, &claim.lost, SCENE_TIMEOUT_MS));
        assert_true(a.state_count > told);
        assert_int_equal(a.states[told], UVZK_STATE_SUSPENDED);
        assert_true(a.state_ms[told] <= claim.lost_ms);
        scene_end(&scene);
    }
}

/* A short interruption is not a loss. */
static void a_short_interruption_is_survived(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        scene_begin_held(&scene, seed, state, &a, &claim);
        size_t told = a.state_count;
        sim_disconnect(a.port, SIM_RESET, 2000);
        scene_run_for(&scene, 2 * SCENE_TIMEOUT_MS);
        assert_true(process_was_told(&a, told, UVZK_STATE_SUSPENDED));
        assert_true(process_was_told(&a, told, UVZK_STATE_RECONNECTED));
        assert_false(process_was_told(&a, told, UVZK_STATE_LOST));
        assert_int_equal(claim.lost, 0);
        assert_true(uvzk_hold_is_valid(&claim.request));
        claim_give_back(&claim);
        scene_end(&scene);
    }
}

/* After a loss the same owner queues like anybody else. */
static void a_lost_hold_is_not_re_entered(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim lost, other, again;

        begin_owned(&scene, seed, state, &a, &lost);
        process_begin(&b, &scene, "b", NULL);
        claim_begin(&other, &b, UVZK_WAIT_FOREVER);
        scene_run_for(&scene, 500);
        assert_int_equal(sim_delete_by_hand(scene.sim, lost.path), 0);
        a.killed = true; /* until it is told, nothing protects its hold */
        assert_true(scene_await(&scene, &lost.lost, SCENE_TIMEOUT_MS));
        claim_begin_for(&again, &a, OWNER, UVZK_WAIT_FOREVER);
        a.killed = false;
        claim_await(&other, 1000);
        scene_run_for(&scene, 1000);
        assert_int_equal(again.acquired, 0);
        claim_give_back(&other);
        claim_await(&again, 1000);
        assert_string_not_equal(again.path, lost.path);
        assert_true(again.token > other.token);
        claim_give_back(&again);
        scene_end(&scene);
    }
}

/* A hold that is over by the clock, before its loop has come to telling so, is not
 * re-entered either. */
static void an_invalid_hold_is_not_re_entered(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim held, again;

        begin_owned(&scene, seed, state, &a, &held);
        sim_stall(a.port, 2 * SCENE_TIMEOUT_MS);
        scene_run_for(&scene, 2 * SCENE_TIMEOUT_MS - 1);
        assert_false(uvzk_hold_is_valid(&held.request));
        assert_false(uvzk_lock_is_held_by(&a.mutex, OWNER));
        assert_int_equal(held.lost, 0);
        claim_begin_for(&again, &a, OWNER, UVZK_WAIT_FOREVER);
        claim_await(&again, 5000);
        assert_int_equal(held.lost, 1);
        assert_true(again.token > held.token);
        claim_give_back(&again);
        scene_end(&scene);
    }
}

/* The client is connected with another session, and nobody has said that the one before
 * has ended: nothing of it is held any more. */
static void a_replaced_session_is_lost(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        scene_begin_held(&scene, seed, state, &a, &claim);
        const struct uvzk__session_event event = {.kind = UVZK__SESSION_CONNECTED,
                                                  .session_id =
                                                      sim_session_id(a.port) + 1,
                                                  .timeout_ms = SCENE_TIMEOUT_MS,
                                                  .local_address = ""};
        a.port->user->session(a.port->user, &event);
        assert_true(scene_await(&scene, &claim.lost, 10));
        assert_int_equal(claim.reason, UVZK_EEXPIRED);
        assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));
        process_close(&a);
        assert_true(scene_await(&scene, &a.closed, 5000));
        scene_end(&scene);
    }
}

/* Who releases what was lost is told so. */
static void releasing_a_lost_hold_says_so(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        scene_begin_held(&scene, seed, state, &a, &claim);
        assert_int_equal(sim_delete_by_hand(scene.sim, claim.path), 0);
        claim_release(&claim);
        assert_true(scene_await(&scene, &claim.released, 1000));
        assert_int_equal(claim.release_status, UVZK_ELOST);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(the_holder_is_told),
        SCENE_TEST(the_holder_is_warned),
        SCENE_TEST(a_short_interruption_is_survived),
        SCENE_TEST(a_lost_hold_is_not_re_entered),
        SCENE_TEST(an_invalid_hold_is_not_re_entered),
        SCENE_TEST(a_replaced_session_is_lost),
        SCENE_TEST(releasing_a_lost_hold_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
