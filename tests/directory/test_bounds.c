/* How long a wait may last, in virtual time, whatever the recipe:
 *
 *   one     whoever may hold when the last obstacle has gone, does so within five round
 *           trips; where the obstacle's process has died, within T and a tick more
 *   many    n that may hold together do within n/32 round trips, rounded up, and three */
#include "cmocka_test.h"

#include <string.h>

#include "waiters.h"

#define SETTLED_MS 3000U
#define MANY 1000U

enum recipe { MUTEX, READ, WRITE, SEMAPHORE, SEMAPHORE_MUTEX, MULTI_LOCK, RECIPES };

static const char *const recipe_names[RECIPES] = {
    "mutex", "read", "write", "semaphore", "semaphore mutex", "multi lock"};
static const char *const paths[] = {"/l/locks", "/l/leases", "/m",    "/m/1",  "/m/2",
                                    "/rw",      "/rw/1",     "/rw/2", "/rw/3", NULL};

static struct world world;
static struct waiter waiters[2 * MANY];

/* The locks of each client. */
struct locks {
    uvzk_mutex_t mutexes[2];
    uvzk_rwlock_t rwlock;
    uvzk_semaphore_t semaphore;
    uvzk_multilock_t multi;
};
static struct locks locks[CLIENTS];

static uint64_t now(void)
{
    return sim_now(world.sim);
}

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
    memset(waiters, 0, sizeof(waiters));
    memset(locks, 0, sizeof(locks));
    world_begin(&world, tuning, paths);
}

static void end(void)
{
    for (size_t i = 0; i < sizeof(waiters) / sizeof(waiters[0]); i++) {
        if (waiters[i].sim != NULL) {
            waiter_let_go(&waiters[i]);
        }
    }
    world_end(&world);
}

/* ------------------------------------------------------------------------- one */

static uvzk_lock_t *lock_of(enum recipe recipe, int number)
{
    struct locks *mine = &locks[number];
    uvzk_client_t *client = &world.clients[number];
    uvzk_lock_t *const members[] = {&mine->mutexes[0], &mine->mutexes[1]};

    switch (recipe) {
    case MUTEX:
        assert_int_equal(uvzk_mutex_init(client, &mine->mutexes[0], "/m/1"), 0);
        return &mine->mutexes[0];
    case READ:
    case WRITE:
        assert_int_equal(uvzk_rwlock_init(client, &mine->rwlock, "/rw"), 0);
        return recipe == READ ? &mine->rwlock.read : &mine->rwlock.write;
    case SEMAPHORE:
        assert_int_equal(uvzk_semaphore_init(client, &mine->semaphore, "/l", 3, NULL), 0);
        return &mine->semaphore;
    case SEMAPHORE_MUTEX:
        assert_int_equal(uvzk_semaphore_mutex_init(client, &mine->semaphore, "/l"), 0);
        return &mine->semaphore;
    default:
        assert_int_equal(uvzk_mutex_init(client, &mine->mutexes[0], "/m/1"), 0);
        assert_int_equal(uvzk_mutex_init(client, &mine->mutexes[1], "/m/2"), 0);
        assert_int_equal(uvzk_multilock_init(client, &mine->multi, members, 2, 0, NULL),
                         0);
        return &mine->multi;
    }
}

static const char *obstacle_of(enum recipe recipe)
{
    switch (recipe) {
    case READ:
        return foreign_writer(&world, "/rw");
    case WRITE:
        return foreign_reader(&world, "/rw");
    case SEMAPHORE:
    case SEMAPHORE_MUTEX:
        return foreign_lease(&world, "/l/leases");
    case MULTI_LOCK:
        return foreign_mutex(&world, "/m/2");
    default:
        return foreign_mutex(&world, "/m/1");
    }
}

static uint32_t leases_of(enum recipe recipe)
{
    return recipe == SEMAPHORE ? 3 : 0;
}

static void one_when_the_obstacle_goes(unsigned tuning)
{
    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        begin(tuning);
        print_message("%s\n", recipe_names[recipe]);
        const char *obstacle = obstacle_of(recipe);
        waiter_ask(&waiters[0], &world, lock_of(recipe, 0), leases_of(recipe), NULL);
        sim_run_for(world.sim, SETTLED_MS);
        assert_false(waiters[0].told);
        foreigner_goes(&world, obstacle);
        assert_true(all_hold_by(&world, waiters, 1, now() + trips(5)));
        end();
    }
}

static void test_one_when_the_obstacle_goes(void **state)
{
    (void)state;
    one_when_the_obstacle_goes(UVZK__TUNE_ALL);
}

static void test_one_when_the_obstacle_goes_plain(void **state)
{
    (void)state;
    one_when_the_obstacle_goes(0);
}

/* The other client holds, and its process is stopped for good. */
static void test_one_when_the_holder_dies(void **state)
{
    (void)state;
    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        enum recipe other = recipe == READ ? WRITE : recipe;
        begin(UVZK__TUNE_ALL);
        print_message("%s\n", recipe_names[recipe]);
        waiter_take(&waiters[1], &world, lock_of(other, 1), leases_of(other));
        waiter_ask(&waiters[0], &world, lock_of(recipe, 0), leases_of(recipe), NULL);
        sim_run_for(world.sim, SETTLED_MS);
        assert_false(waiters[0].told);
        sim_pause(world.ports[1], UINT64_MAX);
        assert_true(
            all_hold_by(&world, waiters, 1, now() + SESSION_MS + TICK_MS + trips(5)));
        sim_resume(world.ports[1]);
        sim_run_for(world.sim, SETTLED_MS);
        end();
    }
}

