/* SPDX-License-Identifier: Apache-2.0 */
/* What several recipes do together, shared values and counts, and what is asked about a hold: the
 * n-th allocation of the library fails, once or for good, for n = 1, 2, 3, ... until one runs
 * through. For good means for three seconds, after which there is memory again. Everybody is
 * answered exactly once, nothing stays allocated, nothing is left behind on the server, and
 * values are followed again.
 *
 *   UVZK_VERBOSE  set: one line for each scenario */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"
#include "world.h"

#define HOLDS 4
#define SETS 3
#define SCARCE_MS 3000U
#define ROOT "/o"

static struct world world;
static struct process a, b;

static struct {
    uvzk_rwlock_t rwlocks[2]; /* as A and as B has it, like all pairs */
    uvzk_lock_t locks[2], members[3];
    uvzk_shared_value_t values[2];
    uvzk_shared_count_t counts[2];
    uvzk_req_t sets[SETS];
    int sets_asked, sets_told;
    uvzk_locker_t lockers[2];
    int lockers_asked, lockers_told;
    int asked, told;
    bool downgrading;
    bool counted; /* values are counts */
} play;
static struct hold holds[HOLDS];

/* Refused for want of memory nothing is done, and it may be done again. */
#define MADE(call)                                    \
    do {                                              \
        int made_status = (call);                     \
        if (made_status != 0) {                       \
            assert_int_equal(made_status, UV_ENOMEM); \
            failing_allocator_stop();                 \
            assert_int_equal((call), 0);              \
        }                                             \
    } while (0)

static void run(uint64_t ms)
{
    world_run_for(&world, ms);
}

static bool accepted(int status)
{
    assert_true(status == 0 || status == UV_ENOMEM);
    return status == 0;
}

static void ask_with(int i, struct process *process, uvzk_lock_t *lock,
                     const uvzk_acquire_options_t *options)
{
    (void)accepted(hold_ask(&holds[i], process, lock, options));
}

static void ask(int i, struct process *process, uvzk_lock_t *lock, void *owner,
                uint32_t leases)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.leases = leases;
    ask_with(i, process, lock, &options);
}

static void await(int i)
{
    world_await_answer(&world, &holds[i]);
}

static void let_go(int i)
{
    if (hold_holds(&holds[i])) {
        hold_release(&holds[i]);
    }
}

static void finish_all(void)
{
    for (int i = 0; i < HOLDS; i++) {
        world_finish(&world, &holds[i]);
    }
}

/* A session that is ended before its time protects nothing until that is told. */
static bool is_valid(int i)
{
    return hold_holds(&holds[i]) && !holds[i].process->killed &&
           uvzk_hold_is_valid(&holds[i].request);
}

/* ------------------------------------------------------------------- downgrades */

/* A writes, and wants to read; B wants to write, and then to read. */
static void downgrade_begins(void)
{
    play.downgrading = true;
    MADE(uvzk_rwlock_init(&a.client, &play.rwlocks[0], ROOT "/a"));
    MADE(uvzk_rwlock_init(&b.client, &play.rwlocks[1], ROOT "/a"));
    ask(0, &a, &play.rwlocks[0].write, &a, 1);
    await(0);
    ask(1, &b, &play.rwlocks[1].write, NULL, 1);
    ask(2, &b, &play.rwlocks[1].read, NULL, 1);
    run(100);
    ask(3, &a, &play.rwlocks[0].read, &a, 1);
}

static void nobody_writes_beside(void)
{
    if (play.downgrading && is_valid(1) && (is_valid(0) || is_valid(2) || is_valid(3))) {
        world_fail(&world, "somebody holds beside a writer");
    }
}

static void downgrade(void)
{
    downgrade_begins();
    if (hold_pending(&holds[3])) {
        await(3);
    }
    let_go(0);
    run(4000);
    finish_all();
}

static void downgrade_given_back_at_once(void)
{
    downgrade_begins();
    let_go(0);
    run(4000);
    finish_all();
}

static void downgrade_with_a_lost_reply(void)
{
    downgrade_begins();
    sim_lose_reply(a.port);
    run(1000);
    let_go(0);
    run(4000);
    finish_all();
}

static void downgrade_and_expiry(void)
{
    downgrade_begins();
    run(100);
    let_go(0);
    a.killed = true;
    (void)sim_expire(a.port);
    run(5000);
    finish_all();
}

/* ---------------------------------------------------- several recipes as one lock */

static void errors_may_come(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    (void)lock;
    (void)member;
    assert_int_not_equal(status, 0);
}

