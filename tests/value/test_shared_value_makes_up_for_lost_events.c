/* SPDX-License-Identifier: Apache-2.0 */
/* CVE-2024-23944: an event of a znode that may not be read at that moment is never told,
 * and the watch is used up: a SharedValue whose READ was withdrawn for a moment does not
 * learn of any later set. Here it looks again, about once a session timeout, and a value
 * that may not be read is asked for ever more rarely. */
#include "cmocka_test.h"

#include "value_process.h"

#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)
#define FOR_EVER 1000000U

static void later_sets_are_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_lose_events(value_process->process.port, 1);
    value_process_set_by_hand(sim, "unseen");
    sim_run_for(sim, 500);
    assert_true(value_process_knows(value_process, "seed"));
    sim_run_for(sim, AGAIN_MS);
    assert_true(value_process_knows(value_process, "unseen"));
    value_process_set_by_hand(sim, "seen");
    sim_run_for(sim, 500); /* the watch is as good as new */
    assert_true(value_process_knows(value_process, "seen"));
}

/* Also where the znode is missing, and its making is what was not told. */
static void a_new_znode_is_told(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    value_process_delete_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(value_process->status, UVZK_ENONODE);
    sim_lose_events(value_process->process.port, 1);
    value_process_make_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(value_process->status, UVZK_ENONODE);
    sim_lose_events(value_process->process.port, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(value_process_is_current(value_process));
}

/* From ZooKeeper 3.8.4 and 3.9.2 on exists needs READ, too: there is no watch then. */
static void what_may_not_be_read_is_asked_for_rarely(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    sim_refuse(sim, UVZK__RPC_GET, UVZK_ENOAUTH, FOR_EVER);
    sim_refuse(sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, FOR_EVER);
    value_process_set_by_hand(sim, "secret");
    value_process_await(value_process, &value_process->troubles, 1);
    assert_int_equal(value_process->status, UVZK_ENOAUTH);
    uint64_t before = sim_submitted(value_process->process.port);
    sim_run_for(sim, 5000);
    /* Three a second are the client's own touches. */
    assert_in_range(sim_submitted(value_process->process.port) - before, 2, 2 * 6 + 4);
    sim_run_for(sim, 10 * WORLD_TIMEOUT_MS);
    before = sim_submitted(value_process->process.port);
    sim_run_for(sim, 10 * WORLD_TIMEOUT_MS);
    assert_in_range(sim_submitted(value_process->process.port) - before, 2 * 8,
                    2 * 13 + 64);
    sim_refuse(sim, UVZK__RPC_GET, 0, 0);
    sim_refuse(sim, UVZK__RPC_EXISTS, 0, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(value_process_knows(value_process, "secret"));
    value_process_set_by_hand(sim, "known");
    sim_run_for(sim, 500);
    assert_true(value_process_knows(value_process, "known"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VALUE_PROCESS_CASE(later_sets_are_told, value_process_told),
        VALUE_PROCESS_CASE(a_new_znode_is_told, value_process_told),
        VALUE_PROCESS_CASE(what_may_not_be_read_is_asked_for_rarely, value_process_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
