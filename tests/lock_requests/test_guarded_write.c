/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded writes over the simulator: what is told and what the znodes have agree,
 * whatever happens on the way. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define DATA "/app/data" /* what is written */
#define SECOND "/app/second"

static struct world world;
static struct process process;
static uvzk_client_t *const client = &process.client;
static struct hold held;  /* of its mutex */
static struct hold other; /* of another lock of it */

static struct {
    uvzk_req_t request;
    int told, status;
    size_t failed;
} writing;

static void on_written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    assert_ptr_equal(request, &writing.request);
    assert_null(request->impl);
    writing.told++;
    writing.status = status;
    writing.failed = failed;
}

static int ask(uvzk_hold_t *hold, const uvzk_write_op_t *ops, size_t count)
{
    memset(&writing, 0, sizeof(writing));
    writing.status = HOLD_NO_STATUS;
    return uvzk_hold_write(hold, &writing.request, ops, count, on_written);
}

static void await_told(int status)
{
    assert_true(world_await(&world, &writing.told, 60000));
    assert_int_equal(writing.told, 1);
    assert_int_equal(writing.status, status);
}

static void write_all(struct hold *hold, const uvzk_write_op_t *ops, size_t count,
                      int status)
{
    assert_int_equal(ask(&hold->request, ops, count), 0);
    await_told(status);
}

static void write_by(struct hold *hold, const uvzk_write_op_t *op, int status)
{
    write_all(hold, op, 1, status);
}

/* The process holds its mutex, and /app stands. */
static void begin(void)
{
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    assert_non_null(sim_create_by_hand(world.sim, "/app", UVZK__PERSISTENT));
    process_begin(&process, &world, "a", NULL);
    hold_take(&held, &process);
}

static const uvzk_write_op_t create = {UVZK_WRITE_CREATE, -1, DATA, "one", 3};

static bool has(const char *path, const char *text)
{
    size_t length;
    const void *data = sim_data(world.sim, path, &length);

    return data != NULL && length == strlen(text) && memcmp(data, text, length) == 0;
}

/* ------------------------------------------------------------------ what it does */

static void test_all_operations_are_done(void **state)
{
    char path[] = DATA, text[] = "one";
    uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, 7, path, text, 3},
                             {UVZK_WRITE_CHECK, 0, DATA, NULL, 0},
                             {UVZK_WRITE_SET, 0, DATA, "two", 3},
                             {UVZK_WRITE_CREATE, -1, SECOND, NULL, 0},
                             {UVZK_WRITE_DELETE, 0, SECOND, NULL, 0}};
    (void)state;

    begin();
    assert_int_equal(ask(&held.request, ops, LENGTH(ops)), 0);
    assert_int_equal(writing.told, 0);
    path[1] = text[0] = 'x'; /* they were copied */
    memset(ops, 0, sizeof(ops));
    await_told(0);
    assert_int_equal(writing.failed, SIZE_MAX);
    assert_true(has(DATA, "two"));
    assert_false(sim_exists(world.sim, SECOND));
    world_release_and_end(&world);
}

static void refuse(const uvzk_write_op_t *op, int status)
{
    const uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, -1, SECOND, "x", 1}, *op};

    write_all(&held, ops, 2, status);
    assert_int_equal(writing.failed, 1);
    assert_false(sim_exists(world.sim, SECOND));
}

static void test_a_refused_operation_is_named_and_nothing_is_done(void **state)
{
    const uvzk_write_op_t set = {UVZK_WRITE_SET, 5, DATA, "x", 1};
    const uvzk_write_op_t check = {UVZK_WRITE_CHECK, 5, DATA, NULL, 0};
    const uvzk_write_op_t missing = {UVZK_WRITE_DELETE, -1, "/app/no", NULL, 0};
    const uvzk_write_op_t orphan = {UVZK_WRITE_CREATE, -1, "/app/no/x", NULL, 0};
    const uvzk_write_op_t parent = {UVZK_WRITE_DELETE, -1, "/app", NULL, 0};
    (void)state;

    begin();
    assert_non_null(sim_create_by_hand(world.sim, DATA, UVZK__PERSISTENT));
    refuse(&create, UVZK_ENODEEXISTS);
    refuse(&set, UVZK_EBADVERSION);
    refuse(&check, UVZK_EBADVERSION);
    refuse(&missing, UVZK_ENONODE);
    refuse(&orphan, UVZK_ENONODE);
    refuse(&parent, UVZK_ENOTEMPTY);
    assert_true(hold_holds(&held));
    world_release_and_end(&world);
}

