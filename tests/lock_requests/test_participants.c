/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of every kind of lock, over the simulator: who is told, in which order,
 * and how many of them hold; who follows them is told the same. And the data of one of
 * them. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/place.h"
#include "world.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PATHS_MAX 16

struct answer {
    uvzk_req_t request;
    int told, status;
    size_t count, holding;
    char paths[PATHS_MAX][256];
};

static struct world world;
static struct process a, b;
static struct answer answer;
static int lock_closed;

static void on_told(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    assert_ptr_equal(request, &answer.request);
    assert_null(request->impl);
    assert_int_equal(lock_closed, 0); /* which comes last */
    answer.told++;
    answer.status = status;
    answer.count = count;
    answer.holding = request->result->holding;
    for (size_t i = 0; i < count && i < PATHS_MAX; i++) {
        (void)snprintf(answer.paths[i], sizeof(answer.paths[i]), "%s", paths[i]);
    }
}

static void on_lock_closed(uvzk_lock_t *lock)
{
    (void)lock;
    lock_closed++;
}

static int ask(uvzk_lock_t *lock)
{
    memset(&answer, 0, sizeof(answer));
    answer.status = HOLD_NO_STATUS;
    return uvzk_lock_participants(lock, &answer.request, on_told);
}

static void look(uvzk_lock_t *lock)
{
    assert_int_equal(ask(lock), 0);
    assert_int_equal(answer.told, 0);
    assert_true(world_await(&world, &answer.told, 60000));
    assert_int_equal(answer.told, 1);
}

static struct {
    uvzk_participants_view_t participants;
    int told, closed;
} view;

static void on_viewed(uvzk_participants_view_t *participants, int status,
                      const uvzk_result_t *result)
{
    assert_ptr_equal(participants, &view.participants);
    assert_int_equal(status, 0);
    assert_int_equal(result->count, answer.count);
    assert_int_equal(result->holding, answer.holding);
    for (size_t i = 0; i < result->count; i++) {
        assert_string_equal(result->paths[i], answer.paths[i]);
    }
    view.told++;
}

static void on_view_closed(uvzk_participants_view_t *participants)
{
    assert_ptr_equal(participants, &view.participants);
    view.closed++;
}

/* The same as in `answer`. */
static void expect_view(uvzk_lock_t *lock)
{
    memset(&view, 0, sizeof(view));
    assert_int_equal(uvzk_participants_view_init(lock, &view.participants, 0, on_viewed),
                     0);
    assert_true(world_await(&world, &view.told, 60000));
    assert_int_equal(uvzk_participants_view_close(&view.participants, on_view_closed), 0);
    assert_true(world_await(&world, &view.closed, 60000));
    assert_int_equal(view.told, 1);
}

/* The names end like this, and the first so many hold. */
static void expect(uvzk_lock_t *lock, const char *const *ends, size_t count,
                   size_t holding)
{
    look(lock);
    assert_int_equal(answer.status, 0);
    assert_int_equal(answer.count, count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(answer.paths[i]), end = strlen(ends[i]);
        assert_true(length > end);
        assert_string_equal(answer.paths[i] + length - end, ends[i]);
        assert_true(sim_exists(world.sim, answer.paths[i]));
    }
    assert_int_equal(answer.holding, holding);
    expect_view(lock);
}

static void begin(void)
{
    lock_closed = 0;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    world_run_for(&world, 100);
}

static void make(const char *path)
{
    assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
}

/* A contender's znode, with the number in its end. */
static void put(const char *directory, const char *end)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s" WORLD_FOREIGN_PREFIX "%s", directory, end);
    make(path);
}

#define EXPECT(lock, holding, ...)                             \
    do {                                                       \
        static const char *const expected[] = {__VA_ARGS__};   \
        expect((lock), expected, LENGTH(expected), (holding)); \
    } while (0)

static void expect_nobody(uvzk_lock_t *lock)
{
    expect(lock, NULL, 0, 0);
}

/* ------------------------------------------------------------------------ the kinds */

static void test_a_mutex(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(&a.client, &mutex, "/m"), 0);
    expect_nobody(&mutex); /* no directory: CURATOR-436 */
    make("/m");
    expect_nobody(&mutex);
    put("/m", "lock-0000000012");
    put("/m", "lock-0000000007");
    put("/m", "lock-0000000100");
    put("/m", "lease-0000000001"); /* these are nobody's */
    put("/m", "lock-00000000001");
    put("/m", "lock-2147483647");
    make("/m/lock-0000000001");
    EXPECT(&mutex, 1, "lock-0000000007", "lock-0000000012", "lock-0000000100");
    world_release_and_end(&world);
}

