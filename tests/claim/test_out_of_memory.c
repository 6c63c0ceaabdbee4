/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios in which the n-th allocation of the library fails, for n = 1, 2, 3,
 * ... until one runs through: that one must end as if memory had no end, and the
 * others must answer everybody exactly once, and leave nothing behind. So many in a
 * row fail; or all that follow, for three seconds.
 *
 *   UVZK_VERBOSE  set: one line for each scenario */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"
#include "probe.h"
#include "world.h"

/* ---------------------------------------------------------------------- a play */

#define CLAIMS 5
#define SCARCE_MS 3000U /* for good */

static struct world world;
static struct process processes[2];
static struct hold claims[CLAIMS];

static struct {
    uint64_t fail_count;    /* allocations in a row */
    const char *unexpected; /* what would be wrong had memory not failed */
    uvzk_req_t verify;
    uvzk_req_t participants;
    int verified, verify_status;
    int listed, list_status;
    size_t list_count, list_holding;
    uvzk_locker_t locker;
    int locked, unlocked, unlock_status;
    uvzk_req_t write;
    int written, write_status;
    uvzk_req_t read;
    int was_read, read_status;
} play;

#define EXPECT(condition)                              \
    do {                                               \
        if (!(condition) && play.unexpected == NULL) { \
            play.unexpected = #condition;              \
        }                                              \
    } while (0)

static void ask_with(int claim, int process, const uvzk_acquire_options_t *options)
{
    int status = hold_ask(&claims[claim], &processes[process], NULL, options);

    assert_true(status == 0 || status == UV_ENOMEM);
}

static void ask_as(int claim, int process, void *owner, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.timeout_ms = timeout_ms;
    ask_with(claim, process, &options);
}

static void ask_for(int claim, int process)
{
    ask_with(claim, process, NULL);
}

static void await_answer(int claim)
{
    world_await_answer(&world, &claims[claim]);
}

static void finish(int claim)
{
    world_finish(&world, &claims[claim]);
}

static void run(uint64_t ms)
{
    world_run_for(&world, ms);
}

/* A failed allocation is soon tried again, not only when something else happens:
 * a hundred ms later, or, for a proof, a quarter tick. */
static void check_pace(uint64_t since_ms, uint64_t retry_ms)
{
    uint64_t taken = world_now(&world) - since_ms;
    uint64_t most = play.fail_count == FAILING_ALLOCATOR_FOREVER
                        ? SCARCE_MS + retry_ms
                        : play.fail_count * retry_ms;

    if (taken > 200 + most) {
        world_fail(&world, "it takes %llu ms", (unsigned long long)taken);
    }
}

static void one_acquires_and_releases(void)
{
    run(100);
    for (int i = 0; i < 2; i++) {
        uint64_t begin = world_now(&world);
        ask_for(i, 0);
        await_answer(i);
        EXPECT(hold_holds(&claims[i]));
        check_pace(begin, 550);
        begin = world_now(&world);
        finish(i);
        EXPECT(claims[i].release_status == 0);
        check_pace(begin, 110);
        run(5000);
    }
}

static void two_clients_contend(void)
{
    ask_for(0, 0);
    run(500);
    ask_for(1, 1);
    ask_for(2, 1);
    run(100);
    ask_for(3, 0);
    run(5000); /* with proofs while it is held */
    EXPECT(hold_holds(&claims[0]) && claims[1].queued == 1);
    for (int i = 0; i < 4; i++) {
        finish(i);
        EXPECT(claims[i].granted_turn == i + 1);
    }
}

static void an_owner_enters_again(void)
{
    void *owner = &play;

    ask_as(0, 0, owner, UVZK_WAIT_FOREVER);
    ask_as(1, 0, owner, UVZK_WAIT_FOREVER);
    await_answer(0);
    await_answer(1);
    ask_as(2, 0, owner, UVZK_TRY_ONCE);
    await_answer(2);
    EXPECT(hold_holds(&claims[0]) && hold_holds(&claims[2]));
    for (int i = 0; i < 3; i++) {
        finish(i);
        EXPECT(claims[i].release_status == 0);
    }
}

