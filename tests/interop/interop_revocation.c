/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation between the library and Apache Curator: whoever asks, the message is
 * the same ten bytes, and the other side's holder, or waiter, is told. */
#include <stdio.h>
#include <string.h>

#include "other_side.h"

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_rwlock_t rwlock;
static struct hold ours;
static int revoked; /* how often our contender was asked */

/* Our client with a mutex on /interop/m and a read-write lock on /interop/rw; Curator
 * calls its own M and L. */
static void begin(void)
{
    both_sides_begin(&world, "/interop/m", &us, &curator);
    /* A revocation does not wait for a connection, as an acquire does. */
    assert_true(world_await(&world, &us.connected, PATIENCE_MS));
    memset(&rwlock, 0, sizeof(rwlock));
    revoked = 0;
    assert_int_equal(uvzk_rwlock_init(&us.client, &rwlock, "/interop/rw"), 0);
    assert_non_null(peer_ask(&curator, "made M", "mutex M /interop/m"));
    assert_non_null(peer_ask(&curator, "made L", "rw L /interop/rw"));
}

static void end(void)
{
    assert_true(world_await_children(&world, "/interop/rw", 0));
    both_sides_end(&world, &curator);
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
    assert_int_equal(hold_ask(&ours, &us, lock, &options), 0);
}

static void assert_asked(const char *path)
{
    world_assert_data(&world, path, "__REVOKE__", 10);
}

/* ------------------------------------------------------------- Curator asks us */

/* The state is the lock. */
static void test_curator_revokes_ours(void **state)
{
    begin();
    we_start_revocable(*state);
    hold_await(&ours, PATIENCE_MS);
    assert_true(raw_data_length(world.raw, ours.path) <= 0);
    /* Other data are read, the answer to a later request has come, and nothing was
     * said of them. */
    assert_int_equal(raw_set(world.raw, ours.path, "no such message"), ZOK);
    assert_true(our_side_wait_watches(&us, ours.path));
    assert_int_equal(process_revoke(&us, "/interop/nobody"), UVZK_ENONODE);
    assert_int_equal(revoked, 0);
    for (int i = 1; i <= 2; i++) {
        assert_non_null(peer_ask(&curator, "asked ", "revoke %s", ours.path));
        assert_true(world_await_count(&world, &revoked, i, PATIENCE_MS));
        assert_asked(ours.path);
    }
    assert_true(hold_holds(&ours)); /* until it is released */
    hold_give_back(&ours);
    assert_int_equal(revoked, 2);
    end();
}

static void test_curator_revokes_our_waiter(void **state)
{
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "granted j", "acquire j M"));
    we_start_revocable(&us.mutex);
    hold_await_queued(&ours);
    struct world_path node = world_child(&world, "/interop/m", 1);
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node.text));
    assert_true(world_await(&world, &revoked, PATIENCE_MS));
    assert_int_equal(ours.answered, 0);
    hold_cancel(&ours);
    hold_await_status(&ours, PATIENCE_MS, UV_ECANCELED);
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    end();
}

/* ------------------------------------------------------------- we ask Curator */

struct theirs {
    const char *lock, *path;
};
static struct theirs mutex = {"M", "/interop/m"};
static struct theirs reader = {"L.read", "/interop/rw"},
                     writer = {"L.write", "/interop/rw"};

static void test_we_revoke_curators(void **state)
{
    const struct theirs *theirs = *state;
    char answer[32];
    begin();
    snprintf(answer, sizeof(answer), "revoked %s", theirs->lock);
    assert_non_null(peer_ask(&curator, "made ", "revocable %s", theirs->lock));
    assert_non_null(peer_ask(&curator, "granted j", "acquire j %s", theirs->lock));
    struct world_path node = world_child(&world, theirs->path, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(process_revoke(&us, node.text), 0);
        assert_asked(node.text);
        assert_non_null(peer_expect(&curator, answer));
    }
    assert_non_null(peer_ask(&curator, "released j", "release j %s", theirs->lock));
    end();
}

static void test_we_revoke_curators_waiter(void **state)
{
    (void)state;
    begin();
    hold_take(&ours, &us);
    assert_non_null(peer_ask(&curator, "made M", "revocable M"));
    peer_say(&curator, "acquire j M");
    assert_true(other_side_wait_watches(&us, ours.path));
    assert_int_equal(process_revoke(&us, world_child(&world, "/interop/m", 1).text), 0);
    assert_non_null(peer_expect(&curator, "revoked M"));
    assert_null(peer_heard(&curator, "granted j"));
    hold_give_back(&ours);
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    end();
}

/* A node that has just gone: Curator says nothing, we say so. */
static void test_nobody_is_there_to_revoke(void **state)
{
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "granted j", "acquire j M"));
    struct world_path node = world_child(&world, "/interop/m", 0);
    assert_non_null(peer_ask(&curator, "released j", "release j M"));
    assert_int_equal(process_revoke(&us, node.text), UVZK_ENONODE);
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node.text));
    end();
}

#define CASE(name, test, of) ((struct CMUnitTest){#name, test, NULL, NULL, &(of)})

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(test_curator_revokes_our_mutex, test_curator_revokes_ours, us.mutex),
        CASE(test_curator_revokes_our_reader, test_curator_revokes_ours, rwlock.read),
        CASE(test_curator_revokes_our_writer, test_curator_revokes_ours, rwlock.write),
        cmocka_unit_test(test_curator_revokes_our_waiter),
        CASE(test_we_revoke_curators_mutex, test_we_revoke_curators, mutex),
        CASE(test_we_revoke_curators_reader, test_we_revoke_curators, reader),
        CASE(test_we_revoke_curators_writer, test_we_revoke_curators, writer),
        cmocka_unit_test(test_we_revoke_curators_waiter),
        cmocka_unit_test(test_nobody_is_there_to_revoke),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
