/* SPDX-License-Identifier: Apache-2.0 */
/* How long a wait may last, in virtual time, whatever the recipe:
 *
 *   one     whoever may hold when the last obstacle has gone, does so within five round
 *           trips; where the obstacle's process has died, within T and a tick more
 *   many    n that may hold together do within n/32 round trips, rounded up, and three */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define LATENCY_MS 10U
#define ROUND_TRIP_MS (2U * LATENCY_MS)
#define TICK_MS 2000U
#define SETTLED_MS 3000U
#define MANY 1000U

enum recipe { MUTEX, READ, WRITE, SEMAPHORE, SEMAPHORE_MUTEX, MULTI_LOCK, RECIPES };

/* And who stands in the way of it. */
static const struct {
    const char *name, *directory, *obstacle;
} recipes[RECIPES] = {
    [MUTEX] = {"mutex", WORLD_PATH, "lock-"},
    [READ] = {"read", "/rw", "__WRIT__"},
    [WRITE] = {"write", "/rw", "__READ__"},
    [SEMAPHORE] = {"semaphore", "/l/leases", "lease-"},
    [SEMAPHORE_MUTEX] = {"semaphore mutex", "/l/leases", "lease-"},
    [MULTI_LOCK] = {"multi lock", "/m/2", "lock-"},
};

static struct world world;
static struct process processes[2];
static struct hold holds[2 * MANY];

/* Of each process, beside its own locks. */
static struct {
    uvzk_mutex_t members[2];
    uvzk_multilock_t multi;
} locks[2];

static uint64_t trips(size_t count)
{
    return count * ROUND_TRIP_MS;
}

static uint64_t trips_of_many(size_t count)
{
    return trips((count + 31) / 32 + 3);
}

static void begin(unsigned tuning)
{
    static const char *const paths[] = {WORLD_PATH, "/l/locks", "/l/leases", "/m/1",
                                        "/m/2",     "/rw/1",    "/rw/2",     "/rw/3"};

    memset(holds, 0, sizeof(holds));
    memset(locks, 0, sizeof(locks));
    world_begin_exact_two(&world, tuning, LATENCY_MS, &processes[0], &processes[1]);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        world_make_path(&world, paths[i]);
    }
    world_run_for(&world, 1000);
}

static void end(void)
{
    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
        hold_release_or_cancel(&holds[i]);
    }
    world_end(&world);
}

static void expect_all_within(size_t from, size_t count, uint64_t ms)
{
    assert_true(world_await_all(&world, &holds[from], count, world_now(&world) + ms));
}

/* ------------------------------------------------------------------------- one */

static uvzk_lock_t *lock_of(enum recipe recipe, int number)
{
    struct process *process = &processes[number];
    uvzk_mutex_t *mutexes = locks[number].members;
    uvzk_lock_t *const members[] = {&mutexes[0], &mutexes[1]};

    switch (recipe) {
    case MUTEX:
        return &process->mutex;
    case READ:
    case WRITE:
        process_make_rwlock(process, "/rw");
        return recipe == READ ? &process->rwlock.read : &process->rwlock.write;
    case SEMAPHORE:
        process_make_semaphore(process, "/l", 3);
        return &process->semaphore;
    case SEMAPHORE_MUTEX:
        assert_int_equal(
            uvzk_semaphore_mutex_init(&process->client, &process->semaphore, "/l"), 0);
        return &process->semaphore;
    default:
        assert_int_equal(uvzk_mutex_init(&process->client, &mutexes[0], "/m/1"), 0);
        assert_int_equal(uvzk_mutex_init(&process->client, &mutexes[1], "/m/2"), 0);
        assert_int_equal(uvzk_multilock_init(&process->client, &locks[number].multi,
                                             members, 2, 0, NULL),
                         0);
        return &locks[number].multi;
    }
}

static uint32_t leases_of(enum recipe recipe)
{
    return recipe == SEMAPHORE ? 3 : 0;
}

/* It waits for what is in its way. */
static void wait_in_line(enum recipe recipe)
{
    hold_begin_on(&holds[0], &processes[0], lock_of(recipe, 0), leases_of(recipe),
                  UVZK_WAIT_FOREVER);
    world_run_for(&world, SETTLED_MS);
    assert_true(hold_pending(&holds[0]));
}

static void one_when_the_obstacle_goes(void **state)
{
    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        begin(*(const unsigned *)*state);
        print_message("%s\n", recipes[recipe].name);
        struct world_path obstacle = world_foreign_node(&world, recipes[recipe].directory,
                                                        recipes[recipe].obstacle);
        wait_in_line(recipe);
        world_delete(&world, &obstacle);
        expect_all_within(0, 1, trips(5));
        end();
    }
}

