/* Curator's TestInterProcessSemaphore. */
#define THREADED /* the blocking calls are declared only with it */
#include "curator_client.h"
#include "curator_crowd.h"
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/semaphore"
#define LEASES PATH "/leases"
#define LOCKS PATH "/locks"
#define SESSION_MS 30000
#define SHORT_SESSION_MS 1000
#define CLIENTS 10
#define SESSION_MAX 25 /* test_max_per_session's */
#define MOST_WANTED 10 /* at a time */

static struct live live;
static uvzk_semaphore_t semaphore, other_semaphore;
static struct curator_client other;
static struct attempt first, second, third;
static struct curator_client clients[CLIENTS];
static uvzk_semaphore_t semaphores[CLIENTS];
static struct crowd crowd;

static void make(uvzk_client_t *client, uvzk_semaphore_t *shell, uint32_t max)
{
    memset(shell, 0, sizeof(*shell));
    assert_int_equal(uvzk_semaphore_init(client, shell, PATH, max, NULL), 0);
}

static void open_semaphore(uint32_t max)
{
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    memset(&third, 0, sizeof(third));
    live_open(&live);
    make(&live.client, &semaphore, max);
}

static void open_other(uint32_t max)
{
    curator_client_open(&other, live.loop, server_hosts(live_server), SESSION_MS,
                        live.options.tick_ms);
    make(&other.client, &other_semaphore, max);
}

static void close_other(void)
{
    curator_client_assert_idle(&other);
    curator_client_close(&other);
}

static void check_single(struct crowd *workers)
{
    assert_in_range(crowd_holders(workers), 0, 1);
}

static void end(void)
{
    assert_true(live_wait_children(&live, LOCKS, 0));
    assert_true(live_wait_children(&live, LEASES, 0));
    live_end(&live);
}

static void take(struct attempt *attempt, uvzk_semaphore_t *shell, uint32_t leases)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.leases = leases;
    assert_int_equal(attempt_start(attempt, shell, &options), 0);
    assert_true(attempt_wait_granted(live.loop, attempt));
}

/* Begins, and waits until its znode stands alone in the queue. */
static void wait_in_queue(struct attempt *attempt, uvzk_semaphore_t *shell)
{
    assert_true(live_wait_children(&live, LOCKS, 0));
    assert_int_equal(attempt_start(attempt, shell, NULL), 0);
    assert_true(live_wait_children(&live, LOCKS, 1));
    assert_int_equal(attempt->acquired, 0);
}

/* ------------------------------------------------------------------ the simple ones */

static void test_simple(void **state)
{
    (void)state;
    open_semaphore(1);
    take(&first, &semaphore, 1);
    uint64_t begin = uvzk_now();
    assert_int_equal(attempt_start_within(&second, &semaphore, 500), 0);
    assert_true(attempt_wait_told(live.loop, &second));
    assert_int_equal(second.status, UV_ETIMEDOUT);
    assert_true(uvzk_now() - begin >= 500);
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_int_equal(attempt_start_within(&third, &semaphore, PATIENCE_MS), 0);
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_true(attempt_release_and_wait(live.loop, &third));
    end();
}

/* Two for two clients, and a third one that goes away empty-handed. */
static void test_simple2(void **state)
{
    (void)state;
    open_semaphore(2);
    open_other(2);
    for (int i = 0; i < 3; i++) {
        take(&first, &semaphore, 1);
        take(&second, &other_semaphore, 1);
        assert_int_equal(attempt_start_within(&third, &other_semaphore, UVZK_TRY_ONCE),
                         0);
        assert_true(attempt_wait_told(live.loop, &third));
        assert_int_equal(third.status, UV_ETIMEDOUT);
        assert_int_equal(raw_children_count(live.raw, LEASES), 2);
        assert_true(attempt_release_and_wait(live.loop, &first));
        take(&third, &other_semaphore, 1);
        assert_true(attempt_release_and_wait(live.loop, &second));
        assert_true(attempt_release_and_wait(live.loop, &third));
    }
    close_other();
    end();
}

/* Closing a client frees its lease for the other one. */
static void test_client_close(void **state)
{
    (void)state;
    open_semaphore(1);
    open_other(1);
    take(&first, &other_semaphore, 1);
    wait_in_queue(&second, &semaphore);
    curator_client_close(&other);
    assert_int_equal(first.lost_reason, UVZK_ECLOSED);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(second.token > first.token);
    assert_true(attempt_release_and_wait(live.loop, &second));
    end();
}

/* Cancelled instead of interrupted. */
static void test_interrupt_acquire(void **state)
{
    (void)state;
    open_semaphore(1);
    take(&first, &semaphore, 1);
    wait_in_queue(&second, &semaphore);
    assert_int_equal(uvzk_hold_cancel(&second.request), 0);
    assert_true(attempt_wait_told(live.loop, &second));
    assert_int_equal(second.status, UV_ECANCELED);
    assert_true(live_wait_children(&live, LOCKS, 0));
    assert_int_equal(raw_children_count(live.raw, LEASES), 1);
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(live_wait_children(&live, LEASES, 0));
    take(&third, &semaphore, 1);
    assert_true(attempt_release_and_wait(live.loop, &third));
    end();
}