/* By the name, not by the path, which may have the other half's name in it. */
static void test_a_read_write_lock(void **state)
{
    static const char path[] = "/__WRIT__-__READ__";
    (void)state;

    begin();
    process_make_rwlock(&a, path);
    expect_nobody(&a.rwlock.read);
    expect_nobody(&a.rwlock.write);
    make(path);
    put(path, "__READ__0000000003");
    EXPECT(&a.rwlock.read, 1, "__READ__0000000003");
    expect_nobody(&a.rwlock.write);
    put(path, "__WRIT__0000000006");
    put(path, "__READ__0000000005");
    put(path, "__WRIT__0000000010");
    put(path, "__READ__0000000008");
    put(path, "lock-0000000001");
    EXPECT(&a.rwlock.read, 2, "__READ__0000000003", "__READ__0000000005",
           "__READ__0000000008");
    EXPECT(&a.rwlock.write, 0, "__WRIT__0000000006", "__WRIT__0000000010");
    put(path, "__WRIT__0000000002");
    EXPECT(&a.rwlock.read, 0, "__READ__0000000003", "__READ__0000000005",
           "__READ__0000000008");
    EXPECT(&a.rwlock.write, 1, "__WRIT__0000000002", "__WRIT__0000000006",
           "__WRIT__0000000010");
    put(path, "__READ__0000000002"); /* that writer's own, a downgrade */
    EXPECT(&a.rwlock.read, 1, "__READ__0000000002", "__READ__0000000003",
           "__READ__0000000005", "__READ__0000000008");
    EXPECT(&a.rwlock.write, 1, "__WRIT__0000000002", "__WRIT__0000000006",
           "__WRIT__0000000010");
    world_release_and_end(&world);
}

static void test_a_semaphore(void **state)
{
    (void)state;

    begin();
    process_make_semaphore(&a, "/s", 3);
    expect_nobody(&a.semaphore);
    make("/s");
    make("/s/locks");
    put("/s/locks", "lock-0000000004");
    put("/s/locks", "lock-0000000003");
    EXPECT(&a.semaphore, 0, "lock-0000000003", "lock-0000000004");
    make("/s/leases");
    put("/s/leases", "lease-0000000009");
    put("/s/leases", "lease-0000000008");
    put("/s/leases", "lock-0000000001"); /* foreign children, they take no lease either */
    make("/s/leases/lease-0000000001");
    EXPECT(&a.semaphore, 2, "lease-0000000008", "lease-0000000009", "lock-0000000003",
           "lock-0000000004");
    world_release_and_end(&world);
}

static void test_a_multi_lock_has_none_of_its_own(void **state)
{
    uvzk_mutex_t one = {0}, other = {0};
    uvzk_multilock_t both = {0};
    uvzk_lock_t *const members[] = {&one, &other};
    (void)state;

    begin();
    uvzk_client_t *client = &a.client;
    assert_int_equal(uvzk_mutex_init(client, &one, "/one"), 0);
    assert_int_equal(uvzk_mutex_init(client, &other, "/other"), 0);
    assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
    assert_int_equal(ask(&both), UV_ENOTSUP);
    assert_null(answer.request.impl);
    world_release_and_end(&world);
}

static void name_driver(uvzk_lock_driver_t *driver, const char *name, uint32_t mode)
{
    uvzk_lock_driver_init(driver);
    driver->name = name;
    driver->mode = mode;
}

static void open_driver_lock(uvzk_lock_t *lock, const uvzk_lock_driver_t *driver,
                             const char *path)
{
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, lock, path, driver), 0);
}

static void test_a_lock_with_a_driver(void **state)
{
    uvzk_lock_t lock = {0};
    uvzk_lock_driver_t driver;
    (void)state;

    begin();
    name_driver(&driver, "lock-", UVZK_NODE_EPHEMERAL_SEQUENTIAL);
    driver.max_leases = 2;
    open_driver_lock(&lock, &driver, "/d");
    expect_nobody(&lock);
    make("/d");
    put("/d", "lock-0000000012");
    put("/d", "lock-0000000007");
    put("/d", "lease-0000000001"); /* the driver sorts it nowhere */
    put("/d", "lock-0000000100");
    EXPECT(&lock, 2, "lock-0000000007", "lock-0000000012", "lock-0000000100");
    world_release_and_end(&world);
}

