/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-315, 335, 462: a fault or an interrupt between the create of a lease and the
 * note of it left a lease that nobody has, for as long as the session lived, and in the
 * end a semaphore that was always full. */
#include "world.h"

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define STEPS 40U

enum end { CANCEL, DEADLINE, CLOSE_LOCK, EXPIRE, ENDS };
enum fault { NO_FAULT, LOSE_REPLY, LOSE_REQUEST, RESET, FAULTS };

/* A's acquire of two ends somehow, somewhere on its way; B then wants all. */
static struct world world;
static struct process a, b;
static struct hold request, all;

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    process_make_semaphore(&b, PATH, LEASES_MAX);
}

static void inject(enum fault fault)
{
    switch (fault) {
    case LOSE_REPLY:
        sim_lose_reply(a.port);
        break;
    case LOSE_REQUEST:
        sim_lose_request(a.port);
        break;
    case RESET:
        sim_disconnect(a.port, SIM_RESET, 300);
        break;
    default:
        break;
    }
}

static void stop(enum end end)
{
    if (request.answered || end == DEADLINE) {
        return;
    }
    if (end == CANCEL) {
        hold_cancel(&request);
    } else if (end == CLOSE_LOCK) {
        assert_int_equal(uvzk_lock_close(&a.semaphore, NULL), 0);
    } else {
        process_expire(&a);
    }
}

static void nothing_is_left(void)
{
    hold_finish(&request, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 2000);
    assert_int_equal(world_children(&world, LEASES), 0);
    hold_take_on(&all, &b, &b.semaphore, LEASES_MAX);
    hold_give_back(&all);
    world_run_for(&world, 500);
    assert_int_equal(world_children(&world, LEASES), 0);
    assert_int_equal(world_children(&world, PATH "/locks"), 0);
    world_end(&world);
}

/* There is room, and the leases are made, unless it ends before. */
static void check(void *const *state, uint64_t steps, enum end end, enum fault fault)
{
    begin(steps, state);
    world_note(&world, "end %d, fault %d, %d steps", (int)end, (int)fault, (int)steps);
    hold_begin_on(&request, &a, &a.semaphore, 2,
                  end == DEADLINE ? 1 + 4 * (int64_t)steps : UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    inject(fault);
    world_steps(&world, steps % 5);
    stop(end);
    nothing_is_left();
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
            struct hold other;

            begin(steps, state);
            hold_take_on(&other, &b, &b.semaphore, LEASES_MAX - 1);
            hold_begin_on(&request, &a, &a.semaphore, 2,
                          end == DEADLINE ? 401 + (int64_t)steps : UVZK_WAIT_FOREVER);
            world_run_for(&world, 400 - 2 * (steps % 8));
            assert_int_equal(request.answered, 0);
            hold_release(&other);
            world_steps(&world, steps);
            stop(end);
            assert_true(world_await(&world, &other.released, 1000));
            nothing_is_left();
        }
    }
}

/* Leases that are kept for the next in line of the same client, who goes away before it
 * has taken them, or wants fewer. */
static void nobody_takes_what_is_offered(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            begin(steps, state);
            hold_take_on(&all, &a, &a.semaphore, LEASES_MAX);
            hold_begin_on(&request, &a, &a.semaphore, 1 + (uint32_t)(steps % LEASES_MAX),
                          end == DEADLINE ? 400 : UVZK_WAIT_FOREVER);
            world_run_for(&world, 400 - steps % 4);
            hold_release(&all);
            world_steps(&world, steps / 2);
            stop(end);
            assert_true(world_await(&world, &all.released, 1000));
            nothing_is_left();
        }
    }
}

/* As long as it holds, its lease stands, and nobody else holds. */
static void check_owner(const struct hold *owner, const struct hold *waiting)
{
    for (unsigned i = 0; i < 3000; i++) {
        world_run_for(&world, 1);
        assert_true(hold_holds(owner));
        assert_true(sim_exists(world.sim, owner->path));
        assert_int_equal(waiting->answered, 0);
    }
}

/* One lets go; of two others of the same lock, one has asked before and one asks now. */
static void check_owners(void *const *state, uint64_t steps, enum fault fault)
{
    uvzk_semaphore_mutex_t lock = {0};
    struct hold first, asked, asks;

    begin(steps, state);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &lock, PATH), 0);
    hold_take_on(&first, &a, &lock, 1);
    hold_begin_on(&asked, &a, &lock, 1, UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    hold_release(&first);
    hold_begin_on(&asks, &a, &lock, 1, UVZK_WAIT_FOREVER);
    inject(fault);
    struct hold *next = hold_await_first(&asks, &asked, 3000);
    struct hold *last = next == &asks ? &asked : &asks;
    check_owner(next, last);
    assert_int_equal(first.released, 1);
    hold_give_back(next);
    hold_acquire_release(last, 3000);
    assert_true(first.token < next->token && next->token < last->token);
    world_end(&world);
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
        WORLD_TEST(whatever_ends_it),
        WORLD_TEST(while_it_waits),
        WORLD_TEST(nobody_takes_what_is_offered),
        WORLD_TEST(the_next_owner_keeps_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