static void waiters_are_cancelled(void)
{
    run(100);
    ask_for(0, 0);
    hold_release_or_cancel(&claims[0]); /* before the create is answered */
    ask_for(1, 0);
    run(500);
    ask_for(2, 1);
    ask_for(3, 0);
    run(500);
    hold_release_or_cancel(&claims[2]);
    hold_release_or_cancel(&claims[3]);
    run(500);
    EXPECT(hold_holds(&claims[1]));
    EXPECT(claims[2].status == UV_ECANCELED && claims[3].status == UV_ECANCELED);
    finish(1);
}

static void waiters_run_out_of_time(void)
{
    ask_for(0, 0);
    run(500);
    ask_as(1, 1, NULL, 700);
    ask_as(2, 1, NULL, UVZK_TRY_ONCE);
    ask_as(3, 0, NULL, UVZK_TRY_ONCE);
    run(2000);
    EXPECT(hold_holds(&claims[0]));
    for (int i = 1; i < 4; i++) {
        await_answer(i);
        EXPECT(claims[i].status == UV_ETIMEDOUT);
    }
    finish(0);
}

static void the_reply_of_the_create_is_lost(void)
{
    run(100);
    ask_for(0, 1);
    run(500);
    sim_lose_reply(processes[0].port);
    ask_for(1, 0);
    run(5000);
    finish(0);
    await_answer(1);
    EXPECT(hold_holds(&claims[1]));
    sim_lose_reply(processes[0].port); /* of the delete now, or of a proof */
    finish(1);
    EXPECT(claims[1].release_status == 0);
}

static void a_reply_does_not_fit_into_memory(void)
{
    run(100);
    sim_reply_enomem(processes[0].port);
    ask_for(0, 0);
    run(2000);
    EXPECT(claims[0].status == UV_ENOMEM);
    ask_for(1, 0);
    await_answer(1);
    EXPECT(hold_holds(&claims[1]));
    sim_reply_enomem(processes[0].port);
    finish(1);
}

static void on_listed(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    play.listed++;
    play.list_status = status;
    play.list_count = count;
    play.list_holding = request->result->holding;
    assert_null(request->impl);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strncmp(paths[i], WORLD_PATH "/", strlen(WORLD_PATH) + 1), 0);
    }
}

static void list(uvzk_lock_t *lock)
{
    play.listed = 0;
    int status = uvzk_lock_participants(lock, &play.participants, on_listed);
    assert_true(status == 0 || status == UV_ENOMEM);
    run(1000);
    assert_int_equal(play.listed, status == 0);
    assert_true(status != 0 || play.list_status == 0 || play.list_status == UV_ENOMEM);
    assert_true(play.list_status == 0 || play.list_count + play.list_holding == 0);
    assert_null(play.participants.impl);
}

static void the_participants_are_listed(void)
{
    ask_for(0, 0);
    ask_for(1, 1);
    run(1000);
    list(&processes[0].mutex);
    EXPECT(play.list_status == 0 && play.list_count == 2 && play.list_holding == 1);
    finish(0);
    finish(1);
}

static void the_participants_of_a_semaphore_are_listed(void)
{
    static const char leases[] = WORLD_PATH "/sem/leases",
                      locks[] = WORLD_PATH "/sem/locks";
    static const char *const made[] = {"/locks", WORLD_PATH, WORLD_PATH "/sem", leases,
                                       locks};
    uvzk_semaphore_t semaphore = {0};
    int status;

    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        (void)sim_create_by_hand(world.sim, made[i], UVZK__CONTAINER);
    }
    (void)world_foreign_node(&world, leases, "lease-");
    (void)world_foreign_node(&world, locks, "lock-");
    status =
        uvzk_semaphore_init(&processes[0].client, &semaphore, WORLD_PATH "/sem", 2, NULL);
    assert_true(status == 0 || status == UV_ENOMEM);
    run(500);
    if (status == 0) {
        list(&semaphore);
        EXPECT(play.list_status == 0 && play.list_count == 2 && play.list_holding == 1);
        assert_int_equal(uvzk_lock_close(&semaphore, NULL), 0);
        run(10);
        assert_null(semaphore.impl);
    }
    for (size_t i = 5; i > 2; i--) {
        if (world_children(&world, made[i - 1]) > 0) {
            world_delete_child(&world, made[i - 1], 0);
        }
        assert_int_equal(sim_delete_by_hand(world.sim, made[i - 1]), 0);
    }
}

