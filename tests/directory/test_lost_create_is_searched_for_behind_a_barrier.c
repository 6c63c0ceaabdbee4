/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-498 and the protected create it led to: after a create whose reply was lost
 * the children are searched for the znode, but on a server that may lag behind it,
 * or whose leader has been replaced. It is not found, a second one is made, and the first
 * blocks the queue for ever. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 16U
#define BARRIER "server: multi  -> ok"
#define SEARCH "server: children " WORLD_PATH

enum loss { LOSE_REPLY, LOSE_REQUEST, LOSSES };

/* Of A, whose create comes to no answer. */
static struct world world;
static struct process a;
static struct hold hold;
static size_t lost; /* the line behind that loss */

static void begin(uint64_t seed, void *const *state, enum loss loss)
{
    world_begin_one(&world, seed, state, &a);
    world_make_directory(&world, &a);
    size_t from = world.line_count;
    if (loss == LOSE_REPLY) {
        sim_lose_reply(a.port);
    } else {
        sim_lose_request(a.port);
    }
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    process_await_line(&a, from,
                       loss == LOSE_REPLY ? "loses the reply of create"
                                          : "loses the request create",
                       1000);
    lost = world.line_count;
}

/* The lock was granted, and nothing else of A is in the queue. */
static void end(void)
{
    hold_give_back(&hold);
    assert_int_equal(world_queue_length(&world), 0);
    world_end(&world);
}

/* On the wire: the barrier is answered before the search is asked, and neither a new
 * create nor any other listing comes before both. */
static void check_barrier_precedes_search(size_t from)
{
    size_t connected = world_line(&world, from, "a", "CONNECTED");
    size_t barrier = world_line(&world, connected, "a", BARRIER);
    size_t open = world_line(&world, connected, "a", "multi -> ok");
    size_t asked = world_line(&world, connected, "a", "children " WORLD_PATH);
    size_t search = world_line(&world, connected, "a", SEARCH);

    assert_true(connected < barrier && barrier < open && open < asked && asked < search);
    assert_true(world_line(&world, connected, "a", "create " WORLD_PATH) > search);
    assert_true(world_line(&world, connected, "--", "a is told OK") > search);
}

static void check_made_since_the_loss(size_t count)
{
    assert_int_equal(world_znodes_made(&world, lost, "a"), count);
}

static void the_barrier_comes_first(uint64_t seed, void *const *state)
{
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        begin(seed, state, loss);
        hold_await(&hold, 2000);
        check_barrier_precedes_search(lost);
        /* Found, it is the znode; not found, exactly one more is made. */
        check_made_since_the_loss(loss == LOSE_REQUEST);
        assert_int_equal(world_queue_length(&world), 1);
        end();
    }
}

/* So it does when the lock was given up meanwhile, and there is only to clean up. */
static void the_clean_up_searches_behind_a_barrier_too(uint64_t seed, void *const *state)
{
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        begin(seed, state, loss);
        hold_cancel(&hold);
        hold_await_status(&hold, 100, UV_ECANCELED);
        world_run_for(&world, 1000);
        check_barrier_precedes_search(lost);
        check_made_since_the_loss(0);
        assert_int_equal(world_queue_length(&world), 0);
        world_end(&world);
    }
}

/* The server in reach has lost its leader: it answers listings, but no barrier.
 * Nothing is concluded from what it shows until a barrier has been answered. */
static void a_lonely_follower_decides_nothing(uint64_t seed, void *const *state)
{
    for (enum loss loss = 0; loss < LOSSES; loss++) {
        begin(seed, state, loss);
        process_await_line(&a, lost, "CONNECTED", 1000);
        sim_follower_cut(a.port, 2000);
        size_t cut = world.line_count;
        process_await_line(&a, cut, "its follower hangs up", 3000);
        assert_int_equal(hold.answered, 0);
        assert_true(world_line(&world, cut, "a", "create ") == WORLD_NO_LINE);
        assert_true(world_line(&world, cut, "a", SEARCH) == WORLD_NO_LINE);
        cut = world.line_count;
        hold_await(&hold, 2000);
        check_barrier_precedes_search(cut);
        check_made_since_the_loss(loss == LOSE_REQUEST);
        end();
    }
}

