/* SPDX-License-Identifier: Apache-2.0 */
/* A cohort's znode goes from hand to hand without a request. If somebody deletes it,
 * others are granted at once; the cohort goes on until a proof finds that out, a sixth
 * of a session timeout and a round trip later at most, and no further. Its token is
 * the lesser one. */
#include "world.h"

#include <string.h>

#define OURS 300
#define HELD_MS 25U
#define ROUND_TRIP_MS 500U /* and more */
#define SEEDS 20U

static struct world world;
static struct process a, b;
static struct hold ours[OURS], theirs, *holder;
static uint64_t granted_ms; /* the last one of the cohort */
static int grants;          /* in the cohort, since it was set to 0 */
static int grants_too_late; /* behind the deletion, in all stories */
static int told;            /* so many were told that it was deleted */

static void granted(struct hold *hold)
{
    if (hold_holds(hold) && !hold->releasing) {
        assert_true(hold->token == ours[0].token || theirs.releasing);
        holder = hold;
        granted_ms = world_now(&world);
        grants++;
    }
}

static void begin(uint64_t seed, void *const *state)
{
    memset(ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_cohort(&a, 1000, 60000);
    world_make_directory(&world, &b);
    hold_take(&ours[0], &a);
    holder = &ours[0];
    granted_ms = world_now(&world);
    hold_begin(&theirs, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    for (int i = 1; i < OURS; i++) {
        hold_begin(&ours[i], &a, UVZK_WAIT_FOREVER);
        ours[i].hook = granted;
    }
    world_run_for(&world, 1000);
}

/* Until whoever has it loses it, or the time is over. */
static void hand_on_for(uint64_t ms)
{
    uint64_t until = world_now(&world) + ms;

    while (world_now(&world) < until && holder->lost == 0) {
        if (world_now(&world) >= granted_ms + HELD_MS && !holder->releasing) {
            hold_release(holder);
        }
        world_run_for(&world, 1);
    }
}

static void end(void)
{
    for (int i = 0; i < OURS; i++) {
        hold_release_or_cancel(&ours[i]);
    }
    world_run_for(&world, 5000);
    world_end(&world);
}

static void it_ends_with_the_proof_that_does_not_find_it(uint64_t seed,
                                                         void *const *state)
{
    begin(seed, state);
    grants = 0;
    hand_on_for(2000 + sim_random(world.sim, WORLD_TIMEOUT_MS / 6));
    assert_true(grants > 10 && theirs.answered == 0);
    world.holder_deleted = true;
    assert_int_equal(sim_delete_by_hand(world.sim, holder->path), 0);
    uint64_t deleted_ms = world_now(&world);
    grants = 0;
    hand_on_for(WORLD_TIMEOUT_MS);
    assert_true(hold_over(holder));
    assert_true(granted_ms <= deleted_ms + WORLD_TIMEOUT_MS / 6 + ROUND_TRIP_MS);
    if (holder->lost > 0) { /* else it was letting go just then */
        assert_int_equal(holder->reason, UVZK_EDELETED);
        told++;
    }
    grants_too_late += grants;
    grants = 0;
    hold_await(&theirs, ROUND_TRIP_MS);
    assert_true(theirs.token > ours[0].token);
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(grants, 0);
    hold_give_back(&theirs);
    end();
}

/* Else nothing has been shown of what is said above. */
static void some_were_granted_meanwhile(void **state)
{
    (void)state;
    assert_true(grants_too_late > 0 && told > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(it_ends_with_the_proof_that_does_not_find_it, 1, SEEDS),
        cmocka_unit_test(some_were_granted_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