/* The other process holds, and is stopped for good. */
static void test_one_when_the_holder_dies(void **state)
{
    (void)state;
    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        enum recipe other = recipe == READ ? WRITE : recipe;
        begin(UVZK__TUNE_ALL);
        print_message("%s\n", recipes[recipe].name);
        hold_begin_on(&holds[1], &processes[1], lock_of(other, 1), leases_of(other),
                      UVZK_WAIT_FOREVER);
        hold_await(&holds[1], 1000);
        wait_in_line(recipe);
        sim_pause(processes[1].port, UINT64_MAX);
        expect_all_within(0, 1, WORLD_TIMEOUT_MS + TICK_MS + trips(5));
        sim_resume(processes[1].port);
        world_run_for(&world, SETTLED_MS);
        end();
    }
}

/* ------------------------------------------------------------------------ many */

static void ask_all(size_t from, size_t count, uvzk_lock_t *lock)
{
    for (size_t i = from; i < from + count; i++) {
        hold_begin_on_for(&holds[i], &processes[0], lock, &holds[i]);
    }
}

/* All have their znodes long before the writer goes. */
static void readers_behind_a_writer(void **state)
{
    size_t count = *(const size_t *)*state;

    begin(UVZK__TUNE_ALL);
    struct world_path writer = world_foreign_node(&world, "/rw", "__WRIT__");
    ask_all(0, count, lock_of(READ, 0));
    sim_run_for(world.sim, 2ULL * WORLD_TIMEOUT_MS);
    world_delete(&world, &writer);
    expect_all_within(0, count, trips_of_many(count));
    end();
}

static uvzk_lock_t *semaphore_of(size_t leases)
{
    process_make_semaphore(&processes[0], "/l", (uint32_t)leases);
    return &processes[0].semaphore;
}

static void claims_at_the_start(void **state)
{
    size_t count = *(const size_t *)*state;

    begin(UVZK__TUNE_ALL);
    ask_all(0, count, semaphore_of(count));
    expect_all_within(0, count, trips_of_many(count));
    end();
}

/* So many hold, and as many wait for them. */
static void leases_are_handed_over(void **state)
{
    size_t count = *(const size_t *)*state;

    begin(UVZK__TUNE_ALL);
    uvzk_lock_t *lock = semaphore_of(count);
    ask_all(0, count, lock);
    sim_run_for(world.sim, 100000);
    ask_all(count, count, lock);
    sim_run_for(world.sim, 2ULL * WORLD_TIMEOUT_MS);
    for (size_t i = 0; i < count; i++) {
        assert_true(hold_holds(&holds[i]));
        hold_release(&holds[i]);
    }
    expect_all_within(count, count, trips_of_many(count));
    end();
}

/* -------------------------------------------------------------- under way */

/* The connection is just back, so that only a proof tells whether a reader's znode
 * stands; and two of them ask for it when one is under way. */
static void test_readers_whose_writers_go_one_by_one(void **state)
{
    static const char *const directories[] = {"/rw/1", "/rw/2", "/rw/3"};
    struct process *process = &processes[0];
    uvzk_rwlock_t rwlocks[3];
    struct world_path writers[3];
    uint64_t by_ms[3];

    (void)state;
    begin(UVZK__TUNE_ALL);
    memset(rwlocks, 0, sizeof(rwlocks));
    for (int i = 0; i < 3; i++) {
        writers[i] = world_foreign_node(&world, directories[i], "__WRIT__");
        assert_int_equal(uvzk_rwlock_init(&process->client, &rwlocks[i], directories[i]),
                         0);
        hold_begin_on(&holds[i], process, &rwlocks[i].read, 0, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, SETTLED_MS);
    sim_disconnect(process->port, SIM_RESET, 300);
    world_run_for(&world, 200);
    assert_true(process_await_connected(process, WORLD_TIMEOUT_MS));
    for (int i = 0; i < 3; i++) {
        world_delete(&world, &writers[i]);
        by_ms[i] = world_now(&world) + trips(5);
        world_run_for(&world, 7);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(world_await_all(&world, &holds[i], 1, by_ms[i]));
    }
    end();
}

#define OF_SO_MANY(name, test, count) \
    ((struct CMUnitTest){name, test, NULL, NULL, &(size_t){count}})

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"test_one_when_the_obstacle_goes", one_when_the_obstacle_goes, NULL, NULL,
         &world_tuned},
        {"test_one_when_the_obstacle_goes_plain", one_when_the_obstacle_goes, NULL, NULL,
         &world_plain},
        cmocka_unit_test(test_one_when_the_holder_dies),
        OF_SO_MANY("test_10_readers_behind_a_writer", readers_behind_a_writer, 10),
        OF_SO_MANY("test_100_readers_behind_a_writer", readers_behind_a_writer, 100),
        OF_SO_MANY("test_1000_readers_behind_a_writer", readers_behind_a_writer, MANY),
        OF_SO_MANY("test_64_claims_at_the_start", claims_at_the_start, 64),
        OF_SO_MANY("test_1000_claims_at_the_start", claims_at_the_start, MANY),
        OF_SO_MANY("test_64_leases_are_handed_over", leases_are_handed_over, 64),
        OF_SO_MANY("test_1000_leases_are_handed_over", leases_are_handed_over, MANY),
        cmocka_unit_test(test_readers_whose_writers_go_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