/* Of A, a mutex and a write lock, in turn; B has a cohort on the mutex's path. */
static void several_kinds(void)
{
    uvzk_lock_t *both[] = {&play.members[0], &play.rwlocks[0].write};

    MADE(uvzk_mutex_init(&a.client, &play.members[0], ROOT "/b"));
    MADE(uvzk_rwlock_init(&a.client, &play.rwlocks[0], ROOT "/a"));
    MADE(uvzk_multilock_init(&a.client, &play.locks[0], both, 2, UVZK_MULTILOCK_IN_TURN,
                             errors_may_come));
    MADE(uvzk_mutex_init_with_cohort(&b.client, &play.locks[1], ROOT "/b", 3, 1000));
}

static void cohort_and_write_lock(void)
{
    several_kinds();
    ask(0, &a, &play.locks[0], NULL, 1);
    ask(1, &b, &play.locks[1], NULL, 1);
    ask(2, &b, &play.locks[1], NULL, 1);
    ask(3, &a, &play.locks[0], NULL, 1);
    for (int i = 0; i < HOLDS; i++) {
        await(i);
        world_finish(&world, &holds[i]);
    }
}

static void cohort_and_downgrade(void)
{
    several_kinds();
    ask(0, &a, &play.locks[0], &a, 1);
    await(0);
    ask(1, &b, &play.locks[1], NULL, 1);
    ask(2, &a, &play.members[0], NULL, 1);
    ask(3, &a, &play.rwlocks[0].read, &a, 1);
    run(500);
    let_go(0);
    run(4000);
    finish_all();
}

/* A multi lock of a semaphore and of a multi lock of two mutexes. */
static void multi_lock_of_a_multi_lock(void)
{
    uvzk_lock_t *inner[] = {&play.members[0], &play.members[1]};
    uvzk_lock_t *outer[] = {&play.members[2], &play.rwlocks[0].write};

    MADE(uvzk_mutex_init(&a.client, &play.members[0], ROOT "/a"));
    MADE(uvzk_mutex_init(&a.client, &play.members[1], ROOT "/b"));
    MADE(uvzk_multilock_init(&a.client, &play.members[2], inner, 2, 0, errors_may_come));
    MADE(uvzk_rwlock_init(&a.client, &play.rwlocks[0], ROOT "/c"));
    MADE(uvzk_multilock_init(&a.client, &play.locks[0], outer, 2, 0, errors_may_come));
    MADE(uvzk_mutex_init(&b.client, &play.locks[1], ROOT "/b"));
    ask(0, &b, &play.locks[1], NULL, 1);
    ask(1, &a, &play.locks[0], NULL, 1);
    ask(2, &a, &play.members[2], NULL, 1);
    run(500);
    let_go(0);
    run(4000);
    finish_all();
}

static int two_leases(struct process *process, uvzk_lock_t *lock)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lease-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    driver.max_leases = 2;
    return uvzk_lock_init_with_driver(&process->client, lock, ROOT "/a", &driver);
}

static void semaphore_by_a_driver(void)
{
    MADE(two_leases(&a, &play.locks[0]));
    MADE(two_leases(&b, &play.locks[1]));
    for (int i = 0; i < HOLDS; i++) {
        ask(i, i % 2 == 0 ? &a : &b, &play.locks[i % 2], NULL, 1);
    }
    run(500);
    sim_lose_reply(a.port);
    run(500);
    finish_all();
}

static void semaphore_of_several_leases(void)
{
    MADE(uvzk_semaphore_init(&a.client, &play.locks[0], ROOT "/a", 3, NULL));
    MADE(uvzk_semaphore_init(&b.client, &play.locks[1], ROOT "/a", 3, NULL));
    ask(0, &a, &play.locks[0], NULL, 3);
    run(300);
    ask(1, &b, &play.locks[1], NULL, 2);
    ask(2, &a, &play.locks[0], NULL, 1);
    run(300);
    if (hold_holds(&holds[0])) {
        (void)accepted(uvzk_hold_return_leases(&holds[0].request, 2));
    }
    run(4000);
    ask(3, &a, &play.locks[0], NULL, 2);
    finish_all();
}

/* ------------------------------------------------------------------ asked about */

static void on_verified(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    assert_true(status == 0 || status == UV_ENOMEM);
    play.told++;
}

static void on_written(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    assert_true(status == 0 || status == UV_ENOMEM);
    play.told++;
}

static void on_revoke_answered(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    assert_true(status == 0 || status == UV_ENOMEM);
    play.told++;
}

