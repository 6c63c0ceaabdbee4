/* Curator's revocation is lost when it lands before the first read of the znode, and when
 * another acquisition of the same lock object is given back, which clears the listener of
 * all. Here it belongs to one acquisition, and the first read counts, too. */
#include "acquire.h"

#include <stdio.h>
#include <string.h>

#define STEPS 40U
#define MESSAGE "__REVOKE__"

struct couple {
    struct scene scene;
    struct process a, b;
    struct acquire revoked, other;
};

/* The one whose pleas are counted; there is but one at a time. */
static struct acquire *listening;

static void on_revoked(uvzk_hold_t *hold)
{
    assert_ptr_equal(hold, &listening->request);
    assert_int_equal(listening->lost + listening->released, 0);
    listening->revoked++;
}

static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    memset(couple, 0, sizeof(*couple));
    scene_begin_two(&couple->scene, seed, state, &couple->a, &couple->b);
    assert_true(process_await_connected(&couple->a, 1000));
    assert_true(process_await_connected(&couple->b, 1000));
}

static void ask(struct couple *couple)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    listening = &couple->revoked;
    assert_int_equal(
        acquire_ask(&couple->revoked, &couple->a, &couple->a.mutex, &options), 0);
}

static void write_into(struct couple *couple, const char *path, const char *text)
{
    assert_int_equal(sim_set_by_hand(couple->scene.sim, path, text, strlen(text)), 0);
}

/* The index-th znode of the queue is asked for so many events after it came to stand. */
static void revoke_early(struct couple *couple, size_t index, uint64_t steps)
{
    const char *names[4];
    char path[256];

    while (scene_queue_length(&couple->scene) <= index) {
        scene_steps(&couple->scene, 1);
    }
    assert_true(sim_children(couple->scene.sim, SCENE_PATH, names, 4) > index);
    (void)snprintf(path, sizeof(path), SCENE_PATH "/%s", names[index]);
    scene_steps(&couple->scene, steps);
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
        acquire_await(&couple.revoked, 1000);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        assert_true(acquire_holds(&couple.revoked)); /* whether to obey is its own */
        write_into(&couple, couple.revoked.path, "something else");
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        write_into(&couple, couple.revoked.path, MESSAGE);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 2);
        acquire_give_back(&couple.revoked);
        scene_end(&couple.scene);
    }
}

/* Also by whoever waits. */
static void who_waits_hears_it(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        acquire_take(&couple.other, &couple.b, &couple.b.mutex, 1);
        ask(&couple);
        revoke_early(&couple, 1, steps);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        assert_int_equal(couple.revoked.acquired, 0);
        acquire_give_back(&couple.other);
        acquire_await(&couple.revoked, 1000);
        acquire_give_back(&couple.revoked);
        assert_int_equal(couple.revoked.revoked, 1);
        scene_end(&couple.scene);
    }
}

/* Another acquisition of the same lock comes and goes; this one listens on. */
static void others_do_not_clear_it(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        acquire_take(&couple.other, &couple.a, &couple.a.mutex, 1);
        ask(&couple);
        scene_steps(&couple.scene, steps);
        acquire_give_back(&couple.other);
        acquire_await(&couple.revoked, 1000);
        acquire_begin(&couple.other, &couple.a, &couple.a.mutex, 1, UVZK_TRY_ONCE);
        assert_true(scene_await(&couple.scene, &couple.other.acquired, 1000));
        assert_int_equal(couple.other.status, UV_ETIMEDOUT);
        scene_run_for(&couple.scene, 500);
        write_into(&couple, couple.revoked.path, MESSAGE);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        acquire_give_back(&couple.revoked);
        scene_end(&couple.scene);
    }
}

/* It lands while the holder is cut off: heard when it is back. */
static void an_interruption_does_not_hide_it(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        ask(&couple);
        acquire_await(&couple.revoked, 1000);
        scene_run_for(&couple.scene, 500);
        sim_disconnect(couple.a.port, seed % 2 ? SIM_RESET : SIM_SILENT, 2000);
        scene_run_for(&couple.scene, 200 * seed);
        write_into(&couple, couple.revoked.path, MESSAGE);
        assert_true(scene_await(&couple.scene, &couple.revoked.revoked, 9000));
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        acquire_finish(&couple.revoked, 3000);
        scene_end(&couple.scene);
    }
}

/* It stands for long, and is read again and again: an event may have been lost. */
static void one_plea_is_told_once(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        ask(&couple);
        acquire_await(&couple.revoked, 1000);
        size_t from = couple.scene.line_count;
        write_into(&couple, couple.revoked.path, MESSAGE);
        scene_run_for(&couple.scene, 3 * SCENE_TIMEOUT_MS);
        assert_true(scene_count(&couple.scene, from, "a", "get -> ok") > 1);
        assert_int_equal(couple.revoked.revoked, 1);
        acquire_give_back(&couple.revoked);
        scene_end(&couple.scene);
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
        acquire_begin_for(&couple.other, &couple.a, &couple.a.mutex, &couple);
        acquire_await(&couple.other, 1000);
        if (seed % 2 == 0) {
            write_into(&couple, couple.other.path, MESSAGE);
        }
        uvzk_acquire_options_init(&options);
        options.owner = &couple;
        options.revoke_cb = on_revoked;
        listening = &couple.revoked;
        assert_int_equal(
            acquire_ask(&couple.revoked, &couple.a, &couple.a.mutex, &options), 0);
        acquire_await(&couple.revoked, 1000);
        if (seed % 2 == 1) {
            scene_run_for(&couple.scene, 500);
            write_into(&couple, couple.other.path, MESSAGE);
        }
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.revoked.revoked, 1);
        acquire_give_back(&couple.revoked);
        acquire_give_back(&couple.other);
        scene_end(&couple.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(whenever_it_lands_it_is_heard),
        SCENE_TEST(who_waits_hears_it),
        SCENE_TEST(others_do_not_clear_it),
        SCENE_TEST(an_interruption_does_not_hide_it),
        SCENE_TEST(one_plea_is_told_once),
        SCENE_TEST(who_enters_again_hears_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