static void test_nothing_is_written_without_the_znode(void **state)
{
    (void)state;

    begin();
    world.holder_deleted = true;
    world_delete_child(&world, WORLD_PATH, 0);
    write_by(&held, &create, UVZK_EDELETED);
    assert_int_equal(writing.failed, SIZE_MAX);
    assert_false(sim_exists(world.sim, DATA));
    hold_await_lost(&held, 60000, UVZK_EDELETED);
    assert_int_equal(ask(&held.request, &create, 1), UVZK_ENOTHELD);
    world_release_and_end(&world);
}

/* The znode is a later writer's business: the session is gone, and with it the hold. */
static void test_nothing_is_written_by_a_session_that_is_gone(void **state)
{
    (void)state;

    begin();
    sim_pause(process.port, 3ULL * WORLD_TIMEOUT_MS);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS - 1);
    int status = ask(&held.request, &create, 1); /* it has learnt nothing yet */
    if (status == 0) {
        await_told(UVZK_ECONNLOSS);
    } else {
        assert_int_equal(status, UVZK_ENOTHELD);
    }
    assert_false(sim_exists(world.sim, DATA));
    assert_true(world_await(&world, &held.lost, 60000));
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------------- faults */

/* What is told of a write that meets a fault, and whether it was done. */
static void meet(void (*fault)(struct uvzk__port *), int status, bool done)
{
    begin();
    world_run_for(&world, 50); /* nothing else is under way */
    assert_int_equal(sim_outstanding(process.port), 0);
    if (fault == NULL) {
        sim_disconnect(process.port, SIM_RESET, 500);
        world_run_for(&world, 50);
    } else {
        fault(process.port);
    }
    write_by(&held, &create, status);
    assert_int_equal(writing.failed, SIZE_MAX);
    assert_int_equal(sim_exists(world.sim, DATA), done);
    world_release_and_end(&world);
}

static void test_what_is_not_known_is_said(void **state)
{
    (void)state;
    meet(sim_lose_reply, UVZK_ECONNLOSS, true);
    meet(sim_lose_request, UVZK_ECONNLOSS, false);
    meet(sim_reply_enomem, UV_ENOMEM, true);
    meet(NULL, UVZK_ENOTSENT, false);
}

static void test_refusals_of_the_whole(void **state)
{
    static const int codes[] = {UVZK_ENOAUTH, UVZK_EREJECTED, UVZK_ETHROTTLED,
                                UVZK_EUNIMPLEMENTED, UVZK_EZOOKEEPER};
    (void)state;

    begin();
    for (size_t i = 0; i < LENGTH(codes); i++) {
        world_run_for(&world, 500);
        sim_refuse(world.sim, UVZK__RPC_MULTI, codes[i], 1);
        write_by(&held, &create, codes[i]);
        assert_int_equal(writing.failed, SIZE_MAX);
        assert_false(sim_exists(world.sim, DATA));
    }
    world_release_and_end(&world);
}

/* Whether the write came before the session's end is not known if there is no reply. */
static void test_a_session_that_ends_says_nothing_of_the_write(void **state)
{
    int unknown = 0;
    (void)state;

    for (uint64_t ms = 0; ms < 4; ms++) {
        begin();
        world_run_for(&world, 50);
        assert_int_equal(ask(&held.request, &create, 1), 0);
        world_run_for(&world, ms);
        assert_true(sim_expire_connected(process.port));
        assert_true(world_await(&world, &writing.told, 60000));
        assert_true(writing.status == 0 || writing.status == UVZK_ECONNLOSS);
        assert_true(writing.status != 0 || sim_exists(world.sim, DATA));
        unknown += writing.status != 0;
        world_release_and_end(&world);
    }
    assert_true(unknown > 0); /* that case has been met */
}

