/* How many round trips things take, counted in virtual time: every message takes
 * exactly LATENCY one way, so what took n round trips took 2 n LATENCY. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "directory/queue.h"
#include "sim.h"

#define LATENCY 10U
#define ROUND_TRIP (2U * LATENCY)
#define LOCK "/lock"

struct wait {
    uvzk_hold_t request;
    int status;
    bool told, released;
    uint64_t at_ms;
};

static struct sim *sim;
static struct uvzk__port *ports[2];
static uvzk_client_t clients[2];
static uvzk_mutex_t mutexes[2];
static struct wait waits[8];
static int closed;

static struct wait *wait_of(uvzk_hold_t *hold)
{
    return hold->data;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct wait *wait = wait_of(hold);
    wait->told = true;
    wait->status = status;
    wait->at_ms = sim_now(sim);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    wait_of(hold)->status = reason;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct wait *wait = wait_of(hold);
    wait->released = true;
    wait->status = status;
    wait->at_ms = sim_now(sim);
}

static void on_closed(uvzk_client_t *client)
{
    (void)client;
    closed++;
}

static void begin(unsigned tuning)
{
    struct sim_options in;
    uvzk_client_options_t options;

    sim_options_init(&in);
    in.latency_min_ms = LATENCY;
    in.latency_max_ms = LATENCY;
    in.alarm_late_max_ms = 0;
    in.session_timeout_ms = 60000;
    sim = sim_new(1, &in);
    memset(clients, 0, sizeof(clients));
    memset(mutexes, 0, sizeof(mutexes));
    memset(waits, 0, sizeof(waits));
    closed = 0;
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    for (int i = 0; i < 2; i++) {
        ports[i] = sim_port_new(sim, i == 0 ? "a" : "b");
        assert_int_equal(uvzk__client_create(&clients[i], ports[i], &options, tuning), 0);
        assert_int_equal(uvzk_mutex_init(&clients[i], &mutexes[i], LOCK), 0);
        assert_int_equal(uvzk_client_start(&clients[i]), 0);
    }
    sim_run_for(sim, 1000);
}

static void end(void)
{
    assert_int_equal(uvzk_client_close(&clients[0], on_closed), 0);
    assert_int_equal(uvzk_client_close(&clients[1], on_closed), 0);
    sim_run_for(sim, 10000);
    assert_int_equal(closed, 2);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
    assert_int_equal(sim_watch_count(sim), 0);
    sim_free(sim);
}

static void ask_with(int number, uvzk_lock_t *lock, const uvzk_acquire_options_t *options)
{
    memset(&waits[number], 0, sizeof(waits[number]));
    waits[number].request.data = &waits[number];
    assert_int_equal(
        uvzk_lock_acquire(lock, &waits[number].request, options, on_acquired, on_lost),
        0);
}

static void ask_for(int number, uvzk_lock_t *lock, uint32_t leases, void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.leases = leases;
    ask_with(number, lock, &options);
}

static void try_once(int number, int client)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = UVZK_TRY_ONCE;
    ask_with(number, &mutexes[client], &options);
}

static void ask(int number, int client)
{
    ask_for(number, &mutexes[client], 0, NULL);
}

static void let_go(int number)
{
    assert_int_equal(uvzk_hold_release(&waits[number].request, on_released), 0);
}

/* Acquires, and tells how long it took. */
static uint64_t time_of(int number, uvzk_lock_t *lock, uint32_t leases, void *owner)
{
    uint64_t from = sim_now(sim);
    ask_for(number, lock, leases, owner);
    sim_run_for(sim, 500);
    assert_true(waits[number].told);
    assert_int_equal(waits[number].status, 0);
    return waits[number].at_ms - from;
}

static uint64_t time_of_acquire(int number, int client)
{
    return time_of(number, &mutexes[client], 0, NULL);
}

static uint64_t time_of_release(int number)
{
    uint64_t from = sim_now(sim);
    let_go(number);
    sim_run_for(sim, 500);
    assert_true(waits[number].released);
    assert_int_equal(waits[number].status, 0);
    return waits[number].at_ms - from;
}