/* CURATOR-75, by whoever has set the count: here, somebody outside. */
static void test_threaded_lease_increase(void **state)
{
    static uvzk_shared_count_t count;
    char two[4] = {0, 0, 0, 2};
    (void)state;
    live_open(&live);
    memset(&count, 0, sizeof(count));
    memset(&semaphore, 0, sizeof(semaphore));
    assert_int_equal(
        uvzk_shared_count_init(&live.client, &count, "/semaphore-count", 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&live.client, &semaphore, PATH, 0, &count), 0);
    take(&first, &semaphore, 1);
    wait_in_queue(&second, &semaphore);
    run_for(live.loop, 200);
    assert_int_equal(second.acquired, 0);
    assert_int_equal(zoo_set(live.raw, "/semaphore-count", two, 4, -1), ZOK);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(attempt_holds(&first));
    assert_int_equal(raw_children_count(live.raw, LEASES), 2);
    assert_true(attempt_release_and_wait(live.loop, &second));
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(live_wait_children(&live, LEASES, 0));
    live_close_client(&live); /* the count keeps a watch until then */
    end();
}

/* ------------------------------------------------------------------ deleted by hand */

static void delete_only_child(const char *directory)
{
    struct raw_names names;
    char path[256];
    assert_int_equal(raw_children(live.raw, directory, &names), ZOK);
    assert_int_equal(names.count, 1);
    snprintf(path, sizeof(path), "%s/%s", directory, names.names[0]);
    raw_names_free(&names);
    assert_int_equal(raw_delete(live.raw, path), ZOK);
}

/* CURATOR-315. Who waits has its znode in the queue, not among the leases. When somebody
 * deletes it the waiter queues up again, nothing is orphaned, and everybody comes to its
 * turn. */
static void test_no_orphaned_nodes(void **state)
{
    (void)state;
    open_semaphore(1);
    open_other(1);
    take(&first, &semaphore, 1);
    second.release_at_once = third.release_at_once = true;
    wait_in_queue(&second, &other_semaphore);
    delete_only_child(LOCKS);
    assert_int_equal(attempt_start(&third, &semaphore, NULL), 0);
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(attempt_wait_released(live.loop, &third));
    assert_true(attempt_wait_released(live.loop, &second));
    close_other();
    end();
}

/* A lease that somebody deletes is lost, and its holder told; the next one gets it. */
static void test_deleted_lease_is_lost(void **state)
{
    (void)state;
    open_semaphore(1);
    open_other(1);
    take(&first, &semaphore, 1);
    wait_in_queue(&second, &other_semaphore);
    /* Who waits may have made one too, to count it. */
    assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&first.request)), ZOK);
    assert_true(attempt_wait_lost(live.loop, &first));
    assert_int_equal(first.lost_reason, UVZK_EDELETED);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(attempt_release_and_wait(live.loop, &second));
    close_other();
    end();
}

/* ------------------------------------------------------------------------- crowds */

static void open_clients(uint32_t max)
{
    live_begin(&live);
    for (int i = 0; i < CLIENTS; i++) {
        curator_client_open(&clients[i], live.loop, server_hosts(live_server), SESSION_MS,
                            live.options.tick_ms);
        make(&clients[i].client, &semaphores[i], max);
    }
}

static void close_clients(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        curator_client_assert_idle(&clients[i]);
        curator_client_close(&clients[i]);
    }
    end();
}

static void want_some(struct worker *worker)
{
    worker->options.leases = 1 + seeded_below(&worker->crowd->random, MOST_WANTED);
}

/* Of what is held: for a moment more may stand, as Curator's do, unheld. */
static void check_sum(struct crowd *workers)
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
    open_clients(SESSION_MAX);
    crowd_open(&crowd, CLIENTS);
    crowd.prepare = want_some;
    crowd.check = check_sum;
    for (int i = 0; i < CLIENTS; i++) {
        crowd.workers[i].lock = &semaphores[i];
        crowd.workers[i].rounds = 100;
    }
    crowd_finish(&crowd, live.loop);
    assert_int_equal(crowd.grants, CLIENTS * 100);
    crowd_close(&crowd);
    close_clients();
}

static void test_threads(void **state)
{
    (void)state;
    open_semaphore(1);
    crowd_open(&crowd, 10);
    crowd.check = check_single;
    for (int i = 0; i < crowd.count; i++) {
        crowd.workers[i].lock = &semaphore;
        crowd.workers[i].rounds = 10;
    }
    crowd_finish(&crowd, live.loop);
    assert_int_equal(crowd.grants, 100);
    crowd_close(&crowd);
    end();
}

