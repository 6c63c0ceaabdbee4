/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessMutexBase: what every lock with a single holder does, run
 * for the mutex, the semaphore mutex and the multi lock over two paths. */
#include "worker_pool.h"

#include <string.h>

#define BASE "/locks"
#define LONG_SESSION_MS 30000 /* outlives a server that is started again */
#define SHORT_SESSION_MS 2000
#define OWNERS 10

/* Containers go as soon as they are empty. */
static int start_server(void **state)
{
    const struct server_options options = {.container_check_ms = 10};
    (void)state;
    return servers_start_one_with(&options);
}

/* ----------------------------------------------------------------- the locks */

/* A lock of whatever kind, below BASE. */
struct subject {
    uvzk_lock_t lock;
    uvzk_mutex_t members[2]; /* of a multi lock */
};

struct kind {
    void (*init)(uvzk_client_t *client, struct subject *subject);
    const char *queue;   /* where those stand that wait */
    const char *holders; /* where the one stands that holds */
    long held;           /* znodes in the queue when one holds and nobody waits */
};

static void init_mutex(uvzk_client_t *client, struct subject *subject)
{
    assert_int_equal(uvzk_mutex_init(client, &subject->lock, BASE "/mutex"), 0);
}

static void init_semaphore_mutex(uvzk_client_t *client, struct subject *subject)
{
    assert_int_equal(uvzk_semaphore_mutex_init(client, &subject->lock, BASE "/semaphore"),
                     0);
}

static void init_members(uvzk_client_t *client, struct subject *subject, unsigned flags)
{
    uvzk_lock_t *const members[] = {&subject->members[0], &subject->members[1]};
    assert_int_equal(uvzk_mutex_init(client, members[0], BASE "/one"), 0);
    assert_int_equal(uvzk_mutex_init(client, members[1], BASE "/two"), 0);
    assert_int_equal(uvzk_multilock_init(client, &subject->lock, members, 2, flags, NULL),
                     0);
}

static void init_multi_lock(uvzk_client_t *client, struct subject *subject)
{
    init_members(client, subject, 0);
}

static void init_multi_lock_in_turn(uvzk_client_t *client, struct subject *subject)
{
    init_members(client, subject, UVZK_MULTILOCK_IN_TURN);
}

static struct kind mutex = {init_mutex, BASE "/mutex", BASE "/mutex", 1};
static struct kind semaphore_mutex = {init_semaphore_mutex, BASE "/semaphore/locks",
                                      BASE "/semaphore/leases", 0};
static struct kind multi_lock = {init_multi_lock, BASE "/two", BASE "/two", 1};
static struct kind multi_lock_in_turn = {init_multi_lock_in_turn, BASE "/one",
                                         BASE "/two", 1};

static struct world world;
static struct process a, b;
static struct subject subjects[2];
static struct hold first, second, third;

static void make(const struct kind *kind, struct process *process,
                 struct subject *subject)
{
    memset(subject, 0, sizeof(*subject));
    kind->init(&process->client, subject);
}

/* Two locks, of the same process or not. */
static void make_both(const struct kind *kind, struct process *other)
{
    make(kind, &a, &subjects[0]);
    make(kind, other, &subjects[1]);
}

static void begin_with_one(const struct kind *kind)
{
    world_begin_one(&world, NULL, &a);
    make(kind, &a, &subjects[0]);
}

/* Until so many wait, beside one that holds. */
static void wait_for_waiters(const struct kind *kind, long waiters)
{
    assert_true(world_await_children(&world, kind->queue, kind->held + waiters));
}

/* The first one holds, the second one, of this process, waits. */
static void hold_and_wait(const struct kind *kind, struct process *other)
{
    hold_take_on(&first, &a, &subjects[0].lock, 1);
    wait_for_waiters(kind, 0);
    hold_begin_on(&second, other, &subjects[1].lock, 1, UVZK_WAIT_FOREVER);
    wait_for_waiters(kind, 1);
    assert_int_equal(second.answered, 0);
}

/* The znode of the one that waits. */
static struct world_path find_waiter(const struct kind *kind)
{
    assert_int_equal(world_children(&world, kind->queue), kind->held + 1);
    return world_child(&world, kind->queue, (size_t)kind->held);
}

/* -------------------------------------------------------------------- the locker */

static int locked, unlocked;

static void on_locked(uvzk_locker_t *locker)
{
    locked++;
    assert_int_equal(unlocked, 0);
    assert_true(uvzk_hold_is_valid(&locker->hold));
    assert_true(uvzk_lock_is_held(&subjects[0].lock));
    assert_int_equal(uvzk_locker_done(locker), 0);
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    (void)locker;
    unlocked++;
    assert_int_equal(locked, 1);
    assert_int_equal(status, 0);
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
}

