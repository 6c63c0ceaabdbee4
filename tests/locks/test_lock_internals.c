/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestLockInternals. A step of the acquire fails after the znode was made: that
 * first error is reported, whatever the withdrawal meets (CURATOR-41), and nothing is
 * left. */
#include "world.h"

#define SEEDS 6U

static struct world world;
static struct process a, b;
static struct hold hold;

/* No retry is allowed: a contender whose znode is missing is refused. */
static void begin(uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &no_retries);
    world_make_directory(&world, &a);
}

/* What becomes of the claim, and that nothing is in the way of the next one. */
static void check_failure(int status)
{
    hold_await_status(&hold, 2000, status);
    world_run_for(&world, 1000);
    assert_int_equal(world_queue_length(&world), 0);
    process_take_turn(&a);
    world_end(&world);
}

/* As soon as it has been made, the znode goes, and its directory with it. */
static void remove_everything(void)
{
    while (world_queue_length(&world) == 0) {
        world_steps(&world, 1);
    }
    world_delete_child(&world, WORLD_PATH, 0);
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
}

/* The list step fails: there is nothing to be listed, or the servers refuse. */
static void test_node_deleted_cleanly_with_faults(uint64_t seed, void *const *state)
{
    static const int codes[] = {UVZK_EDELETED, UVZK_ENOAUTH, UVZK_EREJECTED,
                                UVZK_EZOOKEEPER, UVZK_EUNIMPLEMENTED};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        begin(seed, state);
        world_note(&world, "it fails with %s", uvzk_err_name(codes[i]));
        if (i > 0) {
            sim_refuse(world.sim, UVZK__RPC_CHILDREN, codes[i], 1);
        }
        hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
        if (i == 0) {
            remove_everything();
        }
        check_failure(codes[i]);
    }
}

/* The list step fails, and then the delete does: refused by the ACL, or without a
 * connection, or because the session is gone by then. */
static void test_attempt_lock_failed_exception(uint64_t seed, void *const *state)
{
    enum second { REFUSED, CUT_OFF, EXPIRED, SECOND_ERRORS };

    for (enum second second = 0; second < SECOND_ERRORS; second++) {
        begin(seed, state);
        process_begin(&b, &world, "b", NULL);
        sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_EREJECTED, 1);
        size_t from = world.line_count;
        hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
        process_await_line(&a, from, "server: children " WORLD_PATH, 1000);
        if (second == REFUSED) {
            sim_refuse(world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
        }
        assert_true(world_await(&world, &hold.answered, 1000));
        if (second == CUT_OFF) {
            sim_disconnect(a.port, SIM_RESET, 500);
        } else if (second == EXPIRED) {
            process_expire(&a);
        }
        assert_int_equal(hold.status, UVZK_EREJECTED);
        world_run_for(&world, 2000);
        assert_int_equal(world_queue_length(&world), 0); /* a refused one was repeated */
        process_take_turn(&b);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(test_node_deleted_cleanly_with_faults, 1, SEEDS),
        WORLD_SCENARIO(test_attempt_lock_failed_exception, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
