/* SPDX-License-Identifier: Apache-2.0 */
/* A hold of each recipe ends at its max_hold_ms: it is lost with UVZK_EMAXHOLD, all of its
 * znodes are deleted, and others get the lock. */
#include "world.h"

#include <string.h>

#include "claim/lock.h"

#define ROOT "/limits"
#define MAX_HOLD_MS 3000
#define PATIENCE_MS 30000U

static struct world world;
static struct process a, b;
static uvzk_lock_t locks[2], members[2];
static uvzk_rwlock_t rwlocks[2];
static struct hold held, other, reader;

static uvzk_acquire_options_t limited(void)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.max_hold_ms = MAX_HOLD_MS;
    return options;
}

static void begin(uint32_t sessions)
{
    uvzk_client_options_t options;

    memset(locks, 0, sizeof(locks));
    memset(members, 0, sizeof(members));
    memset(rwlocks, 0, sizeof(rwlocks));
    process_options(&options);
    options.sessions = sessions;
    world_begin_exact(&world, UVZK__TUNE_ALL, 2);
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, PATIENCE_MS));
    assert_true(process_await_connected(&b, PATIENCE_MS));
}

/* ------------------------------------------------------------------------- recipes */

static int mutex(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_mutex_init(&process->client, lock, ROOT "/a");
}

static int cohort(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_mutex_init_with_cohort(&process->client, lock, ROOT "/a", 3, 60000);
}

static int two_leases(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_semaphore_init(&process->client, lock, ROOT "/a", 2, NULL);
}

static int semaphore_mutex(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_semaphore_mutex_init(&process->client, lock, ROOT "/a");
}

static int several(struct process *process, uvzk_lock_t *lock, unsigned flags)
{
    uvzk_lock_t *both[] = {&members[0], &members[1]};

    if (process == &b) {
        return mutex(process, lock);
    }
    assert_int_equal(uvzk_mutex_init(&a.client, &members[0], ROOT "/a"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &members[1], ROOT "/b"), 0);
    return uvzk_multilock_init(&a.client, lock, both, 2, flags, NULL);
}

static int at_once(struct process *process, uvzk_lock_t *lock)
{
    return several(process, lock, 0);
}

static int in_turn(struct process *process, uvzk_lock_t *lock)
{
    return several(process, lock, UVZK_MULTILOCK_IN_TURN);
}

static int by_driver(struct process *process, uvzk_lock_t *lock, uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = mode;
    process->persistent = mode == UVZK_NODE_PERSISTENT_SEQUENTIAL;
    return uvzk_lock_init_with_driver(&process->client, lock, ROOT "/a", &driver);
}

static int sequential_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, UVZK_NODE_EPHEMERAL_SEQUENTIAL);
}

static int fixed_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, UVZK_NODE_EPHEMERAL);
}

static int persistent_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, UVZK_NODE_PERSISTENT_SEQUENTIAL);
}

static const struct recipe {
    const char *name;
    int (*init)(struct process *, uvzk_lock_t *);
    uint32_t leases;
} recipes[] = {
    {"mutex", mutex, 1},
    {"cohort", cohort, 1},
    {"semaphore", two_leases, 2},
    {"semaphore mutex", semaphore_mutex, 1},
    {"multi lock at once", at_once, 1},
    {"multi lock in turn", in_turn, 1},
    {"driver", sequential_driver, 1},
    {"driver with one name", fixed_driver, 1},
    {"driver with persistent znodes", persistent_driver, 1},
};

/* ------------------------------------------------------------------------- the tests */

static uint64_t deletes; /* that the holder's client has sent before the end */

static void note_deletes(void)
{
    world_run_for(&world, MAX_HOLD_MS / 2);
    deletes = process_metrics(&a).deletes;
}

/* In the lost callback: no delete has been sent, and nobody has been granted anything. */
static void not_yet(struct hold *hold)
{
    if (hold->lost > 0) {
        assert_true(sim_exists(world.sim, hold->path));
        assert_int_equal(process_metrics(&a).deletes, deletes);
        assert_int_equal(other.answered, 0);
    }
}

static void given_back_to(const struct recipe *recipe, struct process *next,
                          uint32_t sessions)
{
    uvzk_acquire_options_t options = limited();
    uvzk_lock_t *lock = next == &a ? &locks[0] : &locks[1];

    begin(sessions);
    world.what = recipe->name;
    assert_int_equal(recipe->init(&a, &locks[0]), 0);
    assert_int_equal(recipe->init(&b, &locks[1]), 0);
    options.leases = recipe->leases;
    assert_int_equal(hold_ask(&held, &a, &locks[0], &options), 0);
    hold_await(&held, PATIENCE_MS);
    held.hook = not_yet;
    assert_true(uvzk_hold_valid_until(&held.request) <= held.answered_ms + MAX_HOLD_MS);
    hold_begin_on(&other, next, lock, recipe->leases, UVZK_WAIT_FOREVER);
    note_deletes();
    hold_await_lost(&held, PATIENCE_MS, UVZK_EMAXHOLD);
    assert_true(held.lost_ms >= held.answered_ms + MAX_HOLD_MS);
    hold_await(&other, PATIENCE_MS);
    hold_give_back(&other);
    world_end(&world);
}

static void each_recipe_gives_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        given_back_to(&recipes[i], &b, 1);
        given_back_to(&recipes[i], &a, 1);
        given_back_to(&recipes[i], &b, 3);
    }
}

