/* Curator goes on with an acquire when its session has expired in the middle of it: its
 * ticket in P/locks has gone with the session, and its lease is made in the next one, by
 * nobody's leave. It then lists the leases, and holds if there are no more than allowed.
 * Whoever has counted the leases before, and makes one after that, would hold beside
 * it, ticket or no ticket: what counts is a listing behind one's own leases. */
#include "world.h"

#include <string.h>

#include "neighbour.h"

#define PATH "/s"
#define LEASES_MAX 2U
#define DELAYS 60U
#define DELAY_MS 500U /* in which Curator is connected anew, and has its lease */

struct street {
    struct world world;
    struct process a;
    uvzk_semaphore_t of_a;
    struct hold first, ours;
    struct neighbour curator;
    struct attempt theirs;
    uint32_t limit;
};

static void begin(struct street *street, uint32_t limit, void *const *state)
{
    memset(street, 0, sizeof(*street));
    street->limit = limit;
    world_begin_one(&street->world, 1, state, &street->a);
    sim_set_latency(street->a.port, 1, 1);
    assert_int_equal(
        uvzk_semaphore_init(&street->a.client, &street->of_a, PATH, limit, NULL), 0);
    neighbour_begin(&street->curator, street->world.sim, "curator", CURATOR,
                    WORLD_TIMEOUT_MS);
    sim_set_latency(street->curator.port, 10, 10);
    hold_take_on(&street->first, &street->a, &street->of_a, limit);
    hold_give_back(&street->first);
    world_run_for(&street->world, 100);
}

/* Both ask, Curator before; its session ends when it has `locks`, and its lease is on
 * its way. */
static void both_ask(struct street *street)
{
    attempt_begin(&street->theirs, &street->curator, NEIGHBOUR_SEMAPHORE, PATH, 1,
                  street->limit, 60000);
    world_run_for(&street->world, 30);
    hold_begin_on(&street->ours, &street->a, &street->of_a, street->limit,
                  UVZK_WAIT_FOREVER);
    for (int i = 0; i < 1000 && street->theirs.ticket.step != STANDING; i++) {
        world_run_for(&street->world, 1);
    }
    assert_int_equal(street->theirs.ticket.step, STANDING);
    assert_int_equal(street->ours.answered, 0);
    assert_true(sim_expire_connected(street->curator.port));
}

static uint32_t held(const struct street *street)
{
    bool valid = hold_holds(&street->ours) && uvzk_hold_is_valid(&street->ours.request);

    return attempt_valid(&street->theirs) + (valid ? street->limit : 0);
}

static void pass(struct street *street, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        world_run_for(&street->world, 1);
        assert_true(held(street) <= street->limit);
    }
}

/* Whoever holds lets go, and the other holds. */
static void both_get_it(struct street *street)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 20 && held(street) == 0; i++) {
            pass(street, 100);
        }
        assert_true(held(street) > 0);
        if (street->theirs.held) {
            attempt_release(&street->theirs);
        } else {
            hold_release(&street->ours);
        }
    }
    pass(street, 2 * DELAY_MS); /* that may still be to come */
    assert_int_equal(street->ours.released, 1);
}

static void end(struct street *street)
{
    neighbour_close(&street->curator);
    world_run_for(&street->world, 1000);
    assert_null(street->curator.port);
    assert_int_equal(world_children(&street->world, PATH "/locks"), 0);
    assert_int_equal(world_children(&street->world, PATH "/leases"), 0);
    world_end(&street->world);
}

/* Our next message of each direction is slow, whichever that is: the event, the
 * listing, the leases. */
static void never_more_leases_than_allowed(void **state)
{
    struct street street;

    for (uint32_t limit = 1; limit <= LEASES_MAX; limit++) {
        for (uint64_t after_ms = 0; after_ms < DELAYS; after_ms++) {
            begin(&street, limit, state);
            both_ask(&street);
            pass(&street, after_ms / 4);
            world_steps(&street.world, after_ms % 4);
            sim_delay(street.a.port, DELAY_MS);
            pass(&street, 2 * DELAY_MS);
            both_get_it(&street);
            end(&street);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(never_more_leases_than_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
