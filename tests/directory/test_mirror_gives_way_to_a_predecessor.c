/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex at the path of a znode that another mutex of the same client waits for: the mirror
 * of the inner directory gives way to the watch on the predecessor, which has the same path.
 * The simulator aborts if a persistent watch and another one are on one path. */
#include "cmocka_test.h"

#include <stdio.h>

#include "directory/mirror.h"
#include "directory/queue.h"
#include "locks/mutex.h"
#include "world.h"

#define OUTER "/outer"
#define OTHERS "lock-"

static struct world world;
static struct process a;

static void settle(void)
{
    world_run_for(&world, 300);
}

static void acquired(uvzk_hold_t *hold, int status)
{
    assert_int_equal(status, 0);
    *(int *)hold->data += 1;
}

static void lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %d", reason);
}

static void released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, 0);
}

static void acquire(uvzk_lock_t *lock, uvzk_hold_t *hold, int *granted)
{
    *granted = 0;
    hold->data = granted;
    assert_int_equal(uvzk_lock_acquire(lock, hold, NULL, acquired, lost), 0);
    settle();
    assert_int_equal(*granted, 0);
}

static void release(uvzk_hold_t *hold)
{
    settle();
    assert_int_equal(*(int *)hold->data, 1);
    assert_int_equal(uvzk_hold_release(hold, released), 0);
    settle();
}

/* A persistent znode that looks like a contender's. */
static void make_predecessor(char *path, size_t size)
{
    assert_non_null(sim_create_by_hand(world.sim, OUTER, UVZK__PERSISTENT));
    const char *made = sim_create_by_hand(world.sim, OUTER WORLD_FOREIGN_PREFIX OTHERS,
                                          UVZK__PERSISTENT_SEQUENTIAL);
    assert_non_null(made);
    (void)snprintf(path, size, "%s", made);
}

static bool is_mirrored(const char *path)
{
    const struct uvzk__queue *queue =
        uvzk__queue_find(a.client.impl, &uvzk__exclusive, path);

    return queue != NULL && uvzk__is_mirrored(queue);
}

static void it_gives_way(void **state)
{
    char path[256];
    uvzk_lock_t inner = {.data = NULL}, outer = {.data = NULL};
    uvzk_hold_t first = {.data = NULL}, second = {.data = NULL};
    int granted, outer_granted;

    (void)state;
    world_begin_exact(&world, UVZK__TUNE_ALL, 10);
    process_begin(&a, &world, "a", NULL);
    assert_true(process_await_connected(&a, 1000));
    make_predecessor(path, sizeof(path));
    assert_int_equal(uvzk_mutex_init(&a.client, &inner, path), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &outer, OUTER), 0);
    struct world_path other = world_foreign_node(&world, path, OTHERS);
    acquire(&inner, &first, &granted);
    world_delete(&world, &other);
    release(&first);
    other = world_foreign_node(&world, path, OTHERS);
    acquire(&inner, &first, &granted);
    assert_true(is_mirrored(path));
    acquire(&outer, &second, &outer_granted);
    assert_false(is_mirrored(path));
    world_delete(&world, &other);
    release(&first);
    assert_int_equal(outer_granted, 0);
    assert_int_equal(uvzk_lock_close(&inner, NULL), 0);
    assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
    release(&second);
    assert_int_equal(uvzk_lock_close(&outer, NULL), 0);
    settle();
    (void)sim_delete_by_hand(world.sim, OUTER);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_gives_way)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
