/* CURATOR-498 and the protected create it led to: after a create whose reply was lost
 * the children are searched for the znode, but on a server that may lag behind it,
 * or whose leader has been replaced. It is not found, a second one is made, and the first blocks the queue for ever. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 16U
#define BARRIER "server: multi  -> ok"
#define SEARCH "server: children " WORLD_PATH

enum loss { LOSE_REPLY, LOSE_REQUEST, LOSSES };

/* A claim whose create comes to no answer, and what it does then. */
struct search {
    struct world world;
    struct process a;
    struct hold hold;
    size_t from; /* the line behind that loss */
};

static void begin(struct search *search, uint64_t seed, void *const *state,
                  enum loss loss)
{
    struct world *world = &search->world;

    world_begin_one(world, seed, state, &search->a);
    world_make_directory(world, &search->a);
    size_t from = world->line_count;
    if (loss == LOSE_REPLY) {
        sim_lose_reply(search->a.port);
    } else {
        sim_lose_request(search->a.port);
    }
    hold_begin(&search->hold, &search->a, UVZK_WAIT_FOREVER);
    assert_true(world_await_line(world, from, "a",
                                 loss == LOSE_REPLY ? "loses the reply of create"
                                                    : "loses the request create",
                                 1000));
    search->from = world->line_count;
}

/* The lock was granted, and nothing else of the claim is in the queue. */
static void end(struct search *search)
{
    hold_give_back(&search->hold);
    assert_int_equal(world_queue_length(&search->world), 0);
    world_end(&search->world);
}

/* On the wire: the barrier is answered before the search is asked, and neither a new
 * create nor any other listing comes before both. */
static void check_barrier_precedes_search(const struct world *world, size_t from)
{
    size_t connected = world_line(world, from, "a", "CONNECTED");
    size_t barrier = world_line(world, connected, "a", BARRIER);
    size_t open = world_line(world, connected, "a", "multi -> ok");
    size_t asked = world_line(world, connected, "a", "children " WORLD_PATH);
    size_t search = world_line(world, connected, "a", SEARCH);

    assert_true(connected < barrier && barrier < open && open < asked && asked < search);
    assert_true(world_line(world, connected, "a", "create " WORLD_PATH) > search);
    assert_true(world_line(world, connected, "--", "a is told OK") > search);
}

static void the_barrier_comes_first(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum loss loss = 0; loss < LOSSES; loss++) {
            struct search search;

            begin(&search, seed, state, loss);
            hold_await(&search.hold, 2000);
            check_barrier_precedes_search(&search.world, search.from);
            /* Found, it is the znode; not found, exactly one more is made. */
            assert_int_equal(world_znodes_made(&search.world, search.from, "a"),
                             loss == LOSE_REQUEST);
            assert_int_equal(world_queue_length(&search.world), 1);
            assert_true(sim_exists(search.world.sim, search.hold.path));
            end(&search);
        }
    }
}

/* So it does when the claim was given up meanwhile, and there is only to clean up. */
static void the_clean_up_searches_behind_a_barrier_too(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum loss loss = 0; loss < LOSSES; loss++) {
            struct search search;

            begin(&search, seed, state, loss);
            hold_cancel(&search.hold);
            hold_await_status(&search.hold, 100, UV_ECANCELED);
            world_run_for(&search.world, 1000);
            check_barrier_precedes_search(&search.world, search.from);
            assert_int_equal(world_znodes_made(&search.world, search.from, "a"), 0);
            assert_int_equal(world_queue_length(&search.world), 0);
            world_end(&search.world);
        }
    }
}

/* The server in reach has lost its leader: it answers listings, but no barrier.
 * Nothing is concluded from what it shows until a barrier has been answered. */
static void a_lonely_follower_decides_nothing(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum loss loss = 0; loss < LOSSES; loss++) {
            struct search search;

            begin(&search, seed, state, loss);
            assert_true(
                world_await_line(&search.world, search.from, "a", "CONNECTED", 1000));
            sim_follower_cut(search.a.port, 2000);
            size_t cut = search.world.line_count;
            assert_true(
                world_await_line(&search.world, cut, "a", "its follower hangs up", 3000));
            assert_int_equal(search.hold.answered, 0);
            assert_true(world_line(&search.world, cut, "a", "create ") == WORLD_NOWHERE);
            assert_true(world_line(&search.world, cut, "a", SEARCH) == WORLD_NOWHERE);
            cut = search.world.line_count;
            hold_await(&search.hold, 2000);
            check_barrier_precedes_search(&search.world, cut);
            assert_int_equal(world_znodes_made(&search.world, search.from, "a"),
                             loss == LOSE_REQUEST);
            end(&search);
        }
    }
}

