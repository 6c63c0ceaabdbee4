/* SPDX-License-Identifier: Apache-2.0 */
/* How many round trips things take, counted in virtual time: every message takes
 * exactly LATENCY one way, so what took n round trips took 2 n LATENCY. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "directory/queue.h"
#include "world.h"

#define LATENCY 10U
#define ROUND_TRIP (2U * LATENCY)

static struct world world;
static struct process a, b;
static struct hold holds[8];

/* Their sessions are so long that proofs do not meet what is counted. */
static void begin(unsigned tuning)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.session_timeout_ms = 60000;
    memset(holds, 0, sizeof(holds));
    world_begin_exact(&world, tuning, LATENCY);
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", &options);
    world_run_for(&world, 1000);
}

static void settle(void)
{
    world_run_for(&world, 500);
}

static void end(void)
{
    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
        hold_release_or_cancel(&holds[i]);
    }
    settle();
    assert_int_equal(world_queue_length(&world), 0);
    world_end(&world);
}

static void ask_for(int number, struct process *process, uvzk_lock_t *lock,
                    uint32_t leases)
{
    hold_begin_on(&holds[number], process, lock, leases, UVZK_WAIT_FOREVER);
}

static void ask(int number, struct process *process)
{
    ask_for(number, process, NULL, 0);
}

static void try_once(int number, struct process *process)
{
    hold_begin(&holds[number], process, UVZK_TRY_ONCE);
}

/* How long it has taken until it was granted. */
static uint64_t time_to_grant(int number, uint64_t from)
{
    settle();
    assert_true(hold_holds(&holds[number]));
    return holds[number].answered_ms - from;
}

static uint64_t time_of(int number, uvzk_lock_t *lock, uint32_t leases)
{
    uint64_t from = world_now(&world);

    ask_for(number, &a, lock, leases);
    return time_to_grant(number, from);
}

static uint64_t time_of_acquire(int number, struct process *process)
{
    uint64_t from = world_now(&world);

    ask(number, process);
    return time_to_grant(number, from);
}

/* Of one who may have the lock's other half. */
static uint64_t time_of_owner(int number, uvzk_lock_t *lock)
{
    uint64_t from = world_now(&world);

    hold_begin_on_for(&holds[number], &a, lock, &a);
    return time_to_grant(number, from);
}

static uint64_t time_of_release(int number)
{
    uint64_t from = world_now(&world);

    hold_release(&holds[number]);
    settle();
    assert_int_equal(holds[number].release_status, 0);
    return holds[number].released_ms - from;
}

/* The directory stands and has seen others, so that the suffix is not 0. */
static void wear_in(uvzk_lock_t *lock)
{
    (void)time_of(0, lock, 0);
    (void)time_of_release(0);
}

static uint64_t requests(const struct process *process)
{
    return process_metrics(process).requests;
}

/* What an acquire and release costs: it takes a round trip each. */
static uint64_t cost_of_a_turn(uvzk_lock_t *lock)
{
    uint64_t before = requests(&a);

    assert_int_equal(time_of(0, lock, 0), ROUND_TRIP);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    return requests(&a) - before;
}

#define UNMARKED (UVZK__TUNE_ALL & ~(unsigned)UVZK__TUNE_WATERMARK)

/* Create and listing leave together. */
static void test_uncontended_is_one(void **state)
{
    (void)state;
    begin(UNMARKED);
    wear_in(NULL);
    uint64_t before = requests(&a);
    assert_int_equal(time_of_acquire(0, &a), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 2);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 3);
    end();
}

/* Create and delete: that it comes again is seen at its second number, where a watch on the
 * directory is set, and the listing behind that says who is there. */
static void test_the_same_again_needs_no_listing(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    wear_in(NULL);
    assert_int_equal(cost_of_a_turn(NULL), 4);
    assert_int_equal(cost_of_a_turn(NULL), 3);
    for (int i = 0; i < 5; i++) { /* before the session's next touch */
        assert_int_equal(cost_of_a_turn(NULL), 2);
    }
    end();
}

