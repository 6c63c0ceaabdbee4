/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated server: znodes, multis, watches, permissions, sessions, and a
 * follower that has lost its leader. */
#include "cmocka_test.h"

#include "probe.h"
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* -------------------------------------------------------------------- znodes */

static void a_znode_is_created_read_changed_and_deleted(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *made = ask_done(ask_create(a, "/a", UVZK__PERSISTENT));
    assert_string_equal(made->name, "/a");
    assert_true(made->stat.czxid > 0);
    assert_int_equal(made->stat.mzxid, made->stat.czxid);
    struct ask *changed = ask_done(ask_set(a, "/a", "hello", 0));
    assert_int_equal(changed->stat.version, 1);
    assert_int_equal(changed->stat.czxid, made->stat.czxid);
    assert_true(changed->stat.mzxid > made->stat.czxid);
    struct ask *got = ask_done(ask_read(a, UVZK__RPC_GET, "/a", false));
    assert_string_equal(got->text, "hello");
    assert_int_equal(got->stat.version, 1);
    struct ask *below = ask_done(ask_create(a, "/a/b", UVZK__EPHEMERAL));
    assert_true(below->stat.czxid > changed->stat.mzxid);
    assert_int_equal(below->stat.ephemeral_owner, a->session_id);
    struct ask *seen = ask_done(ask_read(a, UVZK__RPC_EXISTS, "/a", false));
    assert_int_equal(seen->stat.child_count, 1);
    assert_int_equal(ask_wait(ask_delete(a, "/a/b", 0)), 0);
    assert_int_equal(ask_wait(ask_delete(a, "/a", 1)), 0);
    assert_int_equal(sim_node_count(sim), 1);
    size_t length = 7;
    assert_null(sim_data(sim, "/a", &length));
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
    assert_non_null(sim_data(sim, "/a", &length));
    assert_int_equal(length, 0);
    sim_set_by_hand(sim, "/a", "xy", 2);
    assert_memory_equal(sim_data(sim, "/a", &length), "xy", 2);
    assert_int_equal(length, 2);
}

static void the_server_refuses_what_zookeeper_refuses(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    assert_int_equal(create(a, "/a/b", UVZK__PERSISTENT), UVZK_ENONODE);
    assert_int_equal(create(a, "/", UVZK__PERSISTENT), UVZK_ENODEEXISTS);
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), UVZK_ENODEEXISTS);
    assert_int_equal(create(a, "/a/e", UVZK__EPHEMERAL), 0);
    assert_int_equal(create(a, "/a/e/f", UVZK__PERSISTENT), UVZK_ENOCHILDREN);
    assert_int_equal(ask_wait(ask_delete(a, "/a", -1)), UVZK_ENOTEMPTY);
    assert_int_equal(ask_wait(ask_delete(a, "/a/e", 1)), UVZK_EBADVERSION);
    assert_int_equal(ask_wait(ask_delete(a, "/x", -1)), UVZK_ENONODE);
    assert_int_equal(ask_wait(ask_delete(a, "/", -1)), UVZK_EREJECTED);
    assert_int_equal(ask_wait(ask_set(a, "/a", "", 7)), UVZK_EBADVERSION);
    assert_int_equal(ask_wait(ask_set(a, "/x", "", -1)), UVZK_ENONODE);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/x"), UVZK_ENONODE);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/x"), UVZK_ENONODE);
    assert_int_equal(read_once(a, UVZK__RPC_CHILDREN, "/x"), UVZK_ENONODE);
    static const char *const malformed[] = {"",     "a",     "/a/",   "//a",
                                            "/./a", "/a/..", "/a//b", "/a\n"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        assert_int_equal(create(a, malformed[i], UVZK__PERSISTENT), UVZK_EREJECTED);
    }
    assert_int_equal(create(a, "/...", UVZK__PERSISTENT), 0);
    a->acl = &(struct uvzk__acl){NULL, 0};
    assert_int_equal(create(a, "/b", UVZK__PERSISTENT), UVZK_EINVALIDACL);
    sim_refuse(sim, UVZK__RPC_GET, UVZK_ENOAUTH, 1);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/a"), UVZK_ENOAUTH);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/a"), 0);
}

static void a_sequence_counts_every_child_ever_created(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/l", UVZK__PERSISTENT);
    struct ask *first = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ask_create(a, "/l/other", UVZK__PERSISTENT);
    struct ask *third = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ask_delete(a, "/l/n-0000000002", -1);
    struct ask *fourth = ask_create(a, "/l/", UVZK__EPHEMERAL_SEQUENTIAL);
    struct ask *listing = ask_done(ask_read(a, UVZK__RPC_CHILDREN, "/l", false));
    assert_string_equal(first->name, "/l/n-0000000000");
    assert_string_equal(third->name, "/l/n-0000000002");
    assert_string_equal(fourth->name, "/l/0000000003");
    assert_string_equal(listing->text, "0000000003 n-0000000000 other");
    assert_int_equal(listing->count, 3);
    assert_int_equal(first->stat.ephemeral_owner, a->session_id);
    assert_int_equal(sim_ephemeral_count(sim, a->session_id), 2);
    const char *names[2];
    assert_int_equal(sim_children(sim, "/l", names, 2), 3);
    assert_string_equal(names[0], "n-0000000000");
    assert_string_equal(names[1], "other");
}

