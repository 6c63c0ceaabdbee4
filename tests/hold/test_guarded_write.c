/* Guarded writes over the simulator: what is told and what the znodes have agree,
 * whatever happens on the way. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define DATA "/app/data" /* what is written */
#define SECOND "/app/second"

struct write {
    uvzk_write_t request;
    int told, status;
    size_t failed;
};

static struct stage stage;
static struct claim claim;

static void on_written(uvzk_write_t *request, int status, size_t failed)
{
    struct write *write = request->data;

    assert_null(request->impl);
    write->told++;
    write->status = status;
    write->failed = failed;
}

static int ask(struct write *write, uvzk_hold_t *hold, const uvzk_write_op_t *ops,
               size_t count)
{
    memset(write, 0, sizeof(*write));
    write->request.data = write;
    write->status = STAGE_UNTOLD;
    return uvzk_hold_write(hold, &write->request, ops, count, on_written);
}

static void wait_told(struct write *write)
{
    assert_true(stage_until(&stage, &write->told, 1, 60000));
    assert_int_equal(write->told, 1);
}

/* A stage on which the first client holds the lock, and /app stands. */
static void begin(void)
{
    const struct stage_options options = {.tuning = UVZK__TUNE_ALL};

    stage_open(&stage, &options);
    assert_non_null(sim_create_by_hand(stage.sim, "/app", UVZK__PERSISTENT));
    stage_start(&stage);
    assert_int_equal(claim_simply(&claim, &stage.seats[0], NULL, UVZK_WAIT_FOREVER), 0);
    claim_wait_answer(&claim);
    assert_true(claim_holds(&claim));
}

static void end(void)
{
    stage_let_go(&stage);
    stage_end(&stage);
}

static const uvzk_write_op_t create = {UVZK_WRITE_CREATE, -1, DATA, "one", 3};

static bool has(const char *path, const char *text)
{
    size_t length;
    const void *data = sim_data(stage.sim, path, &length);

    return data != NULL && length == strlen(text) && memcmp(data, text, length) == 0;
}

/* ------------------------------------------------------------------ what it does */

static void test_all_operations_are_done(void **state)
{
    struct write write;
    char path[] = DATA, text[] = "one";
    uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, 7, path, text, 3},
                             {UVZK_WRITE_CHECK, 0, DATA, NULL, 0},
                             {UVZK_WRITE_SET, 0, DATA, "two", 3},
                             {UVZK_WRITE_CREATE, -1, SECOND, NULL, 0},
                             {UVZK_WRITE_DELETE, 0, SECOND, NULL, 0}};
    (void)state;

    begin();
    assert_int_equal(ask(&write, &claim.request, ops, LENGTH(ops)), 0);
    assert_int_equal(write.told, 0);
    path[1] = text[0] = 'x'; /* they were copied */
    memset(ops, 0, sizeof(ops));
    wait_told(&write);
    assert_int_equal(write.status, 0);
    assert_int_equal(write.failed, SIZE_MAX);
    assert_true(has(DATA, "two"));
    assert_false(sim_exists(stage.sim, SECOND));
    end();
}

static void refuse(const uvzk_write_op_t *op, int status)
{
    struct write write;
    const uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, -1, SECOND, "x", 1}, *op};

    assert_int_equal(ask(&write, &claim.request, ops, 2), 0);
    wait_told(&write);
    assert_int_equal(write.status, status);
    assert_int_equal(write.failed, 1);
    assert_false(sim_exists(stage.sim, SECOND));
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
    assert_non_null(sim_create_by_hand(stage.sim, DATA, UVZK__PERSISTENT));
    refuse(&create, UVZK_ENODEEXISTS);
    refuse(&set, UVZK_EBADVERSION);
    refuse(&check, UVZK_EBADVERSION);
    refuse(&missing, UVZK_ENONODE);
    refuse(&orphan, UVZK_ENONODE);
    refuse(&parent, UVZK_ENOTEMPTY);
    assert_true(claim_holds(&claim));
    end();
}

