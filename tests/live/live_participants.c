/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of every kind of lock, and the data of their znodes, against a real server
 * (Curator's testGetParticipantNodes). */
#include "participants_call.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define READERS 20
#define WRITERS 8

static struct world world;
static struct process a;
static struct participants_call participants;

static void look(uvzk_lock_t *lock, size_t count, size_t holding)
{
    participants_call_run(&participants, &world, lock);
    assert_int_equal(participants.count, count);
    assert_int_equal(participants.holding, holding);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(raw_exists(world.raw, participants.paths[i], NULL), ZOK);
    }
}

static bool name_has(const char *path, const char *token)
{
    return strstr(strrchr(path, '/'), token) != NULL;
}

static void release(struct hold *holds, int count)
{
    for (int i = 0; i < count; i++) {
        hold_await(&holds[i], PATIENCE_MS);
        hold_give_back(&holds[i]);
    }
}

static void test_get_participant_nodes_of_a_mutex(void **state)
{
    struct hold holds[3];
    (void)state;

    world_begin_one(&world, NULL, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    look(&a.mutex, 0, 0); /* there is no such path yet */
    for (int i = 0; i < 3; i++) {
        hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
    }
    hold_await(&holds[0], PATIENCE_MS);
    hold_await_queued(&holds[2]);
    look(&a.mutex, 3, 1);
    assert_string_equal(participants.paths[0], holds[0].path);
    release(holds, 3);
    look(&a.mutex, 0, 0);
    world_end(&world);
}

/* In a path that has the halves' names in itself. */
static void test_get_participant_nodes_of_a_read_write_lock(void **state)
{
    static struct hold readers[READERS], writers[WRITERS];
    uvzk_rwlock_t lock = {.read = {0}};
    (void)state;

    world_begin_one(&world, NULL, &a);
    assert_int_equal(
        uvzk_rwlock_init(&a.client, &lock, "/participants/__READ__/__WRIT__"), 0);
    for (int i = 0; i < READERS; i++) {
        hold_begin_on(&readers[i], &a, &lock.read, 1, UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < WRITERS; i++) {
        hold_begin_on(&writers[i], &a, &lock.write, 1, UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < READERS; i++) {
        hold_await(&readers[i], PATIENCE_MS);
    }
    hold_await_queued(&writers[WRITERS - 1]);
    look(&lock.read, READERS, READERS);
    for (int i = 0; i < READERS; i++) {
        assert_true(name_has(participants.paths[i], "__READ__"));
    }
    look(&lock.write, WRITERS, 0);
    for (int i = 0; i < WRITERS; i++) {
        assert_true(name_has(participants.paths[i], "__WRIT__"));
    }
    release(readers, READERS);
    hold_await(&writers[0], PATIENCE_MS);
    look(&lock.write, WRITERS, 1);
    assert_string_equal(participants.paths[0], writers[0].path);
    look(&lock.read, 0, 0);
    release(writers, WRITERS);
    world_end(&world);
}

/* A reader that its owner has taken under the write lock holds, beside its writer. */
static void test_a_downgraded_reader_holds(void **state)
{
    uvzk_rwlock_t lock = {.read = {0}};
    struct hold writer, reader, next;
    int owner;
    (void)state;

    world_begin_one(&world, NULL, &a);
    assert_int_equal(uvzk_rwlock_init(&a.client, &lock, "/participants/down"), 0);
    hold_take_for(&writer, &a, &lock.write, &owner);
    hold_queue(&next, &a, &lock.write);
    hold_take_for(&reader, &a, &lock.read, &owner);
    look(&lock.read, 1, 1);
    look(&lock.write, 2, 1);
    hold_give_back(&writer);
    look(&lock.read, 1, 1);
    look(&lock.write, 1, 0);
    release(&reader, 1);
    release(&next, 1);
    world_end(&world);
}

static struct {
    uvzk_req_t request;
    int told, status;
    uvzk_stat_t stat;
    char text[128];
} reading;

static void on_read(uvzk_req_t *request, int status)
{
    const uvzk_stat_t *stat = request->result->stat;
    const void *data = request->result->data;
    size_t length = request->result->length;
    assert_null(request->impl);
    reading.told++;
    reading.status = status;
    if (status == 0) {
        reading.stat = *stat;
        (void)snprintf(reading.text, sizeof(reading.text), "%.*s", (int)length,
                       (const char *)data);
    }
}

static void expect_data(const char *path, int status, const char *text)
{
    memset(&reading, 0, sizeof(reading));
    assert_int_equal(uvzk_client_read(&a.client, &reading.request, path, on_read), 0);
    assert_int_equal(reading.told, 0);
    assert_true(world_await(&world, &reading.told, PATIENCE_MS));
    assert_int_equal(reading.status, status);
    assert_string_equal(reading.text, text);
}

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whose a hold's znode is, since when, and that its token stands there. */
static void test_a_holders_znode_tells_its_token(void **state)
{
    uvzk_mutex_t mutex = {0};
    struct hold holder;
    int64_t before = wall_ms();
    (void)state;

    world_begin(&world, NULL);
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_mutex_init(&a.client, &mutex, "/participants/m"), 0);
    hold_take_on(&holder, &a, &mutex, 1);
    memset(&reading, 0, sizeof(reading));
    assert_int_equal(uvzk_client_read(&a.client, &reading.request,
                                      uvzk_hold_path(&holder.request), on_read),
                     0);
    assert_true(world_await(&world, &reading.told, PATIENCE_MS));
    assert_int_equal(reading.stat.czxid, uvzk_hold_token(&holder.request));
    assert_int_equal(reading.stat.session_id, uvzk_client_session_id(&a.client));
    assert_true(reading.stat.created_ms >= before &&
                reading.stat.created_ms <= wall_ms());
    hold_give_back(&holder);
    world_end(&world);
}

#define TRACEPARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

/* ... and which trace it belongs to, for whoever reads it, and for a waiter of another
 * client. */
static void test_a_holders_znode_tells_its_traceparent(void **state)
{
    static struct process b;
    uvzk_acquire_options_t options;
    struct hold holder, waiter;
    uvzk_wait_info_t wait;
    (void)state;

    world_begin_one(&world, NULL, &a);
    process_begin(&b, &world, "b", NULL);
    uvzk_acquire_options_init(&options);
    options.node_data = "ann";
    options.node_data_length = 3;
    options.traceparent = TRACEPARENT;
    assert_int_equal(hold_ask(&holder, &a, NULL, &options), 0);
    hold_await(&holder, PATIENCE_MS);
    expect_data(uvzk_hold_path(&holder.request), 0, "ann\ntraceparent: " TRACEPARENT);
    hold_queue(&waiter, &b, NULL);
    uvzk_wait_info_init(&wait);
    for (uint64_t end = uvzk_now() + PATIENCE_MS;
         wait.traceparent == NULL && uvzk_now() < end; world_run_for(&world, 1)) {
        assert_int_equal(uvzk_hold_wait_info(&waiter.request, &wait), 0);
    }
    assert_int_equal(uvzk_hold_wait_info(&waiter.request, &wait), 0);
    assert_string_equal(wait.predecessor, holder.path);
    assert_non_null(wait.traceparent);
    assert_string_equal(wait.traceparent, TRACEPARENT);
    hold_give_back(&holder);
    release(&waiter, 1);
    world_end(&world);
}

static void test_get_participant_nodes_of_a_semaphore(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_acquire_options_t options;
    struct hold holders[2], waiters[2];
    (void)state;

    world_begin(&world, NULL);
    world.options.ns = "space";
    process_begin(&a, &world, "a", NULL);
    uvzk_acquire_options_init(&options);
    options.leases = 2;
    options.node_data = "lease data";
    options.node_data_length = 10;
    assert_int_equal(
        uvzk_semaphore_init(&a.client, &semaphore, "/participants/s", 3, NULL), 0);
    assert_int_equal(hold_ask(&holders[0], &a, &semaphore, &options), 0);
    hold_await(&holders[0], PATIENCE_MS);
    hold_take_on(&holders[1], &a, &semaphore, 1);
    look(&semaphore, 3, 3);
    for (int i = 0; i < 2; i++) {
        hold_begin_on(&waiters[i], &a, &semaphore, 1, UVZK_WAIT_FOREVER);
    }
    hold_await_queued(&waiters[1]);
    look(&semaphore, 5, 3);
    for (int i = 0; i < 5; i++) {
        assert_true(strstr(participants.paths[i], i < 3
                                                      ? "/space/participants/s/leases/"
                                                      : "/space/participants/s/locks/") ==
                    participants.paths[i]);
    }
    expect_data(uvzk_hold_node_path(&holders[0].request, 1), 0, "lease data");
    expect_data(holders[1].path, 0, "127.0.0.1");
    expect_data("/space/participants", 0, "");
    expect_data("/space/participants/t", UVZK_ENONODE, "");
    release(holders, 2);
    release(waiters, 2);
    look(&semaphore, 0, 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_participant_nodes_of_a_mutex),
        cmocka_unit_test(test_get_participant_nodes_of_a_read_write_lock),
        cmocka_unit_test(test_a_downgraded_reader_holds),
        cmocka_unit_test(test_get_participant_nodes_of_a_semaphore),
        cmocka_unit_test(test_a_holders_znode_tells_its_token),
        cmocka_unit_test(test_a_holders_znode_tells_its_traceparent),
    };

    return cmocka_run_group_tests_name("participants", tests, servers_start_one,
                                       servers_stop);
}
