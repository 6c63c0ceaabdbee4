/* Revocation between the library and Apache Curator: whoever asks, the message is
 * the same ten bytes, and the other side's holder, or waiter, is told. */
#define THREADED /* the C client's blocking calls */
#include <stdio.h>
#include <string.h>

#include "other_side.h"

static struct live live;
static struct peer curator;
static uvzk_mutex_t mutex;
static uvzk_rwlock_t rwlock;
static struct attempt ours;
static int revoked; /* how often our contender was asked */

/* Our client with a mutex on /interop/m and a read-write lock on /interop/rw; Curator
 * calls its own M and L. */
static void begin(void)
{
    live_open(&live);
    memset(&mutex, 0, sizeof(mutex));
    memset(&rwlock, 0, sizeof(rwlock));
    revoked = 0;
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/interop/m"), 0);
    assert_int_equal(uvzk_rwlock_init(&live.client, &rwlock, "/interop/rw"), 0);
    other_side_start(&live, &curator, 0);
    assert_non_null(peer_ask(&curator, "made M", "mutex M /interop/m"));
    assert_non_null(peer_ask(&curator, "made L", "rw L /interop/rw"));
}

static void end(void)
{
    assert_true(live_wait_children(&live, "/interop/m", 0));
    assert_true(live_wait_children(&live, "/interop/rw", 0));
    other_side_end(&curator);
    live_end(&live);
}

static void on_revoked(uvzk_hold_t *hold)
{
    assert_ptr_equal(hold, &ours.request);
    revoked++;
}

static void we_start_revocable(uvzk_lock_t *lock)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    options.node_data = "ignored";
    options.node_data_length = 7;
    assert_int_equal(attempt_start(&ours, lock, &options), 0);
}

static void assert_bytes(const char *path, const char *expected)
{
    char bytes[64];
    int got = sizeof(bytes);
    assert_int_equal(zoo_get(live.raw, path, 0, bytes, &got, NULL), ZOK);
    assert_int_equal(got < 0 ? 0 : got, strlen(expected));
    assert_memory_equal(bytes, expected, strlen(expected));
}

/* The full path of the contender in this place, the first one being 0. */
static const char *node_at(const char *path, size_t place)
{
    static char node[256];
    struct raw_names names;
    assert_int_equal(raw_children(live.raw, path, &names), ZOK);
    assert_true(place < names.count);
    snprintf(node, sizeof(node), "%s/%s", path, names.names[place]);
    raw_names_free(&names);
    return node;
}

static int asked, asked_status;

static void on_asked(uvzk_revoke_t *request, int status)
{
    (void)request;
    asked_status = status;
    asked++;
}

static int we_ask(const char *node)
{
    static uvzk_revoke_t request;
    asked = 0;
    assert_int_equal(uvzk_client_revoke(&live.client, &request, node, on_asked), 0);
    assert_true(run_until_count(live.loop, &asked, 1));
    return asked_status;
}

/* ------------------------------------------------------------- Curator asks us */

static void assert_curator_revokes(uvzk_lock_t *lock)
{
    char node[256];
    begin();
    we_start_revocable(lock);
    assert_true(attempt_wait_granted(live.loop, &ours));
    snprintf(node, sizeof(node), "%s", uvzk_hold_path(&ours.request));
    assert_bytes(node, "");
    /* Other data are read, the answer to a later request has come, and nothing was
     * said of them. */
    assert_int_equal(raw_set(live.raw, node, "no such message"), ZOK);
    assert_true(our_side_wait_watches(&live, node));
    assert_int_equal(we_ask("/interop/nobody"), UVZK_ENONODE);
    assert_int_equal(revoked, 0);
    for (int i = 1; i <= 2; i++) {
        assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node));
        assert_true(run_until_count(live.loop, &revoked, i));
        assert_bytes(node, "__REVOKE__");
    }
    assert_true(attempt_holds(&ours)); /* until it is released */
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_int_equal(revoked, 2);
    end();
}

static void test_curator_revokes_our_mutex(void **state)
{
    (void)state;
    assert_curator_revokes(&mutex);
}

static void test_curator_revokes_our_reader(void **state)
{
    (void)state;
    assert_curator_revokes(&rwlock.read);
}

static void test_curator_revokes_our_writer(void **state)
{
    (void)state;
    assert_curator_revokes(&rwlock.write);
}

static void test_curator_revokes_our_waiter(void **state)
{
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "granted j", "acquire j M"));
    we_start_revocable(&mutex);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node_at("/interop/m", 1)));
    assert_true(run_until_count(live.loop, &revoked, 1));
    assert_int_equal(ours.acquired, 0);
    assert_int_equal(uvzk_hold_cancel(&ours.request), 0);
    assert_true(attempt_wait_told(live.loop, &ours));
    assert_int_equal(ours.status, UV_ECANCELED);
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    end();
}

/* ------------------------------------------------------------- we ask Curator */

static void assert_we_revoke(const char *lock, const char *path)
{
    char answer[32];
    begin();
    snprintf(answer, sizeof(answer), "revoked %s", lock);
    assert_non_null(peer_ask(&curator, "made ", "revocable %s", lock));
    assert_non_null(peer_ask(&curator, "granted j", "acquire j %s", lock));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(we_ask(node_at(path, 0)), 0);
        assert_bytes(node_at(path, 0), "__REVOKE__");
        assert_non_null(peer_expect(&curator, answer));
    }
    assert_non_null(peer_ask(&curator, "released j", "release j %s", lock));
    end();
}

static void test_we_revoke_curators_mutex(void **state)
{
    (void)state;
    assert_we_revoke("M", "/interop/m");
}

static void test_we_revoke_curators_reader(void **state)
{
    (void)state;
    assert_we_revoke("L.read", "/interop/rw");
}

static void test_we_revoke_curators_writer(void **state)
{
    (void)state;
    assert_we_revoke("L.write", "/interop/rw");
}

static void test_we_revoke_curators_waiter(void **state)
{
    (void)state;
    begin();
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_non_null(peer_ask(&curator, "made M", "revocable M"));
    peer_say(&curator, "acquire j M");
    assert_true(other_side_wait_watches(&live, uvzk_hold_path(&ours.request)));
    assert_int_equal(we_ask(node_at("/interop/m", 1)), 0);
    assert_non_null(peer_expect(&curator, "revoked M"));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    end();
}

/* A node that has just gone: Curator says nothing, we say so. */
static void test_nobody_is_there_to_revoke(void **state)
{
    char node[256];
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "granted j", "acquire j M"));
    snprintf(node, sizeof(node), "%s", node_at("/interop/m", 0));
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    assert_int_equal(we_ask(node), UVZK_ENONODE);
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node));
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_revokes_our_mutex),
        cmocka_unit_test(test_curator_revokes_our_reader),
        cmocka_unit_test(test_curator_revokes_our_writer),
        cmocka_unit_test(test_curator_revokes_our_waiter),
        cmocka_unit_test(test_we_revoke_curators_mutex),
        cmocka_unit_test(test_we_revoke_curators_reader),
        cmocka_unit_test(test_we_revoke_curators_writer),
        cmocka_unit_test(test_we_revoke_curators_waiter),
        cmocka_unit_test(test_nobody_is_there_to_revoke),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