static void ask_about(struct hold *hold)
{
    static uvzk_req_t verify;
    static uvzk_req_t write;
    const uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, -1, "/w", "one", 3},
                                   {UVZK_WRITE_SET, -1, "/w", "two", 3}};

    if (hold_holds(hold)) {
        play.asked += accepted(uvzk_hold_verify(&hold->request, &verify, on_verified));
        play.asked +=
            accepted(uvzk_hold_write(&hold->request, &write, ops, 2, on_written));
    }
    run(SCARCE_MS + 1000);
    assert_int_equal(play.told, play.asked);
}

static void multi_lock_is_asked_about(void)
{
    several_kinds();
    ask(0, &a, &play.locks[0], NULL, 1);
    await(0);
    ask_about(&holds[0]);
    finish_all();
}

static void semaphore_is_asked_about(void)
{
    MADE(uvzk_semaphore_init(&a.client, &play.locks[0], ROOT "/a", 3, NULL));
    ask(0, &a, &play.locks[0], NULL, 2);
    await(0);
    ask_about(&holds[0]);
    finish_all();
}

static void on_revoked(uvzk_hold_t *request)
{
    struct hold *hold = request->data;

    hold->revoked++;
    if (hold_holds(hold)) {
        hold_release_or_cancel(hold);
    }
}

/* B asks until it is heard. */
static void write_lock_is_revoked(void)
{
    static uvzk_req_t revoke_request;
    uvzk_acquire_options_t options;

    MADE(uvzk_rwlock_init(&a.client, &play.rwlocks[0], ROOT "/a"));
    MADE(uvzk_rwlock_init(&b.client, &play.rwlocks[1], ROOT "/a"));
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    ask_with(0, &a, &play.rwlocks[0].write, &options);
    await(0);
    ask(1, &b, &play.rwlocks[1].read, NULL, 1);
    for (int i = 0; i < 8 && hold_holds(&holds[0]); i++) {
        play.asked += accepted(uvzk_client_revoke(&b.client, &revoke_request,
                                                  holds[0].path, on_revoke_answered));
        run(1000);
        assert_int_equal(play.told, play.asked);
    }
    assert_true(!holds[0].accepted || holds[0].revoked > 0);
    await(1);
    finish_all();
}

/* ----------------------------------------------------------------------- lockers */

static void on_locked(uvzk_locker_t *locker)
{
    (void)uvzk_locker_done(locker);
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    assert_null(locker->impl);
    assert_true(status == 0 || status == UV_ENOMEM || status == UV_ECANCELED);
    play.lockers_told++;
}

static void lock_and_run(int i, uvzk_lock_t *lock)
{
    play.lockers_asked +=
        accepted(uvzk_lock_run(lock, &play.lockers[i], NULL, on_locked, on_unlocked));
}

static void lockers_of_several_recipes(void)
{
    several_kinds();
    ask(0, &b, &play.locks[1], NULL, 1);
    run(300);
    lock_and_run(0, &play.locks[0]);
    lock_and_run(1, &play.rwlocks[0].read);
    run(300);
    let_go(0);
    run(SCARCE_MS + 4000);
    assert_int_equal(play.lockers_told, play.lockers_asked);
}

static void locker_is_cancelled(void)
{
    MADE(uvzk_semaphore_init(&a.client, &play.locks[0], ROOT "/a", 1, NULL));
    ask(0, &a, &play.locks[0], NULL, 1);
    run(300);
    lock_and_run(0, &play.locks[0]);
    run(100);
    if (play.lockers_told < play.lockers_asked) {
        (void)uvzk_hold_cancel(&play.lockers[0].hold);
    }
    run(SCARCE_MS + 1000);
    assert_int_equal(play.lockers_told, play.lockers_asked);
    finish_all();
}

/* ----------------------------------------------------------- values and counts */

static bool may_be_told(int status)
{
    return status == 0 || status == UV_ENOMEM || status == UVZK_ENONODE ||
           status == UVZK_EEXPIRED;
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    (void)value;
    assert_true(may_be_told(status));
}

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)count;
    (void)value;
    assert_true(may_be_told(status));
}

static void on_set(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    assert_true(may_be_told(status) || status == UVZK_EBADVERSION ||
                status == UVZK_ECLOSED || status == UVZK_ECONNLOSS);
    play.sets_told++;
}

static void values_begin(void)
{
    MADE(uvzk_shared_value_init(&a.client, &play.values[0], "/v", "0", 1, on_value));
    MADE(uvzk_shared_value_init(&b.client, &play.values[1], "/v", "0", 1, on_value));
    run(200);
}

