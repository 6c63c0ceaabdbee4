/* SPDX-License-Identifier: Apache-2.0 */
/* The reply to each kind of request, cut behind each of its bytes. The request may have been
 * executed, so its status is UVZK_ECONNLOSS; the next requests get their replies. */
#include "probe.h"

#include "native/opcode.h"
#include "tampering.h"
#include "virtual_port.h"

#define TIMEOUT_MS 4000U
#define PATIENCE_MS 60000U
#define LONGEST 400U /* bytes of a reply here */

static struct sim *sim;
static struct probe *probe;
static struct uvzk__op ops[3];

static bool run(void *place, bool (*condition)(void *), void *context)
{
    uint64_t limit = sim_now(sim) + PATIENCE_MS;

    (void)place;
    while (!condition(context) && sim_now(sim) < limit) {
        sim_run_for(sim, 1);
    }
    return condition(context);
}

static int begin(void **state)
{
    struct sim_options options;

    (void)state;
    sim_options_init(&options);
    options.latency_max_ms = 2;
    sim = sim_new(1, &options);
    virtual_ports_begin(sim);
    struct uvzk__port *port = virtual_port_new("a", NULL, TIMEOUT_MS);
    probe = probe_over(port, NULL, run);
    virtual_port_start(port);
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 1);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/a/b", UVZK__PERSISTENT), 0);
    ops[0] = op_create("/a/n-", UVZK__PERSISTENT_SEQUENTIAL);
    ops[1] = op_of(UVZK__OP_SET, "/a", -1);
    ops[2] = op_of(UVZK__OP_CHECK, "/a/b", -1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    probe_end(probe);
    virtual_ports_end();
    sim_free(sim);
    return 0;
}

static struct ask *ask(enum uvzk__rpc_kind kind, bool watched)
{
    struct ask *ask = ask_new(probe, kind, "/a");

    if (kind == UVZK__RPC_CREATE) {
        ask = ask_new(probe, kind, "/a/e-");
        ask->rpc.mode = UVZK__PERSISTENT_SEQUENTIAL;
    } else if (kind == UVZK__RPC_ADD_WATCH) {
        return ask_add_watch(probe, "/a");
    } else if (kind == UVZK__RPC_MULTI) {
        return ask_multi(probe, ops, sizeof(ops) / sizeof(ops[0]));
    }
    ask->rpc.watch = watched ? &ask->watch : NULL;
    return ask_submit(ask);
}

/* Returns whether the reply has so many bytes and one more. */
static bool is_cut_at(enum uvzk__rpc_kind kind, int32_t opcode, size_t length,
                      bool watched)
{
    unsigned connected = probe->sessions[UVZK__SESSION_CONNECTED];

    (void)tampering_cut_next(opcode, length);
    struct ask *asked = ask(kind, watched);
    int status = ask_wait(asked);
    bool was_cut = tampering_cut_next(0, 0);
    if (!was_cut) {
        assert_int_equal(status, 0);
        ask_unwatch(asked);
        return false;
    }
    assert_int_equal(status, UVZK_ECONNLOSS);
    assert_null(asked->watch.armed);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, connected + 1);
    assert_int_equal(read_once(probe, UVZK__RPC_GET, "/a"), 0);
    return true;
}

static void cut_at_every_byte(enum uvzk__rpc_kind kind, int32_t opcode, bool watched,
                              size_t least)
{
    size_t length = 0;

    while (is_cut_at(kind, opcode, length, watched)) {
        length++;
        assert_true(length < LONGEST);
    }
    assert_true(length >= least);
}

/* Of a header, and of what the reply has behind it. */
static void each_reply_is_cut_at_each_byte(void **state)
{
    (void)state;
    cut_at_every_byte(UVZK__RPC_CREATE, UVZK__OPCODE_CREATE2, false, 16 + 4 + 15 + 68);
    cut_at_every_byte(UVZK__RPC_SET, UVZK__OPCODE_SET_DATA, false, 16 + 68);
    cut_at_every_byte(UVZK__RPC_GET, UVZK__OPCODE_GET_DATA, true, 16 + 4 + 68);
    cut_at_every_byte(UVZK__RPC_EXISTS, UVZK__OPCODE_EXISTS, true, 16 + 68);
    cut_at_every_byte(UVZK__RPC_SYNC, UVZK__OPCODE_SYNC, false, 16 + 4 + 2);
    cut_at_every_byte(UVZK__RPC_ADD_WATCH, UVZK__OPCODE_ADD_WATCH, true, 16 + 4);
    cut_at_every_byte(UVZK__RPC_MULTI, UVZK__OPCODE_MULTI, false, 16 + 4 * 9 + 19 + 68);
}

/* Before the others have made children. */
static void each_listing_is_cut_at_each_byte(void **state)
{
    (void)state;
    cut_at_every_byte(UVZK__RPC_CHILDREN, UVZK__OPCODE_GET_CHILDREN, true, 16 + 4 + 5);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_reply_is_cut_at_each_byte),
        CASE(each_listing_is_cut_at_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