/* The defaults of its members do not end the hold of a multi lock. */
static void a_multi_lock_has_a_limit_of_its_own(void **state)
{
    int (*const inits[])(struct process *, uvzk_lock_t *) = {at_once, in_turn};

    (void)state;
    for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++) {
        begin(1);
        assert_int_equal(inits[i](&a, &locks[0]), 0);
        assert_int_equal(uvzk_lock_set_max_hold(&members[0], MAX_HOLD_MS, 0), 0);
        hold_take_on(&held, &a, &locks[0], 1);
        world_run_for(&world, 2 * MAX_HOLD_MS);
        assert_true(uvzk_hold_is_valid(&held.request));
        hold_give_back(&held);
        assert_int_equal(uvzk_lock_set_max_hold(&locks[0], MAX_HOLD_MS, 0), 0);
        hold_take_on(&held, &a, &locks[0], 1);
        hold_await_lost(&held, PATIENCE_MS, UVZK_EMAXHOLD);
        world_end(&world);
    }
}

/* With as many sessions as it takes for the members to be in two of them. */
static void begin_in_two_sessions(void)
{
    for (uint32_t sessions = 2; sessions <= 8; sessions++) {
        begin(sessions);
        assert_int_equal(in_turn(&a, &locks[0]), 0);
        if (uvzk__lock_session(&members[0]) != uvzk__lock_session(&members[1])) {
            return;
        }
        world_end(&world);
    }
    assert_true(false);
}

/* The owner holds a member on its own, for a limited time, and the multi lock re-enters
 * it. Its callback comes in the notifications of another session than the member's, and
 * still before the member's znode is deleted. */
static void a_multi_lock_is_told_of_a_members_limit_first(void **state)
{
    uvzk_acquire_options_t options = limited();

    (void)state;
    begin_in_two_sessions();
    options.owner = &world;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hold_ask(&reader, &a, &members[i], &options), 0);
        hold_await(&reader, PATIENCE_MS);
        hold_take_for(&held, &a, &locks[0], &world);
        (void)strcpy(held.path, reader.path);
        other.answered = 0;
        held.hook = not_yet;
        note_deletes();
        hold_await_lost(&held, PATIENCE_MS, UVZK_EMAXHOLD);
        hold_await_lost(&reader, PATIENCE_MS, UVZK_EMAXHOLD);
        world_run_for(&world, 2 * WORLD_TIMEOUT_MS); /* until no watermark is left */
    }
    world_end(&world);
}

/* A reader that was a writer has a limit of its own, which counts from its own grant. */
static void the_reader_outlives_the_limited_writer(void **state)
{
    uvzk_acquire_options_t options = limited();

    (void)state;
    begin(1);
    assert_int_equal(uvzk_rwlock_init(&a.client, &rwlocks[0], ROOT "/rw"), 0);
    assert_int_equal(uvzk_rwlock_init(&b.client, &rwlocks[1], ROOT "/rw"), 0);
    options.owner = &world;
    assert_int_equal(hold_ask(&held, &a, &rwlocks[0].write, &options), 0);
    hold_await(&held, PATIENCE_MS);
    hold_take_for(&reader, &a, &rwlocks[0].read, &world);
    assert_int_equal(reader.token, held.token);
    hold_begin_on(&other, &b, &rwlocks[1].write, 1, UVZK_WAIT_FOREVER);
    hold_await_lost(&held, PATIENCE_MS, UVZK_EMAXHOLD);
    world_run_for(&world, 2 * MAX_HOLD_MS);
    assert_true(uvzk_hold_is_valid(&reader.request));
    assert_int_equal(other.answered, 0);
    hold_give_back(&reader);
    hold_await(&other, PATIENCE_MS);
    hold_give_back(&other);
    world_end(&world);
}

/* In a cohort the znode passes on to the next local acquire, with a new limit. */
static void a_cohort_hands_its_znode_on(void **state)
{
    uvzk_acquire_options_t options = limited();

    (void)state;
    begin(1);
    assert_int_equal(cohort(&a, &locks[0]), 0);
    assert_int_equal(cohort(&b, &locks[1]), 0);
    assert_int_equal(hold_ask(&held, &a, &locks[0], &options), 0);
    hold_await(&held, PATIENCE_MS);
    hold_begin_on(&other, &b, &locks[1], 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_int_equal(hold_ask(&reader, &a, &locks[0], &options), 0);
    hold_await_lost(&held, PATIENCE_MS, UVZK_EMAXHOLD);
    hold_await(&reader, 100);
    assert_int_equal(reader.token, held.token);
    assert_int_equal(uvzk_hold_cohort(&reader.request), 2);
    hold_await_lost(&reader, PATIENCE_MS, UVZK_EMAXHOLD);
    assert_true(reader.lost_ms >= reader.answered_ms + MAX_HOLD_MS);
    hold_await(&other, PATIENCE_MS);
    hold_give_back(&other);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_recipe_gives_back),
        cmocka_unit_test(a_multi_lock_has_a_limit_of_its_own),
        cmocka_unit_test(a_multi_lock_is_told_of_a_members_limit_first),
        cmocka_unit_test(the_reader_outlives_the_limited_writer),
        cmocka_unit_test(a_cohort_hands_its_znode_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
