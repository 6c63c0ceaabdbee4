/* SPDX-License-Identifier: Apache-2.0 */
/* Every recipe in every situation, as a table: the n-th allocation of the library fails, once
 * or for good, for n = 1, 2, 3, ... until one runs through. For good means for three seconds,
 * after which there is memory again. Everybody is answered exactly once, nothing stays
 * allocated, and nothing is left behind on the server.
 *
 *   UVZK_VERBOSE  set: one line for each scenario */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"
#include "world.h"

#define FAR_MS 3600000
#define HOLDS 4
#define SCARCE_MS 3000U
#define ROOT "/o"

static struct world world;
static struct process a, b;
static uvzk_lock_t locks[2], members[2]; /* the lock, as A and as B has it; A's members */
static uvzk_rwlock_t rwlock;
static uvzk_shared_count_t count;
static struct hold holds[HOLDS];

static bool is_done_or_refused(int status)
{
    return status == 0 || status == UV_ENOMEM;
}

static void each_ms(struct world *of)
{
    failing_allocator_stop_after(SCARCE_MS, world_now(of));
}

/* -------------------------------------------------------------------- the recipes */

static int mutex(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_mutex_init(&process->client, lock, ROOT "/a");
}

static int cohort(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_mutex_init_with_cohort(&process->client, lock, ROOT "/a", 3, 1000);
}

static int writer(struct process *process, uvzk_lock_t *lock)
{
    (void)lock;
    return process == &a ? uvzk_rwlock_init(&a.client, &rwlock, ROOT "/a") : 0;
}

static int semaphore(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_semaphore_init(&process->client, lock, ROOT "/a", 1, NULL);
}

static void count_changed(uvzk_shared_count_t *of, int status, int32_t value)
{
    (void)of;
    assert_true(status == 0 || status == UV_ENOMEM || status == UVZK_EEXPIRED);
    (void)value;
}

static int counted_semaphore(struct process *process, uvzk_lock_t *lock)
{
    int status = 0;

    if (process != &a) {
        return uvzk_semaphore_init(&process->client, lock, ROOT "/a", 1, NULL);
    }
    if (count.value.impl == NULL) {
        status = uvzk_shared_count_init(&a.client, &count, "/count", 1, count_changed);
    }
    return status != 0 ? status
                       : uvzk_semaphore_init(&a.client, lock, ROOT "/a", 0, &count);
}

static int semaphore_mutex(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_semaphore_mutex_init(&process->client, lock, ROOT "/a");
}

static int several(uvzk_lock_t *lock, unsigned flags,
                   int (*second)(struct process *, uvzk_lock_t *))
{
    uvzk_lock_t *both[] = {&members[0], &members[1]};
    int status = 0;

    if (members[0].impl == NULL) {
        status = uvzk_mutex_init(&a.client, &members[0], ROOT "/a");
    }
    if (status == 0 && members[1].impl == NULL) {
        status = second(&a, &members[1]);
    }
    return status != 0 ? status
                       : uvzk_multilock_init(&a.client, lock, both, 2, flags, NULL);
}

static int second_mutex(struct process *process, uvzk_lock_t *lock)
{
    return uvzk_mutex_init(&process->client, lock, ROOT "/b");
}

static int multi_at_once(struct process *process, uvzk_lock_t *lock)
{
    return process == &a ? several(lock, 0, second_mutex) : mutex(process, lock);
}

static int multi_in_turn(struct process *process, uvzk_lock_t *lock)
{
    return process == &a ? several(lock, UVZK_MULTILOCK_IN_TURN, second_mutex)
                         : mutex(process, lock);
}

static int by_driver(struct process *process, uvzk_lock_t *lock, const char *path,
                     uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = mode;
    return uvzk_lock_init_with_driver(&process->client, lock, path, &driver);
}

static int sequential_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, ROOT "/a", UVZK_NODE_EPHEMERAL_SEQUENTIAL);
}

static int fixed_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, ROOT "/a", UVZK_NODE_EPHEMERAL);
}

