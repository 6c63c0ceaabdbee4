/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's revocation is lost when it lands before the first read of the znode, and when
 * another acquisition of the same lock object is given back, which clears the listener of
 * all. Here it belongs to one acquisition, and the first read counts, too. */
#include "world.h"

#include <string.h>

#include "engine/session.h"

#define STEPS 40U
#define MESSAGE "__REVOKE__"

static struct world world;
static struct process a, b;
static struct hold revoked, other; /* revocations to the first are counted */

static void on_revoked(uvzk_hold_t *request)
{
    assert_ptr_equal(request, &revoked.request);
    assert_int_equal(revoked.lost + revoked.released, 0);
    revoked.revoked++;
}

static void ask(void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.revoke_cb = on_revoked;
    assert_int_equal(hold_ask(&revoked, &a, NULL, &options), 0);
}

static void write_into(const char *path, const char *text)
{
    assert_int_equal(sim_set_by_hand(world.sim, path, text, strlen(text)), 0);
}

/* Half a second later it has been told so many times, ever. */
static void check_told(int times)
{
    world_run_for(&world, 500);
    assert_int_equal(revoked.revoked, times);
}

/* The index-th znode of the queue is asked for so many events after it came to stand. */
static void revoke_early(size_t index, uint64_t steps)
{
    while (world_queue_length(&world) <= index) {
        world_steps(&world, 1);
    }
    struct world_path path = world_child(&world, WORLD_PATH, index);
    world_steps(&world, steps);
    write_into(path.text, MESSAGE);
}

/* As soon as the znode stands, and at every moment after that: before the read, between
 * the read and its reply, before the grant, while it is held. */
static void whenever_it_lands_it_is_heard(uint64_t steps, void *const *state)
{
    world_begin_ready(&world, steps, state, &a, &b);
    ask(NULL);
    revoke_early(0, steps);
    hold_await(&revoked, 1000);
    check_told(1);
    assert_true(hold_holds(&revoked)); /* whether to obey is its own */
    write_into(revoked.path, "something else");
    check_told(1);
    write_into(revoked.path, MESSAGE);
    check_told(2);
    hold_give_back(&revoked);
    world_end(&world);
}

/* Also by whoever waits. */
static void who_waits_hears_it(uint64_t steps, void *const *state)
{
    world_begin_ready(&world, steps, state, &a, &b);
    hold_take(&other, &b);
    ask(NULL);
    revoke_early(1, steps);
    check_told(1);
    assert_int_equal(revoked.answered, 0);
    hold_give_back(&other);
    hold_acquire_release(&revoked, 1000);
    assert_int_equal(revoked.revoked, 1);
    world_end(&world);
}

/* Another acquisition of the same lock comes and goes; this one listens on. */
static void others_do_not_clear_it(uint64_t steps, void *const *state)
{
    world_begin_ready(&world, steps, state, &a, &b);
    hold_take(&other, &a);
    ask(NULL);
    world_steps(&world, steps);
    hold_give_back(&other);
    hold_await(&revoked, 1000);
    hold_begin(&other, &a, UVZK_TRY_ONCE);
    hold_await_status(&other, 1000, UV_ETIMEDOUT);
    world_run_for(&world, 500);
    write_into(revoked.path, MESSAGE);
    check_told(1);
    hold_give_back(&revoked);
    world_end(&world);
}

/* It lands while the holder is cut off: heard when it is back. */
static void an_interruption_does_not_hide_it(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask(NULL);
    hold_await(&revoked, 1000);
    world_run_for(&world, 500);
    sim_disconnect(a.port, seed % 2 ? SIM_RESET : SIM_SILENT, 2000);
    world_run_for(&world, 200 * seed);
    write_into(revoked.path, MESSAGE);
    assert_true(world_await(&world, &revoked.revoked, 9000));
    check_told(1);
    hold_finish(&revoked, 3000);
    world_end(&world);
}

/* Other paths have taken the room when the own watch has fired: the hold goes on, and hears
 * again when there is room. */
static void without_room_for_its_watch_it_holds(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask(NULL);
    hold_await(&revoked, 1000);
    world_run_for(&world, 500);
    struct uvzk__session *session = a.client.impl;
    session->watches.bytes += UVZK__WATCH_BYTES_MAX;
    write_into(revoked.path, "something else");
    world_run_for(&world, 500);
    write_into(revoked.path, MESSAGE);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&revoked));
    assert_int_equal(revoked.revoked, 0);
    session->watches.bytes -= UVZK__WATCH_BYTES_MAX;
    assert_true(world_await(&world, &revoked.revoked, 2 * WORLD_TIMEOUT_MS));
    hold_give_back(&revoked);
    world_end(&world);
}

/* It stands for long, and is read again and again: an event may have been lost. */
static void one_revocation_is_told_once(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask(NULL);
    hold_await(&revoked, 1000);
    size_t from = world.line_count;
    write_into(revoked.path, MESSAGE);
    world_run_for(&world, 3 * WORLD_TIMEOUT_MS);
    assert_true(world_count(&world, from, "a", "get -> ok") > 1);
    assert_int_equal(revoked.revoked, 1);
    hold_give_back(&revoked);
    world_end(&world);
}

/* Of one hold it is the second acquisition that wants to hear it: of what is written from
 * now on, and of what was before. */
static void who_enters_again_hears_it(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    hold_begin_for(&other, &a, &a, UVZK_WAIT_FOREVER);
    hold_await(&other, 1000);
    if (seed % 2 == 0) {
        write_into(other.path, MESSAGE);
    }
    ask(&a);
    hold_await(&revoked, 1000);
    if (seed % 2 == 1) {
        world_run_for(&world, 500);
        write_into(other.path, MESSAGE);
    }
    check_told(1);
    hold_give_back(&revoked);
    hold_give_back(&other);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(whenever_it_lands_it_is_heard, 0, STEPS - 1),
        WORLD_SCENARIO(who_waits_hears_it, 0, STEPS - 1),
        WORLD_SCENARIO(others_do_not_clear_it, 0, STEPS - 1),
        WORLD_SCENARIO(an_interruption_does_not_hide_it, 0, 7),
        WORLD_SCENARIO(without_room_for_its_watch_it_holds, 0, 7),
        WORLD_SCENARIO(one_revocation_is_told_once, 0, 7),
        WORLD_SCENARIO(who_enters_again_hears_it, 0, 7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