static void test_nothing_is_written_without_the_znode(void **state)
{
    struct write write;
    (void)state;

    begin();
    stage.meddled = true;
    assert_int_equal(sim_delete_by_hand(stage.sim, uvzk_hold_path(&claim.request)), 0);
    assert_int_equal(ask(&write, &claim.request, &create, 1), 0);
    wait_told(&write);
    assert_int_equal(write.status, UVZK_EDELETED);
    assert_int_equal(write.failed, SIZE_MAX);
    assert_false(sim_exists(stage.sim, DATA));
    assert_true(stage_until(&stage, &claim.lost, 1, 60000));
    assert_int_equal(claim.reason, UVZK_EDELETED);
    assert_int_equal(ask(&write, &claim.request, &create, 1), UVZK_ENOTHELD);
    end();
}

/* The znode is a later writer's business: the session is gone, and with it the hold. */
static void test_nothing_is_written_by_a_session_that_is_gone(void **state)
{
    struct write write;
    (void)state;

    begin();
    sim_pause(stage.seats[0].port, 3 * STAGE_TIMEOUT_MS);
    stage_run(&stage, 3 * STAGE_TIMEOUT_MS - 1);
    int status = ask(&write, &claim.request, &create, 1); /* it has learnt nothing yet */
    if (status == 0) {
        wait_told(&write);
        assert_int_equal(write.status, UVZK_ECONNLOSS);
    } else {
        assert_int_equal(status, UVZK_ENOTHELD);
    }
    assert_false(sim_exists(stage.sim, DATA));
    assert_true(stage_until(&stage, &claim.lost, 1, 60000));
    end();
}

/* ------------------------------------------------------------------------- faults */

/* What is told of a write that meets a fault, and whether it was done. */
static void meet(void (*fault)(struct uvzk__port *), int status, bool done)
{
    struct write write;

    begin();
    stage_run(&stage, 50); /* nothing else is under way */
    assert_int_equal(sim_outstanding(stage.seats[0].port), 0);
    if (fault == NULL) {
        sim_disconnect(stage.seats[0].port, SIM_RESET, 500);
        stage_run(&stage, 50);
    } else {
        fault(stage.seats[0].port);
    }
    assert_int_equal(ask(&write, &claim.request, &create, 1), 0);
    wait_told(&write);
    assert_int_equal(write.status, status);
    assert_int_equal(write.failed, SIZE_MAX);
    assert_int_equal(sim_exists(stage.sim, DATA), done);
    end();
}

static void test_what_is_not_known_is_said(void **state)
{
    (void)state;
    meet(sim_lose_reply, UVZK_ECONNLOSS, true);
    meet(sim_lose_request, UVZK_ECONNLOSS, false);
    meet(sim_spoil_reply, UV_ENOMEM, true);
    meet(NULL, UVZK_ENOTSENT, false);
}

static void test_refusals_of_the_whole(void **state)
{
    static const int codes[] = {UVZK_ENOAUTH, UVZK_EREJECTED, UVZK_ETHROTTLED,
                                UVZK_EUNIMPLEMENTED, UVZK_EZOOKEEPER};
    struct write write;
    (void)state;

    begin();
    for (size_t i = 0; i < LENGTH(codes); i++) {
        stage_run(&stage, 500);
        sim_refuse(stage.sim, UVZK__RPC_MULTI, codes[i], 1);
        assert_int_equal(ask(&write, &claim.request, &create, 1), 0);
        wait_told(&write);
        assert_int_equal(write.status, codes[i]);
        assert_int_equal(write.failed, SIZE_MAX);
        assert_false(sim_exists(stage.sim, DATA));
    }
    end();
}

/* Whether the write came before the session's end is not known if there is no reply. */
static void test_a_session_that_ends_says_nothing_of_the_write(void **state)
{
    struct write write;
    int unknown = 0;
    (void)state;

    for (uint64_t ms = 0; ms < 4; ms++) {
        begin();
        stage_run(&stage, 50);
        assert_int_equal(ask(&write, &claim.request, &create, 1), 0);
        stage_run(&stage, ms);
        assert_true(sim_expire_connected(stage.seats[0].port));
        wait_told(&write);
        assert_true(write.status == 0 || write.status == UVZK_ECONNLOSS);
        assert_true(write.status != 0 || sim_exists(stage.sim, DATA));
        unknown += write.status != 0;
        end();
    }
    assert_true(unknown > 0); /* that case has been met */
}