static int persistent_driver(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, ROOT "/a", UVZK_NODE_PERSISTENT_SEQUENTIAL);
}

static int second_persistent(struct process *process, uvzk_lock_t *lock)
{
    return by_driver(process, lock, ROOT "/b", UVZK_NODE_PERSISTENT_SEQUENTIAL);
}

static int persistent_multi(struct process *process, uvzk_lock_t *lock)
{
    return process == &a ? several(lock, UVZK_MULTILOCK_IN_TURN, second_persistent)
                         : mutex(process, lock);
}

static const struct recipe {
    const char *name;
    int (*init)(struct process *, uvzk_lock_t *);
    uint32_t sessions;
    int may; /* what an acquire that was accepted may end with, besides 0 */
} recipes[] = {
    {"mutex", mutex, 1, 0},
    {"cohort", cohort, 1, 0},
    {"read-write lock", writer, 1, 0},
    {"semaphore", semaphore, 1, UV_ENOMEM},
    {"semaphore of a shared count", counted_semaphore, 1, UV_ENOMEM},
    {"semaphore mutex", semaphore_mutex, 1, UV_ENOMEM},
    {"multi lock at once", multi_at_once, 1, 0},
    {"multi lock in turn", multi_in_turn, 1, UV_ENOMEM},
    {"multi lock of persistent members", persistent_multi, 1, UV_ENOMEM},
    {"driver", sequential_driver, 1, 0},
    {"driver with one name", fixed_driver, 1, 0},
    {"driver with persistent znodes", persistent_driver, 1, 0},
    {"mutex of several sessions", mutex, 3, 0},
    {"multi lock of several sessions", multi_in_turn, 3, UV_ENOMEM},
};

/* ------------------------------------------------------------------- the situations */

static uvzk_lock_t *lock_of(const struct process *process)
{
    if (rwlock.write.impl != NULL && process == &a) {
        return &rwlock.write;
    }
    return &locks[process == &b];
}

static void never_near(uvzk_hold_t *hold, uint64_t ends_at)
{
    (void)hold;
    (void)ends_at;
    world_fail(&world, "warned of a limit that is far away");
}

static bool ask(int i, struct process *process, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_ms;
    options.max_hold_ms = FAR_MS;
    options.max_hold_cb = never_near;
    if (lock_of(process)->impl == NULL) {
        return false;
    }
    int status = hold_ask(&holds[i], process, lock_of(process), &options);
    assert_true(is_done_or_refused(status));
    return status == 0;
}

static void one_after_the_other(void)
{
    (void)ask(0, &a, UVZK_WAIT_FOREVER);
    (void)ask(1, &b, UVZK_WAIT_FOREVER);
    (void)ask(2, &a, UVZK_WAIT_FOREVER);
    for (int i = 0; i < 3; i++) {
        world_finish(&world, &holds[i]);
    }
}

