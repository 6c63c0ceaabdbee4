/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-486, 678, 202: a release that fails forgets the hold, while its znode stands
 * on and blocks everybody, the same process included. Here a release lasts until the
 * znode is gone, through whatever happens, and then says so. */
#include "world.h"

#define SEEDS 4U
#define OUTAGE_MS (WORLD_TIMEOUT_MS / 2U)
#define PROOF_MS 3000U /* until a session that was cut off is proved afresh */

static struct world world;
static struct process a, b;
static struct hold held, again;

static void overload(struct process *process)
{
    sim_refuse(process->world->sim, UVZK__RPC_DELETE, UVZK_ETHROTTLED, 3);
}

/* The last one strikes the next reply, whichever: only where that is the release's. */
static void (*const troubles[])(struct process *) = {
    process_no_fault,    process_lose_request, process_lose_reply,  process_reset,
    process_silence,     process_lose_servers, process_lose_leader, overload,
    process_reply_enomem};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

/* Who has released is told 0 when the znode is gone. */
static void gone_when_released(struct hold *hold)
{
    if (hold->released == 1 && hold->release_status == 0) {
        assert_false(sim_exists(hold->process->world->sim, hold->path));
    }
}

/* The trouble comes `before` the release or `after` it, by so many events. Behind the
 * released hold stands another process, behind that the same one again. */
static void check(void *const *state, size_t trouble, uint64_t before, uint64_t after)
{
    struct hold other;

    world_begin_queued(&world, before + after, state, &a, &held, &b, &other);
    held.hook = gone_when_released;
    world.outage_ms = OUTAGE_MS;
    world_note(&world, "trouble %zu", trouble);
    world_run_for(&world, 3000);
    int64_t session = sim_session_id(a.port);
    if (before > 0) {
        troubles[trouble](&a);
        world_steps(&world, before);
    }
    hold_release(&held);
    assert_false(uvzk_hold_is_valid(&held.request));
    hold_begin(&again, &a, UVZK_WAIT_FOREVER);
    if (before == 0) {
        world_steps(&world, after);
        troubles[trouble](&a);
    }
    while (held.released == 0) {
        assert_int_equal(other.answered == 1 && sim_exists(world.sim, held.path), 0);
        world_run_for(&world, 1);
        assert_true(world_now(&world) < 60000);
    }
    assert_int_equal(held.release_status, 0);
    assert_true(sim_session_id(a.port) == session);
    hold_await(&other, OUTAGE_MS + PROOF_MS);
    world_run_for(&world, OUTAGE_MS);
    assert_int_equal(again.answered, 0);
    hold_give_back(&other);
    hold_acquire_release(&again, PROOF_MS);
    assert_true(again.token > other.token);
    world_end(&world);
}

static void it_lasts_until_the_node_is_gone(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES - 1; trouble++) {
        for (uint64_t steps = 1; steps < 12; steps++) {
            check(state, trouble, steps, 0);
            check(state, trouble, 0, steps);
        }
    }
}

/* The same process, or the same owner, asks again while its release is under way: it
 * comes after it, and is not in its own way. */
static void the_same_process_comes_after_it(uint64_t seed, void *const *state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        void *owner = seed % 2 == 0 ? &world : NULL;

        world_begin_one(&world, seed, state, &a);
        world.outage_ms = OUTAGE_MS;
        hold_begin_for(&held, &a, owner, UVZK_WAIT_FOREVER);
        held.hook = gone_when_released;
        hold_await(&held, 1000);
        world_run_for(&world, 3000);
        troubles[trouble](&a);
        hold_release(&held);
        world_run_for(&world, 5);
        hold_begin_for(&again, &a, owner, UVZK_WAIT_FOREVER);
        hold_await(&again, OUTAGE_MS + PROOF_MS);
        assert_true(again.token > held.token);
        hold_await_released(&held, 500, 0);
        assert_true(uvzk_hold_is_valid(&again.request));
        hold_give_back(&again);
        world_end(&world);
    }
}

/* It is one state, seen from outside: nothing is held, and nothing more can be done
 * with it, until it is over. */
static void a_release_under_way_is_visible(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    world.outage_ms = OUTAGE_MS;
    process_reset(&a);
    hold_release(&held);
    for (unsigned i = 0; i < OUTAGE_MS; i += 100) {
        assert_false(uvzk_hold_is_valid(&held.request));
        assert_false(uvzk_lock_is_held(&a.mutex));
        assert_int_equal(uvzk_hold_release(&held.request, hold_unexpected_cb),
                         UVZK_ENOTHELD);
        assert_int_equal(uvzk_hold_cancel(&held.request), UVZK_ESTATE);
        assert_int_equal(process_contenders(&a), 1);
        assert_int_equal(held.released, 0);
        world_run_for(&world, 100);
    }
    hold_await_released(&held, 1000, 0);
    world_end(&world);
}

/* The session ends during the release: then the znode is gone as well. */
static void it_ends_with_the_session(uint64_t steps, void *const *state)
{
    world_begin_held(&world, steps, state, &a, &held);
    hold_release(&held);
    world_steps(&world, steps % 4);
    if (sim_exists(world.sim, held.path)) {
        sim_lose_request(a.port);
    }
    process_expire(&a);
    assert_false(sim_exists(world.sim, held.path));
    assert_true(world_await(&world, &held.released, 1000));
    assert_true(held.release_status == 0 || held.release_status == UVZK_ELOST);
    world_end(&world);
}

/* The client gives the session up, or is shut out of it, and it lives on at the servers
 * for a while, with the znode: that is not known to be gone, and nobody says so. */
static void a_session_given_up_is_not_known_to_be_gone(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    held.hook = gone_when_released;
    if (seed % 2 == 0) {
        sim_restart(world.sim, 3 * WORLD_TIMEOUT_MS + 900);
        hold_release(&held);
    } else {
        sim_lose_request(a.port);
        hold_release(&held);
        sim_fail_auth(a.port);
    }
    assert_true(world_await(&world, &held.released, 5 * WORLD_TIMEOUT_MS));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(it_lasts_until_the_node_is_gone),
        WORLD_SCENARIO(the_same_process_comes_after_it, 1, SEEDS),
        WORLD_SCENARIO(a_release_under_way_is_visible, 1, SEEDS),
        WORLD_SCENARIO(it_ends_with_the_session, 0, 11),
        WORLD_SCENARIO(a_session_given_up_is_not_known_to_be_gone, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