/* The search is repeated until a listing behind a barrier has been seen, however often
 * its requests are lost. A barrier of before the interruption does not count. */
static void the_search_is_repeated(uint64_t seed, void *const *state)
{
    static const char *const victims[] = {"loses the reply of multi",
                                          "loses the reply of children",
                                          "loses the reply of multi"};

    begin(seed, state, (enum loss)(seed % LOSSES));
    size_t from = lost;
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        if (i == 1) { /* the barrier may pass */
            process_await_line(&a, from, BARRIER, 1000);
        }
        sim_lose_reply(a.port);
        process_await_line(&a, from, victims[i], 1000);
        from = world.line_count;
    }
    hold_await(&hold, 2000);
    check_barrier_precedes_search(from);
    check_made_since_the_loss(seed % LOSSES);
    end();
}

/* A barrier that was refused is none. */
static void a_refused_barrier_does_not_count(uint64_t seed, void *const *state)
{
    begin(seed, state, LOSE_REPLY);
    sim_refuse(world.sim, UVZK__RPC_MULTI, UVZK_ENOAUTH, 2);
    hold_await(&hold, 2000);
    assert_int_equal(world_count(&world, lost, "a", "multi -> ENOAUTH"), 2);
    check_barrier_precedes_search(world_line(&world, lost, "a", "CONNECTED"));
    check_made_since_the_loss(0);
    end();
}

/* Nor is one that was asked for before the client heard that it is connected: who has
 * answered it is not known. */
static void a_barrier_of_before_does_not_count(uint64_t seed, void *const *state)
{
    begin(seed, state, LOSE_REPLY);
    process_await_line(&a, lost, "CONNECTED", 1000);
    assert_int_equal(sim_outstanding(a.port), 1); /* the barrier */
    size_t again = world.line_count;
    sim_repeat_connected(a.port);
    hold_await(&hold, 2000);
    size_t asked = world_line(&world, again, "a", "children " WORLD_PATH);
    size_t old = world_line(&world, again, "a", "multi -> ok");
    assert_true(old < asked && world_line(&world, old + 1, "a", "multi -> ok") < asked);
    end();
}

/* A znode with the right name in it but another session's is not the lost one. */
static void the_owner_is_compared(uint64_t seed, void *const *state)
{
    char prefix[128];
    struct world_path foreign;

    begin(seed, state, LOSE_REQUEST);
    const char *line = world.lines[lost - 1];
    for (size_t i = lost; strstr(line, "create " WORLD_PATH "/_c_") == NULL; i--) {
        line = world.lines[i - 1];
    }
    assert_int_equal(sscanf(strstr(line, WORLD_PATH), "%127s", prefix), 1);
    const char *made = sim_create_by_hand(world.sim, prefix, UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(made);
    (void)snprintf(foreign.text, sizeof(foreign.text), "%s", made);
    world_run_for(&world, 3000);
    assert_int_equal(hold.answered, 0);
    assert_int_equal(world_queue_length(&world), 2);
    world_delete(&world, &foreign);
    hold_await(&hold, 1000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_barrier_comes_first, 1, SEEDS),
        WORLD_SCENARIO(the_clean_up_searches_behind_a_barrier_too, 1, SEEDS),
        WORLD_SCENARIO(a_lonely_follower_decides_nothing, 1, SEEDS),
        WORLD_SCENARIO(the_search_is_repeated, 1, SEEDS),
        WORLD_SCENARIO(a_refused_barrier_does_not_count, 1, SEEDS),
        WORLD_SCENARIO(a_barrier_of_before_does_not_count, 1, SEEDS),
        WORLD_SCENARIO(the_owner_is_compared, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
