/* SPDX-License-Identifier: Apache-2.0 */
/* A server closes the connection on which a request comes that is longer than its
 * jute.maxbuffer, which looks like a lost reply. Such a request is not repeated for ever
 * (size_limit.h): what is a batch is made shorter, what cannot be made shorter is refused
 * in the end, and nobody else waits for it. A network that loses connections makes no
 * request refused that is no longer than one that was answered. */
#include "long_request.h"
#include "world.h"

#include "engine/request_size.h"
#include "engine/submission.h"
#include "engine/watch.h"

#define SMALL 10000U /* the servers' jute.maxbuffer */
#define BIG 12000U   /* bytes of data that exceed it */
#define MANY LONG_REQUEST_PARTS
#define PATIENCE_MS 20000U

/* Three losses in a row, and one alone. */
#define LOSSES 4U

static struct world world;
static struct process a;
static struct long_requests requests;
static struct hold big, small, many[MANY];
static char data[UINT16_MAX];

static void begin(uint64_t seed, void *const *state, uint32_t maxbuffer)
{
    world_begin_one(&world, seed, state, &a);
    sim_set_jute_maxbuffer(world.sim, maxbuffer);
    long_requests_make(&requests, &a);
    assert_true(process_await_connected(&a, 1000));
}

static void ask(struct hold *hold, uvzk_lock_t *lock, size_t bytes, uint32_t leases)
{
    assert_int_equal(long_request_ask(hold, &a, lock, bytes, leases), 0);
}

static void assert_few_losses(void)
{
    assert_int_equal(sim_too_long(world.sim), LOSSES);
    assert_in_range(a.suspended, LOSSES, LOSSES);
}

/* The acquire is refused after few losses, and no znode of it is left. */
static void await_refused(struct hold *hold)
{
    hold_await_status(hold, PATIENCE_MS, UVZK_EREJECTED);
    assert_few_losses();
}

/* ------------------------------------------------------- what is refused at the call */

static void what_never_fits_is_refused_at_the_call(uint64_t seed, void *const *state)
{
    begin(seed, state, UVZK__REQUEST_MAX);
    long_request_is_refused_at_the_call(&big, &a, &requests.all, 0);
    long_request_is_refused_at_the_call(&big, &a, &a.semaphore, MANY);
    assert_int_equal(sim_too_long(world.sim), 0);
    world_end(&world);
}

/* ------------------------------------------------------------- what is refused later */

static void one_create_is_refused(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    await_refused(&big);
    /* At once, as long as this connection lasts. */
    ask(&big, &a.mutex, BIG, 0);
    hold_await_status(&big, 1000, UVZK_EREJECTED);
    ask(&big, &a.mutex, SMALL / 2, 0);
    hold_await(&big, 1000);
    hold_give_back(&big);
    assert_int_equal(sim_too_long(world.sim), LOSSES);
    world_end(&world);
}

/* A later connection is asked once more, and another server may take it. */
static void a_later_connection_may_take_it(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    await_refused(&big);
    sim_disconnect(a.port, SIM_RESET, 100);
    world_run_for(&world, 1000);
    ask(&big, &a.mutex, BIG, 0);
    hold_await_status(&big, 2000, UVZK_EREJECTED);
    assert_int_equal(sim_too_long(world.sim), LOSSES + 1);
    sim_set_jute_maxbuffer(world.sim, 2 * BIG);
    sim_disconnect(a.port, SIM_RESET, 100);
    world_run_for(&world, 1000);
    ask(&big, &a.mutex, BIG, 0);
    hold_await(&big, 2000);
    hold_give_back(&big);
    world_end(&world);
}

static void the_multi_of_a_multi_lock_is_refused(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    long_multilock_is_rejected(&big, &requests, BIG);
    assert_few_losses();
    world_end(&world);
}

static void the_leases_of_an_acquire_are_refused(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    long_leases_are_rejected(&big, &requests, BIG);
    assert_few_losses();
    world_end(&world);
}

/* Two in one turn: each is sent alone, and only the one that costs the connection is
 * refused. */
