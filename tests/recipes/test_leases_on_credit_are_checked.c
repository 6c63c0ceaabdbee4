/* Leases that are handed on within a client are held at once, on the credit of who had
 * them. The delete of the new holder's ticket lets the next one in, so it has to show
 * that they stand: else two would hold, one of them without a znode. */
#include "acquire.h"

#define PATH "/s"
#define SEEDS 16U

/* B waits behind one of A, to which another one of A hands its lease on. That has been
 * deleted by hand, and no event has told it. */
static void hand_on(uint64_t seed, void *const *state, uint64_t ms)
{
    struct scene scene;
    struct process a, b;
    uvzk_semaphore_mutex_t of_a = {0}, of_b = {0};
    struct acquire first = {0}, second = {0}, next = {0};

    scene_begin_two(&scene, seed, state, &a, &b);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &of_a, PATH), 0);
    assert_int_equal(uvzk_semaphore_mutex_init(&b.client, &of_b, PATH), 0);
    acquire_take(&first, &a, &of_a, 1);
    acquire_begin(&second, &a, &of_a, 1, UVZK_WAIT_FOREVER);
    scene_run_for(&scene, 300);
    acquire_begin(&next, &b, &of_b, 1, UVZK_WAIT_FOREVER);
    scene_run_for(&scene, ms);
    sim_lose_events(a.port, 16);
    assert_int_equal(sim_delete_by_hand(scene.sim, first.path), 0);
    a.killed = true; /* it holds on until it has looked */
    acquire_release(&first);
    assert_true(scene_await(&scene, &next.acquired, 3000));
    assert_false(acquire_holds(&second));
    acquire_give_back(&next);
    acquire_finish(&second, 1000);
    scene_end(&scene);
}

static void who_lets_the_next_one_in_has_a_lease(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hand_on(seed, state, 250 * seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE_TEST(who_lets_the_next_one_in_has_a_lease)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