/* The directory stands and has seen others, so that the suffix is not 0. */
static void wear_in_lock(uvzk_lock_t *lock)
{
    (void)time_of(0, lock, 0, NULL);
    (void)time_of_release(0);
}

static void wear_in(void)
{
    wear_in_lock(&mutexes[0]);
}

static uint64_t requests(int client)
{
    uvzk_client_stats_t stats;
    uvzk_client_stats(&clients[client], &stats);
    return stats.requests;
}

/* Create and listing leave together. */
static void test_uncontended_is_one(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    wear_in();
    uint64_t before = requests(0);
    assert_int_equal(time_of_acquire(0, 0), ROUND_TRIP);
    assert_int_equal(requests(0) - before, 2);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(requests(0) - before, 3);
    end();
}

static void test_plain_uncontended_is_two(void **state)
{
    (void)state;
    begin(0);
    wear_in();
    assert_int_equal(time_of_acquire(0, 0), 2 * ROUND_TRIP);
    end();
}

/* The create fails, the directory is made, the create is repeated: suffix 0. */
static void test_new_directory_is_three(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(time_of_acquire(0, 0), 3 * ROUND_TRIP);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    end();
}

/* Each finds out that its directory is missing, and makes it; one has gone ahead, up to the
 * root and down again, to see that there is a place for all of them. */
static void test_a_new_place_is_made_once(void **state)
{
    uvzk_mutex_t locks[8] = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    for (int i = 0; i < 8; i++) {
        char path[] = "/new/place/0";
        path[sizeof(path) - 2] = (char)('0' + i);
        assert_int_equal(uvzk_mutex_init(&clients[0], &locks[i], path), 0);
    }
    uint64_t before = requests(0);
    for (int i = 0; i < 8; i++) {
        ask_for(i, &locks[i], 0, NULL);
    }
    sim_run_for(sim, 500);
    assert_int_equal(requests(0) - before, 8 * (2 + 1 + 1) + 4);
    for (int i = 0; i < 8; i++) {
        assert_true(waits[i].told);
        let_go(i);
    }
    sim_run_for(sim, 500);
    end();
}

static void test_local_handover_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 0);
    ask(1, 0);
    sim_run_for(sim, 500);
    assert_false(waits[1].told);
    uint64_t from = sim_now(sim);
    let_go(0);
    sim_run_for(sim, 500);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].at_ms, from);
    assert_int_equal(waits[0].at_ms - from, ROUND_TRIP);
    let_go(1);
    sim_run_for(sim, 500);
    end();
}

/* The delete's way to the server, and the event's way to the waiter: no listing,
 * nothing asked at the wake. */
static void test_foreign_handover_is_one_way_each(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 0);
    ask(1, 1);
    sim_run_for(sim, 500);
    assert_false(waits[1].told);
    uint64_t from = sim_now(sim), before = requests(1);
    let_go(0);
    sim_run_for(sim, 500);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].at_ms - from, 2 * LATENCY);
    assert_int_equal(requests(1), before);
    let_go(1);
    sim_run_for(sim, 500);
    end();
}

/* Who has waited goes on watching its znode while it holds. */
static void test_deletion_of_a_hold_is_one_way(void **state)
{
    const char *name;
    char path[128];
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 0);
    ask(1, 1);
    sim_run_for(sim, 500);
    let_go(0);
    sim_run_for(sim, 500);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].status, 0);
    assert_int_equal(sim_children(sim, LOCK, &name, 1), 1);
    (void)snprintf(path, sizeof(path), LOCK "/%s", name);
    assert_int_equal(sim_delete_by_hand(sim, path), 0);
    sim_run_for(sim, LATENCY);
    assert_int_equal(waits[1].status, UVZK_EDELETED);
    end();
}

