/* A znode of a fixed name does not say whose it is. Whoever has lost the reply to a
 * create, or to a delete, and goes by the name alone, takes another one's lock for his
 * own, or deletes it. So its stat is asked for, behind a barrier: the server may lag
 * behind what the lost request has done. */
#include "scene.h"

#include "drivers.h"

#define SEEDS 16U
#define NODE SCENE_PATH "/lock"

static void begin(struct scene *scene, uint64_t seed, void *const *state,
                  struct process *a, struct process *b)
{
    uvzk_lock_driver_t driver;

    exclusive_driver(&driver);
    scene_begin_two(scene, seed, state, a, b);
    process_drive(a, &driver);
    process_drive(b, &driver);
}

/* Its next request is lost, or, done by the servers all the same, the reply to it. The
 * line from which on that is to be seen. */
static size_t lose_next(struct process *process, bool done)
{
    size_t from = process->scene->line_count;

    if (done) {
        process_lose_reply(process);
    } else {
        process_lose_request(process);
    }
    return from;
}

/* The barrier is answered before the stat is asked for, and that before anything is made
 * or deleted. */
static void check_order(const struct scene *scene, size_t from)
{
    size_t connected = scene_line(scene, from, "a", "CONNECTED");
    size_t barrier = scene_line(scene, connected, "a", "multi -> ok");
    size_t stat = scene_line(scene, connected, "a", "server: exists " NODE);

    assert_true(connected < barrier && barrier < stat && stat != SCENE_NOWHERE);
    assert_true(scene_line(scene, connected, "a", "create " NODE) > stat);
    assert_true(scene_line(scene, connected, "a", "delete " NODE) > stat);
}

/* Its own is found to be its own; another's, made meanwhile, to be another's. */
static void after_a_lost_create(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (int made = 0; made < 2; made++) {
            struct scene scene;
            struct process a, b;
            struct claim claim, others;

            begin(&scene, seed, state, &a, &b);
            scene_make_directory(&scene, &a);
            assert_true(process_await_connected(&b, 1000));
            size_t from = lose_next(&a, made);
            claim_begin(&claim, &a, UVZK_WAIT_FOREVER);
            assert_true(scene_await_line(
                &scene, from, "a",
                made ? "loses the reply of create" : "loses the request create", 1000));
            claim_begin(&others, &b, UVZK_WAIT_FOREVER);
            scene_run_for(&scene, 3000);
            check_order(&scene, from);
            assert_int_equal(claim.acquired + others.acquired, 1);
            struct claim *holds = claim.acquired > 0 ? &claim : &others;
            struct claim *waits = claim.acquired > 0 ? &others : &claim;
            assert_true(holds == &claim || !made);
            claim_give_back(holds);
            claim_await(waits, 3000);
            claim_give_back(waits);
            scene_end(&scene);
        }
    }
}

/* A holds, and B waits. */
static void begin_held(struct scene *scene, uint64_t seed, void *const *state,
                       struct process *a, struct claim *held, struct process *b,
                       struct claim *next)
{
    begin(scene, seed, state, a, b);
    claim_take(held, a);
    claim_begin(next, b, UVZK_WAIT_FOREVER);
    scene_run_for(scene, 500);
}

static void after_a_lost_delete(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (int done = 0; done < 2; done++) {
            struct scene scene;
            struct process a, b;
            struct claim held, next;

            begin_held(&scene, seed, state, &a, &held, &b, &next);
            size_t from = lose_next(&a, done);
            claim_release(&held);
            claim_await(&next, 3000);
            assert_true(scene_await(&scene, &held.released, 3000));
            assert_int_equal(held.release_status, 0);
            check_order(&scene, from);
            scene_run_for(&scene, 2000);
            assert_int_equal(next.lost, 0);
            claim_give_back(&next);
            scene_end(&scene);
        }
    }
}

/* Whose it is may not be told for a while. It is looked at again: if it is its own and
 * was given up it would stand before everybody, for as long as the session lives. */
static void after_a_lost_delete_that_may_not_be_read(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim held, next;

        begin_held(&scene, seed, state, &a, &held, &b, &next);
        (void)lose_next(&a, false);
        claim_release(&held);
        sim_refuse(scene.sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, 2);
        claim_await(&next, 8000);
        assert_true(scene_await(&scene, &held.released, 1000));
        assert_int_equal(held.release_status, 0);
        claim_give_back(&next);
        scene_end(&scene);
    }
}

/* Its own is deleted by hand, and another made, before it looks after it: nobody is told
 * of that by an event, and every proof finds the name. */
static void before_the_first_look(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim claim;

        begin(&scene, seed, state, &a, &b);
        scene_make_directory(&scene, &a);
        size_t from = scene.line_count;
        claim_begin(&claim, &a, UVZK_WAIT_FOREVER);
        assert_true(scene_await_line(&scene, from, "a", "server: create " NODE, 1000));
        assert_int_equal(sim_delete_by_hand(scene.sim, NODE), 0);
        assert_non_null(sim_create_by_hand(scene.sim, NODE, UVZK__EPHEMERAL));
        assert_true(scene_await(&scene, &claim.lost, 1000));
        assert_int_equal(claim.reason, UVZK_EDELETED);
        scene_run_for(&scene, 3000);
        assert_int_equal(sim_delete_by_hand(scene.sim, NODE), 0);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(after_a_lost_create),
        SCENE_TEST(after_a_lost_delete),
        SCENE_TEST(after_a_lost_delete_that_may_not_be_read),
        SCENE_TEST(before_the_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
