/* SPDX-License-Identifier: Apache-2.0 */
/* A view of a lock's participants (uvzk_participants_view_init), over the simulator: what is
 * told, and when; and that in the end it is what uvzk_lock_participants finds, whatever has
 * happened to connections and sessions meanwhile. test_participants has a view of every kind
 * of lock. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "process.h"
#include "world.h"

#define PATH "/m"
#define PATHS_MAX 16
#define PATIENCE_MS 60000U
#define HOLDS 6U

struct shown {
    size_t count, holding;
    char paths[PATHS_MAX][128];
};

struct follower {
    uvzk_participants_view_t participants;
    int told, status, closed;
    struct shown shown;         /* last */
    bool closes;                /* inside the callback */
    uint64_t told_ms, least_ms; /* when it was told last; the shortest time between two */
};

static struct world world;
static struct process a, b;

/* ------------------------------------------------------------------------- followers */

static void copy_shown(struct shown *shown, const uvzk_result_t *result)
{
    memset(shown, 0, sizeof(*shown));
    shown->count = result->count;
    shown->holding = result->holding;
    for (size_t i = 0; i < result->count && i < PATHS_MAX; i++) {
        (void)snprintf(shown->paths[i], sizeof(shown->paths[i]), "%s", result->paths[i]);
    }
}

static void on_closed(uvzk_participants_view_t *participants)
{
    struct follower *follower = participants->data;

    assert_null(participants->impl);
    follower->closed++;
}

static void on_told(uvzk_participants_view_t *participants, int status,
                    const uvzk_result_t *result)
{
    struct follower *follower = participants->data;
    uint64_t now = world_now(&world);

    assert_int_equal(follower->closed, 0);
    assert_true(status == 0 || result->count == 0);
    if (follower->told > 0 && now - follower->told_ms < follower->least_ms) {
        follower->least_ms = now - follower->told_ms;
    }
    follower->told_ms = now;
    follower->told++;
    follower->status = status;
    copy_shown(&follower->shown, result);
    if (follower->closes) {
        assert_int_equal(uvzk_participants_view_close(participants, on_closed), 0);
    }
}

static int ask_view(struct follower *follower, uvzk_lock_t *lock, uint64_t interval_ms)
{
    memset(follower, 0, sizeof(*follower));
    follower->participants.data = follower;
    follower->status = HOLD_NO_STATUS;
    follower->least_ms = UINT64_MAX;
    return uvzk_participants_view_init(lock, &follower->participants, interval_ms,
                                       on_told);
}

static void open_view(struct follower *follower, uvzk_lock_t *lock, uint64_t interval_ms)
{
    assert_int_equal(ask_view(follower, lock, interval_ms), 0);
    assert_int_equal(follower->told, 0);
}

static void close_view(struct follower *follower)
{
    int told = follower->told;

    assert_int_equal(uvzk_participants_view_close(&follower->participants, on_closed), 0);
    assert_int_equal(follower->closed, 0);
    assert_true(world_await(&world, &follower->closed, PATIENCE_MS));
    assert_int_equal(follower->told, told);
}

/* Waits until it has been told so often. */
static void await_told(const struct follower *follower, int times)
{
    uint64_t end = world_now(&world) + PATIENCE_MS;

    while (follower->told < times && world_now(&world) < end) {
        world_run_for(&world, 1);
    }
    assert_int_equal(follower->told, times);
}

static void expect(const struct follower *follower, int times, size_t count,
                   size_t holding)
{
    await_told(follower, times);
    assert_int_equal(follower->status, 0);
    assert_int_equal(follower->shown.count, count);
    assert_int_equal(follower->shown.holding, holding);
}

/* ----------------------------------------------------------------- znodes by hand */

static void begin(void)
{
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    world_run_for(&world, 100);
}

static void make(const char *path)
{
    assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
}

static void contender(char *path, size_t size, int number)
{
    (void)snprintf(path, size, PATH WORLD_FOREIGN_PREFIX "lock-%010d", number);
}

static void put(int number)
{
    char path[128];

    contender(path, sizeof(path), number);
    make(path);
}

static void take_away(int number)
{
    char path[128];

    contender(path, sizeof(path), number);
    assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
}

static void begin_with_mutex(uvzk_mutex_t *mutex)
{
    begin();
    memset(mutex, 0, sizeof(*mutex));
    assert_int_equal(uvzk_mutex_init(&a.client, mutex, PATH), 0);
}

/* ----------------------------------------------------------------------- what is told */