static void a_sequence_sticks_at_its_end(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/l", UVZK__PERSISTENT);
    assert_int_equal(sim_set_counter(sim, "/l", INT32_MAX - 1), 0);
    struct ask *before = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    struct ask *last = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    struct ask *again = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ask_delete(a, "/l/n-2147483647", -1);
    struct ask *reused = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ask_wait(reused);
    assert_string_equal(before->name, "/l/n-2147483646");
    assert_string_equal(last->name, "/l/n-2147483647");
    assert_int_equal(again->status, UVZK_ENODEEXISTS);
    assert_string_equal(reused->name, "/l/n-2147483647");
    sim_set_counter(sim, "/l", INT32_MIN); /* the counter of servers before 3.6 wraps */
    struct ask *negative = ask_create(a, "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ask_wait(negative);
    assert_string_equal(negative->name, "/l/n--2147483648");
}

static void an_empty_container_goes_once_it_was_used(void **state)
{
    struct sim *sim = sim_plain();
    struct probe *a = probe_connected(sim, "a");
    (void)state;
    create(a, "/used", UVZK__CONTAINER);
    create(a, "/new", UVZK__CONTAINER);
    create(a, "/full", UVZK__CONTAINER);
    create(a, "/plain", UVZK__PERSISTENT);
    create(a, "/full/x", UVZK__EPHEMERAL);
    create(a, "/used/x", UVZK__EPHEMERAL);
    create(a, "/plain/x", UVZK__EPHEMERAL);
    struct ask *seen = watch_on(a, UVZK__RPC_EXISTS, "/used");
    assert_int_equal(seen->stat.ephemeral_owner, 0);
    ask_delete(a, "/used/x", -1);
    ask_wait(ask_delete(a, "/plain/x", -1));
    assert_true(sim_exists(sim, "/used"));
    probe_hear(a, "watch /used: deleted");
    assert_in_range(sim_now(sim), 61000, 61100);
    assert_false(sim_exists(sim, "/used"));
    assert_true(sim_exists(sim, "/new"));
    assert_true(sim_exists(sim, "/full"));
    assert_true(sim_exists(sim, "/plain"));
    probe_end(a);
    sim_run_for(sim, 60);
    sim_check_containers(sim);
    assert_false(sim_exists(sim, "/full"));
    sim_free(sim);
}

static void an_old_server_has_no_containers(void **state)
{
    struct sim_options options;
    (void)state;
    sim_options_init(&options);
    options.no_containers = true;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_connected(sim, "a");
    assert_int_equal(create(a, "/c", UVZK__CONTAINER), UVZK_EUNIMPLEMENTED);
    assert_int_equal(create(a, "/c", UVZK__PERSISTENT), 0);
    probe_end(a);
    sim_free(sim);
}

static void a_multi_is_all_or_nothing(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__PERSISTENT);
    struct uvzk__op good[] = {
        op_of(UVZK__OP_CREATE, "/b", 0),  op_of(UVZK__OP_CREATE, "/b/c", 0),
        op_of(UVZK__OP_CHECK, "/b/c", 0), op_of(UVZK__OP_SET, "/a", 0),
        op_of(UVZK__OP_CHECK, "/a", 1),   op_of(UVZK__OP_DELETE, "/b/c", -1),
        op_of(UVZK__OP_DELETE, "/b", -1), op_of(UVZK__OP_CREATE, "/b", 0)};
    struct uvzk__op bad[] = {
        op_of(UVZK__OP_CREATE, "/d", 0), op_of(UVZK__OP_DELETE, "/a", 1),
        op_of(UVZK__OP_CREATE, "/a/x", 0), op_of(UVZK__OP_DELETE, "/b", -1)};
    struct ask *done = ask_multi(a, good, sizeof(good) / sizeof(good[0]));
    struct ask *undone = ask_multi(a, bad, sizeof(bad) / sizeof(bad[0]));
    ask_wait(undone);
    assert_int_equal(done->status, 0);
    assert_true(done->failed_op == SIZE_MAX);
    assert_int_equal(undone->status, UVZK_ENONODE);
    assert_int_equal(undone->failed_op, 2);
    assert_true(sim_exists(sim, "/a") && sim_exists(sim, "/b"));
    assert_false(sim_exists(sim, "/d") || sim_exists(sim, "/b/c"));
    int64_t zxid = sim_zxid(sim);
    assert_int_equal(ask_wait(ask_multi(a, &good[4], 1)), 0); /* only a check */
    assert_int_equal(sim_zxid(sim), zxid + 1);
    assert_int_equal(ask_wait(ask_multi(a, NULL, 0)), 0);
    struct uvzk__op own[] = {op_of(UVZK__OP_CREATE, "/e", 0),
                             op_of(UVZK__OP_CREATE, "/f", 0)};
    own[0].mode = UVZK__EPHEMERAL;
    ask_wait(ask_multi(a, own, 2));
    struct uvzk__stat e, f;
    assert_true(sim_stat(sim, "/e", &e) && sim_stat(sim, "/f", &f));
    assert_int_equal(e.czxid, f.czxid);
    assert_int_equal(e.ephemeral_owner, a->session_id);
    assert_int_equal(f.ephemeral_owner, 0);
}

