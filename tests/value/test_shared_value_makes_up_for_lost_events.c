/* CVE-2024-23944: an event of a znode that may not be read at that moment is never told,
 * and the watch is used up: a SharedValue whose READ was withdrawn for a moment does not
 * learn of any later set. Here it looks again, about once a session timeout, and a value
 * that may not be read is asked for ever more rarely. */
#include "cmocka_test.h"

#include "sharer.h"

#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)
#define FOR_EVER 1000000U

static void later_sets_are_told(void **state)
{
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);

    sim_lose_events(sharer->process.port, 1);
    sharer_set_by_hand(sim, "unseen");
    sim_run_for(sim, 500);
    assert_true(sharer_knows(sharer, "seed"));
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_knows(sharer, "unseen"));
    sharer_set_by_hand(sim, "seen");
    sim_run_for(sim, 500); /* the watch is as good as new */
    assert_true(sharer_knows(sharer, "seen"));
}

/* Also where the znode is missing, and its making is what was not told. */
static void a_new_znode_is_told(void **state)
{
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);

    sharer_delete_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(sharer->status, UVZK_ENONODE);
    sim_lose_events(sharer->process.port, 1);
    sharer_make_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(sharer->status, UVZK_ENONODE);
    sim_lose_events(sharer->process.port, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_is_current(sharer));
}

/* From ZooKeeper 3.8.4 and 3.9.2 on exists needs READ, too: there is no watch then. */
static void what_may_not_be_read_is_asked_for_rarely(void **state)
{
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);

    sim_refuse(sim, UVZK__RPC_GET, UVZK_ENOAUTH, FOR_EVER);
    sim_refuse(sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, FOR_EVER);
    sharer_set_by_hand(sim, "secret");
    sharer_await(sharer, &sharer->troubles, 1);
    assert_int_equal(sharer->status, UVZK_ENOAUTH);
    uint64_t before = sim_submitted(sharer->process.port);
    sim_run_for(sim, 5000);
    /* Three a second are the client's own touches. */
    assert_in_range(sim_submitted(sharer->process.port) - before, 2, 2 * 6 + 4);
    sim_run_for(sim, 10 * WORLD_TIMEOUT_MS);
    before = sim_submitted(sharer->process.port);
    sim_run_for(sim, 10 * WORLD_TIMEOUT_MS);
    assert_in_range(sim_submitted(sharer->process.port) - before, 2 * 8, 2 * 13 + 64);
    sim_refuse(sim, UVZK__RPC_GET, 0, 0);
    sim_refuse(sim, UVZK__RPC_EXISTS, 0, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_knows(sharer, "secret"));
    sharer_set_by_hand(sim, "known");
    sim_run_for(sim, 500);
    assert_true(sharer_knows(sharer, "known"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARER_CASE(later_sets_are_told, sharer_told),
        SHARER_CASE(a_new_znode_is_told, sharer_told),
        SHARER_CASE(what_may_not_be_read_is_asked_for_rarely, sharer_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
