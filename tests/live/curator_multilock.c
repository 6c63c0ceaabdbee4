/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessMultiMutex, with members that do fail: ZooKeeper's own ACLs
 * forbid one of two directories what a lock needs. */
#define THREADED /* the blocking calls are declared only with it */
#include "world.h"

#include <string.h>

static const char *const paths[2] = {"/multi-a", "/multi-b"};

/* Which member fails, and how the members are acquired. */
struct variant {
    int bad;
    unsigned flags;
};
static struct variant first_at_once = {0, 0}, second_at_once = {1, 0};
static struct variant first_in_turn = {0, UVZK_MULTILOCK_IN_TURN};
static struct variant second_in_turn = {1, UVZK_MULTILOCK_IN_TURN};

static struct world world;
static struct process a, b;
static uvzk_mutex_t members[2], others[2];
static uvzk_multilock_t multilock;
static struct hold all, one;

/* What the error callback was told. */
static struct {
    int count, status;
    const uvzk_lock_t *member;
} failure;

static void on_failed(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    assert_ptr_equal(lock, &multilock);
    failure.count++;
    failure.member = member;
    failure.status = status;
}

static void allow(const char *path, int32_t permissions)
{
    struct ACL entry = {permissions, ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector acl = {1, &entry};
    assert_int_equal(zoo_set_acl(world.raw, path, -1, &acl), ZOK);
}

/* A multi lock of one client, and both of its members as mutexes of another one. The
 * directories are there before. */
static void begin(const struct variant *variant)
{
    world_begin_two(&world, NULL, &a, &b);
    memset(&failure, 0, sizeof(failure));
    memset(&multilock, 0, sizeof(multilock));
    for (int i = 0; i < 2; i++) {
        world_make_path(&world, paths[i]);
        memset(&members[i], 0, sizeof(members[i]));
        memset(&others[i], 0, sizeof(others[i]));
        assert_int_equal(uvzk_mutex_init(&a.client, &members[i], paths[i]), 0);
        assert_int_equal(uvzk_mutex_init(&b.client, &others[i], paths[i]), 0);
    }
    uvzk_lock_t *const list[] = {&members[1], &members[0]};
    assert_int_equal(
        uvzk_multilock_init(&a.client, &multilock, list, 2, variant->flags, on_failed),
        0);
}

static void end(void)
{
    world_assert_idle(&world, &b);
    process_end(&b); /* with what it was not allowed to delete */
    process_end(&a);
    for (int i = 0; i < 2; i++) {
        allow(paths[i], ZOO_PERM_ALL);
        assert_true(world_await_children(&world, paths[i], 0));
        assert_int_equal(raw_delete(world.raw, paths[i]), ZOK);
    }
    world_end(&world);
}

static void assert_free(int member)
{
    assert_int_equal(world_children(&world, paths[member]), 0);
    hold_take_on(&one, &b, &others[member], 1);
    hold_give_back(&one);
}

static void test_some_releases_fail(void **state)
{
    const struct variant *variant = *state;
    int bad = variant->bad;
    begin(variant);
    hold_take_on(&all, &a, &multilock, 1);
    assert_int_equal(world_children(&world, paths[0]), 1);
    assert_int_equal(world_children(&world, paths[1]), 1);
    allow(paths[bad], ZOO_PERM_READ | ZOO_PERM_CREATE | ZOO_PERM_ADMIN);

    hold_release(&all);
    assert_true(world_await(&world, &all.released, PATIENCE_MS));
    assert_int_equal(all.release_status, UVZK_ENOAUTH);
    assert_int_equal(failure.count, 1);
    assert_ptr_equal(failure.member, &members[bad]);
    assert_int_equal(failure.status, UVZK_ENOAUTH);
    assert_false(uvzk_lock_is_held(&multilock));
    assert_free(1 - bad);
    assert_int_equal(world_children(&world, paths[bad]), 1);
    hold_try(&one, &b, &others[bad], UVZK_TRY_ONCE, UV_ETIMEDOUT);
    allow(paths[bad], ZOO_PERM_ALL);
    end();
}

static void test_some_locks_fail_to_lock(void **state)
{
    const struct variant *variant = *state;
    int bad = variant->bad;
    begin(variant);
    allow(paths[bad], ZOO_PERM_READ | ZOO_PERM_DELETE | ZOO_PERM_ADMIN);
    hold_try(&all, &a, &multilock, UVZK_WAIT_FOREVER, UVZK_ENOAUTH);
    assert_int_equal(failure.count, 1);
    assert_ptr_equal(failure.member, &members[bad]);
    assert_int_equal(failure.status, UVZK_ENOAUTH);
    assert_false(uvzk_lock_is_held(&multilock));
    assert_true(world_await_children(&world, paths[1 - bad], 0));

    /* The first one that fails ends it: what comes after it is left alone. */
    bool first_was_held = bad == 1 && variant->flags == UVZK_MULTILOCK_IN_TURN;
    assert_int_equal(raw_creation_count(world.raw, paths[1 - bad]), first_was_held);
    assert_int_equal(raw_creation_count(world.raw, paths[bad]), 0);
    assert_free(1 - bad);

    /* And nothing of it is left in the way of the next attempt. */
    allow(paths[bad], ZOO_PERM_ALL);
    hold_take_on(&all, &a, &multilock, 1);
    hold_give_back(&all);
    assert_int_equal(failure.count, 1);
    end();
}

#define CASE(test, how) ((struct CMUnitTest){#test ", " #how, test, NULL, NULL, &how})
#define OF_EVERY_VARIANT(test)                                                        \
    CASE(test, first_at_once), CASE(test, second_at_once), CASE(test, first_in_turn), \
        CASE(test, second_in_turn)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_EVERY_VARIANT(test_some_releases_fail),
        OF_EVERY_VARIANT(test_some_locks_fail_to_lock),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