/* First as many checks of one path as fit into a request, then one more. */
static void a_multi_that_is_too_long_costs_the_connection(void **state)
{
    enum { FITTING = (1048575 - 17) / (2 + 17) }; /* headers and lengths */
    static struct uvzk__op checks[FITTING + 1];
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__PERSISTENT);
    for (size_t i = 0; i <= FITTING; i++) {
        checks[i] = op_of(UVZK__OP_CHECK, "/a", 0);
    }
    assert_int_equal(ask_wait(ask_multi(a, checks, FITTING)), 0);
    int64_t zxid = sim_zxid(sim);
    probe_said(a);
    assert_int_equal(ask_wait(ask_multi(a, checks, FITTING + 1)), UVZK_ECONNLOSS);
    probe_until(a, "CONNECTED");
    assert_int_equal(sim_zxid(sim), zxid);
    assert_true(sim_session_alive(sim, a->session_id));
}

static void a_multi_numbers_what_it_creates(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/l", UVZK__PERSISTENT);
    create(a, "/m", UVZK__PERSISTENT);
    struct uvzk__op ops[] = {op_create("/l/e-", UVZK__EPHEMERAL_SEQUENTIAL),
                             op_create("/m/e-", UVZK__EPHEMERAL_SEQUENTIAL),
                             op_create("/l/p-", UVZK__PERSISTENT_SEQUENTIAL),
                             op_of(UVZK__OP_CHECK, "/l", 0)};
    assert_int_equal(ask_wait(ask_multi(a, ops, 4)), 0);
    struct uvzk__stat l, m, p;
    assert_true(sim_stat(sim, "/l/e-0000000000", &l));
    assert_true(sim_stat(sim, "/m/e-0000000000", &m));
    assert_true(sim_stat(sim, "/l/p-0000000001", &p));
    assert_int_equal(l.czxid, sim_zxid(sim));
    assert_true(l.czxid == m.czxid && l.czxid == p.czxid);
    assert_true(l.ephemeral_owner == a->session_id && p.ephemeral_owner == 0);
    ops[3].version = 1;
    assert_int_equal(ask_wait(ask_multi(a, ops, 4)), UVZK_EBADVERSION);
    assert_int_equal(sim_children(sim, "/l", NULL, 0), 2);
    assert_string_equal(sim_create_by_hand(sim, "/l/h-", UVZK__PERSISTENT_SEQUENTIAL),
                        "/l/h-0000000002");
    sim_expire(a->port);
    assert_false(sim_exists(sim, "/l/e-0000000000") ||
                 sim_exists(sim, "/m/e-0000000000"));
    assert_true(sim_exists(sim, "/l/p-0000000001"));
}

/* Among the ops of one multi the number wraps around, while the directory's own counter
 * stays at 2147483647. The reason is that PrepRequestProcessor counts in a record of its
 * own, and DataTree keeps the greater number. */
static void a_multi_goes_over_the_end_of_a_sequence(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/l", UVZK__PERSISTENT);
    sim_set_counter(sim, "/l", INT32_MAX - 1);
    struct uvzk__op op = op_create("/l/n-", UVZK__PERSISTENT_SEQUENTIAL);
    struct uvzk__op ops[] = {op, op, op, op};
    assert_int_equal(ask_wait(ask_multi(a, ops, 4)), 0);
    const char *names[4];
    assert_int_equal(sim_children(sim, "/l", names, 4), 4);
    assert_string_equal(names[0], "n-2147483646");
    assert_string_equal(names[1], "n-2147483647");
    assert_string_equal(names[2], "n--2147483648");
    assert_string_equal(names[3], "n--2147483647");
    struct ask *refused = ask_multi(a, ops, 4);
    assert_int_equal(ask_wait(refused), UVZK_ENODEEXISTS);
    assert_int_equal(refused->failed_op, 0);
}

/* ------------------------------------------------------------------- watches */

static void a_watch_fires_once(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    create(b, "/a", UVZK__PERSISTENT);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    assert_int_equal(sim_watch_count(sim), 1);
    assert_int_equal(sim_armed(a->port), 1);
    assert_non_null(watched->watch.armed);
    probe_said(a);
    ask_wait(ask_set(b, "/a", "x", -1));
    ask_wait(ask_set(b, "/a", "y", -1));
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "watch /a: changed");
    assert_int_equal(sim_watch_count(sim), 0);
    assert_int_equal(sim_armed(a->port), 0);
}