static void never(uvzk_hold_t *hold, int status)
{
    (void)hold;
    fail_msg("an acquire that was refused is answered: %s", uvzk_err_name(status));
}

/* It lists the root's children, or those of the namespace's own znode. */
static void test_a_lock_with_a_driver_at_the_root(void **state)
{
    static struct process inside;
    uvzk_client_options_t options;
    uvzk_lock_t lock = {0}, of_the_namespace = {0};
    uvzk_lock_driver_t driver;
    uvzk_hold_t hold = {0};
    (void)state;

    begin();
    name_driver(&driver, "lock-", UVZK_NODE_EPHEMERAL_SEQUENTIAL);
    open_driver_lock(&lock, &driver, "/");
    expect_nobody(&lock);
    put("", "lock-0000000012");
    put("", "lock-0000000007");
    make("/app");
    put("/app", "lock-0000000003");
    EXPECT(&lock, 1, "lock-0000000007", "lock-0000000012");
    process_options(&options);
    options.ns = "app";
    process_begin(&inside, &world, "inside", &options);
    assert_true(process_await_connected(&inside, 10000));
    assert_int_equal(
        uvzk_lock_init_with_driver(&inside.client, &of_the_namespace, "/", &driver), 0);
    EXPECT(&of_the_namespace, 1, "lock-0000000003");
    assert_int_equal(uvzk_lock_acquire(&of_the_namespace, &hold, NULL, never, never),
                     UVZK_EPATH);
    assert_int_equal(uvzk_lock_acquire(&lock, &hold, NULL, never, never), UVZK_EPATH);
    world_release_and_end(&world);
}

/* Sorts by what follows the number, and the last one gets the lock. */
static const char *key_behind_the_number(const uvzk_lock_driver_t *driver,
                                         const char *child)
{
    (void)driver;
    return strlen(child) > 15 ? child + strlen(child) - 1 : NULL;
}

static int last_gets_it(const uvzk_lock_driver_t *driver, const char *const *children,
                        size_t count, size_t own, size_t *watch)
{
    (void)driver;
    (void)children;
    *watch = count - 1;
    return own == count - 1;
}

static void test_a_driver_that_turns_all_around(void **state)
{
    uvzk_lock_t lock = {0};
    uvzk_lock_driver_t driver;
    (void)state;

    begin();
    name_driver(&driver, "lock-", UVZK_NODE_EPHEMERAL_SEQUENTIAL);
    driver.sort_key = key_behind_the_number;
    driver.gets_the_lock = last_gets_it;
    open_driver_lock(&lock, &driver, "/d");
    make("/d");
    put("/d", "lock-0000000013");
    put("/d", "lock-0000000029");
    put("/d", "lock-0000000031");
    make("/d/short");
    EXPECT(&lock, 1, "lock-0000000029", "lock-0000000031", "lock-0000000013");
    world_release_and_end(&world);
}

static void test_a_lock_with_a_fixed_name(void **state)
{
    uvzk_lock_t lock = {0};
    struct hold holder, waiter;
    uvzk_lock_driver_t driver;
    (void)state;

    begin();
    name_driver(&driver, "lock", UVZK_NODE_EPHEMERAL);
    open_driver_lock(&lock, &driver, "/x");
    expect_nobody(&lock);
    make("/x");
    make("/x/locked");
    expect_nobody(&lock);
    hold_begin_on(&holder, &a, &lock, 0, UVZK_WAIT_FOREVER);
    hold_begin_on(&waiter, &a, &lock, 0, UVZK_WAIT_FOREVER);
    hold_await(&holder, 60000);
    world_run_for(&world, 1000);
    EXPECT(&lock, 1, "x/lock");
    hold_cancel(&waiter);
    hold_give_back(&holder);
    world_release_and_end(&world);
}

/* Our own holders and waiters, told apart. */
static void test_real_ones(void **state)
{
    struct hold holds[3];
    (void)state;

    begin();
    for (int i = 0; i < 3; i++) {
        hold_begin(&holds[i], i % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, 100);
    }
    EXPECT(&b.mutex, 1, "lock-0000000000", "lock-0000000001", "lock-0000000002");
    assert_string_equal(answer.paths[0], holds[0].path);
    hold_give_back(&holds[0]);
    EXPECT(&a.mutex, 1, "lock-0000000001", "lock-0000000002");
    world_release_and_end(&world);
}

/* -------------------------------------------------------------- troubles and closing */