static void test_locker(void **state)
{
    static uvzk_locker_t locker;
    const struct kind *kind = *state;
    begin_with_one(kind);
    memset(&locker, 0, sizeof(locker));
    locked = unlocked = 0;
    assert_int_equal(
        uvzk_lock_run(&subjects[0].lock, &locker, NULL, on_locked, on_unlocked), 0);
    assert_int_equal(locked, 0);
    assert_true(world_await(&world, &unlocked, PATIENCE_MS));
    assert_int_equal(world_children(&world, kind->holders), 0);
    assert_int_equal(uvzk_locker_done(&locker), UVZK_ENOTHELD);
    world_end(&world);
}

/* -------------------------------------------------------------- servers, sessions */

static void test_waiting_process_killed_server(void **state)
{
    const struct kind *kind = *state;
    world_begin(&world, NULL);
    world.options.session_timeout_ms = LONG_SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    make_both(kind, &a);
    hold_and_wait(kind, &a);
    struct world_path before = find_waiter(kind);
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    assert_true(server_restart(live_server));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);
    assert_true(hold_holds(&first));
    assert_int_equal(second.answered, 0);
    assert_string_equal(find_waiter(kind).text, before.text); /* it kept its place */
    hold_give_back(&first);
    hold_await(&second, PATIENCE_MS);
    assert_true(second.token > first.token);
    hold_give_back(&second);
    world_end(&world);
}

/* An acquire ends with its session; the next one is granted in the new one. */
static void test_killed_session(void **state)
{
    const struct kind *kind = *state;
    world_begin(&world, NULL);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    make_both(kind, &a);
    hold_and_wait(kind, &a);
    process_expire(&a);
    hold_await_status(&second, PATIENCE_MS, UVZK_EEXPIRED);
    hold_take_on(&second, &a, &subjects[1].lock, 1);
    assert_int_equal(first.lost, 1);
    assert_int_equal(first.reason, UVZK_EEXPIRED);
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
    assert_true(second.token > first.token);
    hold_give_back(&second);
    world_end(&world);
}

/* The same with a second client, and a session that the servers end because they hear
 * nothing of it: its holder knows before the other one has the lock. */
static void test_killed_session_of_another_client(void **state)
{
    const struct kind *kind = *state;
    world_begin(&world, NULL);
    world_use_proxy(&world);
    world.options.session_timeout_ms = SHORT_SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    world.options.session_timeout_ms = LONG_SESSION_MS;
    world.options.hosts = server_hosts(live_server);
    process_begin(&b, &world, "b", NULL);
    make_both(kind, &b);
    hold_and_wait(kind, &b);
    proxy_hold_requests(&world.proxy);
    assert_true(world_await(&world, &first.lost, PATIENCE_MS));
    assert_int_equal(second.answered, 0);
    hold_await(&second, PATIENCE_MS);
    assert_true(second.token > first.token);
    proxy_pass(&world.proxy);
    hold_give_back(&second);
    world_end(&world);
}

static bool base_is_gone(void *context)
{
    (void)context;
    return raw_exists(world.raw, BASE, NULL) == ZNONODE;
}

static void test_container_cleanup(void **state)
{
    const struct kind *kind = *state;
    begin_with_one(kind);
    for (int i = 0; i < 10; i++) {
        hold_take_on(&first, &a, &subjects[0].lock, 1);
        assert_int_equal(raw_exists(world.raw, BASE, NULL), ZOK);
        hold_give_back(&first);
        if (i % 2 == 1) { /* with and without a directory to begin with */
            assert_true(world_await_that(&world, base_is_gone, NULL));
        }
    }
    world_end(&world);
}

static void test_with_namespace(void **state)
{
    const struct kind *kind = *state;
    world_begin(&world, NULL);
    world.options.ns = "foo/bar";
    process_begin(&a, &world, "a", NULL);
    make(kind, &a, &subjects[0]);
    hold_take_on(&first, &a, &subjects[0].lock, 1);
    assert_int_equal(raw_exists(world.raw, "/foo/bar" BASE, NULL), ZOK);
    assert_int_equal(raw_exists(world.raw, BASE, NULL), ZNONODE);
    hold_give_back(&first);
    world_end(&world);
}

/* -------------------------------------------------------------------- re-entry */

static int peak;

static void check_single_holder(struct worker_pool *pool)
{
    int holders = worker_pool_holders(pool);
    peak = holders > peak ? holders : peak;
    assert_true(holders <= 1);
}