/* Whoever tries once behind one of its own client's needs no server to say so. */
static void test_try_behind_our_own_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 0);
    uint64_t before = requests(0);
    try_once(1, 0);
    sim_run_for(sim, 1);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].status, UV_ETIMEDOUT);
    assert_int_equal(requests(0), before);
    let_go(0);
    sim_run_for(sim, 500);
    end();
}

/* Behind another one's it is told when the znodes have been listed. */
static void test_try_behind_another_is_one(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 0);
    uint64_t from = sim_now(sim);
    try_once(1, 1);
    sim_run_for(sim, 500);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].status, UV_ETIMEDOUT);
    assert_int_equal(waits[1].at_ms - from, ROUND_TRIP);
    let_go(0);
    sim_run_for(sim, 500);
    end();
}

/* The delete of the reader's znode shows that the writer's stands. */
static void test_writer_behind_our_own_reader_is_one(void **state)
{
    uvzk_rwlock_t lock = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_rwlock_init(&clients[0], &lock, "/rw"), 0);
    (void)time_of(0, &lock.read, 0, NULL);
    ask_for(1, &lock.write, 0, NULL);
    sim_run_for(sim, 500);
    assert_false(waits[1].told);
    uint64_t from = sim_now(sim), before = requests(0);
    let_go(0);
    sim_run_for(sim, 500);
    assert_true(waits[1].told);
    assert_int_equal(waits[1].at_ms - from, ROUND_TRIP);
    assert_int_equal(requests(0) - before, 1);
    let_go(1);
    sim_run_for(sim, 500);
    end();
}

/* The directory is another one than in the session before: who was seen there then is not
 * asked for. The barrier, then create and listing. */
static void test_new_session_is_two(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, 1);
    ask(1, 0);
    sim_run_for(sim, 500);
    sim_disconnect(ports[0], SIM_RESET, 1000);
    sim_run_for(sim, 500);
    ask(2, 0);
    assert_true(sim_expire(ports[0]));
    (void)time_of_release(0);
    assert_int_equal(sim_delete_by_hand(sim, LOCK), 0);
    assert_non_null(sim_create_by_hand(sim, LOCK, UVZK__PERSISTENT));
    uint64_t before = requests(0);
    while (uvzk_client_state(&clients[0]) != UVZK_STATE_RECONNECTED) {
        sim_run_for(sim, 1);
    }
    assert_int_equal(waits[1].status, UVZK_EEXPIRED);
    uint64_t from = sim_now(sim);
    sim_run_for(sim, 500);
    assert_true(waits[2].told);
    assert_int_equal(waits[2].status, 0);
    assert_int_equal(waits[2].at_ms - from, 2 * ROUND_TRIP);
    assert_int_equal(requests(0) - before, 3);
    (void)time_of_release(2);
    end();
}

/* Who writes reads with its own number: nothing is listed. */
static void test_downgrade_is_one(void **state)
{
    uvzk_rwlock_t lock = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_rwlock_init(&clients[0], &lock, "/rw"), 0);
    wear_in_lock(&lock.write);
    uint64_t before = requests(0);
    assert_int_equal(time_of(0, &lock.write, 0, &lock), ROUND_TRIP);
    assert_int_equal(requests(0) - before, 2);
    assert_int_equal(time_of(1, &lock.read, 0, &lock), ROUND_TRIP);
    assert_int_equal(requests(0) - before, 3);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(time_of_release(1), ROUND_TRIP);
    end();
}

/* The transaction and the listings leave together; then the czxid is asked for. */
static void test_multi_lock_is_two(void **state)
{
    uvzk_mutex_t more[2] = {0};
    uvzk_multilock_t all = {0};
    uvzk_lock_t *const members[] = {&mutexes[0], &more[0], &more[1]};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_mutex_init(&clients[0], &more[0], "/more/a"), 0);
    assert_int_equal(uvzk_mutex_init(&clients[0], &more[1], "/more/b"), 0);
    assert_int_equal(uvzk_multilock_init(&clients[0], &all, members, 3, 0, NULL), 0);
    wear_in_lock(&all);
    uint64_t before = requests(0);
    assert_int_equal(time_of(0, &all, 0, NULL), 2 * ROUND_TRIP);
    assert_int_equal(requests(0) - before, 1 + 3 + 3);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(requests(0) - before, 1 + 3 + 3 + 1);
    end();
}