static void test_troubles_are_told(void **state)
{
    static const int codes[] = {UVZK_ENOAUTH, UVZK_EZOOKEEPER, UVZK_ETHROTTLED};
    (void)state;

    begin();
    process_make_semaphore(&a, "/s", 3);
    make("/s");
    make("/s/leases");
    make("/s/locks");
    put("/s/leases", "lease-0000000009");
    put("/s/locks", "lock-0000000001");
    for (size_t i = 0; i < LENGTH(codes); i++) {
        for (uint32_t times = 1; times <= 2; times++) {
            sim_refuse(world.sim, UVZK__RPC_CHILDREN, codes[i], times);
            look(&a.semaphore);
            assert_int_equal(answer.status, codes[i]);
            assert_int_equal(answer.count, 0);
            assert_int_equal(answer.holding, 0);
        }
    }
    sim_lose_reply(a.port);
    look(&a.semaphore);
    assert_int_equal(answer.status, UVZK_ECONNLOSS);
    sim_disconnect(a.port, SIM_RESET, 500);
    world_run_for(&world, 100);
    look(&a.semaphore);
    assert_int_equal(answer.status, UVZK_ENOTSENT);
    world_run_for(&world, 5000);
    EXPECT(&a.semaphore, 1, "lease-0000000009", "lock-0000000001");
    world_release_and_end(&world);
}

/* Returns true if the answer had still to come when the lock, or the client, was
 * closed. */
static bool close_after(bool client, int steps)
{

    begin();
    process_make_semaphore(&a, "/s", 3);
    assert_int_equal(ask(&a.semaphore), 0);
    for (int i = 0; i < steps && answer.told == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = answer.told == 0;
    if (client) {
        process_close(&a);
    } else {
        assert_int_equal(uvzk_lock_close(&a.semaphore, on_lock_closed), 0);
        assert_int_equal(uvzk_lock_participants(&a.semaphore, &answer.request, on_told),
                         in_time ? UV_EBUSY : UVZK_ECLOSED);
    }
    assert_true(world_await(&world, &answer.told, 60000));
    assert_true(answer.status == 0 || (client && answer.status == UVZK_ECLOSED));
    assert_true(client || world_await(&world, &lock_closed, 60000));
    assert_int_equal(answer.told, 1);
    world_release_and_end(&world);
    assert_null(a.semaphore.impl);
    return in_time;
}

static void test_closing_at_every_step(void **state)
{
    (void)state;
    for (int client = 0; client < 2; client++) {
        int steps = 0;
        while (close_after(client != 0, steps)) {
            steps++;
        }
        assert_true(steps > 2);
    }
}

/* --------------------------------------------------------------------- a znode's data */

static struct {
    uvzk_req_t request;
    int told, status;
    uvzk_stat_t stat;
    char text[64];
    size_t length;
} reading;

static void on_read(uvzk_req_t *request, int status)
{
    const uvzk_stat_t *stat = request->result->stat;
    const void *data = request->result->data;
    size_t length = request->result->length;
    assert_ptr_equal(request, &reading.request);
    assert_null(request->impl);
    assert_int_equal(data == NULL, status != 0);
    assert_int_equal(stat == NULL, status != 0);
    if (stat != NULL) {
        assert_int_equal(stat->size, sizeof(*stat));
        reading.stat = *stat;
    }
    reading.told++;
    reading.status = status;
    reading.length = length;
    if (length > 0 && length < sizeof(reading.text)) {
        memcpy(reading.text, data, length);
    }
}

static int read_node(const char *path)
{
    memset(&reading, 0, sizeof(reading));
    reading.status = HOLD_NO_STATUS;
    return uvzk_client_read(&a.client, &reading.request, path, on_read);
}

static void read_as(const char *path, int status, const char *text)
{
    assert_int_equal(read_node(path), 0);
    assert_int_equal(reading.told, 0);
    assert_true(world_await(&world, &reading.told, 60000));
    assert_int_equal(reading.status, status);
    assert_int_equal(reading.length, strlen(text));
    assert_string_equal(reading.text, text);
}

static void test_a_znode_is_read(void **state)
{
    (void)state;
    begin();
    make("/a");
    read_as("/a", 0, "");
    assert_int_equal(sim_set_by_hand(world.sim, "/a", "data", 4), 0);
    read_as("/a", 0, "data");
    read_as("/b", UVZK_ENONODE, "");
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 1);
    read_as("/a", UVZK_ENOAUTH, "");
    sim_reply_enomem(a.port);
    read_as("/a", UV_ENOMEM, "");
    world_run_for(&world, 500);
    sim_lose_reply(a.port);
    read_as("/a", UVZK_ECONNLOSS, "");
    sim_disconnect(a.port, SIM_RESET, 500);
    world_run_for(&world, 100);
    read_as("/a", UVZK_ENOTSENT, "");
    world_release_and_end(&world);
}