static void set(int i, int who, const char *data)
{
    play.sets_asked += accepted(
        uvzk_shared_value_set(&play.values[who], &play.sets[i], data, 1, on_set));
}

static void try_set(int i, int who, const char *data)
{
    uvzk_value_version_t version;
    int status = uvzk_shared_value_get(&play.values[who], NULL, NULL, &version);

    if (status == 0) {
        play.sets_asked += accepted(uvzk_shared_value_try_set(
            &play.values[who], &play.sets[i], &version, data, 1, on_set));
    } else {
        assert_int_equal(status, UVZK_ENONODE);
    }
}

/* With memory again: what B sets, A knows. */
static void values_are_followed(void)
{
    const void *data = NULL;
    size_t length = 0;

    failing_allocator_stop();
    run(12000); /* what found no memory is asked for again */
    assert_int_equal(play.sets_told, play.sets_asked);
    set(0, 1, "z");
    run(2000);
    assert_int_equal(play.sets_told, play.sets_asked);
    assert_int_equal(uvzk_shared_value_get(&play.values[0], &data, &length, NULL), 0);
    assert_true(length == 1 && memcmp(data, "z", 1) == 0);
}

static void values_are_set(void)
{
    values_begin();
    set(0, 0, "1");
    set(1, 0, "2");
    run(100);
    try_set(2, 1, "3");
    run(1000);
    values_are_followed();
}

static void value_is_made_again(void)
{
    values_begin();
    (void)sim_delete_by_hand(world.sim, "/v");
    set(0, 0, "1");
    run(500);
    (void)sim_create_by_hand(world.sim, "/v", UVZK__PERSISTENT);
    run(500);
    try_set(1, 0, "2");
    sim_lose_reply(a.port);
    set(2, 1, "3");
    run(1000);
    values_are_followed();
}

static void values_after_an_expiry(void)
{
    values_begin();
    set(0, 0, "1");
    a.killed = true;
    (void)sim_expire(a.port);
    run(500);
    set(1, 1, "2");
    run(1000);
    values_are_followed();
}

static void value_is_closed(void)
{
    values_begin();
    set(0, 0, "1");
    assert_int_equal(uvzk_shared_value_close(&play.values[0], NULL), 0);
    run(SCARCE_MS + 1000);
    assert_int_equal(play.sets_told, play.sets_asked);
    assert_null(play.values[0].impl);
}

static void count_of_a_semaphore(void)
{
    int32_t value = 0;

    play.counted = true;
    MADE(uvzk_shared_count_init(&a.client, &play.counts[0], "/c", 1, on_count));
    MADE(uvzk_shared_count_init(&b.client, &play.counts[1], "/c", 1, on_count));
    MADE(uvzk_semaphore_init(&a.client, &play.locks[0], ROOT "/a", 0, &play.counts[0]));
    MADE(uvzk_semaphore_init(&b.client, &play.locks[1], ROOT "/a", 0, &play.counts[1]));
    ask(0, &a, &play.locks[0], NULL, 1);
    ask(1, &b, &play.locks[1], NULL, 1);
    run(500);
    play.sets_asked +=
        accepted(uvzk_shared_count_set(&play.counts[1], &play.sets[0], 2, on_set));
    run(500);
    if (sim_exists(world.sim, "/c")) {
        (void)sim_delete_by_hand(world.sim, "/c");
        (void)sim_create_by_hand(world.sim, "/c", UVZK__PERSISTENT);
        (void)sim_set_by_hand(world.sim, "/c", "\0\0\0\1", 4);
    }
    finish_all();
    failing_allocator_stop();
    run(12000);
    assert_int_equal(play.sets_told, play.sets_asked);
    assert_int_equal(uvzk_shared_count_set(&play.counts[1], &play.sets[0], 7, on_set), 0);
    run(2000);
    assert_int_equal(uvzk_shared_count_get(&play.counts[0], &value, NULL), 0);
    assert_int_equal(value, 7);
}

/* -------------------------------------------------------------- memory runs out */

