/* SPDX-License-Identifier: Apache-2.0 */
/* One loop, one session, ten thousand different locks, all held at once. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define LOCKS 10000

struct lock {
    uvzk_mutex_t mutex;
    struct hold hold;
};

static struct world world;
static struct process a;
static struct lock *locks;

static void acquire_all(void)
{
    char path[32];
    for (int i = 0; i < LOCKS; i++) {
        snprintf(path, sizeof(path), "/locks/%05d", i);
        assert_int_equal(uvzk_mutex_init(&a.client, &locks[i].mutex, path), 0);
        hold_begin_on(&locks[i].hold, &a, &locks[i].mutex, 1, UVZK_WAIT_FOREVER);
    }
    assert_true(world_await_count(&world, &world.grants, LOCKS, 2 * PATIENCE_MS));
}

static void check_all_held_at_once(void)
{
    for (int i = 0; i < LOCKS; i++) {
        assert_true(hold_holds(&locks[i].hold));
        assert_true(uvzk_hold_is_valid(&locks[i].hold.request));
    }
    assert_int_equal(server_ephemeral_count(live_server), LOCKS);
    assert_int_equal(process_metrics(&a).contenders, LOCKS);
}

static void test_ten_thousand_locks(void **state)
{
    (void)state;
    locks = calloc(LOCKS, sizeof(*locks));
    assert_non_null(locks);
    world_begin_one(&world, NULL, &a);
    acquire_all();
    check_all_held_at_once();
    /* Still all of them after two more proofs of ownership. */
    uint64_t proofs = process_metrics(&a).proofs + 1;
    uint64_t since = world_now(&world);
    while (process_metrics(&a).proofs <= proofs) {
        assert_true(world_turn(&world, since));
    }
    check_all_held_at_once();

    for (int i = 0; i < LOCKS; i++) {
        hold_release(&locks[i].hold);
    }
    assert_true(world_await_count(&world, &world.ends, LOCKS, 2 * PATIENCE_MS));
    for (int i = 0; i < LOCKS; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/locks/%05d", i);
        hold_await_released(&locks[i].hold, WORLD_TIMEOUT_MS, 0);
        assert_int_equal(world_children(&world, path), 0);
    }
    world_end(&world);
    free(locks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_thousand_locks),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
