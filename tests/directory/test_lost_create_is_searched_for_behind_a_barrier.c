/* CURATOR-498 and the protected create it led to: after a create whose reply was lost
 * the children are searched for the znode, but on a server that may lag behind it,
 * or whose leader has been replaced. It is not found, a second one is made, and the first blocks the queue for ever. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 16U
#define BARRIER "server: multi  -> ok"
#define SEARCH "server: children " SCENE_PATH

enum loss { LOSE_REPLY, LOSE_REQUEST, LOSSES };

/* A claim whose create comes to no answer, and what it does then. */
struct search {
    struct scene scene;
    struct process a;
    struct claim claim;
    size_t from; /* the line behind that loss */
};

static void begin(struct search *search, uint64_t seed, void *const *state,
                  enum loss loss)
{
    struct scene *scene = &search->scene;

    scene_begin_one(scene, seed, state, &search->a);
    scene_make_directory(scene, &search->a);
    size_t from = scene->line_count;
    if (loss == LOSE_REPLY) {
        sim_lose_reply(search->a.port);
    } else {
        sim_lose_request(search->a.port);
    }
    claim_begin(&search->claim, &search->a, UVZK_WAIT_FOREVER);
    assert_true(scene_await_line(scene, from, "a",
                                 loss == LOSE_REPLY ? "loses the reply of create"
                                                    : "loses the request create",
                                 1000));
    search->from = scene->line_count;
}

/* The lock was granted, and nothing else of the claim is in the queue. */
static void end(struct search *search)
{
    claim_give_back(&search->claim);
    assert_int_equal(scene_queue_length(&search->scene), 0);
    scene_end(&search->scene);
}

/* On the wire: the barrier is answered before the search is asked, and neither a new
 * create nor any other listing comes before both. */
static void check_barrier_precedes_search(const struct scene *scene, size_t from)
{
    size_t connected = scene_line(scene, from, "a", "CONNECTED");
    size_t barrier = scene_line(scene, connected, "a", BARRIER);
    size_t open = scene_line(scene, connected, "a", "multi -> ok");
    size_t asked = scene_line(scene, connected, "a", "children " SCENE_PATH);
    size_t search = scene_line(scene, connected, "a", SEARCH);

    assert_true(connected < barrier && barrier < open && open < asked && asked < search);
    assert_true(scene_line(scene, connected, "a", "create " SCENE_PATH) > search);
    assert_true(scene_line(scene, connected, "--", "a is told OK") > search);
}

static void the_barrier_comes_first(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum loss loss = 0; loss < LOSSES; loss++) {
            struct search search;

            begin(&search, seed, state, loss);
            claim_await(&search.claim, 2000);
            check_barrier_precedes_search(&search.scene, search.from);
            /* Found, it is the znode; not found, exactly one more is made. */
            assert_int_equal(scene_znodes_made(&search.scene, search.from, "a"),
                             loss == LOSE_REQUEST);
            assert_int_equal(scene_queue_length(&search.scene), 1);
            assert_true(sim_exists(search.scene.sim, search.claim.path));
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
            assert_int_equal(uvzk_hold_cancel(&search.claim.request), 0);
            claim_await_status(&search.claim, 100, UV_ECANCELED);
            scene_run_for(&search.scene, 1000);
            check_barrier_precedes_search(&search.scene, search.from);
            assert_int_equal(scene_znodes_made(&search.scene, search.from, "a"), 0);
            assert_int_equal(scene_queue_length(&search.scene), 0);
            scene_end(&search.scene);
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
                scene_await_line(&search.scene, search.from, "a", "CONNECTED", 1000));
            sim_follower_cut(search.a.port, 2000);
            size_t cut = search.scene.line_count;
            assert_true(
                scene_await_line(&search.scene, cut, "a", "its follower hangs up", 3000));
            assert_int_equal(search.claim.acquired, 0);
            assert_true(scene_line(&search.scene, cut, "a", "create ") == SCENE_NOWHERE);
            assert_true(scene_line(&search.scene, cut, "a", SEARCH) == SCENE_NOWHERE);
            cut = search.scene.line_count;
            claim_await(&search.claim, 2000);
            check_barrier_precedes_search(&search.scene, cut);
            assert_int_equal(scene_znodes_made(&search.scene, search.from, "a"),
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
                assert_true(scene_await_line(&search.scene, from, "a", BARRIER, 1000));
            }
            sim_lose_reply(search.a.port);
            assert_true(scene_await_line(&search.scene, from, "a", victims[i], 1000));
            from = search.scene.line_count;
        }
        assert_true(scene_await(&search.scene, &search.claim.acquired, 2000));
        check_barrier_precedes_search(&search.scene, from);
        assert_int_equal(scene_znodes_made(&search.scene, search.from, "a"),
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
        sim_refuse(search.scene.sim, UVZK__RPC_MULTI, UVZK_ENOAUTH, 2);
        claim_await(&search.claim, 2000);
        assert_int_equal(scene_count(&search.scene, search.from, "a", "multi -> ENOAUTH"),
                         2);
        check_barrier_precedes_search(
            &search.scene, scene_line(&search.scene, search.from, "a", "CONNECTED"));
        assert_int_equal(scene_znodes_made(&search.scene, search.from, "a"), 0);
        end(&search);
    }
}

/* Nor is one that was asked for before the client heard that it is connected: who has
 * answered it is not known. */
static void a_barrier_of_before_does_not_count(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct search search;
        struct scene *scene = &search.scene;

        begin(&search, seed, state, LOSE_REPLY);
        assert_true(scene_await_line(scene, search.from, "a", "CONNECTED", 1000));
        assert_int_equal(sim_outstanding(search.a.port), 1); /* the barrier */
        size_t again = scene->line_count;
        sim_repeat_connected(search.a.port);
        claim_await(&search.claim, 2000);
        size_t asked = scene_line(scene, again, "a", "children " SCENE_PATH);
        size_t old = scene_line(scene, again, "a", "multi -> ok");
        assert_true(old < asked &&
                    scene_line(scene, old + 1, "a", "multi -> ok") < asked);
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
        const char *line = search.scene.lines[search.from - 1];
        for (size_t i = search.from; strstr(line, "create " SCENE_PATH "/_c_") == NULL;
             i--) {
            line = search.scene.lines[i - 1];
        }
        assert_int_equal(sscanf(strstr(line, SCENE_PATH), "%127s", prefix), 1);
        const char *made =
            sim_create_by_hand(search.scene.sim, prefix, UVZK__EPHEMERAL_SEQUENTIAL);
        assert_non_null(made);
        (void)snprintf(foreign, sizeof(foreign), "%s", made);
        scene_run_for(&search.scene, 3000);
        assert_int_equal(search.claim.acquired, 0);
        assert_int_equal(scene_queue_length(&search.scene), 2);
        assert_int_equal(sim_delete_by_hand(search.scene.sim, foreign), 0);
        claim_await(&search.claim, 1000);
        assert_true(search.claim.owner == sim_session_id(search.a.port));
        end(&search);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(the_barrier_comes_first),
        SCENE_TEST(the_clean_up_searches_behind_a_barrier_too),
        SCENE_TEST(a_lonely_follower_decides_nothing),
        SCENE_TEST(the_search_is_repeated),
        SCENE_TEST(a_refused_barrier_does_not_count),
        SCENE_TEST(a_barrier_of_before_does_not_count),
        SCENE_TEST(the_owner_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
