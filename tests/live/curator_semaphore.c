/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessSemaphore. */
#include "worker_pool.h"

#include <string.h>

#define PATH "/semaphore"
#define LEASES PATH "/leases"
#define LOCKS PATH "/locks"
#define SESSION_MS 30000
#define SHORT_SESSION_MS 1000
#define CLIENTS 10
#define SESSION_MAX 25 /* test_max_per_session's */
#define MOST_WANTED 10 /* at a time */

static struct world world;
static struct process a, b;
static uvzk_semaphore_t semaphore, other_semaphore; /* of each */
static struct hold first, second, third;
static struct process processes[CLIENTS];
static uvzk_semaphore_t semaphores[CLIENTS];
static struct worker_pool pool;

static void make(struct process *process, uvzk_semaphore_t *handle, uint32_t max)
{
    memset(handle, 0, sizeof(*handle));
    assert_int_equal(uvzk_semaphore_init(&process->client, handle, PATH, max, NULL), 0);
}

static void begin(uint32_t max)
{
    world_begin_one(&world, NULL, &a);
    make(&a, &semaphore, max);
}

static void begin_both(uint32_t max)
{
    world_begin_two(&world, NULL, &a, &b);
    make(&a, &semaphore, max);
    make(&b, &other_semaphore, max);
}

static void check_single(struct worker_pool *workers)
{
    assert_in_range(worker_pool_holders(workers), 0, 1);
}

/* Begins, and waits until its znode stands alone in the queue. */
static void wait_in_queue(struct hold *hold, struct process *process,
                          uvzk_semaphore_t *handle)
{
    assert_true(world_await_children(&world, LOCKS, 0));
    hold_begin_on(hold, process, handle, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await_children(&world, LOCKS, 1));
    assert_int_equal(hold->answered, 0);
}

/* ------------------------------------------------------------------ the simple ones */

static void test_simple(void **state)
{
    (void)state;
    begin(1);
    hold_take_on(&first, &a, &semaphore, 1);
    uint64_t since = uvzk_now();
    hold_expect_timeout(&second, &a, &semaphore, 1, 500);
    assert_true(uvzk_now() - since >= 500);
    hold_give_back(&first);
    hold_try(&third, &a, &semaphore, PATIENCE_MS, 0);
    hold_give_back(&third);
    world_end(&world);
}

/* Two for two clients, and a third one that goes away empty-handed. */
static void test_simple2(void **state)
{
    (void)state;
    begin_both(2);
    for (int i = 0; i < 3; i++) {
        hold_take_on(&first, &a, &semaphore, 1);
        hold_take_on(&second, &b, &other_semaphore, 1);
        hold_try(&third, &b, &other_semaphore, UVZK_TRY_ONCE, UV_ETIMEDOUT);
        assert_int_equal(world_children(&world, LEASES), 2);
        hold_give_back(&first);
        hold_take_on(&third, &b, &other_semaphore, 1);
        hold_give_back(&second);
        hold_give_back(&third);
    }
    world_end(&world);
}

/* Closing a client frees its lease for the other one. */
static void test_client_close(void **state)
{
    (void)state;
    begin_both(1);
    hold_take_on(&first, &b, &other_semaphore, 1);
    wait_in_queue(&second, &a, &semaphore);
    process_end(&b);
    assert_int_equal(first.reason, UVZK_ECLOSED);
    hold_await(&second, PATIENCE_MS);
    assert_true(second.token > first.token);
    hold_give_back(&second);
    world_end(&world);
}

/* Cancelled instead of interrupted. */
static void test_interrupt_acquire(void **state)
{
    (void)state;
    begin(1);
    hold_take_on(&first, &a, &semaphore, 1);
    wait_in_queue(&second, &a, &semaphore);
    hold_cancel(&second);
    hold_await_status(&second, PATIENCE_MS, UV_ECANCELED);
    assert_true(world_await_children(&world, LOCKS, 0));
    assert_int_equal(world_children(&world, LEASES), 1);
    hold_give_back(&first);
    assert_true(world_await_children(&world, LEASES, 0));
    hold_take_on(&third, &a, &semaphore, 1);
    hold_give_back(&third);
    world_end(&world);
}