static void the_innocent_is_not_refused(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    ask(&small, &requests.mutexes[0], SMALL - 1000, 0);
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    hold_await(&small, PATIENCE_MS);
    hold_give_back(&small);
    assert_in_range(sim_too_long(world.sim), LOSSES, LOSSES + 2);
    world_end(&world);
}

static size_t lost_since(size_t from)
{
    static const char *const replies[] = {"create -> ECONNLOSS",   "multi -> ECONNLOSS",
                                          "children -> ECONNLOSS", "exists -> ECONNLOSS",
                                          "get -> ECONNLOSS",      "delete -> ECONNLOSS"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        count += world_count(&world, from, "a", replies[i]);
    }
    return count;
}

/* Others are asked for all the time, and none of their requests is lost with it. */
static void nothing_is_lost_with_it(uint64_t seed, void *const *state)
{
    size_t last = 0, sent = 0, line;

    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    while (sim_too_long(world.sim) < LOSSES - 1) {
        world_steps(&world, 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_begin_on(&many[i], &a, &requests.mutexes[i], 0, UVZK_WAIT_FOREVER);
        world_steps(&world, 3);
    }
    /* It may have been in batches with others, which had to get shorter first. */
    hold_await_status(&big, PATIENCE_MS, UVZK_EREJECTED);
    assert_in_range(sim_too_long(world.sim), LOSSES, 2 * LOSSES);
    while ((line = world_line(&world, last, "a", "server: create of")) != WORLD_NO_LINE) {
        last = line + 1;
    }
    assert_int_equal(lost_since(last), 1);
    while ((line = world_line(&world, sent, "a", "create /locks/a/")) < last) {
        sent = line + 1;
    }
    /* And it is the only one that comes to the server. */
    assert_int_equal(world_line(&world, sent, "a", "server: ") + 1, last);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------- what is made shorter */

static void a_batch_of_creates_is_made_shorter(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    for (size_t i = 0; i < MANY; i++) {
        ask(&many[i], &requests.mutexes[i], SMALL / 8, 0);
    }
    assert_true(world_await_all(&world, many, MANY, world_now(&world) + PATIENCE_MS));
    assert_in_range(sim_too_long(world.sim), 0, 8);
    uint64_t too_long = sim_too_long(world.sim);
    for (size_t i = 0; i < MANY; i++) {
        hold_release(&many[i]);
    }
    world_run_for(&world, 2000);
    /* The next ones are short soon. */
    for (size_t i = 0; i < MANY; i++) {
        assert_true(hold_over(&many[i]));
        ask(&many[i], &requests.mutexes[i], SMALL / 8, 0);
    }
    assert_true(world_await_all(&world, many, MANY, world_now(&world) + PATIENCE_MS));
    assert_in_range(sim_too_long(world.sim), too_long, too_long + 2);
    world_release_and_end(&world);
}

/* One multi creates the leases of several acquires, unless each acquire has a ticket of its
 * own, as in the plain algorithm. */
static void a_batch_of_leases_is_made_shorter(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    for (size_t i = 0; i < MANY; i++) {
        ask(&many[i], &a.semaphore, SMALL / 8, 1);
    }
    assert_true(world_await_all(&world, many, MANY, world_now(&world) + PATIENCE_MS));
    assert_in_range(sim_too_long(world.sim), 1, 8);
    world_release_and_end(&world);
}

/* The servers' limit is made less when the locks are held, so that the deletes exceed it,
 * though longer requests have been answered. */
static void a_batch_of_deletes_is_made_shorter(uint64_t seed, void *const *state)
{
    begin(seed, state, UINT16_MAX);
    for (size_t i = 0; i < MANY; i++) {
        hold_begin_on(&many[i], &a, &requests.mutexes[i], 0, UVZK_WAIT_FOREVER);
    }
    assert_true(world_await_all(&world, many, MANY, world_now(&world) + PATIENCE_MS));
    sim_set_jute_maxbuffer(world.sim, 2000);
    for (size_t i = 0; i < MANY; i++) {
        hold_release(&many[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_await_released(&many[i], PATIENCE_MS, 0);
    }
    assert_in_range(sim_too_long(world.sim), 0, 8);
    world_end(&world);
}

/* ------------------------------------------------------------- what is never refused */

/* The connection is lost with the request in flight, again and again. */
static void lose_it(uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        size_t from = world.line_count;
        process_await_line(&a, from, "create", PATIENCE_MS);
        sim_disconnect(a.port, SIM_RESET, 50);
    }
}

static void a_flapping_network_refuses_no_proved_one(uint64_t seed, void *const *state)
{
    begin(seed, state, 2 * BIG);
    ask(&small, &requests.mutexes[0], BIG + 100,
        0); /* a little longer, because of its path */
    hold_await(&small, 2000);
    hold_give_back(&small);
    ask(&big, &a.mutex, BIG, 0);
    lose_it(10);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    assert_int_equal(sim_too_long(world.sim), 0);
    world_end(&world);
}

static void a_flapping_network_refuses_no_short_one(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, 500, 0);
    lose_it(10);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    world_end(&world);
}

/* ------------------------------------------------------- values, and znodes to keep */

static int told; /* the last status */

static void on_value(uvzk_shared_value_t *value, int status)
{
    (void)value;
    told = status;
}

static void on_node(uvzk_persistent_node_t *node, int status)
{
    (void)node;
    told = status;
}

static void value_closed(uvzk_shared_value_t *value)
{
    (void)value;
}

static void node_closed(uvzk_persistent_node_t *node, int status)
{
    (void)node;
    (void)status;
}

/* They may ask again, but only after a pause, and on this connection nothing is sent. */
static void await_told(void)
{
    uint64_t submitted;

    for (uint64_t i = 0; i < PATIENCE_MS && told != UVZK_EREJECTED; i++) {
        world_run_for(&world, 1);
    }
    assert_int_equal(told, UVZK_EREJECTED);
    assert_int_equal(sim_too_long(world.sim), LOSSES);
    submitted = sim_submitted(a.port);
    world_run_for(&world, 30000);
    assert_int_equal(sim_too_long(world.sim), LOSSES);
    assert_in_range(sim_submitted(a.port) - submitted, 0, 200);
}

static void the_seed_of_a_value_is_refused(uint64_t seed, void *const *state)
{
    static uvzk_shared_value_t value;

    told = HOLD_NO_STATUS;
    begin(seed, state, SMALL);
    assert_int_equal(
        uvzk_shared_value_init(&a.client, &value, "/value", data, BIG, on_value), 0);
    await_told();
    assert_int_equal(uvzk_shared_value_close(&value, value_closed), 0);
    world_end(&world);
}

static void a_persistent_node_is_refused(uint64_t seed, void *const *state)
{
    static uvzk_persistent_node_t node;

    told = HOLD_NO_STATUS;
    begin(seed, state, SMALL);
    assert_int_equal(uvzk_persistent_node_init(&a.client, &node, "/node",
                                               UVZK_PERSISTENT_NODE_EPHEMERAL, data, BIG,
                                               on_node),
                     0);
    await_told();
    assert_int_equal(uvzk_persistent_node_close(&node, node_closed), 0);
    world_run_for(&world, 1000);
    world_end(&world);
}

/* ------------------------------------------------------------------------ the close */

/* At any moment while one is sent alone, and others wait behind it. */
static void the_close_answers_what_is_held(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    while (sim_too_long(world.sim) < LOSSES - 1) {
        world_steps(&world, 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        hold_begin_on(&many[i], &a, &requests.mutexes[i], 0, UVZK_WAIT_FOREVER);
    }
    assert_true(world_await_line(&world, world.line_count, "a", "CONNECTED", 1000));
    world_run_for(&world, 40 + 5 * seed);
    size_t from = world.line_count;
    process_end(&a);
    from = world_line(&world, from, "a", "close");
    assert_int_equal(world_count(&world, from, "a", "create /"), 0);
    assert_int_equal(world_count(&world, from, "a", "multi  ("), 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_true(hold_over(&many[i]));
    }
    assert_true(hold_over(&big));
    world_end(&world);
}

/* -------------------------------------------------------------- what is given up */

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    uvzk__answered(a.client.impl, rpc, reply->status, false);
    told = reply->status;
}

/* A reading waits behind a request that is sent alone, and its watch is given up meanwhile.
 * The reading arms no watch when it is sent. */
static void what_was_given_up_is_not_watched(uint64_t seed, void *const *state)
{
    static struct uvzk__watch watch;
    static struct uvzk__rpc rpc;

    told = HOLD_NO_STATUS;
    begin(seed, state, SMALL);
    hold_take(&small, &a); /* the directory exists */
    hold_give_back(&small);
    ask(&big, &a.mutex, BIG, 0);
    while (sim_too_long(world.sim) < LOSSES - 1) {
        world_steps(&world, 1);
    }
    sim_set_jute_maxbuffer(world.sim, 2 * BIG);
    process_await_line(&a, world.line_count, "create /", PATIENCE_MS);
    uvzk__rpc_prepare(&rpc, UVZK__RPC_EXISTS, "/locks", read_replied);
    rpc.watch = &watch;
    uvzk__submit(a.client.impl, &rpc);
    assert_ptr_equal(rpc.watch, &watch);
    uvzk__unwatch(a.client.impl, &watch);
    assert_null(rpc.watch);
    hold_await(&big, PATIENCE_MS);
    hold_give_back(&big);
    world_run_for(&world, 1000);
    assert_int_equal(told, 0);
    assert_null(watch.armed);
    world_end(&world);
}

/* -------------------------------------------------------------- the others go on */

static uint64_t take_turns(bool beside_the_big_one)
{
    uint64_t began = world_now(&world);

    for (int i = 0; i < 20; i++) {
        if (beside_the_big_one) {
            ask(&big, &a.mutex, BIG, 0);
        }
        hold_take_on(&small, &a, &requests.mutexes[0], 1);
        hold_give_back(&small);
        assert_false(hold_pending(&big));
    }
    return world_now(&world) - began;
}

/* One that asks again and again for what is refused does not slow the others down. */
static void the_others_go_on(uint64_t seed, void *const *state)
{
    begin(seed, state, SMALL);
    ask(&big, &a.mutex, BIG, 0);
    await_refused(&big);
    uint64_t usual_ms = take_turns(false);
    assert_in_range(take_turns(true), 0, usual_ms * 3 / 2);
    assert_int_equal(sim_too_long(world.sim), LOSSES);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(what_never_fits_is_refused_at_the_call, 1, 2),
        WORLD_SCENARIO(what_was_given_up_is_not_watched, 1, 8),
        WORLD_SCENARIO(one_create_is_refused, 1, 8),
        WORLD_SCENARIO(a_later_connection_may_take_it, 1, 4),
        WORLD_SCENARIO(the_multi_of_a_multi_lock_is_refused, 1, 4),
        WORLD_SCENARIO(the_leases_of_an_acquire_are_refused, 1, 4),
        WORLD_SCENARIO(the_innocent_is_not_refused, 1, 8),
        WORLD_SCENARIO(nothing_is_lost_with_it, 1, 20),
        WORLD_SCENARIO(a_batch_of_creates_is_made_shorter, 1, 4),
        WORLD_SCENARIO_CASE(a_batch_of_leases_is_made_shorter, 1, 4, tuned),
        WORLD_SCENARIO(a_batch_of_deletes_is_made_shorter, 1, 4),
        WORLD_SCENARIO(a_flapping_network_refuses_no_proved_one, 1, 8),
        WORLD_SCENARIO(a_flapping_network_refuses_no_short_one, 1, 4),
        WORLD_SCENARIO(the_seed_of_a_value_is_refused, 1, 4),
        WORLD_SCENARIO(a_persistent_node_is_refused, 1, 4),
        WORLD_SCENARIO(the_close_answers_what_is_held, 1, 30),
        WORLD_SCENARIO(the_others_go_on, 1, 4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
