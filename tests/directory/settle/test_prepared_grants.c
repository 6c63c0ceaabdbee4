/* SPDX-License-Identifier: Apache-2.0 */
/* A contender behind several foreign contenders prepares when the second nearest one goes
 * (in_order.c): it is then granted without a request when the nearest one goes. Whatever
 * order they go in, it is granted once all of them have gone, and not before; and never if
 * its own znode has gone. */
#include "world.h"

#define SEEDS 8U
#define OTHERS 4U

/* So long that no proof and no renewal of a watch falls due meanwhile. */
#define SESSION_MS 600000

static struct world world;
static struct process others[OTHERS], b;
static struct hold held[OTHERS], waits;

/* OTHERS contenders of as many processes in line, the first of which holds, and b's
 * contender behind them, which has listed and watches. */
static void begin(uint64_t seed, void *const *state)
{
    static const char *const names[OTHERS] = {"p0", "p1", "p2", "p3"};
    uvzk_client_options_t options;

    world_begin(&world, seed, state);
    process_options(&options);
    options.session_timeout_ms = SESSION_MS;
    for (size_t i = 0; i < OTHERS; i++) {
        process_begin(&others[i], &world, names[i], &options);
        hold_begin(&held[i], &others[i], UVZK_WAIT_FOREVER);
        world_run_for(&world, 500);
    }
    process_begin(&b, &world, "b", &options);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1500);
    assert_int_equal(held[0].answered, 1);
    assert_int_equal(waits.answered, 0);
}

/* The others from..to-1 acquire and release in turn. */
static void others_have_had_it(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        hold_await(&held[i], 500);
        hold_give_back(&held[i]);
    }
}

static void end(void)
{
    hold_acquire_release(&waits, 500);
    world_end(&world);
}

/* With preparation, b sends nothing between the end of the nearest one and its grant. */
static void granted_without_a_request(uint64_t seed, void *const *state)
{
    begin(seed, state);
    bool prepares = (world.tuning & UVZK__TUNE_PREPARE) != 0;
    others_have_had_it(0, OTHERS - 1);
    world_run_for(&world, 500);
    uint64_t before = sim_submitted(b.port);
    size_t from = world.line_count;
    others_have_had_it(OTHERS - 1, OTHERS);
    hold_await(&waits, 500);
    assert_int_equal(sim_submitted(b.port) - before, prepares ? 0 : 1);
    assert_int_equal(world_count(&world, from, "b", "watch "), 1);
    end();
}

/* The second nearest gives up while others are before it. That it has gone says nothing
 * of them. */
static void the_second_gives_up(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_cancel(&held[OTHERS - 2]);
    world_run_for(&world, 500);
    hold_cancel(&held[OTHERS - 1]);
    world_run_for(&world, 500);
    assert_int_equal(waits.answered, 0);
    others_have_had_it(0, OTHERS - 2);
    end();
}

/* The nearest gives up first. b does not watch it yet, and finds out when the second
 * nearest goes. */
static void the_nearest_gives_up(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_cancel(&held[OTHERS - 1]);
    world_run_for(&world, 500);
    others_have_had_it(0, OTHERS - 2);
    world_run_for(&world, 500);
    assert_int_equal(waits.answered, 0);
    others_have_had_it(OTHERS - 2, OTHERS - 1);
    end();
}

/* Both go in one moment, while the first one holds. */
static void both_vanish_at_once(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_cancel(&held[OTHERS - 1]);
    hold_cancel(&held[OTHERS - 2]);
    world_steps(&world, 8 + seed);
    assert_int_equal(waits.answered, 0);
    world_run_for(&world, 500);
    assert_int_equal(waits.answered, 0);
    others_have_had_it(0, OTHERS - 2);
    end();
}

/* All others release as soon as they are granted: the nearest one often goes while the
 * requests of the preparation are under way. */
static void they_release_at_once(uint64_t seed, void *const *state)
{
    begin(seed, state);
    for (size_t i = 1; i < OTHERS; i++) {
        held[i].release_at_once = true;
    }
    hold_give_back(&held[0]);
    end();
}

/* b's znode is deleted by hand at some moment of the preparation. Then b may not be
 * granted when the nearest one goes: c stands behind it and is granted then. */
static void its_own_znode_goes(uint64_t seed, void *const *state)
{
    struct process c;
    struct hold behind;

    begin(seed, state);
    process_begin(&c, &world, "c", NULL);
    hold_begin(&behind, &c, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    others_have_had_it(0, OTHERS - 2);
    hold_await(&held[OTHERS - 2], 500);
    hold_give_back(&held[OTHERS - 2]);
    world_steps(&world, seed * 3);
    struct world_path own =
        world_child(&world, WORLD_PATH, world_queue_length(&world) - 2);
    world_delete(&world, &own);
    others_have_had_it(OTHERS - 1, OTHERS);
    hold_await(&behind, 1000);
    assert_int_equal(waits.answered, 0); /* it contends anew, behind c */
    hold_give_back(&behind);
    end();
}

/* The connection is lost at some moment of the preparation: events come late or never. */
static void an_outage_ends_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    others_have_had_it(0, OTHERS - 1);
    world_steps(&world, seed * 3);
    sim_disconnect(b.port, SIM_RESET, 700);
    world_run_for(&world, 100);
    others_have_had_it(OTHERS - 1, OTHERS);
    hold_acquire_release(&waits, SESSION_MS); /* a long session connects again slowly */
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(granted_without_a_request, 1, SEEDS),
        WORLD_SCENARIO(the_second_gives_up, 1, SEEDS),
        WORLD_SCENARIO(the_nearest_gives_up, 1, SEEDS),
        WORLD_SCENARIO(both_vanish_at_once, 1, SEEDS),
        WORLD_SCENARIO(they_release_at_once, 1, SEEDS),
        WORLD_SCENARIO(its_own_znode_goes, 0, 12),
        WORLD_SCENARIO(an_outage_ends_it, 0, 12),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