static void each_kind_of_watch_hears_its_own(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_create_by_hand(sim, "/a", UVZK__PERSISTENT);
    watch_on(a, UVZK__RPC_GET, "/missing");
    assert_int_equal(sim_watch_count(sim), 0); /* a get that fails arms no watch */
    watch_on(a, UVZK__RPC_CHILDREN, "/missing");
    assert_int_equal(sim_watch_count(sim), 0);
    watch_on(a, UVZK__RPC_EXISTS, "/missing");
    assert_int_equal(sim_watch_count(sim), 1);
    probe_said(a);
    sim_create_by_hand(sim, "/missing", UVZK__PERSISTENT);
    probe_hear(a, "watch /missing: created");
    watch_on(a, UVZK__RPC_EXISTS, "/missing");
    sim_set_by_hand(sim, "/missing", "x", 1);
    probe_hear(a, "watch /missing: changed");
    watch_on(a, UVZK__RPC_CHILDREN, "/a");
    sim_set_by_hand(sim, "/a", "x", 1); /* does not fire a watch on the children */
    sim_create_by_hand(sim, "/a/b", UVZK__PERSISTENT);
    probe_hear(a, "watch /a: children");
    watch_on(a, UVZK__RPC_CHILDREN, "/a");
    watch_on(a, UVZK__RPC_GET, "/a/b");
    probe_said(a);
    sim_delete_by_hand(sim, "/a/b");
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "watch /a/b: deleted; watch /a: children");
    watch_on(a, UVZK__RPC_CHILDREN, "/a");
    sim_delete_by_hand(sim, "/a");
    probe_hear(a, "watch /a: deleted");
    assert_int_equal(sim_watch_count(sim), 0);
}

static int check_alone(struct probe *probe, const char *path)
{
    struct uvzk__op op = op_of(UVZK__OP_CHECK, path, -1);
    return ask_wait(ask_multi(probe, &op, 1));
}

static void what_may_not_be_read_is_neither_read_nor_heard_of(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    assert_int_equal(sim_set_readable(sim, "/a", false), UVZK_ENONODE);
    create(a, "/a", UVZK__PERSISTENT);
    struct ask *data = watch_on(a, UVZK__RPC_GET, "/a");
    assert_int_equal(sim_set_readable(sim, "/a", false), 0);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/a"), UVZK_ENOAUTH);
    assert_int_equal(read_once(a, UVZK__RPC_CHILDREN, "/a"), UVZK_ENOAUTH);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), 0);
    assert_int_equal(check_alone(a, "/a"), UVZK_ENOAUTH);
    sim_set_by_hand(sim, "/a", "x", 1);
    assert_int_equal(sim_watch_count(sim), 0);
    assert_int_equal(sim_set_readable(sim, "/a", true), 0);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/a"), 0);
    assert_int_equal(check_alone(a, "/a"), 0);
    sim_set_by_hand(sim, "/a", "y", 1);
    sim_run_for(sim, 100);
    assert_int_equal(data->fired, 0);
    sim_disconnect(a->port, SIM_RESET, 0); /* then the client sets the watch again */
    probe_hear(a, "watch /a: changed");
    assert_int_equal(data->fired, 1);
}

static void an_unreadable_end_is_not_told(void **state)
{
    static const uvzk_acl_t entry = {UVZK_PERM_ALL & ~UVZK_PERM_READ, "world", "anyone"};
    static const struct uvzk__acl blind = {&entry, 1};
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/d", UVZK__PERSISTENT);
    a->acl = &blind;
    create(a, "/d/n", UVZK__PERSISTENT);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/d/n"), UVZK_ENOAUTH);
    struct ask *end = watch_on(a, UVZK__RPC_EXISTS, "/d/n");
    struct ask *listing = watch_on(a, UVZK__RPC_CHILDREN, "/d");
    sim_delete_by_hand(sim, "/d/n");
    sim_run_for(sim, 100);
    assert_int_equal(end->fired, 0);
    assert_int_equal(listing->fired, 1); /* the parent's ACL decides about this one */
    assert_int_equal(sim_watch_count(sim), 0);
}

/* READ is missing only at the moment of the delete. A new znode at the same path may be
 * read. */