static void test_each_change_is_told_once(void **state)
{
    struct follower follower;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    open_view(&follower, &mutex, 0);
    expect(&follower, 1, 0, 0); /* there is no znode at its path */
    make(PATH);
    world_run_for(&world, 100);
    expect(&follower, 1, 0, 0);
    put(12);
    expect(&follower, 2, 1, 1);
    put(7);
    expect(&follower, 3, 2, 1);
    assert_non_null(strstr(follower.shown.paths[0], "lock-0000000007"));
    assert_non_null(strstr(follower.shown.paths[1], "lock-0000000012"));
    make(PATH "/foreign");
    world_run_for(&world, 5 * WORLD_TIMEOUT_MS); /* its watch is renewed, too */
    expect(&follower, 3, 2, 1);
    take_away(7);
    expect(&follower, 4, 1, 1);
    take_away(12);
    assert_int_equal(sim_delete_by_hand(world.sim, PATH "/foreign"), 0);
    assert_int_equal(sim_delete_by_hand(world.sim, PATH), 0);
    expect(&follower, 5, 0, 0);
    make(PATH);
    put(1);
    expect(&follower, 6, 1, 1);
    close_view(&follower);
    world_release_and_end(&world);
}

static void test_changes_that_come_together_are_told_together(void **state)
{
    struct follower follower;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    make(PATH);
    open_view(&follower, &mutex, 0);
    expect(&follower, 1, 0, 0);
    for (int i = 0; i < PATHS_MAX; i++) {
        put(i);
    }
    expect(&follower, 2, PATHS_MAX, 1);
    close_view(&follower);
    world_release_and_end(&world);
}

/* Two views with intervals, 5 and 60 s, that come together and have been told. */
static void begin_with_slow_views(uvzk_mutex_t *mutex, struct follower *slow,
                                  struct follower *slower)
{
    begin_with_mutex(mutex);
    make(PATH);
    open_view(slow, mutex, 5000);
    open_view(slower, mutex, 60000);
    expect(slow, 1, 0, 0);
    world_run_for(&world, 100);
}

/* A listing is followed by another one only after the interval, and then shows all that has
 * come meanwhile. Whoever wants no interval is not held up by one who does. */
static void test_an_interval_limits_the_listings(void **state)
{
    struct follower slow, slower, fast;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_slow_views(&mutex, &slow, &slower);
    uint64_t before = sim_submitted(a.port);
    for (int i = 0; i < 10; i++) {
        put(i);
        world_run_for(&world, 100);
    }
    assert_int_equal(slow.told, 1);
    expect(&slow, 2, 10, 1);
    assert_true(slow.least_ms >= 5000);
    assert_true(sim_submitted(a.port) - before < 8); /* and pings */
    open_view(&fast, &mutex, 0);
    uint64_t asked = world_now(&world);
    expect(&fast, 1, 10, 1);
    assert_true(world_now(&world) - asked < 100);
    put(10);
    expect(&fast, 2, 11, 1);
    assert_true(fast.told_ms - fast.least_ms < asked + 200);
    close_view(&fast);
    close_view(&slower);
    close_view(&slow);
    world_release_and_end(&world);
}

/* ... not even in the pause after the first listings, of two views that came together. */
static void test_a_view_without_an_interval_does_not_wait(void **state)
{
    struct follower slow, slower, fast;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_slow_views(&mutex, &slow, &slower);
    open_view(&fast, &mutex, 0);
    world_run_for(&world, 100);
    assert_int_equal(fast.told, 1);
    close_view(&fast);
    close_view(&slower);
    close_view(&slow);
    world_release_and_end(&world);
}

/* Two of one client share the watch and the listing. */
static void test_followers_share_their_listings(void **state)
{
    struct follower one, other;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    make(PATH);
    open_view(&one, &mutex, 0);
    open_view(&other, &mutex, 0);
    expect(&one, 1, 0, 0);
    expect(&other, 1, 0, 0);
    world_run_for(&world, 100); /* the second one has had it listed once more */
    assert_int_equal(sim_armed(a.port), 1);
    uint64_t before = sim_submitted(a.port);
    put(3);
    expect(&one, 2, 1, 1);
    expect(&other, 2, 1, 1);
    assert_int_equal(sim_submitted(a.port) - before, 1);
    close_view(&one);
    put(4);
    expect(&other, 3, 2, 1);
    close_view(&other);
    world_run_for(&world, 1000);
    assert_int_equal(sim_armed(a.port), 0);
    world_release_and_end(&world);
}

/* ---------------------------------------------------------------------- troubles */