/* ------------------------------------------------------- disturbed at every step */

static void release(struct process *of)
{
    (void)of;
    if (hold_holds(&held)) {
        hold_release(&held);
    }
}

static void cut_off(struct process *of)
{
    sim_disconnect(of->port, SIM_RESET, 300);
}

static void delete_znode(struct process *of)
{
    of->world->holder_deleted = true;
    if (world_queue_length(of->world) > 0) {
        world_delete_child(of->world, WORLD_PATH, 0);
    }
}

static bool is_unknown(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ECLOSED || status == UV_ENOMEM;
}

/* Returns true if the write was still to be told when the disturbance came. */
static bool disturb(void (*disturbance)(struct process *), int steps)
{
    begin();
    world_run_for(&world, 50);
    assert_int_equal(ask(&held.request, &create, 1), 0);
    for (int i = 0; i < steps && writing.told == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = writing.told == 0;
    disturbance(&process);
    assert_true(world_await(&world, &writing.told, 60000));
    if (!is_unknown(writing.status)) {
        assert_int_equal(writing.status == 0, sim_exists(world.sim, DATA));
    }
    world_release_and_end(&world);
    return in_time;
}

static void test_disturbed_at_every_step(void **state)
{
    void (*const disturbances[])(struct process *) = {process_close,  process_close_mutex,
                                                      release,        cut_off,
                                                      process_expire, delete_znode};
    (void)state;

    for (size_t i = 0; i < LENGTH(disturbances); i++) {
        int steps = 0;
        while (disturb(disturbances[i], steps)) {
            steps++;
        }
        assert_true(steps > 2);
    }
}

/* ------------------------------------------------------------ holds of other kinds */

static void take(uvzk_lock_t *lock, uint32_t leases)
{
    hold_take_on(&other, &process, lock, leases);
}

/* The hold's index-th znode is deleted: no write passes any more, and it is lost. */
static void check_znode(uint32_t index)
{
    assert_int_equal(
        sim_delete_by_hand(world.sim, uvzk_hold_node_path(&other.request, index)), 0);
    write_by(&other, &create, UVZK_EDELETED);
    assert_false(sim_exists(world.sim, DATA));
    assert_true(world_await(&world, &other.lost, 60000));
    world_run_for(&world, 1000);
}

/* A write passes while all stand; one is deleted, and no write passes any more. */
static void check_each_znode(uvzk_lock_t *lock, uint32_t leases)
{
    const uvzk_write_op_t set = {UVZK_WRITE_SET, -1, "/app", "set", 3};

    for (uint32_t i = 0; i < leases; i++) {
        take(lock, leases);
        assert_int_equal(uvzk_hold_node_count(&other.request), leases);
        write_by(&other, &set, 0);
        check_znode(i);
    }
}

static void test_every_znode_of_a_hold_is_checked(void **state)
{
    (void)state;

    begin();
    process_make_semaphore(&process, "/app/s", 3);
    process_make_rwlock(&process, "/app/rw");
    check_each_znode(&process.semaphore, 3);
    check_each_znode(&process.rwlock.read, 1);
    check_each_znode(&process.rwlock.write, 1);
    world_release_and_end(&world);
}

static int verified, verify_status;

static void on_verified(uvzk_req_t *request, int status)
{
    (void)request;
    verified++;
    verify_status = status;
}

/* The znode stood, but the hold is over when that is known. */
static void test_a_hold_that_is_released_is_not_verified(void **state)
{
    uvzk_req_t question = {0};
    (void)state;

    begin();
    process_make_rwlock(&process, "/app/rw");
    take(&process.rwlock.read, 0);
    verified = 0;
    assert_int_equal(uvzk_hold_verify(&other.request, &question, on_verified), 0);
    hold_give_back(&other);
    assert_true(world_await(&world, &verified, 60000));
    assert_int_equal(verify_status, UVZK_ELOST);
    world_release_and_end(&world);
}

static void check_member(uvzk_lock_t *lock, uint32_t index)
{
    take(lock, 0);
    assert_int_equal(uvzk_hold_node_count(&other.request), 2);
    hold_verify(&other, 1000, 0);
    check_znode(index);
}

static void test_every_member_of_a_multi_lock_is_checked(void **state)
{
    uvzk_mutex_t one = {0}, second = {0};
    uvzk_multilock_t at_once = {0}, in_turn = {0};
    uvzk_lock_t *const mutexes[] = {&one, &second};
    uvzk_lock_t *const mixed[] = {&process.semaphore, &one};
    (void)state;

    begin();
    process_make_semaphore(&process, "/app/s", 3);
    assert_int_equal(uvzk_mutex_init(client, &one, "/app/m1"), 0);
    assert_int_equal(uvzk_mutex_init(client, &second, "/app/m2"), 0);
    assert_int_equal(uvzk_multilock_init(client, &at_once, mutexes, 2, 0, NULL), 0);
    assert_int_equal(uvzk_multilock_init(client, &in_turn, mixed, 2, 0, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        check_member(&at_once, i);
        check_member(&in_turn, i);
    }
    world_release_and_end(&world);
}

/* By a hold of this lock, which has no znode of its own name: refused at once. */
static void refuse_to_write(uvzk_lock_t *lock)
{
    take(lock, 0);
    assert_int_equal(ask(&other.request, &create, 1), UV_ENOTSUP);
    assert_null(writing.request.impl);
    hold_give_back(&other);
}

/* A fixed name is the same for each holder; a persistent znode's is its own. */
static void test_holds_by_drivers(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t fixed = {0}, persistent = {0}, both = {0};
    uvzk_lock_t *const members[] = {&fixed, &persistent};
    (void)state;

    begin();
    process.persistent = true;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock";
    driver.mode = UVZK_NODE_EPHEMERAL;
    assert_int_equal(uvzk_lock_init_with_driver(client, &fixed, "/app/f", &driver), 0);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(uvzk_lock_init_with_driver(client, &persistent, "/app/d", &driver),
                     0);
    assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
    refuse_to_write(&fixed);
    refuse_to_write(&both);
    take(&persistent, 0);
    write_by(&other, &create, 0);
    assert_true(has(DATA, "one"));
    hold_give_back(&other);
    world_release_and_end(&world);
}

/* ---------------------------------------------------------------------- bad input */

static void refuse_call(const uvzk_write_op_t *op, int status)
{
    const uvzk_write_op_t ops[] = {create, *op};

    assert_int_equal(ask(&held.request, ops, 2), status);
    assert_null(writing.request.impl);
}

static void test_refuses_bad_operations(void **state)
{
    static char bytes[1000001], longest[1026];
    static const char *const malformed[] = {"",          "/",        "app",    "/app/",
                                            "//app",     "/app//x",  "/a/.",   "/../app",
                                            "/app/\x01", "/app\xff", "/app\n", longest};
    uint64_t submitted;
    (void)state;

    memset(longest, 'x', 1025);
    longest[0] = '/';
    begin();
    world_run_for(&world, 50);
    submitted = sim_submitted(process.port);
    for (size_t i = 0; i < LENGTH(malformed); i++) {
        for (uint32_t kind = UVZK_WRITE_CREATE; kind <= UVZK_WRITE_CHECK; kind++) {
            refuse_call(&(uvzk_write_op_t){kind, -1, malformed[i], NULL, 0}, UVZK_EPATH);
        }
    }
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -1, NULL, NULL, 0}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -2, DATA, NULL, 0}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_CHECK + 1, -1, DATA, NULL, 0}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UINT32_MAX, -1, DATA, NULL, 0}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -1, DATA, NULL, 1}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -1, DATA, bytes, sizeof(bytes)},
                UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -1, DATA, bytes, SIZE_MAX}, UV_EINVAL);
    refuse_call(&(uvzk_write_op_t){UVZK_WRITE_SET, -1, DATA, bytes, 999900}, UV_EINVAL);
    assert_int_equal(sim_submitted(process.port), submitted);
    world_release_and_end(&world);
}