static void a_removal_at_which_it_may_not_be_read_is_not_told(void **state)
{
    const struct sim_faults unread = {.blind_removal = 1000000};
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/d", UVZK__PERSISTENT);
    create(a, "/d/n", UVZK__PERSISTENT);
    struct ask *end = watch_on(a, UVZK__RPC_GET, "/d/n");
    struct ask *listing = watch_on(a, UVZK__RPC_CHILDREN, "/d");
    struct uvzk__stat stat;
    assert_true(sim_stat(sim, "/d/n", &stat));
    assert_false(sim_went_unread(sim, stat.czxid, 0));
    sim_set_faults(sim, &unread);
    assert_int_equal(ask_wait(ask_delete(a, "/d/n", -1)), 0);
    assert_int_equal(sim_fault_count(sim), 1);
    sim_set_faults(sim, NULL);
    sim_run_for(sim, 100);
    assert_int_equal(end->fired, 0);
    assert_int_equal(listing->fired, 1);
    assert_int_equal(sim_watch_count(sim), 0);
    assert_true(sim_went_unread(sim, stat.czxid, 1000));
    assert_false(sim_went_unread(sim, stat.czxid, 10));
    assert_int_equal(create(a, "/d/n", UVZK__PERSISTENT), 0);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/d/n"), 0);
    assert_false(sim_was_unreadable(sim, "/d"));
    sim_set_readable(sim, "/d/n", false);
    assert_true(sim_was_unreadable(sim, "/d") && !sim_was_unreadable(sim, "/d/n/m"));
}

/* DELETE is missing in one directory at a time. It is given back after a time, or when
 * the random faults are switched off. */
static void a_directory_may_be_without_delete_for_a_time(void **state)
{
    const struct sim_faults forbidden = {.forbid = 10000000, .forbid_max_ms = 200};
    struct probe *a = *state;
    struct sim *sim = a->sim;
    unsigned refused = 0, deleted = 0;
    create(a, "/d", UVZK__PERSISTENT);
    sim_set_faults(sim, &forbidden);
    while (refused < 20 || deleted < 20) {
        assert_int_equal(create(a, "/d/e", UVZK__EPHEMERAL), 0);
        while (ask_wait(ask_delete(a, "/d/e", -1)) == UVZK_ENOAUTH) {
            refused++;
        }
        deleted++;
    }
    create(a, "/d/e", UVZK__EPHEMERAL);
    while (ask_wait(ask_delete(a, "/d/none", -1)) != UVZK_ENOAUTH) {
        sim_run_for(sim, 10);
    }
    sim_set_faults(sim, NULL);
    assert_int_equal(ask_wait(ask_delete(a, "/d/e", -1)), 0);
}

static void exists_needs_read_on_newer_servers(void **state)
{
    struct sim_options options;
    (void)state;
    sim_options_init(&options);
    options.exists_needs_read = true;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_connected(sim, "a");
    create(a, "/a", UVZK__PERSISTENT);
    sim_set_readable(sim, "/a", false);
    watch_on(a, UVZK__RPC_EXISTS, "/a");
    assert_string_equal(probe_said(a), "create /a: ok; exists /a: ENOAUTH");
    assert_int_equal(sim_armed(a->port), 0);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/b"), UVZK_ENONODE);
    probe_end(a);
    sim_free(sim);
}

static void an_event_comes_before_what_shows_the_change(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    create(a, "/own", UVZK__EPHEMERAL);
    create(b, "/other", UVZK__EPHEMERAL);
    watch_on(a, UVZK__RPC_GET, "/own");
    watch_on(a, UVZK__RPC_GET, "/other");
    probe_said(a);
    ask_wait(ask_delete(a, "/own", -1));
    assert_string_equal(probe_said(a), "watch /own: deleted; delete /own: ok");
    for (int i = 0; i < 40; i++) { /* long enough for a get that finds it deleted */
        ask_read(a, UVZK__RPC_GET, "/other", false);
        if (i == 3) {
            ask_delete(b, "/other", -1);
        }
        sim_run_for(sim, 1);
    }
    sim_run_for(sim, 100);
    const char *said = probe_said(a);
    const char *event = strstr(said, "watch /other: deleted");
    const char *shown = strstr(said, "get /other: ENONODE");
    assert_true(event != NULL && shown != NULL && event < shown);
}

static void an_unwatched_watch_is_silent_and_forgotten(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_create_by_hand(sim, "/a", UVZK__PERSISTENT);
    struct ask *armed = watch_on(a, UVZK__RPC_GET, "/a");
    ask_unwatch(armed);
    ask_unwatch(armed); /* no effect */
    struct ask *next = ask_read(a, UVZK__RPC_GET, "/a", true);
    ask_unwatch(next); /* while it is being armed */
    ask_wait(next);
    sim_run_for(sim, 100);
    assert_int_equal(sim_watch_count(sim), 0);
    struct ask *last = watch_on(a, UVZK__RPC_GET, "/a");
    probe_said(a);
    sim_delete_by_hand(sim, "/a"); /* the event is on its way */
    ask_unwatch(last);
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "");
    assert_int_equal(sim_watch_count(sim), 0);
    assert_int_equal(sim_armed(a->port), 0);
}