/* ------------------------------------------------------------------------ many */

static void ask_all(size_t from, size_t count, uvzk_lock_t *lock)
{
    for (size_t i = from; i < from + count; i++) {
        waiter_ask(&waiters[i], &world, lock, lock == &locks[0].semaphore, &waiters[i]);
    }
}

/* All have their znodes long before the writer goes. */
static void check_readers(size_t count)
{
    begin(UVZK__TUNE_ALL);
    const char *writer = foreign_writer(&world, "/rw");
    ask_all(0, count, lock_of(READ, 0));
    sim_run_for(world.sim, 2 * SESSION_MS);
    foreigner_goes(&world, writer);
    assert_true(all_hold_by(&world, waiters, count, now() + trips_of_many(count)));
    end();
}

static void test_10_readers_behind_a_writer(void **state)
{
    (void)state;
    check_readers(10);
}

static void test_100_readers_behind_a_writer(void **state)
{
    (void)state;
    check_readers(100);
}

static void test_1000_readers_behind_a_writer(void **state)
{
    (void)state;
    check_readers(1000);
}

static uvzk_lock_t *semaphore_of(size_t leases)
{
    assert_int_equal(uvzk_semaphore_init(&world.clients[0], &locks[0].semaphore, "/l",
                                         (uint32_t)leases, NULL),
                     0);
    return &locks[0].semaphore;
}

static void check_claims_at_the_start(size_t count)
{
    begin(UVZK__TUNE_ALL);
    uint64_t from_ms = now();
    ask_all(0, count, semaphore_of(count));
    assert_true(all_hold_by(&world, waiters, count, from_ms + trips_of_many(count)));
    end();
}

static void test_64_claims_at_the_start(void **state)
{
    (void)state;
    check_claims_at_the_start(64);
}

static void test_1000_claims_at_the_start(void **state)
{
    (void)state;
    check_claims_at_the_start(1000);
}

/* So many hold, and as many wait for them. */
static void check_handover_of_leases(size_t count)
{
    begin(UVZK__TUNE_ALL);
    uvzk_lock_t *lock = semaphore_of(count);
    ask_all(0, count, lock);
    sim_run_for(world.sim, 100000);
    ask_all(count, count, lock);
    sim_run_for(world.sim, 2 * SESSION_MS);
    for (size_t i = 0; i < count; i++) {
        assert_true(waiters[i].holds);
        waiter_let_go(&waiters[i]);
    }
    assert_true(
        all_hold_by(&world, waiters + count, count, now() + trips_of_many(count)));
    end();
}

static void test_64_leases_are_handed_over(void **state)
{
    (void)state;
    check_handover_of_leases(64);
}

static void test_1000_leases_are_handed_over(void **state)
{
    (void)state;
    check_handover_of_leases(1000);
}

/* -------------------------------------------------------------- under way */

/* The connection is just back, so that only a proof tells whether a reader's znode
 * stands; and two of them ask for it when one is under way. */
static void test_readers_whose_writers_go_one_by_one(void **state)
{
    static const char *const directories[] = {"/rw/1", "/rw/2", "/rw/3"};
    uvzk_rwlock_t rwlocks[3];
    const char *writers[3];
    uint64_t by_ms[3];

    (void)state;
    begin(UVZK__TUNE_ALL);
    memset(rwlocks, 0, sizeof(rwlocks));
    for (int i = 0; i < 3; i++) {
        writers[i] = foreign_writer(&world, directories[i]);
        assert_int_equal(uvzk_rwlock_init(&world.clients[0], &rwlocks[i], directories[i]),
                         0);
        waiter_ask(&waiters[i], &world, &rwlocks[i].read, 0, NULL);
    }
    sim_run_for(world.sim, SETTLED_MS);
    sim_disconnect(world.ports[0], SIM_RESET, 300);
    sim_run_for(world.sim, 200);
    while (uvzk_client_state(&world.clients[0]) != UVZK_STATE_RECONNECTED) {
        sim_run_for(world.sim, 1);
    }
    for (int i = 0; i < 3; i++) {
        foreigner_goes(&world, writers[i]);
        by_ms[i] = now() + trips(5);
        sim_run_for(world.sim, 7);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(all_hold_by(&world, &waiters[i], 1, by_ms[i]));
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_when_the_obstacle_goes),
        cmocka_unit_test(test_one_when_the_obstacle_goes_plain),
        cmocka_unit_test(test_one_when_the_holder_dies),
        cmocka_unit_test(test_10_readers_behind_a_writer),
        cmocka_unit_test(test_100_readers_behind_a_writer),
        cmocka_unit_test(test_1000_readers_behind_a_writer),
        cmocka_unit_test(test_64_claims_at_the_start),
        cmocka_unit_test(test_1000_claims_at_the_start),
        cmocka_unit_test(test_64_leases_are_handed_over),
        cmocka_unit_test(test_1000_leases_are_handed_over),
        cmocka_unit_test(test_readers_whose_writers_go_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