static void on_locked(uvzk_locker_t *locker)
{
    play.locked++;
    assert_int_equal(uvzk_locker_done(locker), 0);
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    assert_null(locker->impl);
    play.unlocked++;
    play.unlock_status = status;
}

static void a_locker_runs(void)
{
    int status =
        uvzk_lock_run(&processes[0].mutex, &play.locker, NULL, on_locked, on_unlocked);

    assert_true(status == 0 || status == UV_ENOMEM);
    assert_true(status == 0 || play.locker.impl == NULL);
    EXPECT(status == 0);
    if (status == 0) {
        assert_true(world_await(&world, &play.unlocked, 60000));
        assert_int_equal(play.locked, 1);
        assert_int_equal(play.unlock_status, 0);
    }
    run(1000);
    assert_int_equal(play.unlocked, status == 0);
}

static void on_written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    assert_null(request->impl);
    assert_int_equal(failed, SIZE_MAX);
    play.written++;
    play.write_status = status;
}

static void a_write_is_guarded(void)
{
    static const uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, -1, "/w", "one", 3},
                                          {UVZK_WRITE_SET, -1, "/w", "two", 3}};

    ask_for(0, 0);
    await_answer(0);
    if (hold_holds(&claims[0])) {
        int status = uvzk_hold_write(&claims[0].request, &play.write, ops, 2, on_written);
        assert_true(status == 0 || status == UV_ENOMEM);
        assert_true(status == 0 || play.write.impl == NULL);
        EXPECT(status == 0);
        run(1000);
        assert_int_equal(play.written, status == 0);
        assert_int_equal(play.write_status, 0);
        assert_int_equal(sim_exists(world.sim, "/w"), status == 0);
    }
    finish(0);
}

static void on_read(uvzk_req_t *request, int status)
{
    const void *data = request->result->data;
    size_t length = request->result->length;
    assert_null(request->impl);
    assert_true(status != 0 || (data != NULL && length == 0));
    play.was_read++;
    play.read_status = status;
}

static void a_znode_is_read(void)
{
    assert_non_null(sim_create_by_hand(world.sim, "/r", UVZK__PERSISTENT));
    run(500);
    int status = uvzk_client_read(&processes[0].client, &play.read, "/r", on_read);
    assert_true(status == 0 || status == UV_ENOMEM);
    assert_true(status == 0 || play.read.impl == NULL);
    EXPECT(status == 0);
    run(500);
    assert_int_equal(play.was_read, status == 0);
    assert_int_equal(play.read_status, 0);
    ask_for(0, 0);
    finish(0);
}

static void on_verified(uvzk_req_t *request, int status)
{
    assert_null(request->impl);
    play.verified++;
    play.verify_status = status;
}

static void a_hold_is_verified(void)
{
    ask_for(0, 0);
    await_answer(0);
    play.verify_status = HOLD_NO_STATUS;
    if (hold_holds(&claims[0])) {
        int status = uvzk_hold_verify(&claims[0].request, &play.verify, on_verified);
        assert_true(status == 0 || status == UV_ENOMEM);
        run(1000);
        assert_int_equal(play.verified, status == 0);
        assert_true(status != 0 || play.verify_status == 0);
    }
    EXPECT(play.verify_status == 0);
    finish(0);
}

static void a_client_closes_with_all_it_has(void)
{
    ask_for(0, 0);
    run(500);
    ask_for(1, 0);
    ask_for(2, 1);
    run(500);
    EXPECT(hold_holds(&claims[0]));
    if (hold_holds(&claims[0])) {
        hold_release(&claims[0]);
    }
    process_close(&processes[0]);
    assert_true(world_await(&world, &processes[0].closed, 60000));
    assert_true(hold_over(&claims[0]) && hold_over(&claims[1]));
    EXPECT(claims[1].status == UVZK_ECLOSED);
    await_answer(2);
    EXPECT(hold_holds(&claims[2]));
    process_close(&processes[1]); /* and one with a hold */
    assert_true(world_await(&world, &processes[1].closed, 60000));
    EXPECT(claims[2].reason == UVZK_ECLOSED);
}