/* ------------------------------------------------------- disturbed at every step */

static void close_client(void)
{
    seat_close(&stage.seats[0]);
}

static void close_mutex(void)
{
    seat_close_mutex(&stage.seats[0]);
}

static void release(void)
{
    claim_release(&claim);
}

static void cut_off(void)
{
    sim_disconnect(stage.seats[0].port, SIM_RESET, 300);
}

static void expire(void)
{
    assert_true(sim_expire(stage.seats[0].port));
}

static void delete_znode(void)
{
    const char *names[4];
    char path[256];

    stage.meddled = true;
    if (sim_children(stage.sim, STAGE_PATH, names, 4) > 0) {
        (void)snprintf(path, sizeof(path), STAGE_PATH "/%s", names[0]);
        assert_int_equal(sim_delete_by_hand(stage.sim, path), 0);
    }
}

static bool is_unknown(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ECLOSED || status == UV_ENOMEM;
}

/* Whether the write was still to be told when the disturbance came. */
static bool disturb(void (*disturbance)(void), int steps)
{
    struct write write;

    begin();
    stage_run(&stage, 50);
    assert_int_equal(ask(&write, &claim.request, &create, 1), 0);
    for (int i = 0; i < steps && write.told == 0; i++) {
        assert_true(sim_step(stage.sim));
    }
    bool in_time = write.told == 0;
    disturbance();
    wait_told(&write);
    if (!is_unknown(write.status)) {
        assert_int_equal(write.status == 0, sim_exists(stage.sim, DATA));
    }
    end();
    return in_time;
}

