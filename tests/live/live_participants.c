/* Participants of every kind of lock, and the data of their znodes, against a real server
 * (Curator's testGetParticipantNodes). */
#include "live.h"

#include <stdio.h>
#include <string.h>

#define READERS 20
#define WRITERS 8
#define PATHS_MAX 32

static struct live live;

static struct {
    uvzk_participants_t request;
    int told, status;
    size_t count, holding;
    char paths[PATHS_MAX][256];
} answer;

static void on_told(uvzk_participants_t *request, int status, const char *const *paths,
                    size_t count)
{
    answer.told++;
    answer.status = status;
    answer.count = count;
    answer.holding = uvzk_participants_holding(request);
    for (size_t i = 0; i < count && i < PATHS_MAX; i++) {
        (void)snprintf(answer.paths[i], sizeof(answer.paths[i]), "%s", paths[i]);
    }
}

static void look(uvzk_lock_t *lock, size_t count, size_t holding)
{
    memset(&answer, 0, sizeof(answer));
    assert_int_equal(uvzk_lock_participants(lock, &answer.request, on_told), 0);
    assert_true(run_until_count(live.loop, &answer.told, 1));
    assert_int_equal(answer.status, 0);
    assert_int_equal(answer.count, count);
    assert_int_equal(answer.holding, holding);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(raw_exists(live.raw, answer.paths[i], NULL), ZOK);
    }
}

static bool name_has(const char *path, const char *token)
{
    return strstr(strrchr(path, '/'), token) != NULL;
}

static void release(struct attempt *attempts, int count)
{
    for (int i = 0; i < count; i++) {
        assert_true(attempt_wait_granted(live.loop, &attempts[i]));
        assert_true(attempt_release_and_wait(live.loop, &attempts[i]));
    }
}

static void test_get_participant_nodes_of_a_mutex(void **state)
{
    uvzk_mutex_t mutex = {0};
    struct attempt attempts[3];
    (void)state;

    live_open(&live);
    memset(attempts, 0, sizeof(attempts));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/participants/mutex"), 0);
    look(&mutex, 0, 0); /* there is no such path yet */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attempt_start(&attempts[i], &mutex, NULL), 0);
    }
    assert_true(attempt_wait_granted(live.loop, &attempts[0]));
    assert_true(attempt_wait_queued(live.loop, &attempts[2]));
    look(&mutex, 3, 1);
    assert_string_equal(answer.paths[0], uvzk_hold_path(&attempts[0].request));
    release(attempts, 3);
    look(&mutex, 0, 0);
    live_end(&live);
}

/* In a path that has the halves' names in itself. */
static void test_get_participant_nodes_of_a_read_write_lock(void **state)
{
    static struct attempt readers[READERS], writers[WRITERS];
    uvzk_rwlock_t lock = {.read = {0}};
    (void)state;

    live_open(&live);
    memset(readers, 0, sizeof(readers));
    memset(writers, 0, sizeof(writers));
    assert_int_equal(
        uvzk_rwlock_init(&live.client, &lock, "/participants/__READ__/__WRIT__"), 0);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(attempt_start(&readers[i], &lock.read, NULL), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(attempt_start(&writers[i], &lock.write, NULL), 0);
    }
    for (int i = 0; i < READERS; i++) {
        assert_true(attempt_wait_granted(live.loop, &readers[i]));
    }
    assert_true(attempt_wait_queued(live.loop, &writers[WRITERS - 1]));
    look(&lock.read, READERS, READERS);
    for (int i = 0; i < READERS; i++) {
        assert_true(name_has(answer.paths[i], "__READ__"));
    }
    look(&lock.write, WRITERS, 0);
    for (int i = 0; i < WRITERS; i++) {
        assert_true(name_has(answer.paths[i], "__WRIT__"));
    }
    release(readers, READERS);
    assert_true(attempt_wait_granted(live.loop, &writers[0]));
    look(&lock.write, WRITERS, 1);
    assert_string_equal(answer.paths[0], uvzk_hold_path(&writers[0].request));
    look(&lock.read, 0, 0);
    release(writers, WRITERS);
    live_end(&live);
}