/* The search is repeated until a listing behind a barrier has been seen, however often
 * its requests are lost. A barrier of before the interruption does not count. */
static void the_search_is_repeated(void **state)
{
    static const char *const victims[] = {"loses the reply of multi",
                                          "loses the reply of children",
                                          "loses the reply of multi"};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct search search;

        begin(&search, seed, state, (enum loss)(seed % LOSSES));
        size_t from = search.from;
        for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
            if (i == 1) { /* the barrier may pass */
                assert_true(world_await_line(&search.world, from, "a", BARRIER, 1000));
            }
            sim_lose_reply(search.a.port);
            assert_true(world_await_line(&search.world, from, "a", victims[i], 1000));
            from = search.world.line_count;
        }
        assert_true(world_await(&search.world, &search.hold.answered, 2000));
        check_barrier_precedes_search(&search.world, from);
        assert_int_equal(world_znodes_made(&search.world, search.from, "a"),
                         seed % LOSSES);
        end(&search);
    }
}

/* A barrier that was refused is none. */
static void a_refused_barrier_does_not_count(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct search search;

        begin(&search, seed, state, LOSE_REPLY);
        sim_refuse(search.world.sim, UVZK__RPC_MULTI, UVZK_ENOAUTH, 2);
        hold_await(&search.hold, 2000);
        assert_int_equal(world_count(&search.world, search.from, "a", "multi -> ENOAUTH"),
                         2);
        check_barrier_precedes_search(
            &search.world, world_line(&search.world, search.from, "a", "CONNECTED"));
        assert_int_equal(world_znodes_made(&search.world, search.from, "a"), 0);
        end(&search);
    }
}

/* Nor is one that was asked for before the client heard that it is connected: who has
 * answered it is not known. */
static void a_barrier_of_before_does_not_count(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct search search;
        struct world *world = &search.world;

        begin(&search, seed, state, LOSE_REPLY);
        assert_true(world_await_line(world, search.from, "a", "CONNECTED", 1000));
        assert_int_equal(sim_outstanding(search.a.port), 1); /* the barrier */
        size_t again = world->line_count;
        sim_repeat_connected(search.a.port);
        hold_await(&search.hold, 2000);
        size_t asked = world_line(world, again, "a", "children " WORLD_PATH);
        size_t old = world_line(world, again, "a", "multi -> ok");
        assert_true(old < asked &&
                    world_line(world, old + 1, "a", "multi -> ok") < asked);
        end(&search);
    }
}

/* A znode with the right name in it but another session's is not the lost one. */
static void the_owner_is_compared(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct search search;
        char prefix[128], foreign[256];

        begin(&search, seed, state, LOSE_REQUEST);
        const char *line = search.world.lines[search.from - 1];
        for (size_t i = search.from; strstr(line, "create " WORLD_PATH "/_c_") == NULL;
             i--) {
            line = search.world.lines[i - 1];
        }
        assert_int_equal(sscanf(strstr(line, WORLD_PATH), "%127s", prefix), 1);
        const char *made =
            sim_create_by_hand(search.world.sim, prefix, UVZK__EPHEMERAL_SEQUENTIAL);
        assert_non_null(made);
        (void)snprintf(foreign, sizeof(foreign), "%s", made);
        world_run_for(&search.world, 3000);
        assert_int_equal(search.hold.answered, 0);
        assert_int_equal(world_queue_length(&search.world), 2);
        assert_int_equal(sim_delete_by_hand(search.world.sim, foreign), 0);
        hold_await(&search.hold, 1000);
        end(&search);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_barrier_comes_first),
        WORLD_TEST(the_clean_up_searches_behind_a_barrier_too),
        WORLD_TEST(a_lonely_follower_decides_nothing),
        WORLD_TEST(the_search_is_repeated),
        WORLD_TEST(a_refused_barrier_does_not_count),
        WORLD_TEST(a_barrier_of_before_does_not_count),
        WORLD_TEST(the_owner_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