static void a_mutex_closes_with_all_it_has(void)
{
    ask_for(0, 0);
    run(500);
    ask_for(1, 0);
    ask_for(2, 1);
    run(500);
    process_close_mutex(&processes[0]);
    assert_true(world_await(&world, &processes[0].mutex_closed, 60000));
    assert_true(hold_over(&claims[0]) && hold_over(&claims[1]));
    EXPECT(claims[0].reason == UVZK_ECLOSED && claims[1].status == UVZK_ECLOSED);
    await_answer(2);
    EXPECT(hold_holds(&claims[2]));
}

static void the_session_expires(void)
{
    ask_for(0, 0);
    ask_for(1, 0);
    run(1000);
    EXPECT(hold_holds(&claims[0]));
    sim_disconnect(processes[0].port, SIM_RESET, 16000);
    ask_for(2, 1);
    run(20000);
    EXPECT(claims[0].reason == UVZK_EPROOF && claims[1].status == UVZK_EEXPIRED);
    EXPECT(hold_holds(&claims[2]));
    ask_for(3, 0); /* in the new session */
    finish(2);
    await_answer(3);
    EXPECT(hold_holds(&claims[3]));
}

static void delete_some_node(size_t which)
{
    world.holder_deleted = true;
    if (which < world_queue_length(&world)) {
        world_delete_child(&world, WORLD_PATH, which);
    }
}

static void nodes_are_deleted_by_hand(void)
{
    ask_for(0, 0);
    run(500);
    ask_for(1, 1);
    run(2500);
    delete_some_node(1); /* the waiter's: it takes another place */
    run(3000);
    EXPECT(hold_holds(&claims[0]) && hold_pending(&claims[1]));
    delete_some_node(0); /* the holder's */
    run(5000);
    EXPECT(claims[0].reason == UVZK_EDELETED);
    await_answer(1);
    EXPECT(hold_holds(&claims[1]));
    finish(1);
}

static void a_foreign_node_stands_before(void)
{
    struct world_path one, other;

    ask_for(0, 0); /* makes the directory */
    await_answer(0);
    finish(0);
    one = world_foreign_node(&world, WORLD_PATH, "lock-");
    other = world_foreign_node(&world, WORLD_PATH, "lock-");
    if (one.text[0] == '\0') {
        return; /* out of memory, and no directory */
    }
    ask_for(1, 0);
    run(1000);
    assert_int_equal(claims[1].granted_turn, 0);
    world_delete(&world, &other);
    run(1000);
    assert_int_equal(claims[1].granted_turn, 0);
    world_delete(&world, &one);
    await_answer(1);
    EXPECT(hold_holds(&claims[1]));
}

static void data_and_many_at_once(void)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = "who I am";
    options.node_data_length = 8;
    for (int i = 0; i < CLAIMS; i++) {
        options.owner = &claims[i];
        ask_with(i, 0, &options);
    }
    run(2000);
    EXPECT(hold_holds(&claims[0]));
    for (int i = 0; i < CLAIMS; i++) {
        finish(i);
        EXPECT(claims[i].release_status == 0);
    }
}

/* Their directories are missing, and then they are not. */
static void locks_of_one_turn(void)
{
    static uvzk_mutex_t locks[CLAIMS];
    char path[] = "/turn/0";

    run(100);
    memset(locks, 0, sizeof(locks));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CLAIMS; i++) {
            path[sizeof(path) - 2] = (char)('0' + i);
            int status = locks[i].impl != NULL
                             ? 0
                             : uvzk_mutex_init(&processes[0].client, &locks[i], path);
            if (status == 0) {
                status = hold_ask(&claims[i], &processes[0], &locks[i], NULL);
            }
            assert_true(status == 0 || status == UV_ENOMEM);
        }
        for (int i = 0; i < CLAIMS; i++) {
            await_answer(i);
            EXPECT(hold_holds(&claims[i]));
            finish(i);
        }
    }
}