static void test_disturbed_at_every_step(void **state)
{
    void (*const disturbances[])(void) = {close_client, close_mutex, release,
                                          cut_off,      expire,      delete_znode};
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

static struct {
    uvzk_hold_t request;
    int acquired, status, lost, released;
} hold;

static void on_acquired(uvzk_hold_t *request, int status)
{
    (void)request;
    hold.acquired++;
    hold.status = status;
}

static void on_lost(uvzk_hold_t *request, int reason)
{
    (void)request;
    (void)reason;
    hold.lost++;
}

static void on_released(uvzk_hold_t *request, int status)
{
    (void)request;
    (void)status;
    hold.released++;
}

static void let_go(void)
{
    assert_int_equal(uvzk_hold_release(&hold.request, on_released), 0);
    assert_true(stage_until(&stage, &hold.released, 1, 60000));
}

static void acquire(uvzk_lock_t *lock, uint32_t leases)
{
    uvzk_acquire_options_t options;

    memset(&hold, 0, sizeof(hold));
    uvzk_acquire_options_init(&options);
    options.leases = leases;
    assert_int_equal(
        uvzk_lock_acquire(lock, &hold.request, &options, on_acquired, on_lost), 0);
    assert_true(stage_until(&stage, &hold.acquired, 1, 60000));
    assert_int_equal(hold.status, 0);
}

/* The hold's index-th znode is deleted: no write passes any more, and it is lost. */
static void check_znode(uint32_t index)
{
    struct write write;

    assert_int_equal(
        sim_delete_by_hand(stage.sim, uvzk_hold_lease_path(&hold.request, index)), 0);
    assert_int_equal(ask(&write, &hold.request, &create, 1), 0);
    wait_told(&write);
    assert_int_equal(write.status, UVZK_EDELETED);
    assert_false(sim_exists(stage.sim, DATA));
    assert_true(stage_until(&stage, &hold.lost, 1, 60000));
    stage_run(&stage, 1000);
}

/* A write passes while all stand; one is deleted, and no write passes any more. */
static void check_each_znode(uvzk_lock_t *lock, uint32_t leases)
{
    struct write write;
    const uvzk_write_op_t set = {UVZK_WRITE_SET, -1, "/app", "set", 3};

    for (uint32_t i = 0; i < leases; i++) {
        acquire(lock, leases);
        assert_int_equal(uvzk_hold_lease_count(&hold.request), leases);
        assert_int_equal(ask(&write, &hold.request, &set, 1), 0);
        wait_told(&write);
        assert_int_equal(write.status, 0);
        check_znode(i);
    }
}

static void test_every_znode_of_a_hold_is_checked(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_rwlock_t rwlock = {0};
    (void)state;

    begin();
    uvzk_client_t *client = &stage.seats[0].client;
    assert_int_equal(uvzk_semaphore_init(client, &semaphore, "/app/s", 3, NULL), 0);
    assert_int_equal(uvzk_rwlock_init(client, &rwlock, "/app/rw"), 0);
    check_each_znode(&semaphore, 3);
    check_each_znode(&rwlock.read, 1);
    check_each_znode(&rwlock.write, 1);
    end();
}

static int verified, verify_status;

static void on_verified(uvzk_verify_t *request, int status)
{
    (void)request;
    verified++;
    verify_status = status;
}

static int verify(void)
{
    uvzk_verify_t question = {0};

    verified = 0;
    assert_int_equal(uvzk_hold_verify(&hold.request, &question, on_verified), 0);
    assert_true(stage_until(&stage, &verified, 1, 60000));
    return verify_status;
}

/* The znode stood, but the hold is over when that is known. */
static void test_a_hold_that_is_released_is_not_verified(void **state)
{
    uvzk_verify_t question = {0};
    uvzk_rwlock_t rwlock = {.read = {0}};
    (void)state;

    begin();
    assert_int_equal(uvzk_rwlock_init(&stage.seats[0].client, &rwlock, "/app/rw"), 0);
    acquire(&rwlock.read, 0);
    verified = 0;
    assert_int_equal(uvzk_hold_verify(&hold.request, &question, on_verified), 0);
    let_go();
    assert_true(stage_until(&stage, &verified, 1, 60000));
    assert_int_equal(verify_status, UVZK_ELOST);
    end();
}

static void check_member(uvzk_lock_t *lock, uint32_t index)
{
    acquire(lock, 0);
    assert_int_equal(uvzk_hold_lease_count(&hold.request), 2);
    assert_int_equal(verify(), 0);
    check_znode(index);
}

static void test_every_member_of_a_multi_lock_is_checked(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_mutex_t one = {0}, other = {0};
    uvzk_multilock_t at_once = {0}, in_turn = {0};
    (void)state;

    begin();
    uvzk_client_t *client = &stage.seats[0].client;
    assert_int_equal(uvzk_semaphore_init(client, &semaphore, "/app/s", 3, NULL), 0);
    assert_int_equal(uvzk_mutex_init(client, &one, "/app/m1"), 0);
    assert_int_equal(uvzk_mutex_init(client, &other, "/app/m2"), 0);
    uvzk_lock_t *const mutexes[] = {&one, &other};
    uvzk_lock_t *const mixed[] = {&semaphore, &one};
    assert_int_equal(uvzk_multilock_init(client, &at_once, mutexes, 2, 0, NULL), 0);
    assert_int_equal(uvzk_multilock_init(client, &in_turn, mixed, 2, 0, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        check_member(&at_once, i);
        check_member(&in_turn, i);
    }
    end();
}

/* A fixed name is the same for each holder; a persistent znode's is its own. */
static void test_holds_by_drivers(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t fixed = {0}, durable = {0}, both = {0};
    uvzk_lock_t *const members[] = {&fixed, &durable};
    struct write write;
    (void)state;

    begin();
    uvzk_client_t *client = &stage.seats[0].client;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock";
    driver.mode = UVZK_NODE_EPHEMERAL;
    assert_int_equal(uvzk_driver_lock_init(client, &fixed, "/app/f", &driver), 0);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(uvzk_driver_lock_init(client, &durable, "/app/d", &driver), 0);
    assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
    acquire(&fixed, 0);
    assert_int_equal(ask(&write, &hold.request, &create, 1), UV_ENOTSUP);
    assert_null(write.request.impl);
    let_go();
    acquire(&both, 0);
    assert_int_equal(ask(&write, &hold.request, &create, 1), UV_ENOTSUP);
    let_go();
    acquire(&durable, 0);
    assert_int_equal(ask(&write, &hold.request, &create, 1), 0);
    wait_told(&write);
    assert_int_equal(write.status, 0);
    assert_true(has(DATA, "one"));
    let_go();
    end();
}

/* ---------------------------------------------------------------------- bad input */

static void refuse_call(const uvzk_write_op_t *op, int status)
{
    struct write write;
    const uvzk_write_op_t ops[] = {create, *op};

    assert_int_equal(ask(&write, &claim.request, ops, 2), status);
    assert_null(write.request.impl);
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
    stage_run(&stage, 50);
    submitted = sim_submitted(stage.seats[0].port);
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
    assert_int_equal(sim_submitted(stage.seats[0].port), submitted);
    end();
}

static void test_what_fits_is_taken(void **state)
{
    static char bytes[999000];
    struct write write;
    const uvzk_write_op_t ops[] = {create, {UVZK_WRITE_SET, -1, DATA, bytes, 999000}};
    (void)state;

    begin();
    assert_int_equal(ask(&write, &claim.request, ops, 2), 0);
    wait_told(&write);
    assert_int_equal(write.status, 0);
    end();
}

/* What the ACLs take counts, too. */
static void test_the_acls_have_to_fit(void **state)
{
    const size_t many = 18000;
    uvzk_write_op_t *ops = calloc(many, sizeof(*ops));
    struct write write;
    (void)state;

    assert_non_null(ops);
    for (size_t i = 0; i < many; i++) {
        ops[i] = (uvzk_write_op_t){UVZK_WRITE_CREATE, -1, "/a", NULL, 0};
    }
    begin();
    assert_int_equal(ask(&write, &claim.request, ops, many), UV_EINVAL);
    for (size_t i = 0; i < many; i++) {
        ops[i].kind = UVZK_WRITE_CHECK;
        ops[i].path = "/app";
    }
    assert_int_equal(ask(&write, &claim.request, ops, many), 0);
    wait_told(&write);
    assert_int_equal(write.status, 0);
    end();
    free(ops);
}

static void test_refuses_nothing_and_too_many(void **state)
{
    const size_t many = 30000;
    uvzk_write_op_t *ops = calloc(many, sizeof(*ops));
    struct write write;
    uvzk_hold_t none = {0}, copy;
    (void)state;

    assert_non_null(ops);
    for (size_t i = 0; i < many; i++) {
        ops[i] = (uvzk_write_op_t){UVZK_WRITE_CHECK, -1, "/app", NULL, 0};
    }
    begin();
    assert_int_equal(ask(&write, NULL, &create, 1), UV_EINVAL);
    assert_int_equal(ask(&write, &claim.request, NULL, 1), UV_EINVAL);
    assert_int_equal(ask(&write, &claim.request, &create, 0), UV_EINVAL);
    assert_int_equal(ask(&write, &claim.request, ops, many), UV_EINVAL);
    assert_int_equal(ask(&write, &none, &create, 1), UVZK_ENOTHELD);
    assert_int_equal(uvzk_hold_write(&claim.request, NULL, &create, 1, on_written),
                     UV_EINVAL);
    assert_int_equal(uvzk_hold_write(&claim.request, &write.request, &create, 1, NULL),
                     UV_EINVAL);
    copy = claim.request;
    assert_int_equal(ask(&write, &copy, &create, 1), UVZK_ENOTHELD);
    assert_int_equal(ask(&write, &claim.request, ops, 1000), 0);
    assert_int_equal(
        uvzk_hold_write(&claim.request, &write.request, &create, 1, on_written),
        UV_EBUSY);
    wait_told(&write);
    assert_int_equal(write.status, 0);
    assert_false(sim_exists(stage.sim, DATA));
    claim_finish(&claim);
    assert_int_equal(ask(&write, &claim.request, &create, 1), UVZK_ENOTHELD);
    end();
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
