/* Curator's revocation is lost when it lands before the first read of the znode, and when
 * another acquisition of the same lock object is given back, which clears the listener of
 * all. Here it belongs to one acquisition, and the first read counts, too. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define STEPS 40U
#define MESSAGE "__REVOKE__"

struct couple {
    struct world world;
    struct process a, b;
    struct hold revoked, other;
};

/* The one whose pleas are counted; there is but one at a time. */
static struct hold *listening;

static void on_revoked(uvzk_hold_t *hold)
{
    assert_ptr_equal(hold, &listening->request);
    assert_int_equal(listening->lost + listening->released, 0);
    listening->revoked++;
}

static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    memset(couple, 0, sizeof(*couple));
    world_begin_two(&couple->world, seed, state, &couple->a, &couple->b);
    assert_true(process_await_connected(&couple->a, 1000));
    assert_true(process_await_connected(&couple->b, 1000));
}

static void ask(struct couple *couple)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    listening = &couple->revoked;
    assert_int_equal(hold_ask(&couple->revoked, &couple->a, &couple->a.mutex, &options),
                     0);
}

static void write_into(struct couple *couple, const char *path, const char *text)
{
    assert_int_equal(sim_set_by_hand(couple->world.sim, path, text, strlen(text)), 0);
}

/* The index-th znode of the queue is asked for so many events after it came to stand. */
static void revoke_early(struct couple *couple, size_t index, uint64_t steps)
{
    const char *names[4];
    char path[256];

    while (world_queue_length(&couple->world) <= index) {
        world_steps(&couple->world, 1);
    }
    assert_true(sim_children(couple->world.sim, WORLD_PATH, names, 4) > index);
    (void)snprintf(path, sizeof(path), WORLD_PATH "/%s", names[index]);
    world_steps(&couple->world, steps);
    write_into(couple, path, MESSAGE);
}

/* As soon as the znode stands, and at every moment after that: before the read, between
 * the read and its reply, before the grant, while it is held. */
static void whenever_it_lands_it_is_heard(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        ask(&couple);
        revoke_early(&couple, 0, steps);
        hold_await(&couple.revoked, 1000);
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        assert_true(hold_holds(&couple.revoked)); /* whether to obey is its own */
        write_into(&couple, couple.revoked.path, "something else");
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        write_into(&couple, couple.revoked.path, MESSAGE);
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 2);
        hold_give_back(&couple.revoked);
        world_end(&couple.world);
    }
}

/* Also by whoever waits. */
static void who_waits_hears_it(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        hold_take_on(&couple.other, &couple.b, &couple.b.mutex, 1);
        ask(&couple);
        revoke_early(&couple, 1, steps);
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        assert_int_equal(couple.revoked.answered, 0);
        hold_give_back(&couple.other);
        hold_await(&couple.revoked, 1000);
        hold_give_back(&couple.revoked);
        assert_int_equal(couple.revoked.revoked, 1);
        world_end(&couple.world);
    }
}

/* Another acquisition of the same lock comes and goes; this one listens on. */
static void others_do_not_clear_it(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        hold_take_on(&couple.other, &couple.a, &couple.a.mutex, 1);
        ask(&couple);
        world_steps(&couple.world, steps);
        hold_give_back(&couple.other);
        hold_await(&couple.revoked, 1000);
        hold_begin_on(&couple.other, &couple.a, &couple.a.mutex, 1, UVZK_TRY_ONCE);
        hold_await_status(&couple.other, 1000, UV_ETIMEDOUT);
        world_run_for(&couple.world, 500);
        write_into(&couple, couple.revoked.path, MESSAGE);
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        hold_give_back(&couple.revoked);
        world_end(&couple.world);
    }
}

/* It lands while the holder is cut off: heard when it is back. */
static void an_interruption_does_not_hide_it(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        ask(&couple);
        hold_await(&couple.revoked, 1000);
        world_run_for(&couple.world, 500);
        sim_disconnect(couple.a.port, seed % 2 ? SIM_RESET : SIM_SILENT, 2000);
        world_run_for(&couple.world, 200 * seed);
        write_into(&couple, couple.revoked.path, MESSAGE);
        assert_true(world_await(&couple.world, &couple.revoked.revoked, 9000));
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        hold_finish(&couple.revoked, 3000);
        world_end(&couple.world);
    }
}

/* It stands for long, and is read again and again: an event may have been lost. */
static void one_plea_is_told_once(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        ask(&couple);
        hold_await(&couple.revoked, 1000);
        size_t from = couple.world.line_count;
        write_into(&couple, couple.revoked.path, MESSAGE);
        world_run_for(&couple.world, 3 * WORLD_TIMEOUT_MS);
        assert_true(world_count(&couple.world, from, "a", "get -> ok") > 1);
        assert_int_equal(couple.revoked.revoked, 1);
        hold_give_back(&couple.revoked);
        world_end(&couple.world);
    }
}

/* Of one hold it is the second acquisition that wants to hear it: of what is written from
 * now on, and of what was before. */
static void who_enters_again_hears_it(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;
        uvzk_acquire_options_t options;

        begin(&couple, seed, state);
        hold_begin_on_for(&couple.other, &couple.a, &couple.a.mutex, &couple);
        hold_await(&couple.other, 1000);
        if (seed % 2 == 0) {
            write_into(&couple, couple.other.path, MESSAGE);
        }
        uvzk_acquire_options_init(&options);
        options.owner = &couple;
        options.revoke_cb = on_revoked;
        listening = &couple.revoked;
        assert_int_equal(hold_ask(&couple.revoked, &couple.a, &couple.a.mutex, &options),
                         0);
        hold_await(&couple.revoked, 1000);
        if (seed % 2 == 1) {
            world_run_for(&couple.world, 500);
            write_into(&couple, couple.other.path, MESSAGE);
        }
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        hold_give_back(&couple.revoked);
        hold_give_back(&couple.other);
        world_end(&couple.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(whenever_it_lands_it_is_heard),
        WORLD_TEST(who_waits_hears_it),
        WORLD_TEST(others_do_not_clear_it),
        WORLD_TEST(an_interruption_does_not_hide_it),
        WORLD_TEST(one_plea_is_told_once),
        WORLD_TEST(who_enters_again_hears_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