/* The watch is believed for one session timeout, then set anew, with a listing. */
static void test_a_watermark_costs_two_requests_a_timeout(void **state)
{
    (void)state;
    uvzk_mutex_t mutex = {0};
    begin(UVZK__TUNE_ALL);
    assert_non_null(sim_create_by_hand(world.sim, "/kept", UVZK__PERSISTENT));
    assert_int_equal(uvzk_mutex_init(&a.client, &mutex, "/kept"), 0);
    wear_in(&mutex);
    (void)cost_of_a_turn(&mutex);
    uvzk_client_metrics_t before = process_metrics(&a), after;
    uint64_t turns = 0, until = world_now(&world) + 5 * 60000U;
    for (; world_now(&world) < until; turns++) {
        wear_in(&mutex);
    }
    after = process_metrics(&a);
    assert_in_range(after.listings - before.listings, 5, 6);
    assert_in_range(after.requests - before.requests, 2 * turns + 2 * 4,
                    2 * turns + 2 * 6 + 5 * 12); /* and proofs */
    end();
}

/* Two who take turns have every other number: neither sets a watch. */
static void test_who_takes_turns_with_others_lists(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    wear_in(NULL);
    (void)time_of_acquire(0, &b);
    (void)time_of_release(0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cost_of_a_turn(NULL), 3);
        (void)time_of_acquire(0, &b);
        (void)time_of_release(0);
    }
    end();
}

static void test_plain_uncontended_is_two(void **state)
{
    (void)state;
    begin(0);
    wear_in(NULL);
    assert_int_equal(time_of_acquire(0, &a), 2 * ROUND_TRIP);
    end();
}

/* The create fails, the directory is made, the create is repeated: suffix 0. */
static void test_new_directory_is_three(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_mutex_init(&a.client, &mutex, "/new"), 0);
    assert_int_equal(time_of(0, &mutex, 0), 3 * ROUND_TRIP);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    end();
}

/* Each has its directory made; one has gone ahead, up to the root and down again, to see
 * that there is a place for all of them. By itself each finds out that its directory is
 * missing, and makes its znode; together they do in one request. */
static void made_once(unsigned tuning, uint64_t least, uint64_t most)
{
    uvzk_mutex_t locks[8] = {0};

    begin(tuning);
    for (int i = 0; i < 8; i++) {
        char path[] = "/new/place/0";
        path[sizeof(path) - 2] = (char)('0' + i);
        assert_int_equal(uvzk_mutex_init(&a.client, &locks[i], path), 0);
    }
    uint64_t before = requests(&a);
    for (int i = 0; i < 8; i++) {
        ask_for(i, &a, &locks[i], 0);
    }
    settle();
    assert_in_range(requests(&a) - before, least, most);
    for (int i = 0; i < 8; i++) {
        assert_true(hold_holds(&holds[i]));
    }
    end();
}

static void test_a_new_place_is_made_once(void **state)
{
    uint64_t apart = 8 * (2 + 1 + 1) + 4, least = 1 + 8 + 4 + 1 + 1;
    (void)state;
    made_once(UVZK__TUNE_ALL & ~(unsigned)UVZK__TUNE_CREATE_BATCH, apart, apart);
    /* Not all of the directories are known to stand in one turn. */
    made_once(UVZK__TUNE_ALL, least, least + 8);
}

static void test_local_handover_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    ask(1, &a);
    settle();
    assert_true(hold_pending(&holds[1]));
    uint64_t from = world_now(&world);
    hold_release(&holds[0]);
    assert_int_equal(time_to_grant(1, from), 0);
    assert_int_equal(holds[0].released_ms - from, ROUND_TRIP);
    end();
}

/* Nor is it any when others behind the next in line have given up, and leave as well. */
static void test_local_handover_before_who_gave_up_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    ask(1, &a);
    ask(2, &a);
    ask(3, &a);
    settle();
    hold_cancel(&holds[2]);
    hold_cancel(&holds[3]);
    uint64_t from = world_now(&world);
    hold_release(&holds[0]);
    assert_int_equal(time_to_grant(1, from), 0);
    end();
}

