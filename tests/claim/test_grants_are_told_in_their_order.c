/* Grants are told in the order in which they are made, whatever else there is to be told
 * in the same turn. Two of one owner wait, the second is about to be told its place, and
 * the lock is handed to them. */
#include "scene.h"

#include "base/list.h"
#include "claim/acquisition.h"

struct order {
    struct claim held, first, second;
};

static void the_second_is_second(struct claim *second)
{
    struct order *order = UVZK__CONTAINER_OF(second, struct order, second);

    assert_int_equal(order->first.acquired, 1);
}

static void of_two_of_one_owner(void **state)
{
    for (uint64_t seed = 1; seed <= 15; seed += 2) {
        struct scene scene;
        struct process a;
        struct order order;

        scene_begin_one(&scene, seed, state, &a);
        claim_take(&order.held, &a);
        claim_begin_for(&order.first, &a, &order, UVZK_WAIT_FOREVER);
        scene_run_for(&scene, 500);
        claim_begin_for(&order.second, &a, &order, UVZK_WAIT_FOREVER);
        order.second.hook = the_second_is_second;
        uvzk__acquisition_queued(order.second.request.impl, 1);
        claim_release(&order.held);
        claim_await(&order.first, 1000);
        claim_await(&order.second, 1000);
        claim_give_back(&order.second);
        claim_give_back(&order.first);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE_TEST(of_two_of_one_owner)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