static void missed_events_come_after_connected_and_before_replies(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    static const char *const paths[] = {"/gone", "/again", "/parent", "/same",
                                        "/parent/x"};
    for (size_t i = 0; i < 5; i++) {
        sim_create_by_hand(sim, paths[i], UVZK__PERSISTENT);
    }
    watch_on(a, UVZK__RPC_GET, "/gone");
    watch_on(a, UVZK__RPC_GET, "/again");
    watch_on(a, UVZK__RPC_CHILDREN, "/parent");
    watch_on(a, UVZK__RPC_EXISTS, "/later");
    struct ask *same = watch_on(a, UVZK__RPC_GET, "/same");
    probe_said(a);
    sim_disconnect(a->port, SIM_RESET, 300);
    sim_delete_by_hand(sim, "/gone");
    sim_delete_by_hand(sim, "/again");
    sim_create_by_hand(sim, "/again", UVZK__PERSISTENT);
    sim_delete_by_hand(sim, "/parent/x");
    sim_create_by_hand(sim, "/later", UVZK__PERSISTENT);
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "SUSPENDED");
    assert_int_equal(sim_watch_count(sim), 0);
    probe_hear(a, "CONNECTED");
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/same"), 0);
    assert_string_equal(
        probe_said(a),
        "watch /gone: deleted; watch /again: changed; watch /parent: children; "
        "watch /later: created; get /same: ok");
    assert_int_equal(sim_watch_count(sim), 1);
    sim_delete_by_hand(sim, "/same");
    probe_hear(a, "watch /same: deleted");
    assert_int_equal(same->fired, 1);
}

/* ------------------------------------------------------------------ sessions */

/* Returns whether the missed event of /a comes before that of /b. */
static bool rewatched_in_order(uint64_t seed, bool shuffle)
{
    struct sim_options options;
    sim_options_init(&options);
    options.shuffle_rewatches = shuffle;
    struct sim *sim = sim_new(seed, &options);
    struct probe *a = probe_connected(sim, "a");
    create(a, "/a", UVZK__PERSISTENT);
    create(a, "/b", UVZK__PERSISTENT);
    watch_on(a, UVZK__RPC_GET, "/a");
    watch_on(a, UVZK__RPC_CHILDREN, "/b");
    sim_disconnect(a->port, SIM_RESET, 100);
    sim_create_by_hand(sim, "/b/c", UVZK__PERSISTENT);
    sim_set_by_hand(sim, "/a", "x", 1);
    probe_hear(a, "CONNECTED");
    sim_run_for(sim, 1000);
    char said[256];
    (void)snprintf(said, sizeof(said), "%s", probe_said(a));
    bool in_order = strcmp(said, "watch /a: changed; watch /b: children") == 0;
    assert_true(in_order || strcmp(said, "watch /b: children; watch /a: changed") == 0);
    probe_end(a);
    sim_free(sim);
    return in_order;
}

static void missed_events_may_come_in_any_order(void **state)
{
    unsigned in_order = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        assert_true(rewatched_in_order(seed, false));
        in_order += rewatched_in_order(seed, true);
    }
    assert_in_range(in_order, 10, 40);
}

static void a_session_ends_a_tick_after_its_timeout_at_most(void **state)
{
    struct sim *sim = sim_exact();
    struct probe *a = probe_connected(sim, "a");
    struct probe *b = probe_connected(sim, "b");
    (void)state;
    create(a, "/a", UVZK__EPHEMERAL);
    uint64_t touched = sim_now(sim) - 1;
    watch_on(b, UVZK__RPC_EXISTS, "/a");
    sim_disconnect(a->port, SIM_SILENT, 30000);
    probe_hear(b, "watch /a: deleted");
    uint64_t ended = sim_now(sim) - 1;
    assert_int_equal(ended, (touched + 10000 + 1999) / 2000 * 2000);
    assert_false(sim_session_alive(sim, a->session_id));
    assert_non_null(strstr(probe_said(a), "SUSPENDED"));
    sim_run_until(sim, touched + 30000); /* it learns of the expiry when it reconnects */
    assert_string_equal(probe_said(a), "");
    probe_hear(a, "EXPIRED");
    assert_int_equal(sim_session_id(a->port), 0);
    a->reopens = true;
    probe_open(a);
    probe_hear(a, "CONNECTED");
    assert_int_equal(sim_session_count(sim), 2);
    probe_end(a);
    probe_end(b);
    sim_run_for(sim, 10);
    assert_int_equal(sim_session_count(sim), 0);
    sim_free(sim);
}

static void a_timeout_that_ends_on_a_tick_ends_there(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_run_until(sim, 1999);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/"), 0); /* arrives at 2000 */
    sim_disconnect(a->port, SIM_SILENT, 60000);
    sim_run_until(sim, 11999);
    assert_true(sim_session_alive(sim, a->session_id));
    sim_run_until(sim, 12000);
    assert_false(sim_session_alive(sim, a->session_id));
}

/* A follower that is cut off loses its last report. But the session does not end before
 * S + T - k/2 - g, as the proof of ownership assumes (S: when the last request was sent,
 * T: the session timeout, k: a tick, g: the longest gap between requests). */