static void test_troubles_are_told_once_until_they_end(void **state)
{
    struct follower follower;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    make(PATH);
    put(5);
    sim_set_readable(world.sim, PATH, false);
    open_view(&follower, &mutex, 0);
    await_told(&follower, 1);
    assert_int_equal(follower.status, UVZK_ENOAUTH);
    world_run_for(&world, 5 * WORLD_TIMEOUT_MS);
    assert_int_equal(follower.told, 1);
    sim_set_readable(world.sim, PATH, true);
    expect(&follower, 2, 1, 1);
    close_view(&follower);
    world_release_and_end(&world);
}

/* Of a semaphore, one of the two directories is not enough. */
static void test_half_a_semaphore_is_not_told(void **state)
{
    struct follower follower;
    (void)state;

    begin();
    process_make_semaphore(&a, "/s", 2);
    make("/s");
    make("/s/leases");
    make("/s/leases" WORLD_FOREIGN_PREFIX "lease-0000000001");
    make("/s/locks");
    sim_set_readable(world.sim, "/s/locks", false);
    open_view(&follower, &a.semaphore, 0);
    await_told(&follower, 1);
    assert_int_equal(follower.status, UVZK_ENOAUTH);
    sim_set_readable(world.sim, "/s/locks", true);
    expect(&follower, 2, 1, 1);
    close_view(&follower);
    world_release_and_end(&world);
}

static void test_an_outage_and_the_end_of_the_session_are_survived(void **state)
{
    struct follower follower;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    make(PATH);
    put(5);
    open_view(&follower, &mutex, 0);
    expect(&follower, 1, 1, 1);
    sim_disconnect(a.port, SIM_RESET, 2000);
    put(6);
    world_run_for(&world, 1000);
    assert_int_equal(follower.told, 1); /* what was told is out of date */
    expect(&follower, 2, 2, 1);
    process_expire(&a);
    put(7);
    expect(&follower, 3, 3, 1);
    put(8);
    expect(&follower, 4, 4, 1);
    close_view(&follower);
    world_release_and_end(&world);
}

static void test_refused_credentials_are_told(void **state)
{
    struct follower follower, late;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    a.may_log_errors = true;
    open_view(&follower, &mutex, 0);
    expect(&follower, 1, 0, 0);
    sim_fail_auth(a.port);
    await_told(&follower, 2);
    assert_int_equal(follower.status, UVZK_EAUTH);
    open_view(&late, &mutex, 0);
    await_told(&late, 1);
    assert_int_equal(late.status, UVZK_EAUTH);
    close_view(&late);
    close_view(&follower);
    world_release_and_end(&world);
}

/* -------------------------------------------------------------------------- the calls */

static void unused(uvzk_participants_view_t *participants, int status,
                   const uvzk_result_t *result)
{
    (void)participants;
    (void)result;
    fail_msg("a call that was refused is answered: %s", uvzk_err_name(status));
}