/* The delete's way to the server, and the event's way to the waiter: no listing,
 * nothing asked at the wake. */
static void test_foreign_handover_is_one_way_each(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    ask(1, &b);
    settle();
    assert_true(hold_pending(&holds[1]));
    uint64_t from = world_now(&world), before = requests(&b);
    hold_release(&holds[0]);
    assert_int_equal(time_to_grant(1, from), 2 * LATENCY);
    assert_int_equal(requests(&b), before);
    end();
}

/* Who has waited goes on watching its znode while it holds. */
static void test_deletion_of_a_hold_is_one_way(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    ask(1, &b);
    settle();
    hold_release(&holds[0]);
    settle();
    assert_true(hold_holds(&holds[1]));
    assert_int_equal(world_queue_length(&world), 1);
    world_delete_child(&world, WORLD_PATH, 0);
    hold_await_lost(&holds[1], LATENCY, UVZK_EDELETED);
    end();
}

/* Whoever tries once behind one of its own client's needs no server to say so. */
static void test_try_behind_our_own_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    uint64_t before = requests(&a);
    try_once(1, &a);
    hold_await_status(&holds[1], 1, UV_ETIMEDOUT);
    assert_int_equal(requests(&a), before);
    end();
}

/* Behind another one's it is told when the znodes have been listed. */
static void test_try_behind_another_is_one(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &a);
    uint64_t from = world_now(&world);
    try_once(1, &b);
    hold_await_status(&holds[1], 500, UV_ETIMEDOUT);
    assert_int_equal(holds[1].answered_ms - from, ROUND_TRIP);
    end();
}

/* The delete of the reader's znode shows that the writer's stands. */
static void test_writer_behind_our_own_reader_is_one(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    process_make_rwlock(&a, "/rw");
    (void)time_of(0, &a.rwlock.read, 0);
    ask_for(1, &a, &a.rwlock.write, 0);
    settle();
    assert_true(hold_pending(&holds[1]));
    uint64_t from = world_now(&world), before = requests(&a);
    hold_release(&holds[0]);
    assert_int_equal(time_to_grant(1, from), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 1);
    end();
}

/* The directory is another one than in the session before: who was seen there then is not
 * asked for. The barrier, then create and listing. */
static void test_new_session_is_two(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    (void)time_of_acquire(0, &b);
    ask(1, &a);
    settle();
    sim_disconnect(a.port, SIM_RESET, 1000);
    settle();
    ask(2, &a);
    process_expire(&a);
    (void)time_of_release(0);
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    assert_non_null(sim_create_by_hand(world.sim, WORLD_PATH, UVZK__PERSISTENT));
    uint64_t before = requests(&a);
    assert_true(process_await_connected(&a, 60000));
    assert_int_equal(holds[1].status, UVZK_EEXPIRED);
    assert_int_equal(time_to_grant(2, world_now(&world)), 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 3);
    (void)time_of_release(2);
    end();
}

/* Who writes reads with its own number: nothing is listed. */
static void test_downgrade_is_one(void **state)
{
    (void)state;
    begin(UNMARKED);
    process_make_rwlock(&a, "/rw");
    wear_in(&a.rwlock.write);
    uint64_t before = requests(&a);
    assert_int_equal(time_of_owner(0, &a.rwlock.write), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 2);
    assert_int_equal(time_of_owner(1, &a.rwlock.read), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 3);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(time_of_release(1), ROUND_TRIP);
    end();
}

/* The transaction and the listings leave together; then the czxid is asked for. */
static void test_multi_lock_is_two(void **state)
{
    uvzk_mutex_t more[2] = {0};
    uvzk_multilock_t all = {0};
    uvzk_lock_t *const members[] = {&a.mutex, &more[0], &more[1]};
    (void)state;
    begin(UNMARKED);
    assert_int_equal(uvzk_mutex_init(&a.client, &more[0], "/more/a"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &more[1], "/more/b"), 0);
    assert_int_equal(uvzk_multilock_init(&a.client, &all, members, 3, 0, NULL), 0);
    wear_in(&all);
    uint64_t before = requests(&a);
    assert_int_equal(time_of(0, &all, 0), 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 1 + 3 + 3);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 1 + 3 + 3 + 1);
    end();
}

