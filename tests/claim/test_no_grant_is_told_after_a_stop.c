/* SPDX-License-Identifier: Apache-2.0 */
/* A process is stopped between the decision to grant and the callback that tells it, for
 * longer than its session lives: nothing that has become untrue is told. Here two acquires
 * of one owner are granted in one turn, and the stop is in the first one's callback. */
#include "world.h"

static uint64_t (*clock_of_the_port)(struct uvzk__port *);

static uint64_t clock_after_the_stop(struct uvzk__port *port)
{
    return clock_of_the_port(port) + 2 * WORLD_TIMEOUT_MS;
}

static void stop(struct hold *hold)
{
    struct uvzk__port *port = hold->process->port;

    if (hold->status == 0) {
        clock_of_the_port = port->now;
        port->now = clock_after_the_stop;
        hold->hook = NULL;
    }
}

static void test_the_second_of_two_is_refused(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct world world;
        struct process a;
        struct hold first, second;

        world_begin_one(&world, seed, state, &a);
        hold_begin_for(&first, &a, &a, UVZK_WAIT_FOREVER);
        hold_begin_for(&second, &a, &a, UVZK_WAIT_FOREVER);
        first.hook = stop;
        hold_await(&first, 2000);
        hold_await_status(&second, 2000, UVZK_EPROOF);
        hold_await_lost(&first, 2000, UVZK_EPROOF);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_the_second_of_two_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