static uint64_t time_of_semaphore(unsigned tuning, uint32_t leases, uint64_t *asked)
{
    uvzk_semaphore_t semaphore = {0};
    begin(tuning);
    assert_int_equal(uvzk_semaphore_init(&clients[0], &semaphore, "/s", 5, NULL), 0);
    wear_in_lock(&semaphore);
    *asked = requests(0);
    uint64_t taken = time_of(0, &semaphore, leases, NULL);
    *asked = requests(0) - *asked; /* the ticket's delete is one of them */
    (void)time_of_release(0);
    end();
    return taken;
}

/* The ticket and both listings leave together; then the leases are made, at once. */
static void test_semaphore_is_two(void **state)
{
    uint64_t asked;
    (void)state;
    assert_int_equal(time_of_semaphore(UVZK__TUNE_ALL, 1, &asked), 2 * ROUND_TRIP);
    assert_int_equal(asked, 5);
    assert_int_equal(time_of_semaphore(UVZK__TUNE_ALL, 3, &asked), 2 * ROUND_TRIP);
    assert_int_equal(asked, 5);
    assert_int_equal(time_of_semaphore(0, 1, &asked), 4 * ROUND_TRIP);
}

/* However many let go in one turn. */
static void test_local_handover_of_leases_is_none(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_semaphore_init(&clients[0], &semaphore, "/s", 4, NULL), 0);
    for (int i = 0; i < 8; i++) {
        ask_for(i, &semaphore, 1, NULL);
    }
    sim_run_for(sim, 1000);
    assert_true(waits[3].told && !waits[4].told);
    uint64_t from = sim_now(sim);
    for (int i = 0; i < 4; i++) {
        let_go(i);
    }
    sim_run_for(sim, 500);
    for (int i = 4; i < 8; i++) {
        assert_true(waits[i].told);
        assert_int_equal(waits[i].at_ms, from);
        let_go(i);
    }
    sim_run_for(sim, 500);
    end();
}

/* As soon as the tickets' delete has shown that they stand. */
static void test_leases_are_handed_on_as_often_as_one_likes(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(
        uvzk_semaphore_init(&clients[0], &semaphore, "/s", 2 * UVZK__CREDITS_MAX, NULL),
        0);
    for (int i = 0; i < 4; i++) {
        ask_for(i, &semaphore, UVZK__CREDITS_MAX, NULL);
    }
    sim_run_for(sim, 1000);
    for (int i = 0; i < 2; i++) {
        uint64_t from = sim_now(sim);
        assert_true(waits[i].told && !waits[i + 2].told);
        let_go(i);
        sim_run_for(sim, 500);
        assert_true(waits[i + 2].told);
        assert_int_equal(waits[i + 2].at_ms, from);
    }
    let_go(2);
    let_go(3);
    sim_run_for(sim, 500);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uncontended_is_one),
        cmocka_unit_test(test_plain_uncontended_is_two),
        cmocka_unit_test(test_new_directory_is_three),
        cmocka_unit_test(test_a_new_place_is_made_once),
        cmocka_unit_test(test_local_handover_is_none),
        cmocka_unit_test(test_foreign_handover_is_one_way_each),
        cmocka_unit_test(test_deletion_of_a_hold_is_one_way),
        cmocka_unit_test(test_try_behind_our_own_is_none),
        cmocka_unit_test(test_try_behind_another_is_one),
        cmocka_unit_test(test_writer_behind_our_own_reader_is_one),
        cmocka_unit_test(test_new_session_is_two),
        cmocka_unit_test(test_downgrade_is_one),
        cmocka_unit_test(test_multi_lock_is_two),
        cmocka_unit_test(test_semaphore_is_two),
        cmocka_unit_test(test_local_handover_of_leases_is_none),
        cmocka_unit_test(test_leases_are_handed_on_as_often_as_one_likes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
