/* SPDX-License-Identifier: Apache-2.0 */
/* Multi locks acquired in turn whose members prove themselves elsewhere, or need no
 * proof, on the real server: the session in which they were asked for has nothing to
 * prove. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SESSION_MS 4000U
#define FILLERS 1500     /* more than the znodes that one session has room for */
#define FILLER_BYTES 950 /* of their lock's path */
#define TRIES 32

static struct world world;
static struct process a, b;
static uvzk_lock_t locks[2];
static uvzk_multilock_t multi;
static struct hold hold;

static void combine(void)
{
    uvzk_lock_t *members[] = {&locks[0], &locks[1]};

    assert_int_equal(
        uvzk_multilock_init(&a.client, &multi, members, 2, UVZK_MULTILOCK_IN_TURN, NULL),
        0);
}

static void begin(uint32_t sessions)
{
    memset(locks, 0, sizeof(locks));
    memset(&multi, 0, sizeof(multi));
    world_begin(&world, NULL);
    world.options.session_timeout_ms = SESSION_MS;
    world.options.sessions = sessions;
}

/* ------------------------------------------------------------ members in another session */

static uvzk_mutex_t filled, filled_by_others;
static struct hold others_hold, fillers[FILLERS];

struct found {
    const uvzk_hold_t *hold;
    uint32_t session;
};

static void find(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                 void *context)
{
    struct found *found = context;

    (void)client;
    if (entry->hold == found->hold) {
        found->session = entry->session;
    }
}

static uint32_t session_of(const struct hold *asked)
{
    struct found found = {.hold = &asked->request, .session = UINT32_MAX};

    assert_int_equal(uvzk_client_each_hold(&a.client, find, &found), 0);
    return found.session;
}

/* The session in which whoever finds room there makes its znode. */
static uint32_t home_of(uvzk_lock_t *lock)
{
    static struct hold asked;

    hold_begin_on(&asked, &a, lock, 1, UVZK_WAIT_FOREVER);
    uint32_t session = session_of(&asked);
    hold_acquire_release(&asked, PATIENCE_MS);
    return session;
}

/* Two mutexes with the same home as the one that is to fill it, whose znodes find no room
 * where one of that one's finds none. */
static void init_members_at(uint32_t home)
{
    static uvzk_mutex_t tried[TRIES];
    int found = 0;

    memset(tried, 0, sizeof(tried));
    for (int i = 0; i < TRIES && found < 2; i++) {
        char path[FILLER_BYTES + 16];
        (void)snprintf(path, sizeof(path), "/%03d/%0*d", i, FILLER_BYTES, 0);
        assert_int_equal(uvzk_mutex_init(&a.client, &tried[i], path), 0);
        if (home_of(&tried[i]) == home) {
            assert_int_equal(uvzk_mutex_init(&a.client, &locks[found++], path), 0);
        }
    }
    assert_int_equal(found, 2);
}

static void open_fillers(void)
{
    static char path[FILLER_BYTES + 1];

    memset(path, 'f', FILLER_BYTES);
    path[0] = path[FILLER_BYTES / 2] = '/';
    memset(&filled, 0, sizeof(filled));
    memset(&filled_by_others, 0, sizeof(filled_by_others));
    assert_int_equal(uvzk_mutex_init(&b.client, &filled_by_others, path), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &filled, path), 0);
}

/* Others hold it, so that nothing here is held, which would be proved. */
static void fill(uint32_t home)
{
    hold_take_on(&others_hold, &b, &filled_by_others, 1);
    for (int i = 0; i < FILLERS; i++) {
        hold_begin_on(&fillers[i], &a, &filled, 1, UVZK_WAIT_FOREVER);
    }
    assert_int_equal(session_of(&fillers[0]), home);
    assert_int_not_equal(session_of(&fillers[FILLERS - 1]), home);
}

static void test_its_home_has_no_room(void **state)
{
    (void)state;
    begin(2);
    process_begin(&a, &world, "a", NULL);
    world.options.sessions = 1;
    process_begin(&b, &world, "b", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    open_fillers();
    uint32_t home = home_of(&filled);
    init_members_at(home);
    combine();
    fill(home);
    world_run_for(&world, 3 * SESSION_MS / 2); /* what the creates have proved is old */
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
    world_run_for(&world, 2 * SESSION_MS);
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    assert_true(uvzk_lock_is_held(&multi));
    hold_give_back(&hold);
    for (int i = 0; i < FILLERS; i++) {
        hold_cancel(&fillers[i]);
    }
    hold_give_back(&others_hold);
    world_end(&world);
}

/* ------------------------------------------------------------------- persistent members */

static void begin_durable(void)
{
    uvzk_lock_driver_t driver;

    begin(1);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &locks[0], "/d/a", &driver),
                     0);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &locks[1], "/d/b", &driver),
                     0);
    combine();
    world_run_for(&world, 3 * SESSION_MS / 2); /* what connecting has proved is old */
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
}

static void test_persistent_members_outlive_the_session(void **state)
{
    (void)state;
    begin_durable();
    assert_true(uvzk_hold_valid_until(&hold.request) == UINT64_MAX);
    process_expire(&a);
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    assert_true(uvzk_lock_is_held(&multi));
    hold_give_back(&hold);
    world_end(&world);
}

static void test_a_persistent_member_is_deleted_by_hand(void **state)
{
    (void)state;
    begin_durable();
    assert_int_equal(raw_delete(world.raw, uvzk_hold_node_path(&hold.request, 1)), ZOK);
    hold_await_lost(&hold, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_home_has_no_room),
        cmocka_unit_test(test_persistent_members_outlive_the_session),
        cmocka_unit_test(test_a_persistent_member_is_deleted_by_hand),
    };

    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
