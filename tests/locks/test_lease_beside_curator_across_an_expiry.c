/* SPDX-License-Identifier: Apache-2.0 */
/* Curator goes on with an acquire when its session has expired in the middle of it: its
 * ticket in P/locks has gone with the session, and its lease is made in the next one, by
 * nobody's leave. It then lists the leases, and holds if there are no more than allowed.
 * Whoever has counted the leases before, and makes one after that, would hold beside
 * it, ticket or no ticket: what counts is a listing behind one's own leases. */
#include "world.h"

#include <string.h>

#include "foreign_client.h"

#define PATH "/s"
#define LEASES_MAX 2U
#define DELAYS 60U
#define DELAY_MS 500U /* in which Curator is connected anew, and has its lease */

static struct world world;
static struct process a;
static struct hold first, ours;
static struct foreign_client curator;
static struct foreign_claim theirs;

static void begin(uint32_t limit, void *const *state)
{
    memset(&theirs, 0, sizeof(theirs));
    world_begin_one(&world, 1, state, &a);
    sim_set_latency(a.port, 1, 1);
    process_make_semaphore(&a, PATH, limit);
    foreign_client_begin(&curator, world.sim, "curator", CURATOR, WORLD_TIMEOUT_MS);
    sim_set_latency(curator.port, 10, 10);
    hold_take_on(&first, &a, &a.semaphore, limit);
    hold_give_back(&first);
    world_run_for(&world, 100);
}

/* Both ask, Curator before; its session ends when it has `locks`, and its lease is on
 * its way. */
static void both_ask(uint32_t limit)
{
    foreign_claim_begin(&theirs, &curator, FOREIGN_SEMAPHORE, PATH, 1, limit, 60000);
    world_run_for(&world, 30);
    hold_begin_on(&ours, &a, &a.semaphore, limit, UVZK_WAIT_FOREVER);
    for (int i = 0; i < 1000 && theirs.ticket.step != STANDING; i++) {
        world_run_for(&world, 1);
    }
    assert_int_equal(theirs.ticket.step, STANDING);
    assert_int_equal(ours.answered, 0);
    assert_true(sim_expire_connected(curator.port));
}

static uint32_t held(void)
{
    bool valid = hold_holds(&ours) && uvzk_hold_is_valid(&ours.request);

    return foreign_claim_valid(&theirs) + (valid ? ours.leases : 0);
}

/* What we ask for is all that there is. */
static void check_leases(struct world *at)
{
    (void)at;
    assert_true(held() <= ours.leases);
}

/* Whoever holds lets go, and the other holds. */
static void both_get_it(void)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 20 && held() == 0; i++) {
            world_run_for(&world, 100);
        }
        assert_true(held() > 0);
        if (theirs.held) {
            foreign_claim_release(&theirs);
        } else {
            hold_release(&ours);
        }
    }
    world_run_for(&world, 2 * DELAY_MS); /* that may still be to come */
    assert_int_equal(ours.released, 1);
}

static void end(void)
{
    foreign_client_close(&curator);
    world_run_for(&world, 1000);
    assert_null(curator.port);
    assert_int_equal(world_children(&world, PATH "/locks"), 0);
    assert_int_equal(world_children(&world, PATH "/leases"), 0);
    world_end(&world);
}

/* Our next message of each direction is slow, whichever that is: the event, the
 * listing, the leases. */
static void never_more_leases_than_allowed(void **state)
{
    for (uint32_t limit = 1; limit <= LEASES_MAX; limit++) {
        for (uint64_t after_ms = 0; after_ms < DELAYS; after_ms++) {
            begin(limit, state);
            both_ask(limit);
            world.each_ms = check_leases;
            world_run_for(&world, after_ms / 4);
            world_steps(&world, after_ms % 4);
            sim_delay(a.port, DELAY_MS);
            world_run_for(&world, 2 * DELAY_MS);
            both_get_it();
            end();
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