static void given_up(void)
{
    (void)ask(0, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    (void)ask(1, &a, UVZK_WAIT_FOREVER);
    (void)ask(2, &a, 200);
    (void)ask(3, &a, UVZK_TRY_ONCE);
    world_run_for(&world, 50);
    hold_release_or_cancel(&holds[1]);
    world_run_for(&world, 4000);
}

static void expired(void)
{
    (void)ask(0, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    (void)ask(1, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    a.killed = true;
    for (uint32_t i = 0; i < a.sessions; i++) {
        (void)sim_expire(a.ports[i]);
    }
    world_run_for(&world, 5000);
}

static int told;

static void on_verified(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    (void)status;
    told++;
}

static void on_written(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    (void)status;
    told++;
}

static void on_listed(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    (void)status;
    told++;
}

static void on_revoked(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    (void)status;
    told++;
}

static void on_entry(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                     void *context)
{
    (void)client;
    (void)entry;
    (void)context;
}

static int accepted(int status)
{
    assert_true(is_done_or_refused(status) || status == UV_ENOTSUP ||
                status == UV_EINVAL);
    return status == 0;
}

static void asked_about(void)
{
    static uvzk_req_t verify;
    static uvzk_req_t write;
    static uvzk_req_t list;
    static uvzk_req_t revoke_request;
    static char text[32768];
    const uvzk_write_op_t op = {UVZK_WRITE_CREATE, -1, "/w", "one", 3};
    uvzk_client_metrics_t metrics;
    int calls = 0;

    (void)ask(0, &a, UVZK_WAIT_FOREVER);
    world_await_answer(&world, &holds[0]);
    (void)ask(1, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    told = 0;
    uvzk_client_metrics_init(&metrics);
    assert_true(is_done_or_refused(uvzk_client_start_metrics(&a.client)));
    assert_int_equal(uvzk_client_metrics(&a.client, &metrics), 0);
    (void)uvzk_client_write_metrics(&a.client, "x", text, sizeof(text));
    assert_true(is_done_or_refused(uvzk_client_each_hold(&a.client, on_entry, NULL)));
    if (hold_holds(&holds[0])) {
        calls += accepted(uvzk_hold_verify(&holds[0].request, &verify, on_verified));
        calls += accepted(uvzk_hold_write(&holds[0].request, &write, &op, 1, on_written));
        calls += accepted(
            uvzk_client_revoke(&b.client, &revoke_request, holds[0].path, on_revoked));
        calls += accepted(uvzk_lock_participants(lock_of(&a), &list, on_listed));
    }
    world_run_for(&world, 5000);
    assert_int_equal(told, calls);
}

static void on_future(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)status;
    (void)context;
    told++;
}

static void lost_by_future(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
}

/* One acquire of two parts: as soon as the first is done the other is cancelled. */
static void by_futures(void)
{
    uvzk_future_t parts[2] = {{.data = NULL}}, first = {.data = NULL};
    uvzk_future_t *const both[] = {&parts[0], &parts[1]};
    int calls = 0, made = 0;

    told = 0;
    for (int i = 0; i < 2; i++) {
        made += accepted(
            uvzk_lock_acquire_future(lock_of(&a), &parts[i], NULL, lost_by_future));
    }
    if (made == 2 && accepted(uvzk_future_any_of(&first, both, 2))) {
        calls = accepted(uvzk_future_then(&first, on_future, NULL));
    }
    world_run_for(&world, 6000);
    assert_int_equal(told, calls);
    for (int i = 0; i < 2; i++) {
        uvzk_future_drop(&parts[i]);
    }
    uvzk_future_drop(&first);
    world_run_for(&world, 5000);
}

static void closed(void)
{
    (void)ask(0, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    (void)ask(1, &a, UVZK_WAIT_FOREVER);
    (void)ask(2, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    process_close(&a);
    assert_true(world_await(&world, &a.closed, 60000));
    assert_true(hold_over(&holds[0]) && hold_over(&holds[1]));
    if (a.persistent) {
        hold_release_or_cancel(
            &holds[2]); /* what A could not delete is in its way for ever */
    }
}

static const struct situation {
    const char *name;
    void (*act)(void);
    int may; /* as a recipe's */
    int may_too;
} situations[] = {
    {"one after the other", one_after_the_other, 0, 0},
    {"given up", given_up, UV_ECANCELED, UV_ETIMEDOUT},
    {"expired", expired, UVZK_EEXPIRED, 0},
    {"asked about", asked_about, 0, 0},
    {"closed", closed, UVZK_ECLOSED, UV_ECANCELED},
};

/* -------------------------------------------------------------- memory runs out */

static void begin(const struct recipe *recipe)
{
    uvzk_client_options_t options;

    memset(locks, 0, sizeof(locks));
    memset(members, 0, sizeof(members));
    memset(&rwlock, 0, sizeof(rwlock));
    memset(&count, 0, sizeof(count));
    memset(holds, 0, sizeof(holds));
    process_options(&options);
    options.sessions = recipe->sessions;
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    world.each_ms = each_ms;
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", NULL);
    a.persistent = b.persistent =
        recipe->init == persistent_driver || recipe->init == persistent_multi;
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
}

/* Refused for want of memory nothing is done, and it may be done again. */
static void init(const struct recipe *recipe, struct process *process)
{
    uvzk_lock_t *lock = &locks[process == &b];
    int status = recipe->init(process, lock);

    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        assert_null(lock->impl);
        assert_null(rwlock.write.impl);
        failing_allocator_stop();
        assert_int_equal(recipe->init(process, lock), 0);
    }
}

/* A count is watched as long as it is open. */
static void close_count(void)
{
    if (count.value.impl == NULL || a.closing) {
        return;
    }
    for (int i = 0; i < HOLDS; i++) {
        if (holds[i].accepted) {
            world_finish(&world, &holds[i]);
        }
    }
    assert_int_equal(uvzk_lock_close(&locks[0], NULL), 0);
    world_run_for(&world, 1000);
    assert_int_equal(uvzk_shared_count_close(&count, NULL), 0);
    world_run_for(&world, 1000);
}

static void check(const struct recipe *recipe, const struct situation *situation)
{
    for (int i = 0; i < HOLDS; i++) {
        int status = holds[i].accepted ? holds[i].status : 0;
        if (status != 0 && status != recipe->may && status != situation->may &&
            status != situation->may_too &&
            !(situation->may_too == UV_ETIMEDOUT && status == UVZK_ENOTQUEUED)) {
            world_fail(&world, "an acquire ends with %s", uvzk_err_name(status));
        }
    }
}

static void check_server(void)
{
    static const char *const directories[] = {ROOT "/a", ROOT "/b", ROOT "/a/leases",
                                              ROOT "/a/locks"};

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
static bool perform(const struct recipe *recipe, const struct situation *situation,
                    uint64_t first, uint64_t many)
{
    char what[160];

    (void)snprintf(what, sizeof(what), "%s, %s, from allocation %llu on, %s fail",
                   recipe->name, situation->name, (unsigned long long)first,
                   many == 1 ? "one" : "all");
    failing_allocator_arm(0, 0);
    int64_t live = failing_allocator_live_blocks();
    begin(recipe);
    world.what = what;
    failing_allocator_arm(first, many);
    init(recipe, &a);
    init(recipe, &b);
    situation->act();
    failing_allocator_stop();
    close_count();
    world_release_all(&world);
    check(recipe, situation);
    if (!(a.persistent &&
          a.closing)) { /* persistent znodes may outlive a client in need */
        check_server();
    }
    world_end(&world);
    if (failing_allocator_live_blocks() != live) {
        fail_msg("%s: %lld blocks of memory are never freed", what,
                 (long long)(failing_allocator_live_blocks() - live));
    }
    return failing_allocator_failures() > 0;
}

static int scenarios;
static uint64_t plays;

static void fail_in_turn(const struct recipe *recipe, const struct situation *situation)
{
    uint64_t last[2] = {0, 0};

    for (int good = 0; good < 2; good++) {
        while (perform(recipe, situation, ++last[good],
                       good == 0 ? 1 : FAILING_ALLOCATOR_FOREVER)) {
        }
        plays += last[good];
    }
    assert_true(last[0] > 8 && last[1] > 8); /* there was something to fail */
    scenarios++;
    if (getenv("UVZK_VERBOSE") != NULL) {
        printf("%s, %s: %llu allocations\n", recipe->name, situation->name,
               (unsigned long long)last[0] - 1);
    }
}

static void every_allocation_fails_once_and_for_good(void **state)
{
    static const struct situation futures = {"by futures", by_futures, 0, 0};
    (void)state;

    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        for (size_t j = 0; j < sizeof(situations) / sizeof(situations[0]); j++) {
            fail_in_turn(&recipes[i], &situations[j]);
        }
        fail_in_turn(&recipes[i], &futures);
    }
    printf("%d scenarios, %llu plays\n", scenarios, (unsigned long long)plays);
    assert_true(scenarios >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once_and_for_good),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("out of memory, every recipe", tests, NULL, NULL);
}
