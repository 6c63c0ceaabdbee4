/* CVE-2024-23944: an event of a znode that may not be read at that moment is never told,
 * and the watch is used up: a SharedValue whose READ was withdrawn for a moment does not
 * learn of any later set. Here it looks again, about once a session timeout, and a value
 * that may not be read is asked for ever more rarely. */
#include "cmocka_test.h"

#include "sharer.h"

#define AGAIN_MS (SHARER_TIMEOUT_MS + SHARER_TIMEOUT_MS / 4 + 300U)
#define FOR_EVER 1000000U

static void end(struct sim *sim, struct sharer *sharer)
{
    sharer_end(sharer);
    assert_int_equal(sim_watch_count(sim), 0);
    sim_free(sim);
}

static void later_sets_are_told(void **state)
{
    struct sharer sharer;
    struct sim *sim = sharer_sim_told(&sharer);

    (void)state;
    sim_lose_events(sharer.port, 1);
    sharer_set_by_hand(sim, "unseen");
    sim_run_for(sim, 500);
    assert_true(sharer_knows(&sharer, "seed"));
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_knows(&sharer, "unseen"));
    sharer_set_by_hand(sim, "seen");
    sim_run_for(sim, 500); /* the watch is as good as new */
    assert_true(sharer_knows(&sharer, "seen"));
    end(sim, &sharer);
}

/* Also where the znode is missing, and its making is what was not told. */
static void a_new_znode_is_told(void **state)
{
    struct sharer sharer;
    struct sim *sim = sharer_sim_told(&sharer);

    (void)state;
    sharer_delete_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(sharer.status, UVZK_ENONODE);
    sim_lose_events(sharer.port, 1);
    sharer_make_by_hand(sim);
    sim_run_for(sim, 500);
    assert_int_equal(sharer.status, UVZK_ENONODE);
    sim_lose_events(sharer.port, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_is_current(&sharer));
    end(sim, &sharer);
}

/* From ZooKeeper 3.8.4 and 3.9.2 on exists needs READ, too: there is no watch then. */
static void what_may_not_be_read_is_asked_for_rarely(void **state)
{
    struct sharer sharer;
    struct sim *sim = sharer_sim_told(&sharer);

    (void)state;
    sim_refuse(sim, UVZK__RPC_GET, UVZK_ENOAUTH, FOR_EVER);
    sim_refuse(sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, FOR_EVER);
    sharer_set_by_hand(sim, "secret");
    sharer_await(sim, &sharer.troubles, 1);
    assert_int_equal(sharer.status, UVZK_ENOAUTH);
    uint64_t before = sim_submitted(sharer.port);
    sim_run_for(sim, 5000);
    /* Three a second are the client's own touches. */
    assert_in_range(sim_submitted(sharer.port) - before, 2, 2 * 6 + 4);
    sim_run_for(sim, 10 * SHARER_TIMEOUT_MS);
    before = sim_submitted(sharer.port);
    sim_run_for(sim, 10 * SHARER_TIMEOUT_MS);
    assert_in_range(sim_submitted(sharer.port) - before, 2 * 8, 2 * 13 + 64);
    sim_refuse(sim, UVZK__RPC_GET, 0, 0);
    sim_refuse(sim, UVZK__RPC_EXISTS, 0, 0);
    sim_run_for(sim, AGAIN_MS);
    assert_true(sharer_knows(&sharer, "secret"));
    sharer_set_by_hand(sim, "known");
    sim_run_for(sim, 500);
    assert_true(sharer_knows(&sharer, "known"));
    end(sim, &sharer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_sets_are_told),
        cmocka_unit_test(a_new_znode_is_told),
        cmocka_unit_test(what_may_not_be_read_is_asked_for_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