/* A reader that its owner has taken under the write lock holds, beside its writer. */
static void test_a_downgraded_reader_holds(void **state)
{
    uvzk_rwlock_t lock = {.read = {0}};
    struct attempt writer, reader, next;
    int owner;
    (void)state;

    live_open(&live);
    memset(&writer, 0, sizeof(writer));
    memset(&reader, 0, sizeof(reader));
    memset(&next, 0, sizeof(next));
    assert_int_equal(uvzk_rwlock_init(&live.client, &lock, "/participants/down"), 0);
    assert_int_equal(attempt_start_for(&writer, &lock.write, &owner), 0);
    assert_true(attempt_wait_granted(live.loop, &writer));
    assert_int_equal(attempt_start(&next, &lock.write, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &next));
    assert_int_equal(attempt_start_for(&reader, &lock.read, &owner), 0);
    assert_true(attempt_wait_granted(live.loop, &reader));
    look(&lock.read, 1, 1);
    look(&lock.write, 2, 1);
    assert_true(attempt_release_and_wait(live.loop, &writer));
    look(&lock.read, 1, 1);
    look(&lock.write, 1, 0);
    release(&reader, 1);
    release(&next, 1);
    live_end(&live);
}

static struct {
    uvzk_read_t request;
    int told, status;
    char text[64];
} reading;

static void on_read(uvzk_read_t *request, int status, const void *data, size_t length)
{
    assert_null(request->impl);
    reading.told++;
    reading.status = status;
    if (status == 0) {
        (void)snprintf(reading.text, sizeof(reading.text), "%.*s", (int)length,
                       (const char *)data);
    }
}

static void expect_data(const char *path, int status, const char *text)
{
    memset(&reading, 0, sizeof(reading));
    assert_int_equal(uvzk_client_read(&live.client, &reading.request, path, on_read), 0);
    assert_int_equal(reading.told, 0);
    assert_true(run_until_count(live.loop, &reading.told, 1));
    assert_int_equal(reading.status, status);
    assert_string_equal(reading.text, text);
}

static void test_get_participant_nodes_of_a_semaphore(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_acquire_options_t options;
    struct attempt holders[2], waiters[2];
    (void)state;

    live_begin(&live);
    live.options.ns = "space";
    live_start(&live);
    memset(holders, 0, sizeof(holders));
    memset(waiters, 0, sizeof(waiters));
    uvzk_acquire_options_init(&options);
    options.leases = 2;
    options.node_data = "lease data";
    options.node_data_length = 10;
    assert_int_equal(
        uvzk_semaphore_init(&live.client, &semaphore, "/participants/s", 3, NULL), 0);
    assert_int_equal(attempt_start(&holders[0], &semaphore, &options), 0);
    assert_true(attempt_wait_granted(live.loop, &holders[0]));
    assert_int_equal(attempt_start(&holders[1], &semaphore, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holders[1]));
    look(&semaphore, 3, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(attempt_start(&waiters[i], &semaphore, NULL), 0);
    }
    assert_true(attempt_wait_queued(live.loop, &waiters[1]));
    look(&semaphore, 5, 3);
    for (int i = 0; i < 5; i++) {
        assert_true(strstr(answer.paths[i], i < 3 ? "/space/participants/s/leases/"
                                                  : "/space/participants/s/locks/") ==
                    answer.paths[i]);
    }
    expect_data(uvzk_hold_lease_path(&holders[0].request, 1), 0, "lease data");
    expect_data(uvzk_hold_path(&holders[1].request), 0, "127.0.0.1");
    expect_data("/space/participants", 0, "");
    expect_data("/space/participants/t", UVZK_ENONODE, "");
    release(holders, 2);
    release(waiters, 2);
    look(&semaphore, 0, 0);
    live_end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_participant_nodes_of_a_mutex),
        cmocka_unit_test(test_get_participant_nodes_of_a_read_write_lock),
        cmocka_unit_test(test_a_downgraded_reader_holds),
        cmocka_unit_test(test_get_participant_nodes_of_a_semaphore),
    };

    return cmocka_run_group_tests_name("participants", tests, live_server_start,
                                       live_server_stop);
}