static void test_reentrant_single_lock(void **state)
{
    static struct worker_pool pool;
    const struct kind *kind = *state;
    begin_with_one(kind);
    worker_pool_open(&pool, &world, OWNERS);
    peak = 0;
    pool.check = check_single_holder;
    for (int i = 0; i < OWNERS; i++) {
        worker_pool_assign(&pool, i, &a, &subjects[0].lock, 1);
        pool.workers[i].options.owner = &pool.workers[i];
    }
    (void)worker_pool_turn(&pool);
    wait_for_waiters(kind, OWNERS - 1);
    hold_await(&pool.workers[0].hold, PATIENCE_MS);
    assert_int_equal(worker_pool_holders(&pool), 1);
    worker_pool_finish(&pool);
    assert_int_equal(pool.grants, OWNERS);
    assert_int_equal(peak, 1);
    worker_pool_close(&pool);
    world_end(&world);
}

/* Not before the last one of the nested holds has been given back. */
static void test_reentrant_2_threads(void **state)
{
    const struct kind *kind = *state;
    int one, other;
    begin_with_one(kind);
    hold_take_for(&first, &a, &subjects[0].lock, &one);
    hold_take_for(&second, &a, &subjects[0].lock, &one);
    hold_begin_on_for(&third, &a, &subjects[0].lock, &other);
    wait_for_waiters(kind, 1);
    hold_give_back(&second);
    world_run_for(&world, 300);
    assert_int_equal(third.answered, 0);
    assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &one));
    assert_false(uvzk_lock_is_held_by(&subjects[0].lock, &other));
    hold_give_back(&first);
    hold_await(&third, PATIENCE_MS);
    assert_false(uvzk_lock_is_held_by(&subjects[0].lock, &one));
    assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &other));
    hold_give_back(&third);
    world_end(&world);
}

static void test_reentrant(void **state)
{
    struct hold *const nested[] = {&first, &second, &third};
    const struct kind *kind = *state;
    int owner;
    begin_with_one(kind);
    for (int i = 0; i < 3; i++) {
        hold_take_for(nested[i], &a, &subjects[0].lock, &owner);
        assert_int_equal(nested[i]->token, first.token);
        assert_int_equal(world_children(&world, kind->holders), 1);
    }
    for (int i = 3; i-- > 0;) {
        assert_true(uvzk_lock_is_held(&subjects[0].lock));
        assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &owner));
        assert_int_equal(world_children(&world, kind->holders), 1);
        hold_give_back(nested[i]);
    }
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
    world_end(&world);
}

/* ------------------------------------------------------------------ two clients */

/* And never both of them. */
static bool second_holds(void *context)
{
    (void)context;
    assert_false(uvzk_lock_is_held(&subjects[0].lock) &&
                 uvzk_lock_is_held(&subjects[1].lock));
    return uvzk_lock_is_held(&subjects[1].lock);
}

static void test_2_clients(void **state)
{
    const struct kind *kind = *state;
    world_begin_two(&world, NULL, &a, &b);
    make_both(kind, &b);
    for (int i = 0; i < 5; i++) {
        hold_and_wait(kind, &b);
        assert_true(uvzk_lock_is_held(&subjects[0].lock));
        assert_false(uvzk_lock_is_held(&subjects[1].lock));
        hold_release(&first);
        assert_true(world_await_that(&world, second_holds, NULL));
        hold_await_released(&first, WORLD_TIMEOUT_MS, 0);
        assert_true(second.token > first.token);
        hold_give_back(&second);
    }
    world_end(&world);
}

#define CASE(test, kind) ((struct CMUnitTest){#test ", " #kind, test, NULL, NULL, &kind})
#define OF_EVERY_KIND(test)                                                 \
    CASE(test, mutex), CASE(test, semaphore_mutex), CASE(test, multi_lock), \
        CASE(test, multi_lock_in_turn)
/* A semaphore mutex is never re-entered, here as in Curator. */
#define OF_REENTRANT_KINDS(test) \
    CASE(test, mutex), CASE(test, multi_lock), CASE(test, multi_lock_in_turn)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_EVERY_KIND(test_locker),
        OF_EVERY_KIND(test_waiting_process_killed_server),
        OF_EVERY_KIND(test_killed_session),
        OF_EVERY_KIND(test_killed_session_of_another_client),
        OF_EVERY_KIND(test_container_cleanup),
        OF_EVERY_KIND(test_with_namespace),
        OF_EVERY_KIND(test_reentrant_single_lock),
        OF_REENTRANT_KINDS(test_reentrant_2_threads),
        OF_REENTRANT_KINDS(test_reentrant),
        OF_EVERY_KIND(test_2_clients),
    };
    return cmocka_run_group_tests(tests, start_server, servers_stop);
}
