/* SPDX-License-Identifier: Apache-2.0 */
/* Grants are told in the order in which they are made, whatever else there is to be told
 * in the same turn. Two of one owner wait, the second is about to be told its place, and
 * the lock is handed to them. */
#include "world.h"

#include "base/list.h"
#include "claim/acquisition.h"

struct order {
    struct hold held, first, second;
};

static void the_second_is_second(struct hold *second)
{
    struct order *order = UVZK__CONTAINER_OF(second, struct order, second);

    assert_int_equal(order->first.answered, 1);
}

static void of_two_of_one_owner(void **state)
{
    for (uint64_t seed = 1; seed <= 15; seed += 2) {
        struct world world;
        struct process a;
        struct order order;

        world_begin_one(&world, seed, state, &a);
        hold_take(&order.held, &a);
        hold_begin_for(&order.first, &a, &order, UVZK_WAIT_FOREVER);
        world_run_for(&world, 500);
        hold_begin_for(&order.second, &a, &order, UVZK_WAIT_FOREVER);
        order.second.hook = the_second_is_second;
        uvzk__acquisition_queued(order.second.request.impl, 1);
        hold_release(&order.held);
        hold_await(&order.first, 1000);
        hold_await(&order.second, 1000);
        hold_give_back(&order.second);
        hold_give_back(&order.first);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(of_two_of_one_owner)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