/* ------------------------------------------------------------- memory runs out */

static const struct scenario {
    const char *name;
    void (*act)(void);
    int may; /* how an acquire may end, beside 0: once accepted, lack of memory only
                costs it time */
} scenarios[] = {
    {"acquire and release", one_acquires_and_releases, 0},
    {"contention", two_clients_contend, 0},
    {"re-entry", an_owner_enters_again, UV_ETIMEDOUT},
    {"cancel", waiters_are_cancelled, UV_ECANCELED},
    {"deadline", waiters_run_out_of_time, UV_ETIMEDOUT},
    {"lost reply", the_reply_of_the_create_is_lost, 0},
    {"spoiled reply", a_reply_does_not_fit_into_memory, UV_ENOMEM},
    {"participants", the_participants_are_listed, 0},
    {"participants of a semaphore", the_participants_of_a_semaphore_are_listed, 0},
    {"verify", a_hold_is_verified, 0},
    {"locker", a_locker_runs, 0},
    {"guarded write", a_write_is_guarded, 0},
    {"read", a_znode_is_read, 0},
    {"close", a_client_closes_with_all_it_has, UVZK_ECLOSED},
    {"close of the mutex", a_mutex_closes_with_all_it_has, UVZK_ECLOSED},
    {"expiry", the_session_expires, UVZK_EEXPIRED},
    {"deleted by hand", nodes_are_deleted_by_hand, UVZK_EDELETED},
    {"foreigners", a_foreign_node_stands_before, 0},
    {"data", data_and_many_at_once, 0},
    {"locks of one turn", locks_of_one_turn, 0},
};

static void check_status(const struct scenario *scenario, int status)
{
    bool known = status == 0 || status == HOLD_NO_STATUS;
    /* What found no memory for so long has no place yet when the time runs out. */
    bool unplaced = scenario->may == UV_ETIMEDOUT && status == UVZK_ENOTQUEUED;

    if (!known && !unplaced && status != scenario->may) {
        world_fail(&world, "an acquire ends with %s", uvzk_err_name(status));
    }
}

static void each_ms(struct world *of)
{
    if (play.fail_count == FAILING_ALLOCATOR_FOREVER) {
        failing_allocator_stop_after(SCARCE_MS, world_now(of));
    }
}

/* Returns true if an allocation failed. */
static bool perform(const struct scenario *scenario, unsigned tuning, uint64_t first,
                    uint64_t count)
{
    char what[128];

    (void)snprintf(what, sizeof(what), "%s, tuning %u, allocations %llu to %llu fail",
                   scenario->name, tuning, (unsigned long long)first,
                   (unsigned long long)(first + count - 1));
    failing_allocator_arm(0, 0);
    int64_t live = failing_allocator_live_blocks();
    memset(claims, 0, sizeof(claims));
    memset(&play, 0, sizeof(play));
    play.fail_count = count;
    world_begin_exact(&world, tuning, 1);
    world.what = what;
    world.each_ms = each_ms;
    process_make(&processes[0], &world, "a", NULL);
    process_make(&processes[1], &world, "b", NULL);
    failing_allocator_arm(first, count);
    process_start(&processes[0]);
    process_start(&processes[1]);
    scenario->act();
    bool failed = failing_allocator_failures() > 0;
    if (!failed && play.unexpected != NULL) {
        world_fail(&world, "not so: %s", play.unexpected);
    }
    failing_allocator_arm(0, 0); /* there is memory again */
    world_release_all(&world);
    for (int i = 0; i < CLAIMS; i++) {
        if (claims[i].accepted) {
            check_status(scenario, claims[i].status);
        }
    }
    world_end(&world);
    if (failing_allocator_live_blocks() != live) {
        fail_msg("%s: %lld blocks of memory are never freed", what,
                 (long long)(failing_allocator_live_blocks() - live));
    }
    return failed;
}

