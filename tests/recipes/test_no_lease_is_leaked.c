/* CURATOR-315, 335, 462: a fault or an interrupt between the create of a lease and the
 * note of it left a lease that nobody has, for as long as the session lived, and in the
 * end a semaphore that was always full. */
#include "acquire.h"

#include <string.h>

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define STEPS 40U

enum end { CANCEL, DEADLINE, CLOSE_LOCK, EXPIRE, ENDS };
enum fault { NO_FAULT, LOSE_REPLY, LOSE_REQUEST, RESET, FAULTS };

/* A's acquire of two ends somehow, somewhere on its way; B then wants all. */
struct couple {
    struct scene scene;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct acquire bid, other, all;
};

static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    memset(couple, 0, sizeof(*couple));
    scene_begin_two(&couple->scene, seed, state, &couple->a, &couple->b);
    assert_int_equal(
        uvzk_semaphore_init(&couple->a.client, &couple->of_a, PATH, LEASES_MAX, NULL), 0);
    assert_int_equal(
        uvzk_semaphore_init(&couple->b.client, &couple->of_b, PATH, LEASES_MAX, NULL), 0);
    assert_true(process_await_connected(&couple->a, 1000));
    assert_true(process_await_connected(&couple->b, 1000));
}

static void inject(struct couple *couple, enum fault fault)
{
    switch (fault) {
    case LOSE_REPLY:
        sim_lose_reply(couple->a.port);
        break;
    case LOSE_REQUEST:
        sim_lose_request(couple->a.port);
        break;
    case RESET:
        sim_disconnect(couple->a.port, SIM_RESET, 300);
        break;
    default:
        break;
    }
}

static void stop(struct couple *couple, enum end end)
{
    if (couple->bid.acquired || end == DEADLINE) {
        return;
    }
    if (end == CANCEL) {
        assert_int_equal(uvzk_hold_cancel(&couple->bid.request), 0);
    } else if (end == CLOSE_LOCK) {
        assert_int_equal(uvzk_lock_close(&couple->of_a, NULL), 0);
    } else {
        process_expire(&couple->a);
    }
}

static void nothing_is_left(struct couple *couple)
{
    acquire_finish(&couple->bid, 2 * SCENE_TIMEOUT_MS);
    scene_run_for(&couple->scene, 2000);
    assert_int_equal(sim_children(couple->scene.sim, LEASES, NULL, 0),
                     acquire_holds(&couple->other));
    if (acquire_holds(&couple->other)) {
        acquire_give_back(&couple->other);
    }
    acquire_take(&couple->all, &couple->b, &couple->of_b, LEASES_MAX);
    acquire_give_back(&couple->all);
    scene_run_for(&couple->scene, 500);
    assert_int_equal(sim_children(couple->scene.sim, LEASES, NULL, 0), 0);
    assert_int_equal(sim_children(couple->scene.sim, PATH "/locks", NULL, 0), 0);
    scene_end(&couple->scene);
}

/* There is room, and the leases are made, unless it ends before. */
static void check(void *const *state, uint64_t steps, enum end end, enum fault fault)
{
    struct couple couple;

    begin(&couple, steps, state);
    sim_note(couple.scene.sim, "end %d, fault %d, %d steps", (int)end, (int)fault,
             (int)steps);
    acquire_begin(&couple.bid, &couple.a, &couple.of_a, 2,
                  end == DEADLINE ? 1 + 4 * (int64_t)steps : UVZK_WAIT_FOREVER);
    scene_steps(&couple.scene, steps);
    inject(&couple, fault);
    scene_steps(&couple.scene, steps % 5);
    stop(&couple, end);
    nothing_is_left(&couple);
}

static void whatever_ends_it(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (enum fault fault = 0; fault < FAULTS; fault++) {
            for (uint64_t steps = 0; steps < STEPS; steps++) {
                check(state, steps, end, fault);
            }
        }
    }
}