static void test_bad_calls_are_refused(void **state)
{
    uvzk_participants_view_t participants = {0};
    struct follower follower;
    uvzk_mutex_t mutex, none = {0};
    (void)state;

    begin_with_mutex(&mutex);
    assert_int_equal(uvzk_participants_view_init(NULL, &participants, 0, unused),
                     UV_EINVAL);
    assert_int_equal(uvzk_participants_view_init(&mutex, NULL, 0, unused), UV_EINVAL);
    assert_int_equal(uvzk_participants_view_init(&mutex, &participants, 0, NULL),
                     UV_EINVAL);
    assert_int_equal(
        uvzk_participants_view_init(&mutex, &participants, UINT64_C(1) << 32, unused),
        UV_EINVAL);
    assert_int_equal(uvzk_participants_view_init(&none, &participants, 0, unused),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_participants_view_close(&participants, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_participants_view_close(NULL, NULL), UV_EINVAL);
    assert_null(participants.impl);
    open_view(&follower, &mutex, 0);
    assert_int_equal(
        uvzk_participants_view_init(&mutex, &follower.participants, 0, on_told),
        UV_EBUSY);
    assert_int_equal(uvzk_participants_view_close(&follower.participants, on_closed), 0);
    assert_int_equal(uvzk_participants_view_close(&follower.participants, on_closed),
                     UVZK_ESTATE);
    assert_true(world_await(&world, &follower.closed, PATIENCE_MS));
    world_run_for(&world, 1000);
    assert_int_equal(follower.closed, 1);
    assert_int_equal(follower.told, 0);
    world_release_and_end(&world);
}

static int locks_closed;

static void on_lock_closed(uvzk_lock_t *lock)
{
    (void)lock;
    locks_closed++;
}

/* The lock's close callback waits for the follower, which goes on until then. */
static void test_the_lock_closes_after_its_followers(void **state)
{
    struct follower follower, last;
    uvzk_mutex_t mutex;
    (void)state;

    locks_closed = 0;
    begin_with_mutex(&mutex);
    make(PATH);
    open_view(&follower, &mutex, 0);
    open_view(&last, &mutex, 0);
    expect(&follower, 1, 0, 0);
    assert_int_equal(uvzk_lock_close(&mutex, on_lock_closed), 0);
    assert_int_equal(
        uvzk_participants_view_init(&mutex, &(uvzk_participants_view_t){0}, 0, unused),
        UVZK_ECLOSED);
    put(1);
    expect(&follower, 2, 1, 1);
    close_view(&follower);
    world_run_for(&world, 1000);
    assert_int_equal(locks_closed, 0);
    close_view(&last);
    assert_true(world_await(&world, &locks_closed, PATIENCE_MS));
    world_release_and_end(&world);
}

/* At every step: inside the callback, before the first one, with the client. */
static bool closes_after(int steps, bool client)
{
    struct follower follower;
    uvzk_mutex_t mutex;

    begin_with_mutex(&mutex);
    make(PATH);
    put(1);
    open_view(&follower, &mutex, 0);
    for (int i = 0; i < steps && follower.told == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = follower.told == 0;
    int told = follower.told;
    if (client) {
        process_close(&a);
        world_run_for(&world, 5000);
        assert_int_equal(follower.closed, 0);
        assert_null(follower.participants.impl);
    } else {
        close_view(&follower);
    }
    assert_int_equal(follower.told, told);
    world_release_and_end(&world);
    return in_time;
}

static void test_closing_at_every_step(void **state)
{
    (void)state;
    for (int client = 0; client < 2; client++) {
        int steps = 0;
        while (closes_after(steps, client != 0)) {
            steps++;
        }
        assert_true(steps > 2);
    }
}

/* The close is under way when the client is closed: its callback still comes. */
static void test_closing_in_the_callback_and_with_the_client(void **state)
{
    struct follower follower;
    uvzk_mutex_t mutex;
    (void)state;

    begin_with_mutex(&mutex);
    open_view(&follower, &mutex, 0);
    follower.closes = true;
    await_told(&follower, 1);
    assert_true(world_await(&world, &follower.closed, PATIENCE_MS));
    open_view(&follower, &mutex, 0);
    expect(&follower, 1, 0, 0);
    assert_int_equal(uvzk_participants_view_close(&follower.participants, on_closed), 0);
    process_close(&a);
    assert_true(world_await(&world, &follower.closed, PATIENCE_MS));
    world_release_and_end(&world);
}

static void on_future(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    *(int *)context = status;
}

static void test_a_future_waits_for_the_close(void **state)
{
    struct follower follower;
    uvzk_future_t future = {0};
    uvzk_mutex_t mutex;
    int status = HOLD_NO_STATUS;
    (void)state;

    begin_with_mutex(&mutex);
    open_view(&follower, &mutex, 0);
    assert_int_equal(uvzk_participants_view_close(&follower.participants, on_closed), 0);
    assert_int_equal(uvzk_future_end(&future, &follower.participants), 0);
    assert_int_equal(uvzk_future_then(&future, on_future, &status), 0);
    world_run_for(&world, 1000);
    assert_int_equal(status, 0);
    assert_int_equal(follower.closed, 1);
    uvzk_future_drop(&future);
    world_release_and_end(&world);
}

/* ----------------------------------------------------------------- whole histories */

static struct {
    uvzk_req_t request;
    int told, status;
    struct shown shown;
} asked;

static void on_asked(uvzk_req_t *request, int status)
{
    (void)request;
    asked.told++;
    asked.status = status;
    copy_shown(&asked.shown, request->result);
}

/* Everything has been quiet for a while: what was told last is what is found now. */
static void expect_found(const struct follower *follower, uvzk_lock_t *lock)
{
    memset(&asked, 0, sizeof(asked));
    assert_int_equal(uvzk_lock_participants(lock, &asked.request, on_asked), 0);
    assert_true(world_await(&world, &asked.told, PATIENCE_MS));
    assert_int_equal(asked.status, 0);
    assert_int_equal(follower->status, 0);
    assert_memory_equal(&follower->shown, &asked.shown, sizeof(asked.shown));
}

static void disturb(uint64_t number)
{
    void (*const faults[])(struct process *) = {
        process_no_fault,   process_no_fault,     process_lose_request,
        process_lose_reply, process_reply_enomem, process_reset,
        process_silence,    process_lose_leader,  process_expire};
    struct process *process = number % 2 == 0 ? &a : &b;

    faults[number / 2 % (sizeof(faults) / sizeof(faults[0]))](process);
}

static void let_go(struct hold *holds, bool *let, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!hold_over(&holds[i]) && !let[i]) {
            hold_release_or_cancel(&holds[i]);
        }
        let[i] = true;
    }
}