static void fail_in_turn(const struct scenario *scenario, unsigned tuning, uint64_t count)
{
    uint64_t first = 1;

    while (perform(scenario, tuning, first, count)) {
        first++;
    }
    assert_true(first > 8); /* there was something to fail */
    if (getenv("UVZK_VERBOSE") != NULL) {
        printf("%s, tuning %u: %llu allocations, %llu failing in a row\n", scenario->name,
               tuning, (unsigned long long)first - 1, (unsigned long long)count);
    }
}

static void fail_everywhere(uint64_t count)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        fail_in_turn(&scenarios[i], UVZK__TUNE_ALL, count);
        fail_in_turn(&scenarios[i], 0, count);
    }
}

static void one_allocation_fails(void **state)
{
    (void)state;
    fail_everywhere(1);
}

static void five_in_a_row_fail(void **state)
{
    (void)state;
    fail_everywhere(5);
}

static void forty_in_a_row_fail(void **state)
{
    (void)state;
    fail_everywhere(40);
}

/* For so long that whatever is tried again has been tried again. */
static void all_fail_from_one_on(void **state)
{
    (void)state;
    fail_everywhere(FAILING_ALLOCATOR_FOREVER);
}

/* ------------------------------------------------------------------ making clients */

static void fill(uvzk_client_options_t *options)
{
    static const uvzk_acl_t acl[] = {
        {UVZK_PERM_ALL, "digest", "me:d6EnEzqYquczJZvSt1l9D5Iogac="},
        {UVZK_PERM_READ, "world", "anyone"}};

    uvzk_client_options_init(options);
    options->hosts = "simulated:1";
    options->ns = "app";
    options->acl = acl;
    options->acl_count = 2;
    options->default_data = "me";
    options->default_data_length = 2;
}

/* Made, or nothing done: then the port is still ours. */
static bool make_and_close(struct sim *sim, uint64_t first)
{
    struct uvzk__port *port = sim_port_new(sim, "c");
    uvzk_client_t client = {0};
    uvzk_mutex_t mutex = {0};
    uvzk_client_options_t options;
    int64_t live = failing_allocator_live_blocks();

    fill(&options);
    failing_allocator_arm(first, 1);
    int status = uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL);
    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        assert_null(client.impl);
        assert_int_equal(failing_allocator_live_blocks(), live);
        assert_int_equal(uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL), 0);
    }
    status = uvzk_mutex_init(&client, &mutex, "/a");
    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        assert_null(mutex.impl);
        assert_int_equal(uvzk_mutex_init(&client, &mutex, "/a"), 0);
    }
    assert_int_equal(uvzk_client_close(&client, NULL), 0);
    sim_run_for(sim, 1000);
    assert_null(client.impl);
    assert_int_equal(failing_allocator_live_blocks(), live);
    return failing_allocator_failures() > 0;
}

static void create_fails_without_a_trace(void **state)
{
    struct sim *sim = sim_new(1, NULL);
    uint64_t first = 1;

    (void)state;
    while (make_and_close(sim, first)) {
        first++;
    }
    assert_true(first > 8);
    sim_free(sim);
}

/* Else the failures above were the simulator's own. */
static void the_simulator_has_memory_of_its_own(void **state)
{
    (void)state;
    failing_allocator_arm(1, UINT64_MAX);
    struct sim *sim = sim_exact();
    struct probe *probe = probe_connected(sim, "c");
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    (void)watch_on(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(create(probe, "/a/b", UVZK__EPHEMERAL), 0);
    assert_int_equal(read_once(probe, UVZK__RPC_CHILDREN, "/a"), 0);
    sim_disconnect(probe->port, SIM_RESET, 100);
    sim_run_for(sim, 5000);
    probe_end(probe);
    sim_free(sim);
    assert_int_equal(failing_allocator_calls(), 0);
    failing_allocator_arm(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simulator_has_memory_of_its_own),
        cmocka_unit_test(create_fails_without_a_trace),
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(five_in_a_row_fail),
        cmocka_unit_test(forty_in_a_row_fail),
        cmocka_unit_test(all_fail_from_one_on),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
