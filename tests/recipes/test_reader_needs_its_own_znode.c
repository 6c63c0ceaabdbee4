/* CURATOR-211, CURATOR-307: a read lock whose own znode was missing from the listing was
 * granted, or died of the index 2147483647. Here that is a usual case: who waits without
 * a znode queues up again if the retry policy allows it, and is refused if not. */
#include "acquire.h"

#include <stdio.h>
#include <string.h>

#define PATH "/rw"
#define STEPS 40U

struct couple {
    struct scene scene;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct acquire writing, reading;
};

/* B writes, A's reader is on its way or waits. */
static void begin(struct couple *couple, uint64_t seed, void *const *state,
                  uint32_t retries)
{
    uvzk_client_options_t options;

    memset(couple, 0, sizeof(*couple));
    process_options(&options);
    options.retry.max_retries = retries;
    scene_begin(&couple->scene, seed, state);
    process_begin(&couple->a, &couple->scene, "a", &options);
    process_begin(&couple->b, &couple->scene, "b", NULL);
    assert_int_equal(uvzk_rwlock_init(&couple->a.client, &couple->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&couple->b.client, &couple->of_b, PATH), 0);
    acquire_begin_for(&couple->writing, &couple->b, &couple->of_b.write, NULL);
    acquire_await(&couple->writing, 1000);
    assert_true(process_await_connected(&couple->a, 1000));
    acquire_begin_for(&couple->reading, &couple->a, &couple->of_a.read, NULL);
}

/* As soon as it stands, and so many events later. */
static void delete_the_reader(struct couple *couple, uint64_t steps)
{
    const char *names[2];

    while (sim_children(couple->scene.sim, PATH, names, 2) < 2) {
        scene_steps(&couple->scene, 1);
    }
    assert_non_null(strstr(names[1], "-__READ__"));
    scene_steps(&couple->scene, steps);
    scene_delete_child(&couple->scene, PATH, 1);
}

static void it_queues_up_again(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state, 3);
        delete_the_reader(&couple, steps);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(couple.reading.acquired, 0);
        acquire_give_back(&couple.writing);
        acquire_await(&couple.reading, 3000); /* on a znode that stands */
        assert_true(couple.reading.token > couple.writing.token);
        acquire_give_back(&couple.reading);
        scene_end(&couple.scene);
    }
}

static void it_is_refused_without_retries(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state, 0);
        delete_the_reader(&couple, steps);
        scene_run_for(&couple.scene, 500);
        acquire_give_back(&couple.writing);
        assert_true(scene_await(&couple.scene, &couple.reading.acquired, 3000));
        assert_int_equal(couple.reading.status, UVZK_EDELETED);
        scene_run_for(&couple.scene, 500);
        assert_int_equal(sim_children(couple.scene.sim, PATH, NULL, 0), 0);
        scene_end(&couple.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(it_queues_up_again),
        SCENE_TEST(it_is_refused_without_retries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
