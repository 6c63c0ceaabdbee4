/* CURATOR-315, 335, 462: a fault or an interrupt between the create of a lease and the
 * note of it left a lease that nobody has, for as long as the session lived, and in the
 * end a semaphore that was always full. */
#include "world.h"

#include <string.h>

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define STEPS 40U

enum end { CANCEL, DEADLINE, CLOSE_LOCK, EXPIRE, ENDS };
enum fault { NO_FAULT, LOSE_REPLY, LOSE_REQUEST, RESET, FAULTS };

/* A's acquire of two ends somehow, somewhere on its way; B then wants all. */
struct couple {
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct hold bid, other, all;
};

static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    memset(couple, 0, sizeof(*couple));
    world_begin_two(&couple->world, seed, state, &couple->a, &couple->b);
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
    if (couple->bid.answered || end == DEADLINE) {
        return;
    }
    if (end == CANCEL) {
        hold_cancel(&couple->bid);
    } else if (end == CLOSE_LOCK) {
        assert_int_equal(uvzk_lock_close(&couple->of_a, NULL), 0);
    } else {
        process_expire(&couple->a);
    }
}

static void nothing_is_left(struct couple *couple)
{
    hold_finish(&couple->bid, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&couple->world, 2000);
    assert_int_equal(world_children(&couple->world, LEASES), hold_holds(&couple->other));
    if (hold_holds(&couple->other)) {
        hold_give_back(&couple->other);
    }
    hold_take_on(&couple->all, &couple->b, &couple->of_b, LEASES_MAX);
    hold_give_back(&couple->all);
    world_run_for(&couple->world, 500);
    assert_int_equal(world_children(&couple->world, LEASES), 0);
    assert_int_equal(world_children(&couple->world, PATH "/locks"), 0);
    world_end(&couple->world);
}

/* There is room, and the leases are made, unless it ends before. */
static void check(void *const *state, uint64_t steps, enum end end, enum fault fault)
{
    struct couple couple;

    begin(&couple, steps, state);
    world_note(&couple.world, "end %d, fault %d, %d steps", (int)end, (int)fault,
               (int)steps);
    hold_begin_on(&couple.bid, &couple.a, &couple.of_a, 2,
                  end == DEADLINE ? 1 + 4 * (int64_t)steps : UVZK_WAIT_FOREVER);
    world_steps(&couple.world, steps);
    inject(&couple, fault);
    world_steps(&couple.world, steps % 5);
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
            hold_take_on(&couple.other, &couple.b, &couple.of_b, LEASES_MAX - 1);
            hold_begin_on(&couple.bid, &couple.a, &couple.of_a, 2,
                          end == DEADLINE ? 401 + (int64_t)steps : UVZK_WAIT_FOREVER);
            world_run_for(&couple.world, 400 - 2 * (steps % 8));
            assert_int_equal(couple.bid.answered, 0);
            hold_release(&couple.other);
            world_steps(&couple.world, steps);
            stop(&couple, end);
            assert_true(world_await(&couple.world, &couple.other.released, 1000));
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
            hold_take_on(&couple.all, &couple.a, &couple.of_a, LEASES_MAX);
            hold_begin_on(&couple.bid, &couple.a, &couple.of_a,
                          1 + (uint32_t)(steps % LEASES_MAX),
                          end == DEADLINE ? 400 : UVZK_WAIT_FOREVER);
            world_run_for(&couple.world, 400 - steps % 4);
            hold_release(&couple.all);
            world_steps(&couple.world, steps / 2);
            stop(&couple, end);
            assert_true(world_await(&couple.world, &couple.all.released, 1000));
            nothing_is_left(&couple);
        }
    }
}

/* As long as it holds, its lease stands, and nobody else holds. */
static void check_owner(struct couple *couple, struct hold *owner,
                        const struct hold *waiting)
{
    hold_await(owner, 3000);
    for (unsigned i = 0; i < 3000; i++) {
        world_run_for(&couple->world, 1);
        assert_true(hold_holds(owner));
        assert_true(sim_exists(couple->world.sim, owner->path));
        assert_int_equal(waiting->answered, 0);
    }
}

/* One lets go; of two others of the same lock, one has asked before and one asks now. */
static void check_owners(void *const *state, uint64_t steps, enum fault fault)
{
    struct couple couple;
    uvzk_semaphore_mutex_t lock = {0};
    struct hold first = {0}, asked = {0}, asks = {0};

    begin(&couple, steps, state);
    assert_int_equal(uvzk_semaphore_mutex_init(&couple.a.client, &lock, PATH), 0);
    hold_take_on(&first, &couple.a, &lock, 1);
    hold_begin_on(&asked, &couple.a, &lock, 1, UVZK_WAIT_FOREVER);
    world_steps(&couple.world, steps);
    hold_release(&first);
    hold_begin_on(&asks, &couple.a, &lock, 1, UVZK_WAIT_FOREVER);
    inject(&couple, fault);
    for (unsigned i = 0; i < 3000 && asked.answered + asks.answered == 0; i++) {
        world_run_for(&couple.world, 1);
    }
    struct hold *next = asks.answered ? &asks : &asked;
    struct hold *last = asks.answered ? &asked : &asks;
    check_owner(&couple, next, last);
    assert_int_equal(first.released, 1);
    hold_give_back(next);
    hold_await(last, 3000);
    hold_give_back(last);
    assert_true(first.token < next->token && next->token < last->token);
    world_end(&couple.world);
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
