/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-45, 62, 79, 202, 205: a create whose outcome the client does not learn is
 * given up, and its znode stays in the queue for as long as the session lives. */
#include "world.h"

#define SEEDS 6U
#define OUTAGE_MS 2000U

static void (*const troubles[])(struct process *) = {
    process_lose_request, process_lose_reply, process_reply_enomem, process_reset,
    process_silence};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

enum end { CANCEL, DEADLINE, TRY_ONCE, CLOSE_MUTEX, ENDS };

static void check_gone(struct world *world, struct process *process, size_t expected)
{
    assert_true(process_await_connected(process, 5000));
    world_run_for(world, 3000);
    assert_int_equal(process_contenders(process), expected);
    assert_int_equal(world_queue_length(world), expected);
}

/* The claim is given up `steps` events after its begin, into a trouble of that moment;
 * nothing of it is left while the session is still the same, and the next one gets
 * the lock. */
static void check(void *const *state, uint64_t seed, enum end end, size_t trouble,
                  uint64_t steps)
{
    struct world world;
    struct process a, b;
    struct hold hold;

    world_begin_two(&world, seed, state, &a, &b);
    world.outage_ms = OUTAGE_MS;
    world_note(&world, "end %d, trouble %zu, steps %d", (int)end, trouble, (int)steps);
    world_make_directory(&world, &b);
    assert_true(process_await_connected(&a, 1000));
    int64_t session = sim_session_id(a.port);
    hold_begin(&hold, &a,
               end == DEADLINE   ? 1 + (int64_t)steps
               : end == TRY_ONCE ? UVZK_TRY_ONCE
                                 : UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    troubles[trouble](&a);
    world_steps(&world, steps % 3);
    if (end == CANCEL && hold.answered == 0) {
        hold_cancel(&hold);
    } else if (end == CLOSE_MUTEX) {
        process_close_mutex(&a);
    }
    assert_true(world_await(&world, &hold.answered, 5000));
    if (hold_holds(&hold)) {
        hold_release(&hold);
    }
    check_gone(&world, &a, 0);
    assert_true(sim_session_id(a.port) == session);
    process_take_turn(&b);
    world_end(&world);
}

static void nothing_given_up_is_left(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
            for (uint64_t steps = 0; steps < 12; steps++) {
                check(state, steps % SEEDS, end, trouble, steps);
            }
        }
    }
}

/* The connection breaks again and again while what may be left is cleaned up: the
 * requests of the clean-up are lost, its replies too, its deletes as well. */
static void the_clean_up_survives_interruptions(uint64_t seed, void *const *state)
{
    struct world world;
    struct process a;
    struct hold first, holds[5];

    world_begin_held(&world, seed, state, &a, &first);
    int64_t session = sim_session_id(a.port);
    for (size_t i = 0; i < 5; i++) {
        hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
    }
    sim_lose_reply(a.port);
    world_steps(&world, 4);
    for (size_t i = 0; i < 5; i++) {
        hold_cancel(&holds[i]);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_true(process_await_connected(&a, 2000));
        troubles[(seed + i) % 3](&a);
        world_run_for(&world, 30);
    }
    check_gone(&world, &a, 1);
    assert_true(sim_session_id(a.port) == session);
    hold_give_back(&first);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(nothing_given_up_is_left),
        WORLD_SCENARIO(the_clean_up_survives_interruptions, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
