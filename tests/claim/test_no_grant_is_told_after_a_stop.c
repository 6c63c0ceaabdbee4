/* A process is stopped between the decision to grant and the callback that tells it, for
 * longer than its session lives: nothing that has become untrue is told. Here two acquires
 * of one owner are granted in one turn, and the stop is in the first one's callback. */
#include "scene.h"

static uint64_t (*clock_of_the_port)(struct uvzk__port *);

static uint64_t clock_after_the_stop(struct uvzk__port *port)
{
    return clock_of_the_port(port) + 2 * SCENE_TIMEOUT_MS;
}

static void stop(struct claim *claim)
{
    struct uvzk__port *port = claim->process->port;

    if (claim->status == 0) {
        clock_of_the_port = port->now;
        port->now = clock_after_the_stop;
        claim->hook = NULL;
    }
}

static void test_the_second_of_two_is_refused(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct scene scene;
        struct process a;
        struct claim first, second;

        scene_begin_one(&scene, seed, state, &a);
        claim_begin_for(&first, &a, &a, UVZK_WAIT_FOREVER);
        claim_begin_for(&second, &a, &a, UVZK_WAIT_FOREVER);
        first.hook = stop;
        assert_true(scene_await(&scene, &first.acquired, 2000));
        assert_int_equal(first.status, 0);
        claim_await_status(&second, 2000, UVZK_EPROOF);
        assert_true(scene_await(&scene, &first.lost, 2000));
        assert_int_equal(first.reason, UVZK_EPROOF);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCENE_TEST(test_the_second_of_two_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