/* CURATOR-75, by whoever has set the count: here, somebody outside. */
static void test_threaded_lease_increase(void **state)
{
    static uvzk_shared_count_t count;
    (void)state;
    world_begin_one(&world, NULL, &a);
    memset(&count, 0, sizeof(count));
    memset(&semaphore, 0, sizeof(semaphore));
    assert_int_equal(
        uvzk_shared_count_init(&a.client, &count, "/semaphore-count", 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, PATH, 0, &count), 0);
    hold_take_on(&first, &a, &semaphore, 1);
    wait_in_queue(&second, &a, &semaphore);
    world_run_for(&world, 200);
    assert_int_equal(second.answered, 0);
    world_set_data(&world, "/semaphore-count", "\0\0\0\2", 4);
    hold_await(&second, PATIENCE_MS);
    assert_true(hold_holds(&first));
    assert_int_equal(world_children(&world, LEASES), 2);
    hold_give_back(&second);
    hold_give_back(&first);
    assert_true(world_await_children(&world, LEASES, 0));
    process_end(&a); /* the count keeps a watch until then */
    world_end(&world);
}

/* ------------------------------------------------------------------ deleted by hand */

/* CURATOR-315. Who waits has its znode in the queue, not among the leases. When somebody
 * deletes it the waiter queues up again, nothing is orphaned, and everybody comes to its
 * turn. */
static void test_no_orphaned_nodes(void **state)
{
    (void)state;
    begin_both(1);
    hold_take_on(&first, &a, &semaphore, 1);
    wait_in_queue(&second, &b, &other_semaphore);
    second.release_at_once = true;
    struct world_path only = world_child(&world, LOCKS, 0);
    world_delete(&world, &only);
    hold_begin_on(&third, &a, &semaphore, 1, UVZK_WAIT_FOREVER);
    third.release_at_once = true;
    hold_give_back(&first);
    hold_await(&third, PATIENCE_MS);
    hold_await(&second, PATIENCE_MS);
    hold_await_released(&third, WORLD_TIMEOUT_MS, 0);
    hold_await_released(&second, WORLD_TIMEOUT_MS, 0);
    world_end(&world);
}

/* A lease that somebody deletes is lost, and its holder told; the next one gets it. */
static void test_deleted_lease_is_lost(void **state)
{
    (void)state;
    begin_both(1);
    hold_take_on(&first, &a, &semaphore, 1);
    wait_in_queue(&second, &b, &other_semaphore);
    /* Who waits may have made one too, to count it. */
    assert_int_equal(raw_delete(world.raw, first.path), ZOK);
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    hold_await(&second, PATIENCE_MS);
    hold_give_back(&second);
    world_end(&world);
}

/* ------------------------------------------------------------------------- crowds */

static void begin_many(uint32_t max)
{
    world_begin(&world, NULL);
    world.options.session_timeout_ms = SESSION_MS;
    for (int i = 0; i < CLIENTS; i++) {
        process_begin(&processes[i], &world, "one", NULL);
        make(&processes[i], &semaphores[i], max);
    }
}

static void want_some(struct worker *worker)
{
    worker->options.leases = 1 + seeded_below(&worker->pool->random, MOST_WANTED);
}

/* Of what is held: for a moment more may stand, as Curator's do, unheld. */
static void check_sum(struct worker_pool *workers)
{
    uint32_t sum = 0;
    for (int i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->workers[i];
        sum += worker_holds(worker) ? worker->options.leases : 0;
    }
    assert_in_range(sum, 0, SESSION_MAX);
}

/* Nothing keeps several workers from wanting more, together, than there are. */
static void test_max_per_session(void **state)
{
    (void)state;
    begin_many(SESSION_MAX);
    worker_pool_open(&pool, &world, CLIENTS);
    pool.prepare = want_some;
    pool.check = check_sum;
    for (int i = 0; i < CLIENTS; i++) {
        worker_pool_assign(&pool, i, &processes[i], &semaphores[i], 100);
    }
    worker_pool_finish(&pool);
    assert_int_equal(pool.grants, CLIENTS * 100);
    worker_pool_close(&pool);
    world_end(&world);
}

static void test_threads(void **state)
{
    (void)state;
    begin(1);
    worker_pool_open(&pool, &world, 10);
    pool.check = check_single;
    for (int i = 0; i < pool.count; i++) {
        worker_pool_assign(&pool, i, &a, &semaphore, 10);
    }
    worker_pool_finish(&pool);
    assert_int_equal(pool.grants, 100);
    worker_pool_close(&pool);
    world_end(&world);
}

/* -------------------------------------------------------------- released by the test */

static struct hold holds[100];

struct tally {
    int count, most; /* of holds, and how many of them may hold at a time */
    int wanted;      /* that many shall have been granted */
    int granted, holding;
};

static bool is_reached(void *context)
{
    struct tally *tally = context;
    tally->granted = tally->holding = 0;
    for (int i = 0; i < tally->count; i++) {
        tally->granted += holds[i].answered > 0 && holds[i].status == 0;
        tally->holding += uvzk_hold_is_valid(&holds[i].request);
    }
    assert_in_range(tally->holding, 0, tally->most);
    return tally->granted >= tally->wanted;
}