static uint64_t time_of_semaphore(unsigned tuning, uint32_t leases, uint64_t *asked)
{
    begin(tuning);
    process_make_semaphore(&a, "/s", 5);
    wear_in(&a.semaphore);
    *asked = requests(&a);
    uint64_t taken = time_of(0, &a.semaphore, leases);
    *asked = requests(&a) - *asked; /* the ticket's delete is one of them */
    (void)time_of_release(0);
    end();
    return taken;
}

/* The ticket and both listings leave together; then the leases are made, at once. */
static void test_semaphore_is_two(void **state)
{
    uint64_t asked;
    (void)state;
    assert_int_equal(time_of_semaphore(UNMARKED, 1, &asked), 2 * ROUND_TRIP);
    assert_int_equal(asked, 5);
    assert_int_equal(time_of_semaphore(UNMARKED, 3, &asked), 2 * ROUND_TRIP);
    assert_int_equal(asked, 5);
    assert_int_equal(time_of_semaphore(0, 1, &asked), 4 * ROUND_TRIP);
}

/* A semaphore of one. */
static void test_semaphore_mutex_is_two(void **state)
{
    uvzk_semaphore_mutex_t mutex = {0};
    (void)state;
    begin(UNMARKED);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &mutex, "/sm"), 0);
    wear_in(&mutex);
    uint64_t before = requests(&a);
    assert_int_equal(time_of(0, &mutex, 0), 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 5);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 6);
    end();
}

/* The lease alone, a look into `locks` behind it, and its delete. That it comes again
 * is seen at its second number, where the leases' directory is put under watch; then
 * the listing that counts the leases is the last one, and so is the proof that the
 * lease still stands. */
static void test_the_same_semaphore_again_is_three_requests(void **state)
{
    static const uint64_t costs[] = {6 + 1, 3 + 2, 3, 3, 3, 3};
    uvzk_semaphore_mutex_t mutex = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &mutex, "/sm"), 0);
    wear_in(&mutex);
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        uint64_t before = requests(&a);
        assert_int_equal(time_of(0, &mutex, 0), (i < 2 ? 2 : 1) * ROUND_TRIP);
        assert_int_equal(time_of_release(0), ROUND_TRIP);
        assert_int_equal(requests(&a) - before, costs[i]);
    }
    end();
}

/* Whoever waits lists again when it is woken: the driver is asked each time. */
static void test_driver_lock_is_two(void **state)
{
    uvzk_lock_t lock = {0};
    uvzk_lock_driver_t driver;
    (void)state;
    begin(UVZK__TUNE_ALL);
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &lock, "/dl", &driver), 0);
    wear_in(&lock);
    uint64_t before = requests(&a);
    assert_int_equal(time_of(0, &lock, 0), 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 2);
    ask_for(1, &a, &lock, 0);
    settle();
    assert_int_equal(requests(&a) - before, 5); /* create, listing, watch */
    uint64_t from = world_now(&world);
    assert_int_equal(time_of_release(0), ROUND_TRIP);
    assert_int_equal(holds[1].answered_ms - from, 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - before, 7); /* delete, listing */
    end();
}

static int changes;
static uint64_t changed_ms, set_ms;

static void on_change(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)count;
    changes += status == 0 && value == 7;
    changed_ms = world_now(&world);
}

static void on_set(uvzk_req_t *request, int status)
{
    (void)request;
    assert_int_equal(status, 0);
    set_ms = world_now(&world);
}