static const struct scenario {
    const char *name;
    void (*act)(void);
    int may; /* how an acquire that was accepted may end, besides 0 */
    int may_too;
} scenarios[] = {
    {"downgrade", downgrade, 0, 0},
    {"downgrade, given back at once", downgrade_given_back_at_once, 0, 0},
    {"downgrade with a lost reply", downgrade_with_a_lost_reply, 0, 0},
    {"downgrade and expiry", downgrade_and_expiry, UVZK_EEXPIRED, 0},
    {"cohort and write lock", cohort_and_write_lock, UV_ENOMEM, 0},
    {"cohort and downgrade", cohort_and_downgrade, UV_ENOMEM, 0},
    {"multi lock of a multi lock", multi_lock_of_a_multi_lock, UV_ENOMEM, 0},
    {"semaphore by a driver", semaphore_by_a_driver, 0, 0},
    {"semaphore of several leases", semaphore_of_several_leases, UV_ENOMEM, 0},
    {"multi lock is asked about", multi_lock_is_asked_about, UV_ENOMEM, 0},
    {"semaphore is asked about", semaphore_is_asked_about, UV_ENOMEM, 0},
    {"write lock is revoked", write_lock_is_revoked, 0, 0},
    {"lockers of several recipes", lockers_of_several_recipes, UV_ENOMEM, 0},
    {"locker is cancelled", locker_is_cancelled, UV_ENOMEM, UV_ECANCELED},
    {"values are set", values_are_set, 0, 0},
    {"value is made again", value_is_made_again, 0, 0},
    {"values after an expiry", values_after_an_expiry, 0, 0},
    {"value is closed", value_is_closed, 0, 0},
    {"count of a semaphore", count_of_a_semaphore, UV_ENOMEM, 0},
};

static void each_ms(struct world *of)
{
    failing_allocator_stop_after(SCARCE_MS, world_now(of));
    nobody_writes_beside();
}

static void begin(void)
{
    memset(&play, 0, sizeof(play));
    memset(holds, 0, sizeof(holds));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    world.each_ms = each_ms;
}

static void check(const struct scenario *scenario)
{
    for (int i = 0; i < HOLDS; i++) {
        int status = holds[i].accepted ? holds[i].status : 0;
        if (status != 0 && status != scenario->may && status != scenario->may_too) {
            world_fail(&world, "an acquire ends with %s", uvzk_err_name(status));
        }
    }
}

/* Locks before the counts that they go by. */
static void close_values(void)
{
    for (int i = 0; i < 2; i++) {
        if (play.counted) {
            assert_int_equal(uvzk_lock_close(&play.locks[i], NULL), 0);
            run(1000);
            assert_int_equal(uvzk_shared_count_close(&play.counts[i], NULL), 0);
        } else if (play.values[i].impl != NULL) {
            assert_int_equal(uvzk_shared_value_close(&play.values[i], NULL), 0);
        }
    }
    run(1000);
}

static void check_server(void)
{
    static const char *const directories[] = {ROOT "/a", ROOT "/b", ROOT "/c",
                                              ROOT "/a/leases", ROOT "/a/locks"};

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        const char *names[8];
        size_t left = sim_children(world.sim, directories[i], names, 8);
        for (size_t j = 0; j < left && j < 8; j++) {
            if (strcmp(names[j], "leases") != 0 && strcmp(names[j], "locks") != 0) {
                world_fail(&world, "left behind: %s/%s", directories[i], names[j]);
            }
        }
    }
}

/* Returns true if an allocation failed. */
static bool perform(const struct scenario *scenario, uint64_t first, uint64_t many)
{
    char what[160];

    (void)snprintf(what, sizeof(what), "%s, from allocation %llu on, %s fail",
                   scenario->name, (unsigned long long)first, many == 1 ? "one" : "all");
    failing_allocator_arm(0, 0);
    int64_t live = failing_allocator_live_blocks();
    begin();
    world.what = what;
    failing_allocator_arm(first, many);
    scenario->act();
    failing_allocator_stop();
    close_values();
    world_release_all(&world);
    check(scenario);
    check_server();
    world_end(&world);
    if (failing_allocator_live_blocks() != live) {
        fail_msg("%s: %lld blocks of memory are never freed", what,
                 (long long)(failing_allocator_live_blocks() - live));
    }
    return failing_allocator_failures() > 0;
}

static void every_allocation_fails_once_and_for_good(void **state)
{
    uint64_t plays = 0;
    (void)state;

    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        uint64_t last[2] = {0, 0};
        for (int good = 0; good < 2; good++) {
            while (perform(&scenarios[i], ++last[good],
                           good == 0 ? 1 : FAILING_ALLOCATOR_FOREVER)) {
            }
            plays += last[good];
        }
        assert_true(last[0] > 8 && last[1] > 8); /* there was something to fail */
        if (getenv("UVZK_VERBOSE") != NULL) {
            printf("%s: %llu allocations\n", scenarios[i].name,
                   (unsigned long long)last[0] - 1);
        }
    }
    printf("%zu scenarios, %llu plays\n", sizeof(scenarios) / sizeof(scenarios[0]),
           (unsigned long long)plays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once_and_for_good),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("out of memory, combinations", tests, NULL, NULL);
}