static void test_a_znodes_stat_is_read(void **state)
{
    struct uvzk__stat stat;
    (void)state;

    begin();
    make("/a");
    assert_int_equal(sim_set_by_hand(world.sim, "/a", "data", 4), 0);
    assert_true(sim_stat(world.sim, "/a", &stat));
    read_as("/a", 0, "data");
    assert_int_equal(reading.stat.czxid, stat.czxid);
    assert_int_equal(reading.stat.session_id, 0);
    assert_int_equal(reading.stat.created_ms, stat.created_ms);
    assert_true(stat.created_ms > 0);
    assert_int_equal(reading.stat.version, 1);
    world_release_and_end(&world);
}

static void on_revoked(uvzk_req_t *request, int status)
{
    (void)request;
    fail_msg("revoked: %s", uvzk_err_name(status));
}

static void test_reading_refuses_bad_input(void **state)
{
    static const char *const malformed[] = {"", "a", "/a/", "//", "/a//b", "/.", "/\x01"};
    uvzk_client_t nobody = {0};
    uvzk_req_t revoke_request = {0};
    char longest[2050];
    (void)state;

    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[2049] = '\0';
    begin();
    for (size_t i = 0; i < LENGTH(malformed); i++) {
        assert_int_equal(read_node(malformed[i]), UVZK_EPATH);
    }
    assert_int_equal(read_node(longest), UVZK_EPATH);
    assert_int_equal(uvzk_client_revoke(&a.client, &revoke_request, longest, on_revoked),
                     UVZK_EPATH);
    assert_null(revoke_request.impl);
    assert_int_equal(read_node(NULL), UV_EINVAL);
    assert_null(reading.request.impl);
    assert_int_equal(uvzk_client_read(NULL, &reading.request, "/a", on_read), UV_EINVAL);
    assert_int_equal(uvzk_client_read(&nobody, &reading.request, "/a", on_read),
                     UVZK_ECLOSED);
    uvzk_client_t *client = &a.client;
    assert_int_equal(uvzk_client_read(client, NULL, "/a", on_read), UV_EINVAL);
    assert_int_equal(uvzk_client_read(client, &reading.request, "/a", NULL), UV_EINVAL);
    longest[2048] = '\0';
    assert_int_equal(read_node(longest), 0);
    assert_int_equal(uvzk_client_read(client, &reading.request, "/a", on_read), UV_EBUSY);
    assert_true(world_await(&world, &reading.told, 60000));
    assert_int_equal(reading.status, UVZK_ENONODE);
    world_release_and_end(&world);
}

static bool close_while_reading(int steps)
{
    begin();
    make("/a");
    assert_int_equal(read_node("/a"), 0);
    for (int i = 0; i < steps && reading.told == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = reading.told == 0;
    process_close(&a);
    assert_true(world_await(&world, &reading.told, 60000));
    assert_true(reading.status == 0 || reading.status == UVZK_ECLOSED);
    world_release_and_end(&world);
    return in_time;
}

static void test_closing_while_a_znode_is_read(void **state)
{
    int steps = 0;
    (void)state;

    while (close_while_reading(steps)) {
        steps++;
    }
    assert_true(steps > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mutex),
        cmocka_unit_test(test_a_read_write_lock),
        cmocka_unit_test(test_a_semaphore),
        cmocka_unit_test(test_a_multi_lock_has_none_of_its_own),
        cmocka_unit_test(test_a_lock_with_a_driver),
        cmocka_unit_test(test_a_lock_with_a_driver_at_the_root),
        cmocka_unit_test(test_a_driver_that_turns_all_around),
        cmocka_unit_test(test_a_lock_with_a_fixed_name),
        cmocka_unit_test(test_real_ones),
        cmocka_unit_test(test_troubles_are_told),
        cmocka_unit_test(test_closing_at_every_step),
        cmocka_unit_test(test_a_znode_is_read),
        cmocka_unit_test(test_a_znodes_stat_is_read),
        cmocka_unit_test(test_reading_refuses_bad_input),
        cmocka_unit_test(test_closing_while_a_znode_is_read),
    };

    return cmocka_run_group_tests_name("participants", tests, NULL, NULL);
}