/* -------------------------------------------------------------- released by the test */

static struct attempt attempts[100];

struct tally {
    int count, most; /* attempts, and how many of them may hold at a time */
    int wanted;      /* that many shall have been granted */
    int granted, holding;
};

static bool is_reached(void *context)
{
    struct tally *tally = context;
    tally->granted = tally->holding = 0;
    for (int i = 0; i < tally->count; i++) {
        tally->granted += attempts[i].acquired > 0 && attempts[i].status == 0;
        tally->holding += uvzk_hold_is_valid(&attempts[i].request);
    }
    assert_in_range(tally->holding, 0, tally->most);
    return tally->granted >= tally->wanted;
}

/* Until as many have been granted as can be, and not one more. */
static void fill(struct tally *tally)
{
    int room = tally->most - tally->holding, waiting = tally->count - tally->granted;
    tally->wanted = tally->granted + (room < waiting ? room : waiting);
    assert_true(run_until(live.loop, is_reached, tally, PATIENCE_MS));
    run_for(live.loop, 20);
    (void)is_reached(tally);
    assert_int_equal(tally->granted, tally->wanted);
}

/* The first so many that hold. */
static void release_some(struct tally *tally, int chunk)
{
    for (int i = 0; i < tally->count && chunk > 0; i++) {
        if (uvzk_hold_is_valid(&attempts[i].request)) {
            assert_int_equal(attempt_release(&attempts[i]), 0);
            tally->holding--;
            chunk--;
        }
    }
    assert_int_equal(chunk, 0);
}

static void finish(struct tally *tally)
{
    for (int i = 0; i < tally->count; i++) {
        assert_true(attempt_wait_released(live.loop, &attempts[i]));
        assert_int_equal(attempts[i].release_status, 0);
        assert_true(attempt_is_over(&attempts[i]));
    }
}

static void test_release_1_at_a_time(void **state)
{
    struct tally tally = {.count = CLIENTS, .most = 5};
    (void)state;
    open_clients(5);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(attempt_start(&attempts[i], &semaphores[i], NULL), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        fill(&tally);
        assert_int_equal(tally.holding, i <= 5 ? 5 : CLIENTS - i);
        release_some(&tally, 1);
    }
    assert_int_equal(tally.granted, CLIENTS);
    finish(&tally);
    close_clients();
}

static void test_release_in_chunks(void **state)
{
    struct tally tally = {.count = 100, .most = 11};
    struct seeded random = seeded_begin();
    (void)state;
    open_semaphore(11);
    for (int i = 0; i < tally.count; i++) {
        assert_int_equal(attempt_start(&attempts[i], &semaphore, NULL), 0);
    }
    for (int left = tally.count; left > 0;) {
        fill(&tally);
        assert_int_equal(tally.holding, left < 11 ? left : 11);
        int chunk = 1 + (int)seeded_below(&random, (uint32_t)tally.holding);
        release_some(&tally, chunk);
        left -= chunk;
    }
    finish(&tally);
    end();
}

/* -------------------------------------------------------------------- a lost server */

/* How far the first of ten has come when the server stops. */
enum moment { CREATES_SENT, LEASE_MADE, LEASE_HELD, MOMENTS };

static bool lease_stands(void *context)
{
    (void)context;
    return raw_children_count(live.raw, LEASES) == 1;
}

static bool one_holds(void *context)
{
    return crowd_holders(context) == 1;
}

static void come_to(enum moment moment)
{
    (void)crowd_turn(&crowd);
    if (moment == LEASE_MADE) {
        assert_true(run_until(live.loop, lease_stands, NULL, PATIENCE_MS));
        proxy_hold_replies(&live.proxy); /* and not heard of */
    } else if (moment == LEASE_HELD) {
        assert_true(run_until(live.loop, one_holds, &crowd, PATIENCE_MS));
    }
}

/* CURATOR-335. Whoever is refused with its session asks again; ten grants follow, and
 * no lease is left of those that had been made. */
static void lose_server(enum moment moment)
{
    live_begin(&live);
    live_use_proxy(&live);
    live.options.session_timeout_ms = SHORT_SESSION_MS;
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    make(&live.client, &semaphore, 1);
    crowd_open(&crowd, 10);
    crowd.check = check_single;
    crowd.sessions_may_end = true;
    for (int i = 0; i < crowd.count; i++) {
        crowd.workers[i].lock = &semaphore;
        crowd.workers[i].rounds = 1;
    }
    come_to(moment);
    server_kill(live_server);
    proxy_cut(&live.proxy);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_LOST));
    assert_true(server_restart(live_server));
    proxy_pass(&live.proxy);
    raw_close(live.raw);
    live.raw = raw_open(server_hosts(live_server));
    assert_non_null(live.raw);
    crowd_finish(&crowd, live.loop);
    assert_in_range(crowd.grants, 10, 11); /* one of them, perhaps, once more */
    crowd_close(&crowd);
    end();
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
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