/* Until as many have been granted as can be, and not one more. */
static void fill(struct tally *tally)
{
    int room = tally->most - tally->holding, waiting = tally->count - tally->granted;
    tally->wanted = tally->granted + (room < waiting ? room : waiting);
    assert_true(world_await_that(&world, is_reached, tally));
    world_run_for(&world, 20);
    (void)is_reached(tally);
    assert_int_equal(tally->granted, tally->wanted);
}

/* The first so many that hold. */
static void release_some(struct tally *tally, int chunk)
{
    for (int i = 0; i < tally->count && chunk > 0; i++) {
        if (uvzk_hold_is_valid(&holds[i].request)) {
            hold_release(&holds[i]);
            tally->holding--;
            chunk--;
        }
    }
    assert_int_equal(chunk, 0);
}

static void finish(struct tally *tally)
{
    for (int i = 0; i < tally->count; i++) {
        hold_await_released(&holds[i], WORLD_TIMEOUT_MS, 0);
    }
}

static void test_release_1_at_a_time(void **state)
{
    struct tally tally = {.count = CLIENTS, .most = 5};
    (void)state;
    begin_many(5);
    for (int i = 0; i < CLIENTS; i++) {
        hold_begin_on(&holds[i], &processes[i], &semaphores[i], 1, UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < CLIENTS; i++) {
        fill(&tally);
        assert_int_equal(tally.holding, i <= 5 ? 5 : CLIENTS - i);
        release_some(&tally, 1);
    }
    assert_int_equal(tally.granted, CLIENTS);
    finish(&tally);
    world_end(&world);
}

static void test_release_in_chunks(void **state)
{
    struct tally tally = {.count = 100, .most = 11};
    struct seeded random = seeded_begin();
    (void)state;
    begin(11);
    for (int i = 0; i < tally.count; i++) {
        hold_begin_on(&holds[i], &a, &semaphore, 1, UVZK_WAIT_FOREVER);
    }
    for (int left = tally.count; left > 0;) {
        fill(&tally);
        assert_int_equal(tally.holding, left < 11 ? left : 11);
        int chunk = 1 + (int)seeded_below(&random, (uint32_t)tally.holding);
        release_some(&tally, chunk);
        left -= chunk;
    }
    finish(&tally);
    world_end(&world);
}

/* -------------------------------------------------------------------- a lost server */

/* How far the first of ten has come when the server stops. */
enum moment { CREATES_SENT, LEASE_MADE, LEASE_HELD, MOMENTS };

static bool one_holds(void *context)
{
    return worker_pool_holders(context) == 1;
}

static void come_to(enum moment moment)
{
    (void)worker_pool_turn(&pool);
    if (moment == LEASE_MADE) {
        assert_true(world_await_children(&world, LEASES, 1));
        proxy_hold_replies(&world.proxy); /* and not heard of */
    } else if (moment == LEASE_HELD) {
        assert_true(world_await_that(&world, one_holds, &pool));
    }
}

/* CURATOR-335. Whoever is refused with its session asks again; ten grants follow, and
 * no lease is left of those that had been made. */
static void lose_server(enum moment moment)
{
    world_begin(&world, NULL);
    world_use_proxy(&world);
    world.options.session_timeout_ms = SHORT_SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    make(&a, &semaphore, 1);
    worker_pool_open(&pool, &world, 10);
    pool.check = check_single;
    pool.sessions_may_end = true;
    for (int i = 0; i < pool.count; i++) {
        worker_pool_assign(&pool, i, &a, &semaphore, 1);
    }
    come_to(moment);
    server_kill(live_server);
    proxy_cut(&world.proxy);
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    assert_true(server_restart(live_server));
    proxy_pass(&world.proxy);
    world_look_again(&world);
    worker_pool_finish(&pool);
    assert_in_range(pool.grants, 10, 11); /* one of them, perhaps, once more */
    worker_pool_close(&pool);
    world_end(&world);
}

static void test_acquire_after_lost_server(void **state)
{
    (void)state;
    for (enum moment moment = 0; moment < MOMENTS; moment++) {
        lose_server(moment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_after_lost_server),
        cmocka_unit_test(test_threaded_lease_increase),
        cmocka_unit_test(test_client_close),
        cmocka_unit_test(test_max_per_session),
        cmocka_unit_test(test_release_1_at_a_time),
        cmocka_unit_test(test_release_in_chunks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_simple2),
        cmocka_unit_test(test_no_orphaned_nodes),
        cmocka_unit_test(test_deleted_lease_is_lost),
        cmocka_unit_test(test_interrupt_acquire),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
