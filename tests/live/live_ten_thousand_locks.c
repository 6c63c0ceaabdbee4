/* One loop, one session, ten thousand different locks, all held at once. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>

#define LOCKS 10000

struct lock {
    uvzk_mutex_t mutex;
    struct attempt attempt;
};

static struct live live;
static struct lock *locks;

static bool all_granted(void *context)
{
    int granted = 0;
    (void)context;
    for (int i = 0; i < LOCKS; i++) {
        granted += locks[i].attempt.status == 0;
    }
    return granted == LOCKS;
}

static bool all_released(void *context)
{
    int released = 0;
    (void)context;
    for (int i = 0; i < LOCKS; i++) {
        released += locks[i].attempt.released;
    }
    return released == LOCKS;
}

static void acquire_all(void)
{
    char path[32];
    for (int i = 0; i < LOCKS; i++) {
        snprintf(path, sizeof(path), "/locks/%05d", i);
        assert_int_equal(uvzk_mutex_init(&live.client, &locks[i].mutex, path), 0);
        assert_int_equal(attempt_start(&locks[i].attempt, &locks[i].mutex, NULL), 0);
    }
    assert_true(run_until(live.loop, all_granted, NULL, 2 * PATIENCE_MS));
}

static void check_all_held_at_once(void)
{
    for (int i = 0; i < LOCKS; i++) {
        assert_true(attempt_holds(&locks[i].attempt));
        assert_true(uvzk_hold_is_valid(&locks[i].attempt.request));
    }
    assert_int_equal(server_ephemeral_count(live_server), LOCKS);
    assert_int_equal(live_stats(&live).contenders, LOCKS);
}

static bool proved_again(void *context)
{
    return live_stats(&live).proofs > *(uint64_t *)context;
}

static void test_ten_thousand_locks(void **state)
{
    (void)state;
    locks = calloc(LOCKS, sizeof(*locks));
    assert_non_null(locks);
    live_open(&live);
    acquire_all();
    check_all_held_at_once();
    /* Still all of them after two more proofs of ownership. */
    uint64_t proofs = live_stats(&live).proofs + 1;
    assert_true(run_until(live.loop, proved_again, &proofs, PATIENCE_MS));
    check_all_held_at_once();

    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(attempt_release(&locks[i].attempt), 0);
    }
    assert_true(run_until(live.loop, all_released, NULL, 2 * PATIENCE_MS));
    for (int i = 0; i < LOCKS; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/locks/%05d", i);
        assert_int_equal(locks[i].attempt.release_status, 0);
        assert_true(attempt_is_over(&locks[i].attempt));
        assert_int_equal(raw_children_count(live.raw, path), 0);
    }
    live_end(&live);
    free(locks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_thousand_locks),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
