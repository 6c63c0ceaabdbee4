/* Curator's untimed waiters hang for ever when their client is closed. Here a close
 * completes everything that is pending, once, in every state, and comes last. */
#include "world.h"

#include <stdlib.h>

#define OWNER ((void *)&world_plain)

struct crowd {
    struct world world;
    struct process a;
    struct hold held, reentry, waits[3], timed, once;
    uvzk_verify_t verify;
    uvzk_participants_t participants;
    int verified, listed;
};

static void on_verified(uvzk_verify_t *request, int status)
{
    struct crowd *crowd = request->data;

    (void)status;
    assert_int_equal(crowd->a.closed, 0);
    crowd->verified++;
}

static void on_participants(uvzk_participants_t *request, int status,
                            const char *const *paths, size_t count)
{
    struct crowd *crowd = request->data;

    (void)status;
    (void)paths;
    (void)count;
    assert_int_equal(crowd->a.closed, 0);
    crowd->listed++;
}

static void before_the_close(struct hold *hold)
{
    assert_int_equal(hold->process->closed, 0);
}

static void begin_claim(struct crowd *crowd, struct hold *hold, void *owner,
                        int64_t timeout_ms)
{
    hold_begin_for(hold, &crowd->a, owner, timeout_ms);
    hold->hook = before_the_close;
}

/* A little of everything, as far as it is possible at the moment. */
static void begin_everything(struct crowd *crowd)
{
    begin_claim(crowd, &crowd->held, OWNER, UVZK_WAIT_FOREVER);
    begin_claim(crowd, &crowd->reentry, OWNER, UVZK_WAIT_FOREVER);
    for (size_t i = 0; i < 3; i++) {
        begin_claim(crowd, &crowd->waits[i], NULL, UVZK_WAIT_FOREVER);
    }
    begin_claim(crowd, &crowd->timed, NULL, 60000);
    crowd->participants.data = crowd;
    assert_int_equal(
        uvzk_lock_participants(&crowd->a.mutex, &crowd->participants, on_participants),
        0);
}

static int ask_more(struct crowd *crowd)
{
    int asked = 0;

    begin_claim(crowd, &crowd->once, NULL, UVZK_TRY_ONCE);
    crowd->verify.data = crowd;
    if (uvzk_hold_is_valid(&crowd->held.request)) {
        asked = uvzk_hold_verify(&crowd->held.request, &crowd->verify, on_verified) == 0;
        hold_release(&crowd->reentry);
        hold_release(&crowd->held);
    }
    return asked;
}

static void cut_silently(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, 3 * WORLD_TIMEOUT_MS);
}

static void cut(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 3 * WORLD_TIMEOUT_MS);
}

static void expire(struct process *process)
{
    (void)sim_expire(process->port);
    process->killed = true;
}

static void follower(struct process *process)
{
    sim_follower_cut(process->port, 3 * WORLD_TIMEOUT_MS);
}

static void auth(struct process *process)
{
    sim_fail_auth(process->port);
}

static void open_fails(struct process *process)
{
    sim_fail_open(process->port, UV_EAI_NONAME);
    expire(process);
}

static void (*const troubles[])(struct process *) = {
    process_in_peace, cut_silently, cut,        expire,
    follower,         auth,         open_fails, process_lose_reply};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

static void check_everybody_is_answered(const struct crowd *crowd, int verifies)
{
    assert_null(crowd->world.holds);
    for (size_t i = 0; i < 3; i++) {
        assert_true(crowd->waits[i].status < 0 || crowd->waits[i].lost == 1);
    }
    assert_int_equal(crowd->listed, 1);
    assert_int_equal(crowd->verified, verifies);
    assert_null(crowd->a.client.impl);
    assert_null(crowd->a.mutex.impl);
    assert_int_equal(crowd->a.closed, 1);
}

/* The close comes `steps` events after everything was begun, `lag` events after the
 * trouble. */
static void check(void *const *state, size_t trouble, uint64_t steps, uint64_t lag)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));

    world_begin_one(&crowd->world, steps + lag, state, &crowd->a);
    if (steps > 20) {
        assert_true(process_await_connected(&crowd->a, 1000));
    }
    begin_everything(crowd);
    world_steps(&crowd->world, steps);
    troubles[trouble](&crowd->a);
    world_steps(&crowd->world, lag);
    int verifies = ask_more(crowd);
    process_close(&crowd->a);
    assert_int_equal(crowd->a.closed, 0); /* never from inside the call */
    assert_true(world_await(&crowd->world, &crowd->a.closed, 5000));
    check_everybody_is_answered(crowd, verifies);
    world_run_for(&crowd->world, WORLD_TIMEOUT_MS); /* a session may begin late */
    world_end(&crowd->world);
    free(crowd);
}

static void everybody_is_answered(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        for (uint64_t steps = 0; steps < 60; steps += 3) {
            check(state, trouble, steps, 0);
            check(state, trouble, steps, 1 + steps % 7);
        }
        check(state, trouble, 200, 0);
        check(state, trouble, 200, 60);
    }
}

/* What waits for somebody else's lock is told ECLOSED at once, and so is a hold; the
 * other one is not disturbed. */
static void waiters_are_told_closed_at_once(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world world;
        struct process a, b;
        struct hold held, waits;

        world_begin_queued(&world, seed, state, &a, &held, &b, &waits);
        waits.hook = before_the_close;
        world_run_for(&world, 500);
        if (seed % 2 == 0) {
            sim_disconnect(b.port, SIM_RESET, WORLD_TIMEOUT_MS);
            world_run_for(&world, 100);
        }
        process_close(&b);
        hold_await_status(&waits, 2, UVZK_ECLOSED);
        assert_true(world_await(&world, &b.closed, 2000));
        assert_true(uvzk_hold_is_valid(&held.request));
        process_close(&a);
        assert_true(world_await(&world, &held.lost, 2));
        assert_int_equal(held.reason, UVZK_ECLOSED);
        world_end(&world);
    }
}

/* Its znode goes before its session does, and it is told 0. */
static void a_release_under_way_is_waited_for(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world world;
        struct process a;
        struct hold hold;

        world_begin_held(&world, seed, state, &a, &hold);
        hold_release(&hold);
        process_close(&a);
        assert_true(world_await(&world, &a.closed, 2000));
        assert_int_equal(hold.released, 1);
        assert_int_equal(hold.release_status, 0);
        world_end(&world);
    }
}

static void never_answered(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
    fail();
}

/* A client that is closing refuses, and calls nothing back. */
static void a_closing_client_refuses(void **state)
{
    struct world world;
    struct process a;
    struct hold hold;
    uvzk_hold_t request = {0};
    uvzk_mutex_t another = {0};

    world_begin_one(&world, 1, state, &a);
    hold_take(&hold, &a);
    hold_give_back(&hold);
    process_close(&a);
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&a.client, &another, "/other"), UVZK_ESTATE);
    assert_int_equal(
        uvzk_lock_acquire(&a.mutex, &request, NULL, never_answered, never_answered),
        UVZK_ECLOSED);
    assert_null(request.impl);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(everybody_is_answered),
        WORLD_TEST(waiters_are_told_closed_at_once),
        WORLD_TEST(a_release_under_way_is_waited_for),
        WORLD_TEST(a_closing_client_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