/* Set by one client, told to another one. */
static void test_shared_count_is_one_and_one_more_to_tell(void **state)
{
    uvzk_shared_count_t ours = {0}, theirs = {0};
    uvzk_req_t set = {0};
    (void)state;
    begin(UVZK__TUNE_ALL);
    changes = 0;
    assert_int_equal(uvzk_shared_count_init(&a.client, &ours, "/count", 1, NULL), 0);
    settle();
    assert_int_equal(uvzk_shared_count_init(&b.client, &theirs, "/count", 1, on_change),
                     0);
    settle();
    uint64_t from = world_now(&world), of_a = requests(&a), of_b = requests(&b);
    assert_int_equal(uvzk_shared_count_set(&ours, &set, 7, on_set), 0);
    settle();
    assert_int_equal(changes, 1);
    assert_int_equal(set_ms - from, ROUND_TRIP);
    assert_int_equal(changed_ms - from, 2 * ROUND_TRIP);
    assert_int_equal(requests(&a) - of_a, 2); /* its own watch tells it, too */
    assert_int_equal(requests(&b) - of_b, 1);
    assert_int_equal(uvzk_shared_count_close(&ours, NULL), 0);
    assert_int_equal(uvzk_shared_count_close(&theirs, NULL), 0);
    end();
}

/* However many let go in one turn. */
static void test_local_handover_of_leases_is_none(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    process_make_semaphore(&a, "/s", 4);
    for (int i = 0; i < 8; i++) {
        ask_for(i, &a, &a.semaphore, 1);
    }
    world_run_for(&world, 1000);
    assert_true(hold_holds(&holds[3]) && hold_pending(&holds[4]));
    uint64_t from = world_now(&world);
    for (int i = 0; i < 4; i++) {
        hold_release(&holds[i]);
    }
    for (int i = 4; i < 8; i++) {
        assert_int_equal(time_to_grant(i, from), 0);
    }
    end();
}

/* As soon as the tickets' delete has shown that they stand. */
static void test_leases_are_handed_on_as_often_as_one_likes(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    process_make_semaphore(&a, "/s", 2 * UVZK__EARLY_GRANTS_MAX);
    for (int i = 0; i < 4; i++) {
        ask_for(i, &a, &a.semaphore, UVZK__EARLY_GRANTS_MAX);
    }
    world_run_for(&world, 1000);
    for (int i = 0; i < 2; i++) {
        uint64_t from = world_now(&world);
        assert_true(hold_holds(&holds[i]) && hold_pending(&holds[i + 2]));
        hold_release(&holds[i]);
        assert_int_equal(time_to_grant(i + 2, from), 0);
    }
    end();
}

/* A ticket serves several of those that do not ask for their place: among seven that come
 * again at once a grant costs next to nothing; each for itself it has its ticket. */
static uint64_t cost_of_a_hundred_leases(unsigned tuning)
{
    struct sim_options settings;
    uint64_t before, grants = 0;

    memset(holds, 0, sizeof(holds));
    world_exact_options(&settings, LATENCY);
    world_begin_with(&world, 2, tuning, &settings);
    process_begin(&a, &world, "a", NULL);
    process_make_semaphore(&a, "/s", 3);
    world_run_for(&world, 1000);
    for (int i = 0; i < 7; i++) {
        ask_for(i, &a, &a.semaphore, 1);
    }
    settle();
    for (before = requests(&a); grants < 1000; world_run_for(&world, 1)) {
        for (int i = 0; i < 7; i++) {
            if (hold_holds(&holds[i]) && !holds[i].releasing) {
                hold_release(&holds[i]);
                grants++;
            } else if (hold_over(&holds[i])) {
                ask_for(i, &a, &a.semaphore, 1);
            }
        }
    }
    before = requests(&a) - before;
    end();
    return (before * 100 + grants - 1) / grants;
}

static void test_leases_from_hand_to_hand_cost_nothing(void **state)
{
    (void)state;
    assert_in_range(cost_of_a_hundred_leases(UVZK__TUNE_ALL), 0, 10);
    assert_in_range(
        cost_of_a_hundred_leases(UVZK__TUNE_ALL & ~(unsigned)UVZK__TUNE_SHARED_TICKET),
        100, 410);
    assert_in_range(
        cost_of_a_hundred_leases(UVZK__TUNE_ALL & ~(unsigned)UVZK__TUNE_LEASE_HANDOVER),
        50, 400);
}