static void a_follower_takes_its_last_report_with_it(void **state)
{
    struct sim_options options;
    unsigned sooner = 0;
    (void)state;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.tick_ms = 1000;
    options.followers = true;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct sim *sim = sim_new(seed, &options);
        struct probe *a = probe_connected(sim, "a");
        uint64_t sent = 0;
        for (uint64_t i = 0, count = 10 + sim_random(sim, 30); i < count; i++) {
            sent = sim_now(sim);
            assert_int_equal(read_once(a, UVZK__RPC_GET, "/"), 0);
            sim_run_until(sim, sent + 100);
        }
        sim_follower_cut(a->port, 60000);
        while (sim_session_alive(sim, a->session_id)) {
            sim_step(sim);
        }
        assert_true(sim_now(sim) >= sent + 10000 - 1000 / 2 - 100);
        assert_true(sim_now(sim) < sent + 10000 + 1000 + 500);
        sooner += sim_now(sim) < sent + 10000;
        probe_end(a);
        sim_free(sim);
    }
    assert_in_range(sooner, 3, 57);
}

/* For three session timeouts, by a request each second: the C client does not ping then. */
static bool lives_by(enum uvzk__rpc_kind kind)
{
    struct sim_options options;

    sim_options_init(&options);
    options.reads_keep_no_session = true;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_connected(sim, "a");
    int64_t session = a->session_id;
    for (int i = 0; i < 30 && sim_session_alive(sim, session); i++) {
        if (kind == UVZK__RPC_SET) {
            assert_int_equal(ask_wait(ask_set(a, "/", "", -1)), 0);
        } else {
            (void)read_once(a, kind, "/");
        }
        sim_run_for(sim, 1000);
    }
    bool lives = sim_session_alive(sim, session);
    probe_end(a);
    sim_free(sim);
    return lives;
}

static void a_follower_may_not_tell_of_what_it_answers_alone(void **state)
{
    (void)state;
    assert_true(lives_by(UVZK__RPC_SET));
    assert_true(lives_by(UVZK__RPC_SYNC));
    assert_false(lives_by(UVZK__RPC_GET));
}

static void an_expired_client_may_open_from_inside_the_event(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    int64_t session = a->session_id;
    a->reopens = true;
    create(a, "/a", UVZK__EPHEMERAL);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    probe_said(a);
    assert_true(sim_expire(a->port));
    assert_false(sim_exists(sim, "/a"));
    struct ask *ask = ask_create(a, "/b", UVZK__PERSISTENT);
    probe_until(a, "; CONNECTED");
    assert_string_equal(probe_said(a),
                        "watch /a: deleted; SUSPENDED; create /b: ECONNLOSS; "
                        "EXPIRED; CONNECTED");
    assert_int_equal(ask->status, UVZK_ECONNLOSS);
    assert_int_equal(watched->fired, 1);
    assert_true(a->session_id != session);
    assert_int_equal(create(a, "/a", UVZK__EPHEMERAL), 0);
}

static void expiry_told_at_once_replies_first_and_drops_the_watches(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_create_by_hand(sim, "/a", UVZK__PERSISTENT);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    probe_said(a);
    assert_true(sim_expire_connected(a->port));
    ask_create(a, "/b", UVZK__PERSISTENT);
    ask_read(a, UVZK__RPC_GET, "/c", true);
    probe_until(a, "; EXPIRED");
    assert_string_equal(probe_said(a), "create /b: EEXPIRED; get /c: EEXPIRED; EXPIRED");
    assert_null(watched->watch.armed);
    sim_delete_by_hand(sim, "/a");
    sim_run_for(sim, 1000);
    assert_string_equal(probe_said(a), "");
    assert_false(sim_expire(a->port));
}

/* Not ENOTSENT: the user has not been told yet that there is no connection (port.h, 6). */
static void what_the_last_replies_ask_has_their_status(void **state)
{
    struct probe *a = *state;
    struct ask *ask = ask_new(a, UVZK__RPC_EXISTS, "/a");
    ask->again = ask_new(a, UVZK__RPC_EXISTS, "/b");
    assert_true(sim_expire_connected(a->port));
    ask_submit(ask);
    probe_until(a, "; EXPIRED");
    assert_string_equal(probe_said(a),
                        "exists /a: EEXPIRED; exists /b: EEXPIRED; EXPIRED");
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), UVZK_ENOTSENT);
}

static void refused_credentials_leave_the_session_to_the_server(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    int64_t session = a->session_id;
    create(a, "/a", UVZK__EPHEMERAL);
    probe_said(a);
    ask_create(a, "/b", UVZK__PERSISTENT);
    sim_fail_auth(a->port);
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "create /b: EAUTH; AUTH_FAILED");
    assert_true(sim_session_alive(sim, session) && sim_exists(sim, "/a"));
    sim_run_for(sim, 12000);
    assert_false(sim_session_alive(sim, session) || sim_exists(sim, "/a"));
    probe_open(a);
    probe_hear(a, "CONNECTED");
    assert_true(a->session_id != session);
}

