/* CURATOR-211, CURATOR-307: a read lock whose own znode was missing from the listing was
 * granted, or died of the index 2147483647. Here that is a usual case: who waits without
 * a znode queues up again if the retry policy allows it, and is refused if not. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PATH "/rw"
#define STEPS 40U

struct couple {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold writing, reading;
};

/* B writes, A's reader is on its way or waits. */
static void begin(struct couple *couple, uint64_t seed, void *const *state,
                  uint32_t retries)
{
    uvzk_client_options_t options;

    memset(couple, 0, sizeof(*couple));
    process_options(&options);
    options.retry.max_retries = retries;
    world_begin(&couple->world, seed, state);
    process_begin(&couple->a, &couple->world, "a", &options);
    process_begin(&couple->b, &couple->world, "b", NULL);
    assert_int_equal(uvzk_rwlock_init(&couple->a.client, &couple->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&couple->b.client, &couple->of_b, PATH), 0);
    hold_begin_on_for(&couple->writing, &couple->b, &couple->of_b.write, NULL);
    hold_await(&couple->writing, 1000);
    assert_true(process_await_connected(&couple->a, 1000));
    hold_begin_on_for(&couple->reading, &couple->a, &couple->of_a.read, NULL);
}

/* As soon as it stands, and so many events later. */
static void delete_the_reader(struct couple *couple, uint64_t steps)
{
    const char *names[2];

    while (sim_children(couple->world.sim, PATH, names, 2) < 2) {
        world_steps(&couple->world, 1);
    }
    assert_non_null(strstr(names[1], "-__READ__"));
    world_steps(&couple->world, steps);
    world_delete_child(&couple->world, PATH, 1);
}

static void it_queues_up_again(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state, 3);
        delete_the_reader(&couple, steps);
        world_run_for(&couple.world, 500);
        assert_int_equal(couple.reading.answered, 0);
        hold_give_back(&couple.writing);
        hold_await(&couple.reading, 3000); /* on a znode that stands */
        assert_true(couple.reading.token > couple.writing.token);
        hold_give_back(&couple.reading);
        world_end(&couple.world);
    }
}

static void it_is_refused_without_retries(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state, 0);
        delete_the_reader(&couple, steps);
        world_run_for(&couple.world, 500);
        hold_give_back(&couple.writing);
        hold_await_status(&couple.reading, 3000, UVZK_EDELETED);
        world_run_for(&couple.world, 500);
        assert_int_equal(world_children(&couple.world, PATH), 0);
        world_end(&couple.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(it_queues_up_again),
        WORLD_TEST(it_is_refused_without_retries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