static void test_what_fits_is_taken(void **state)
{
    static char bytes[999000];
    const uvzk_write_op_t ops[] = {create, {UVZK_WRITE_SET, -1, DATA, bytes, 999000}};
    (void)state;

    begin();
    write_all(&held, ops, 2, 0);
    world_release_and_end(&world);
}

/* What the ACLs take counts, too. */
static void test_the_acls_have_to_fit(void **state)
{
    const size_t many = 21000;
    uvzk_write_op_t *ops = calloc(many, sizeof(*ops));
    (void)state;

    assert_non_null(ops);
    for (size_t i = 0; i < many; i++) {
        ops[i] = (uvzk_write_op_t){UVZK_WRITE_CREATE, -1, "/a", NULL, 0};
    }
    begin();
    assert_int_equal(ask(&held.request, ops, many), UV_EINVAL);
    for (size_t i = 0; i < many; i++) {
        ops[i].kind = UVZK_WRITE_CHECK;
        ops[i].path = "/app";
    }
    write_all(&held, ops, many, 0);
    world_release_and_end(&world);
    free(ops);
}

static void test_refuses_nothing_and_too_many(void **state)
{
    const size_t many = 30000;
    uvzk_write_op_t *ops = calloc(many, sizeof(*ops));
    uvzk_hold_t none = {0}, copy;
    (void)state;

    assert_non_null(ops);
    for (size_t i = 0; i < many; i++) {
        ops[i] = (uvzk_write_op_t){UVZK_WRITE_CHECK, -1, "/app", NULL, 0};
    }
    begin();
    assert_int_equal(ask(NULL, &create, 1), UV_EINVAL);
    assert_int_equal(ask(&held.request, NULL, 1), UV_EINVAL);
    assert_int_equal(ask(&held.request, &create, 0), UV_EINVAL);
    assert_int_equal(ask(&held.request, ops, many), UV_EINVAL);
    assert_int_equal(ask(&none, &create, 1), UVZK_ENOTHELD);
    assert_int_equal(uvzk_hold_write(&held.request, NULL, &create, 1, on_written),
                     UV_EINVAL);
    assert_int_equal(uvzk_hold_write(&held.request, &writing.request, &create, 1, NULL),
                     UV_EINVAL);
    copy = held.request;
    assert_int_equal(ask(&copy, &create, 1), UVZK_ENOTHELD);
    assert_int_equal(ask(&held.request, ops, 1000), 0);
    assert_int_equal(
        uvzk_hold_write(&held.request, &writing.request, &create, 1, on_written),
        UV_EBUSY);
    await_told(0);
    assert_false(sim_exists(world.sim, DATA));
    hold_give_back(&held);
    assert_int_equal(ask(&held.request, &create, 1), UVZK_ENOTHELD);
    world_release_and_end(&world);
    free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_operations_are_done),
        cmocka_unit_test(test_a_refused_operation_is_named_and_nothing_is_done),
        cmocka_unit_test(test_nothing_is_written_without_the_znode),
        cmocka_unit_test(test_nothing_is_written_by_a_session_that_is_gone),
        cmocka_unit_test(test_what_is_not_known_is_said),
        cmocka_unit_test(test_refusals_of_the_whole),
        cmocka_unit_test(test_a_session_that_ends_says_nothing_of_the_write),
        cmocka_unit_test(test_disturbed_at_every_step),
        cmocka_unit_test(test_every_znode_of_a_hold_is_checked),
        cmocka_unit_test(test_every_member_of_a_multi_lock_is_checked),
        cmocka_unit_test(test_a_hold_that_is_released_is_not_verified),
        cmocka_unit_test(test_holds_by_drivers),
        cmocka_unit_test(test_refuses_bad_operations),
        cmocka_unit_test(test_what_fits_is_taken),
        cmocka_unit_test(test_the_acls_have_to_fit),
        cmocka_unit_test(test_refuses_nothing_and_too_many),
    };

    return cmocka_run_group_tests_name("guarded write", tests, NULL, NULL);
}
