/* Curator's untimed waiters hang for ever when their client is closed. Here a close
 * completes everything that is pending, once, in every state, and comes last. */
#include "scene.h"

#include <stdlib.h>

#define OWNER ((void *)&scene_plain)

struct world {
    struct scene scene;
    struct process a;
    struct claim held, reentry, waits[3], timed, once;
    uvzk_verify_t verify;
    uvzk_participants_t participants;
    int verified, listed;
};

static void on_verified(uvzk_verify_t *request, int status)
{
    struct world *world = request->data;

    (void)status;
    assert_int_equal(world->a.closed, 0);
    world->verified++;
}

static void on_participants(uvzk_participants_t *request, int status,
                            const char *const *paths, size_t count)
{
    struct world *world = request->data;

    (void)status;
    (void)paths;
    (void)count;
    assert_int_equal(world->a.closed, 0);
    world->listed++;
}

static void before_the_close(struct claim *claim)
{
    assert_int_equal(claim->process->closed, 0);
}

static void begin_claim(struct world *world, struct claim *claim, void *owner,
                        int64_t timeout_ms)
{
    claim_begin_for(claim, &world->a, owner, timeout_ms);
    claim->hook = before_the_close;
}

/* A little of everything, as far as it is possible at the moment. */
static void begin_everything(struct world *world)
{
    begin_claim(world, &world->held, OWNER, UVZK_WAIT_FOREVER);
    begin_claim(world, &world->reentry, OWNER, UVZK_WAIT_FOREVER);
    for (size_t i = 0; i < 3; i++) {
        begin_claim(world, &world->waits[i], NULL, UVZK_WAIT_FOREVER);
    }
    begin_claim(world, &world->timed, NULL, 60000);
    world->participants.data = world;
    assert_int_equal(
        uvzk_lock_participants(&world->a.mutex, &world->participants, on_participants),
        0);
}

static int ask_more(struct world *world)
{
    int asked = 0;

    begin_claim(world, &world->once, NULL, UVZK_TRY_ONCE);
    world->verify.data = world;
    if (uvzk_hold_is_valid(&world->held.request)) {
        asked = uvzk_hold_verify(&world->held.request, &world->verify, on_verified) == 0;
        claim_release(&world->reentry);
        claim_release(&world->held);
    }
    return asked;
}

static void cut_silently(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, 3 * SCENE_TIMEOUT_MS);
}

static void cut(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 3 * SCENE_TIMEOUT_MS);
}

static void expire(struct process *process)
{
    (void)sim_expire(process->port);
    process->killed = true;
}

static void follower(struct process *process)
{
    sim_follower_cut(process->port, 3 * SCENE_TIMEOUT_MS);
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

static void check_everybody_is_answered(const struct world *world, int verifies)
{
    for (const struct claim *claim = world->scene.claims; claim != NULL;
         claim = claim->next) {
        assert_int_equal(claim->acquired, 1);
        assert_int_equal(claim->lost + claim->released, claim->status == 0);
        assert_null(claim->request.impl);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(world->waits[i].status < 0 || world->waits[i].lost == 1);
    }
    assert_int_equal(world->listed, 1);
    assert_int_equal(world->verified, verifies);
    assert_null(world->a.client.impl);
    assert_null(world->a.mutex.impl);
    assert_int_equal(world->a.closed, 1);
}

/* The close comes `steps` events after everything was begun, `lag` events after the
 * trouble. */
static void check(void *const *state, size_t trouble, uint64_t steps, uint64_t lag)
{
    struct world *world = calloc(1, sizeof(*world));

    scene_begin_one(&world->scene, steps + lag, state, &world->a);
    if (steps > 20) {
        assert_true(process_await_connected(&world->a, 1000));
    }
    begin_everything(world);
    scene_steps(&world->scene, steps);
    troubles[trouble](&world->a);
    scene_steps(&world->scene, lag);
    int verifies = ask_more(world);
    process_close(&world->a);
    assert_int_equal(world->a.closed, 0); /* never from inside the call */
    assert_true(scene_await(&world->scene, &world->a.closed, 5000));
    check_everybody_is_answered(world, verifies);
    scene_end(&world->scene);
    free(world);
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
        struct scene scene;
        struct process a, b;
        struct claim held, waits;

        scene_begin_queued(&scene, seed, state, &a, &held, &b, &waits);
        waits.hook = before_the_close;
        scene_run_for(&scene, 500);
        if (seed % 2 == 0) {
            sim_disconnect(b.port, SIM_RESET, SCENE_TIMEOUT_MS);
            scene_run_for(&scene, 100);
        }
        process_close(&b);
        claim_await_status(&waits, 2, UVZK_ECLOSED);
        assert_true(scene_await(&scene, &b.closed, 2000));
        assert_true(uvzk_hold_is_valid(&held.request));
        process_close(&a);
        assert_true(scene_await(&scene, &held.lost, 2));
        assert_int_equal(held.reason, UVZK_ECLOSED);
        scene_end(&scene);
    }
}

/* Its znode goes before its session does, and it is told 0. */
static void a_release_under_way_is_waited_for(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        scene_begin_held(&scene, seed, state, &a, &claim);
        claim_release(&claim);
        process_close(&a);
        assert_true(scene_await(&scene, &a.closed, 2000));
        assert_int_equal(claim.released, 1);
        assert_int_equal(claim.release_status, 0);
        scene_end(&scene);
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
    struct scene scene;
    struct process a;
    struct claim claim;
    uvzk_hold_t request = {0};
    uvzk_mutex_t another = {0};

    scene_begin_one(&scene, 1, state, &a);
    claim_take(&claim, &a);
    claim_give_back(&claim);
    process_close(&a);
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&a.client, &another, "/other"), UVZK_ESTATE);
    assert_int_equal(
        uvzk_lock_acquire(&a.mutex, &request, NULL, never_answered, never_answered),
        UVZK_ECLOSED);
    assert_null(request.impl);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(everybody_is_answered),
        SCENE_TEST(waiters_are_told_closed_at_once),
        SCENE_TEST(a_release_under_way_is_waited_for),
        SCENE_TEST(a_closing_client_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