static void run_history(uint64_t seed, void *const *state)
{
    struct hold holds[HOLDS];
    bool let[HOLDS];
    struct follower followers[2];
    bool semaphore = seed % 2 == 0;

    world_begin_ready(&world, seed, state, &a, &b);
    world.outage_ms = 1 + sim_random(world.sim, 4000);
    process_make_semaphore(&a, "/s", 2);
    process_make_semaphore(&b, "/s", 2);
    uvzk_lock_t *lock = semaphore ? &a.semaphore : &a.mutex;
    uvzk_lock_t *other = semaphore ? &b.semaphore : &b.mutex;
    open_view(&followers[0], lock, 0);
    open_view(&followers[1], lock, sim_random(world.sim, 2000));
    for (int round = 0; round < 3; round++) {
        memset(let, 0, sizeof(let));
        for (size_t i = 0; i < HOLDS; i++) {
            hold_begin_on(&holds[i], i % 2 == 0 ? &a : &b, i % 2 == 0 ? lock : other,
                          semaphore ? 1 : 0, UVZK_WAIT_FOREVER);
            world_run_for(&world, sim_random(world.sim, 300));
            if (sim_random(world.sim, 3) == 0) {
                let_go(&holds[i], &let[i], 1);
            }
        }
        disturb(sim_random(world.sim, 1000));
        world_run_for(&world, sim_random(world.sim, 5000));
        if (round == 1) { /* some stay */
            world_run_for(&world, 4 * WORLD_TIMEOUT_MS);
            expect_found(&followers[0], lock);
            expect_found(&followers[1], lock);
        }
        let_go(holds, let, HOLDS);
        for (size_t i = 0; i < HOLDS; i++) {
            while (!hold_over(&holds[i])) {
                world_run_for(&world, 1);
            }
        }
    }
    world_run_for(&world, 4 * WORLD_TIMEOUT_MS);
    expect_found(&followers[0], lock);
    expect_found(&followers[1], lock);
    assert_int_equal(followers[0].shown.count, 0);
    assert_true(followers[0].told > 3);
    close_view(&followers[0]);
    close_view(&followers[1]);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------- out of memory */

static bool run_with(uint64_t fails)
{
    struct follower follower;
    uvzk_mutex_t mutex;

    begin_with_mutex(&mutex);
    a.may_log_errors = true;
    make(PATH);
    put(1);
    failing_allocator_arm(fails, 1);
    int status = ask_view(&follower, &mutex, 0);
    assert_true(status == 0 || status == UV_ENOMEM);
    world_run_for(&world, 1000);
    put(2);
    world_run_for(&world, 1000);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_stop();
    if (status == 0) {
        assert_int_equal(follower.status, 0);
        assert_int_equal(follower.shown.count, 2);
        close_view(&follower);
    } else {
        assert_null(follower.participants.impl);
    }
    world_release_and_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void test_out_of_memory(void **state)
{
    uint64_t fails = 1;
    (void)state;

    while (run_with(fails)) {
        fails++;
    }
    assert_true(fails > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_change_is_told_once),
        cmocka_unit_test(test_changes_that_come_together_are_told_together),
        cmocka_unit_test(test_an_interval_limits_the_listings),
        cmocka_unit_test(test_a_view_without_an_interval_does_not_wait),
        cmocka_unit_test(test_followers_share_their_listings),
        cmocka_unit_test(test_troubles_are_told_once_until_they_end),
        cmocka_unit_test(test_half_a_semaphore_is_not_told),
        cmocka_unit_test(test_an_outage_and_the_end_of_the_session_are_survived),
        cmocka_unit_test(test_refused_credentials_are_told),
        cmocka_unit_test(test_bad_calls_are_refused),
        cmocka_unit_test(test_the_lock_closes_after_its_followers),
        cmocka_unit_test(test_closing_at_every_step),
        cmocka_unit_test(test_closing_in_the_callback_and_with_the_client),
        cmocka_unit_test(test_a_future_waits_for_the_close),
        cmocka_unit_test(test_out_of_memory),
        WORLD_SCENARIO(run_history, 1, 200),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("participants view", tests, NULL, NULL);
}