/* There is no room; the one with the leases lets go as it ends. */
static void while_it_waits(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            struct couple couple;

            begin(&couple, steps, state);
            acquire_take(&couple.other, &couple.b, &couple.of_b, LEASES_MAX - 1);
            acquire_begin(&couple.bid, &couple.a, &couple.of_a, 2,
                          end == DEADLINE ? 401 + (int64_t)steps : UVZK_WAIT_FOREVER);
            scene_run_for(&couple.scene, 400 - 2 * (steps % 8));
            assert_int_equal(couple.bid.acquired, 0);
            acquire_release(&couple.other);
            scene_steps(&couple.scene, steps);
            stop(&couple, end);
            assert_true(scene_await(&couple.scene, &couple.other.released, 1000));
            nothing_is_left(&couple);
        }
    }
}

/* Leases that are kept for the next in line of the same client, who goes away before it
 * has taken them, or wants fewer. */
static void nobody_takes_what_is_offered(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            struct couple couple;

            begin(&couple, steps, state);
            acquire_take(&couple.all, &couple.a, &couple.of_a, LEASES_MAX);
            acquire_begin(&couple.bid, &couple.a, &couple.of_a,
                          1 + (uint32_t)(steps % LEASES_MAX),
                          end == DEADLINE ? 400 : UVZK_WAIT_FOREVER);
            scene_run_for(&couple.scene, 400 - steps % 4);
            acquire_release(&couple.all);
            scene_steps(&couple.scene, steps / 2);
            stop(&couple, end);
            assert_true(scene_await(&couple.scene, &couple.all.released, 1000));
            nothing_is_left(&couple);
        }
    }
}

/* As long as it holds, its lease stands, and nobody else holds. */
static void check_owner(struct couple *couple, struct acquire *owner,
                        const struct acquire *waiting)
{
    acquire_await(owner, 3000);
    for (unsigned i = 0; i < 3000; i++) {
        scene_run_for(&couple->scene, 1);
        assert_true(acquire_holds(owner));
        assert_true(sim_exists(couple->scene.sim, owner->path));
        assert_int_equal(waiting->acquired, 0);
    }
}

/* One lets go; of two others of the same lock, one has asked before and one asks now. */
static void check_owners(void *const *state, uint64_t steps, enum fault fault)
{
    struct couple couple;
    uvzk_semaphore_mutex_t lock = {0};
    struct acquire first = {0}, asked = {0}, asks = {0};

    begin(&couple, steps, state);
    assert_int_equal(uvzk_semaphore_mutex_init(&couple.a.client, &lock, PATH), 0);
    acquire_take(&first, &couple.a, &lock, 1);
    acquire_begin(&asked, &couple.a, &lock, 1, UVZK_WAIT_FOREVER);
    scene_steps(&couple.scene, steps);
    acquire_release(&first);
    acquire_begin(&asks, &couple.a, &lock, 1, UVZK_WAIT_FOREVER);
    inject(&couple, fault);
    for (unsigned i = 0; i < 3000 && asked.acquired + asks.acquired == 0; i++) {
        scene_run_for(&couple.scene, 1);
    }
    struct acquire *next = asks.acquired ? &asks : &asked;
    struct acquire *last = asks.acquired ? &asked : &asks;
    check_owner(&couple, next, last);
    assert_int_equal(first.released, 1);
    acquire_give_back(next);
    acquire_await(last, 3000);
    acquire_give_back(last);
    assert_true(first.token < next->token && next->token < last->token);
    scene_end(&couple.scene);
}

/* CURATOR-376: the lease of the next owner of the same lock was taken for that of the
 * last one, and deleted with it. It may well be the same znode here. */
static void the_next_owner_keeps_its_own(void **state)
{
    for (enum fault fault = 0; fault < FAULTS; fault++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            check_owners(state, steps, fault);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(whatever_ends_it),
        SCENE_TEST(while_it_waits),
        SCENE_TEST(nobody_takes_what_is_offered),
        SCENE_TEST(the_next_owner_keeps_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