/* -------------------------------------------------------------------- many locks */

#define MANY_MAX 10000U

static uvzk_mutex_t many[MANY_MAX];
static struct hold many_holds[MANY_MAX];

/* What has come is told in one turn, as in loop/. */
static void begin_many(size_t count, bool stand, uint64_t seed)
{
    struct sim_options settings;
    uvzk_client_options_t options;
    char path[32];

    world_exact_options(&settings, LATENCY);
    settings.batches = true;
    settings.trace = false;
    world_begin_with(&world, seed, UVZK__TUNE_ALL, &settings);
    process_options(&options);
    options.session_timeout_ms = 60000;
    process_begin(&a, &world, "a", &options);
    memset(many, 0, sizeof(many));
    memset(many_holds, 0, sizeof(many_holds));
    (void)sim_create_by_hand(world.sim, stand ? "/many" : "/other", UVZK__PERSISTENT);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "/many/%05zu", i);
        assert_int_equal(uvzk_mutex_init(&a.client, &many[i], path), 0);
        if (stand) {
            assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
        }
    }
    world_run_for(&world, 1000);
}

/* Without proofs, which go by time. */
static uint64_t requests_but_proofs(void)
{
    uvzk_client_metrics_t stats = process_metrics(&a);

    return stats.requests - stats.proofs;
}

/* What a hundred of them cost: all are asked for at once, and given back at once. */
static uint64_t cost_of_a_hundred(size_t count)
{
    uint64_t before = requests_but_proofs();

    for (size_t i = 0; i < count; i++) {
        hold_begin_on(&many_holds[i], &a, &many[i], 0, UVZK_WAIT_FOREVER);
    }
    sim_run_for(world.sim, 5000);
    for (size_t i = 0; i < count; i++) {
        assert_true(hold_holds(&many_holds[i]));
        hold_release(&many_holds[i]);
    }
    sim_run_for(world.sim, 5000);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(many_holds[i].release_status, 0);
    }
    return ((requests_but_proofs() - before) * 100 + count - 1) / count;
}

/* Creates and deletes leave in multis, of which one exists tells the czxid. In a new place
 * each directory is a request of its own; where somebody was before, a listing is, and the
 * watch that saves it from then on. */
static void many_locks_share_their_requests(void **state)
{
    size_t count = *(const size_t *)*state;

    begin_many(count, true, WORLD_QUEUED_CB);
    assert_in_range(cost_of_a_hundred(count), 3, 15);
    assert_in_range(cost_of_a_hundred(count), 3, 215);
    assert_in_range(cost_of_a_hundred(count), 3, 15);
    assert_in_range(cost_of_a_hundred(count), 3, 15);
    world_end(&world);
    begin_many(count, false, WORLD_QUEUED_CB);
    assert_in_range(cost_of_a_hundred(count), 100, 115);
    assert_in_range(cost_of_a_hundred(count), 3, 215);
    assert_in_range(cost_of_a_hundred(count), 3, 15);
    world_end(&world);
}

/* ------------------------------------------------------------------------ readers */

#define TASKS 100U
#define CYCLES 5000U

static uint32_t cycles, readers, luck;
static uint64_t listings; /* while the cycles last ran */

static void begin_cycle(struct hold *hold);

static void cycle(struct hold *hold)
{
    if (hold->released > 0) {
        cycles++;
        begin_cycle(hold);
    }
}

/* Acquires, releases as soon as it is granted, and when that is told acquires again. */
static void begin_cycle(struct hold *hold)
{
    luck = luck * 1103515245U + 12345U;
    hold_begin_on(hold, &a,
                  luck / 65536 % 100 < readers ? &a.rwlock.read : &a.rwlock.write, 0,
                  UVZK_WAIT_FOREVER);
    hold->release_at_once = true;
    hold->hook = cycle;
}