static void an_open_that_failed_may_be_tried_again(void **state)
{
    struct probe *a = *state;
    sim_fail_open(a->port, UV_EAI_NONAME);
    a->reopens = true;
    probe_open(a);
    probe_hear(a, "OPEN_FAILED");
    assert_int_equal(a->open_status, UV_EAI_NONAME);
    probe_hear(a, "CONNECTED");
}

/* ------------------------------------------------------------------ follower */

static void a_lonely_follower_reads_on_while_the_session_ends(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__EPHEMERAL);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    watch_on(b, UVZK__RPC_EXISTS, "/a");
    probe_said(a);
    sim_follower_cut(a->port, 20000);
    uint64_t start = sim_now(sim);
    probe_hear(b, "watch /a: deleted"); /* the leader has ended a's session */
    assert_true(sim_now(sim) < start + 12100);
    assert_false(sim_session_alive(sim, a->session_id));
    struct ask *still = ask_done(
        ask_read(a, UVZK__RPC_EXISTS, "/a", false)); /* a's follower still shows it */
    assert_int_equal(still->stat.ephemeral_owner, a->session_id);
    assert_int_equal(watched->fired, 0);
    assert_string_equal(probe_said(a), "exists /a: ok");
    struct ask *proof = ask_sync(a, "/a");
    struct ask *behind = ask_read(a, UVZK__RPC_EXISTS, "/a", false);
    sim_run_for(sim, 5000);
    assert_false(proof->replied || behind->replied);
    probe_hear(a, "SUSPENDED");
    assert_int_equal(ask_wait(proof), UVZK_ECONNLOSS);
    probe_hear(a, "EXPIRED");
}

static void a_cut_shorter_than_the_session_costs_a_reconnection_only(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__EPHEMERAL);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    sim_follower_cut(a->port, 2000);
    sim_set_by_hand(sim, "/a", "x", 1);
    probe_hear(a, "SUSPENDED");
    assert_int_equal(watched->fired, 0);
    probe_hear(a, "CONNECTED");
    sim_run_for(sim, 10);
    assert_string_equal(probe_said(a), "watch /a: changed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBE_CASE(a_znode_is_created_read_changed_and_deleted, one_plain),
        PROBE_CASE(the_server_refuses_what_zookeeper_refuses, one_plain),
        PROBE_CASE(a_sequence_counts_every_child_ever_created, one_plain),
        PROBE_CASE(a_sequence_sticks_at_its_end, one_plain),
        cmocka_unit_test(an_empty_container_goes_once_it_was_used),
        cmocka_unit_test(an_old_server_has_no_containers),
        cmocka_unit_test(a_follower_may_not_tell_of_what_it_answers_alone),
        PROBE_CASE(a_multi_is_all_or_nothing, one_plain),
        PROBE_CASE(a_multi_that_is_too_long_costs_the_connection, one_plain),
        PROBE_CASE(a_multi_numbers_what_it_creates, one_plain),
        PROBE_CASE(a_multi_goes_over_the_end_of_a_sequence, one_plain),
        PROBE_CASE(a_watch_fires_once, two_plain),
        PROBE_CASE(each_kind_of_watch_hears_its_own, one_plain),
        PROBE_CASE(what_may_not_be_read_is_neither_read_nor_heard_of, one_plain),
        PROBE_CASE(an_unreadable_end_is_not_told, one_plain),
        PROBE_CASE(a_removal_at_which_it_may_not_be_read_is_not_told, one_plain),
        PROBE_CASE(a_directory_may_be_without_delete_for_a_time, one_plain),
        cmocka_unit_test(exists_needs_read_on_newer_servers),
        PROBE_CASE(an_event_comes_before_what_shows_the_change, two_plain),
        PROBE_CASE(an_unwatched_watch_is_silent_and_forgotten, one_plain),
        PROBE_CASE(missed_events_come_after_connected_and_before_replies, one_plain),
        cmocka_unit_test(missed_events_may_come_in_any_order),
        cmocka_unit_test(a_session_ends_a_tick_after_its_timeout_at_most),
        PROBE_CASE(a_timeout_that_ends_on_a_tick_ends_there, one_exact),
        cmocka_unit_test(a_follower_takes_its_last_report_with_it),
        PROBE_CASE(an_expired_client_may_open_from_inside_the_event, one_plain),
        PROBE_CASE(expiry_told_at_once_replies_first_and_drops_the_watches, one_plain),
        PROBE_CASE(what_the_last_replies_ask_has_their_status, one_plain),
        PROBE_CASE(refused_credentials_leave_the_session_to_the_server, one_plain),
        PROBE_CASE(an_open_that_failed_may_be_tried_again, one_unopened),
        PROBE_CASE(a_lonely_follower_reads_on_while_the_session_ends, two_exact),
        PROBE_CASE(a_cut_shorter_than_the_session_costs_a_reconnection_only, one_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