/* What a hundred cycles cost, of a hundred tasks of which so many in a hundred read. */
static uint64_t cost_of_cycles(uint32_t share, uint64_t seed)
{
    begin_many(0, false, seed);
    process_make_rwlock(&a, "/rw");
    readers = share;
    luck = share;
    for (size_t i = 0; i < TASKS; i++) {
        begin_cycle(&many_holds[i]);
    }
    sim_run_for(world.sim, 1000);
    cycles = 0;
    uvzk_client_metrics_t before = process_metrics(&a);
    while (cycles < CYCLES) {
        sim_run_for(world.sim, LATENCY);
    }
    uint64_t cost = (process_metrics(&a).requests - before.requests) * 100 / cycles;
    listings = process_metrics(&a).listings - before.listings;
    for (size_t i = 0; i < TASKS; i++) {
        many_holds[i].hook = NULL;
    }
    sim_run_for(world.sim, 5000);
    world_end(&world);
    return cost;
}

/* Those in a row are made together, and go together; a writer is a create of its own. */
static void test_readers_share_their_requests(void **state)
{
    (void)state;
    assert_in_range(cost_of_cycles(90, WORLD_QUEUED_CB), 20, 50);
    assert_in_range(cost_of_cycles(99, WORLD_QUEUED_CB), 5, 20);
    assert_in_range(cost_of_cycles(100, WORLD_QUEUED_CB), 3, 15);
}

/* Writers alone, each a create, and deletes that share their multis: nobody lists, for all
 * numbers are known. */
static void test_a_hundred_on_one_path_list_no_more(void **state)
{
    (void)state;
    assert_in_range(cost_of_cycles(0, WORLD_NO_QUEUED_CB), 100, 110);
    assert_int_equal(listings, 0);
}

#define OF_SO_MANY(test, count) \
    ((struct CMUnitTest){#test ", " #count, test, NULL, NULL, &(size_t){count}})

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uncontended_is_one),
        cmocka_unit_test(test_the_same_again_needs_no_listing),
        cmocka_unit_test(test_a_watermark_costs_two_requests_a_timeout),
        cmocka_unit_test(test_who_takes_turns_with_others_lists),
        cmocka_unit_test(test_plain_uncontended_is_two),
        cmocka_unit_test(test_new_directory_is_three),
        cmocka_unit_test(test_a_new_place_is_made_once),
        cmocka_unit_test(test_local_handover_is_none),
        cmocka_unit_test(test_local_handover_before_who_gave_up_is_none),
        cmocka_unit_test(test_foreign_handover_is_one_way_each),
        cmocka_unit_test(test_deletion_of_a_hold_is_one_way),
        cmocka_unit_test(test_try_behind_our_own_is_none),
        cmocka_unit_test(test_try_behind_another_is_one),
        cmocka_unit_test(test_writer_behind_our_own_reader_is_one),
        cmocka_unit_test(test_new_session_is_two),
        cmocka_unit_test(test_downgrade_is_one),
        cmocka_unit_test(test_multi_lock_is_two),
        cmocka_unit_test(test_semaphore_is_two),
        cmocka_unit_test(test_the_same_semaphore_again_is_three_requests),
        cmocka_unit_test(test_semaphore_mutex_is_two),
        cmocka_unit_test(test_driver_lock_is_two),
        cmocka_unit_test(test_shared_count_is_one_and_one_more_to_tell),
        cmocka_unit_test(test_local_handover_of_leases_is_none),
        cmocka_unit_test(test_leases_are_handed_on_as_often_as_one_likes),
        cmocka_unit_test(test_leases_from_hand_to_hand_cost_nothing),
        OF_SO_MANY(many_locks_share_their_requests, 1000),
        OF_SO_MANY(many_locks_share_their_requests, 10000),
        cmocka_unit_test(test_a_hundred_on_one_path_list_no_more),
        cmocka_unit_test(test_readers_share_their_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
