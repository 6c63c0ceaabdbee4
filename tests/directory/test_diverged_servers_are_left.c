/* SPDX-License-Identifier: Apache-2.0 */
/* A follower has missed the delete of a znode whose session lives on, and goes on
 * showing it: who is connected there would stand behind it for as long as that session
 * lives. */
#include "world.h"

#include <string.h>

#define SEEDS 8U
#define SERVERS 3U
#define OTHER_PATH "/locks/b"

static struct world world;
static struct process a, b;
static struct hold first, second, third;

/* A follower, where A is and B is not. driver: NULL for mutexes. */
static int begin_with(uint64_t seed, void *const *state, const uvzk_lock_driver_t *driver)
{
    world_begin_servers(&world, seed, state, SERVERS);
    int follower = (sim_leader(world.sim) + 1) % (int)SERVERS;
    process_make(&a, &world, "a", NULL);
    process_make(&b, &world, "b", NULL);
    if (driver != NULL) {
        assert_int_equal(process_drive(&a, driver) + process_drive(&b, driver), 0);
    }
    process_start(&a);
    process_start(&b);
    sim_connect_to(a.port, follower);
    sim_connect_to(b.port, sim_leader(world.sim));
    assert_true(process_await_connected(&a, 5000) && process_await_connected(&b, 5000));
    world_make_directory(&world, &b);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    assert_int_equal(uvzk_client_start_metrics(&b.client), 0);
    sim_connect_to(a.port, -1);
    return follower;
}

static int begin(uint64_t seed, void *const *state)
{
    return begin_with(seed, state, NULL);
}

/* The first hold is given back, and the follower misses this number of deletes. */
static void give_back_unseen(int follower, uint32_t deletes)
{
    world_run_for(&world, 500);
    sim_miss_deletes(world.sim, follower, deletes);
    hold_give_back(&first);
    world_run_for(&world, 500);
}

/* The process takes the lock and gives it back; of that the follower misses the delete. */
static struct world_path missed_by(int follower, struct process *process)
{
    struct world_path path;

    hold_take(&first, process);
    (void)snprintf(path.text, sizeof(path.text), "%s", first.path);
    give_back_unseen(follower, 1);
    assert_false(sim_exists(world.sim, path.text));
    assert_true(sim_shows(world.sim, follower, path.text));
    return path;
}

/* What it has missed is back for all. */
static void let_it_lead(int follower, const struct world_path *path)
{
    for (unsigned i = 0; i < 100 && sim_leader(world.sim) != follower; i++) {
        sim_restart(world.sim, 100);
        world_run_for(&world, 500);
    }
    assert_true(sim_exists(world.sim, path->text));
    assert_true(process_await_connected(&a, 5000) && process_await_connected(&b, 5000));
}

static void check_last_error(struct process *process)
{
    uvzk_client_error_t error;

    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&process->client, &error), 0);
    assert_int_equal(error.code, UVZK_EDIVERGED);
    assert_true(error.address[0] != '\0' && error.text[0] != '\0');
}

/* Its own: found by whoever waits for it, at once. */
static void one_that_shows_ours_is_left(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    struct world_path path = missed_by(follower, &a);
    int64_t session = sim_session_id(a.port);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 3000));
    assert_int_equal(second.status, 0);
    world_run_for(&world, 3000);
    assert_true(process_connected(&a));
    assert_true(sim_server_of(a.port) != follower);
    assert_true(sim_session_id(a.port) == session);
    assert_int_equal(process_metrics(&a).diverged, 1);
    assert_int_equal(process_metrics(&a).orphans,
                     0); /* there was nothing to be deleted */
    assert_int_equal(second.lost, 0);
    assert_true(sim_shows(world.sim, follower, path.text));
    check_last_error(&a);
    world_release_and_end(&world);
}

/* Another client's, which does not see it: who has waited for long asks the quorum. */
static void one_that_shows_anothers_is_left(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    (void)missed_by(follower, &b);
    int64_t session = sim_session_id(a.port);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 2 * WORLD_TIMEOUT_MS));
    assert_int_equal(second.status, 0);
    assert_true(sim_session_id(a.port) == session);
    assert_true(sim_server_of(a.port) != follower);
    assert_int_equal(process_metrics(&a).diverged, 1);
    check_last_error(&a);
    assert_int_equal(third.answered, 0); /* its place is kept */
    world_release_and_end(&world);
}

/* What is held meanwhile stays, and is valid throughout. */
static void holds_stay(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    process_make_rwlock(&a, OTHER_PATH);
    (void)missed_by(follower, &b);
    hold_begin_on(&third, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &third.answered, 3000));
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 2 * WORLD_TIMEOUT_MS));
    assert_int_equal(process_metrics(&a).diverged, 1);
    assert_int_equal(third.lost, 0);
    assert_true(uvzk_hold_is_valid(&third.request));
    world_release_and_end(&world);
}

/* There is no other server to go to: the quorum's word is enough, and it is not left again
 * and again. */
static void where_there_is_no_other_nobody_is_stuck(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    sim_connect_to(a.port, follower);
    (void)missed_by(follower, &a);
    (void)missed_by(follower, &b);
    for (unsigned i = 0; i < 3; i++) {
        hold_begin(&second, &a, UVZK_WAIT_FOREVER);
        assert_true(world_await(&world, &second.answered, 4 * WORLD_TIMEOUT_MS));
        assert_int_equal(second.status, 0);
        hold_give_back(&second);
    }
    assert_int_equal(sim_server_of(a.port), follower);
    assert_in_range(process_metrics(&a).diverged, 1, 8);
    world_release_and_end(&world);
}

/* So it is in the directory of a read-write lock. */
static void nor_where_readers_may_stand(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    process_make_rwlock(&a, OTHER_PATH);
    sim_connect_to(a.port, follower);
    for (unsigned i = 0; i < 4; i++) {
        hold_begin_on(&second, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
        assert_true(world_await(&world, &second.answered, 4 * WORLD_TIMEOUT_MS));
        assert_int_equal(second.status, 0);
        world_run_for(&world, 500);
        sim_miss_deletes(world.sim, follower, i == 0);
        hold_give_back(&second);
        world_run_for(&world, 500);
    }
    assert_int_equal(sim_server_of(a.port), follower);
    world_release_and_end(&world);
}

/* Of another client's writer. On the next connection the quorum is asked again. */
static void nor_behind_a_writer_of_another(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    process_make_rwlock(&a, OTHER_PATH);
    process_make_rwlock(&b, OTHER_PATH);
    sim_connect_to(a.port, follower);
    hold_take_on(&first, &b, &b.rwlock.write, 1);
    give_back_unseen(follower, 1);
    hold_begin_on(&second, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 4 * WORLD_TIMEOUT_MS));
    sim_disconnect(a.port, SIM_RESET, 20);
    world_run_for(&world, 500);
    assert_true(process_connected(&a));
    hold_begin_on(&third, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
    hold_give_back(&second);
    world_run_for(&world, 500);
    assert_int_equal(third.answered, 0);
    assert_true(world_await(&world, &third.answered, 4 * WORLD_TIMEOUT_MS));
    assert_int_equal(sim_server_of(a.port), follower);
    world_release_and_end(&world);
}

/* Of another client's lease, which fills the semaphore. */
static void nor_where_leases_are_counted(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    process_make_semaphore(&a, OTHER_PATH, 1);
    process_make_semaphore(&b, OTHER_PATH, 1);
    sim_connect_to(a.port, follower);
    hold_take_on(&first, &b, &b.semaphore, 1);
    give_back_unseen(follower, 1);
    hold_begin_on(&second, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 4 * WORLD_TIMEOUT_MS));
    assert_int_equal(second.status, 0);
    assert_int_equal(sim_server_of(a.port), follower);
    world_release_and_end(&world);
}

/* It leads, and the znode is back for all: only its owner's client can know, and deletes it
 * again. */
static void what_is_back_for_all_is_deleted_again(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);
    struct world_path path = missed_by(follower, &a);

    let_it_lead(follower, &path);
    hold_begin(&first, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 3 * WORLD_TIMEOUT_MS));
    assert_false(sim_exists(world.sim, path.text));
    world_run_for(&world, 500);
    assert_int_equal(process_metrics(&a).orphans, 1);
    assert_int_equal(process_metrics(&a).diverged + process_metrics(&b).diverged, 0);
    world_release_and_end(&world);
}

/* Behind others, where it is neither the first of all nor anybody's predecessor of
 * ours: any listing shows it, and its name whose it is. */
static void what_is_back_behind_others_is_deleted(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    hold_take(&first, &b);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    struct world_path path = world_child(&world, WORLD_PATH, 1);
    sim_miss_deletes(world.sim, follower, 1);
    hold_cancel(&second);
    world_run_for(&world, 500);
    assert_true(sim_shows(world.sim, follower, path.text));
    for (unsigned i = 0; i < 100 && sim_leader(world.sim) != follower; i++) {
        sim_restart(world.sim, 100);
        world_run_for(&world, 500);
    }
    assert_true(sim_exists(world.sim, path.text));
    assert_true(process_await_connected(&a, 5000) && process_await_connected(&b, 5000));
    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    assert_false(sim_exists(world.sim, path.text));
    assert_int_equal(process_metrics(&a).orphans, 1);
    assert_int_equal(first.lost + second.answered + third.answered, 0);
    world_release_and_end(&world);
}

/* A server that lags, or is cut off, has not diverged, and no znode that stands is
 * doubted for long waiting. */
static void who_only_lags_is_not_left(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    for (unsigned i = 0; i < 12; i++) {
        hold_begin(&first, &b, UVZK_WAIT_FOREVER);
        assert_true(world_await(&world, &first.answered, 2 * WORLD_TIMEOUT_MS));
        hold_begin(&second, &a, UVZK_WAIT_FOREVER);
        sim_lag(world.sim, follower, 500 + 300 * i);
        if (i % 3 == 1) {
            sim_follower_cut(a.port, 2000);
        } else if (i % 3 == 2) {
            sim_move(a.port);
        }
        world_run_for(&world, i % 4 == 3 ? 2 * WORLD_TIMEOUT_MS : 200 * i);
        hold_finish(&first, 2000);
        hold_finish(&second, 3 * WORLD_TIMEOUT_MS);
    }
    assert_int_equal(process_metrics(&a).diverged + process_metrics(&b).diverged, 0);
    assert_int_equal(process_metrics(&a).orphans + process_metrics(&b).orphans, 0);
    world_release_and_end(&world);
}

/* A lease that a follower shows has a permit there. */
static void a_lease_that_was_deleted(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    process_make_semaphore(&a, OTHER_PATH, 1);
    process_make_semaphore(&b, OTHER_PATH, 1);
    hold_begin_on(&first, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 3000));
    give_back_unseen(follower, 2);
    hold_begin_on(&second, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 4 * WORLD_TIMEOUT_MS));
    assert_int_equal(second.status, 0);
    assert_in_range(process_metrics(&a).diverged, 1, 2);
    world_release_and_end(&world);
}

/* The reverse: it does not show what stands. Whoever is told so gives it up, and it
 * must not stay where the others are. */
static void one_that_does_not_show_ours_is_left(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    hold_take(&first, &b);
    world_run_for(&world, 1000); /* until the follower has applied B's create */
    sim_miss_creates(world.sim, follower, 1);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 3000);
    assert_int_equal(process_metrics(&a).diverged, 1);
    assert_true(sim_server_of(a.port) != follower);
    hold_give_back(&first);
    assert_true(world_await(&world, &second.answered, 2 * WORLD_TIMEOUT_MS));
    assert_int_equal(second.status, 0);
    assert_int_equal(world_queue_length(&world), 1);
    world_release_and_end(&world);
}

/* A hold that this server lacks: the leader has it, and is asked by each proof. */
static void a_hold_that_a_server_lacks_is_kept(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    sim_connect_to(a.port, follower);
    hold_take(&first, &a);
    hold_begin(&second, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    sim_lose_node(world.sim, follower, first.path);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(first.lost + second.answered, 0);
    assert_true(uvzk_hold_is_valid(&first.request));
    hold_verify(&first, 1000, 0);
    assert_int_equal(sim_server_of(a.port), follower);
    hold_release(&first);
    assert_true(world_await(&world, &second.answered, 3000));
    assert_int_equal(second.status, 0);
    world_release_and_end(&world);
}

/* A holds, has a watch on its znode, and B waits behind it. */
static void begin_watched(int follower)
{
    hold_take(&second, &b);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    hold_give_back(&second);
    assert_true(world_await(&world, &first.answered, 3000));
    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    sim_connect_to(a.port, follower);
    sim_disconnect(a.port, SIM_RESET, 100);
    sim_lose_node(world.sim, follower, first.path);
}

/* It has shown it, and watched it, before it was restarted, and tells the watch of a
 * deletion: that is believed; but the others, where it stands, are told that nobody
 * wants it. */
static void a_server_that_tells_of_a_deletion_wrongly(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    begin_watched(follower);
    assert_true(world_await(&world, &first.lost, WORLD_TIMEOUT_MS));
    sim_connect_to(a.port, -1);
    assert_int_equal(first.reason, UVZK_EDELETED);
    assert_true(world_await(&world, &third.answered, 1000)); /* the session lives */
    assert_int_equal(third.status, 0);
    world_run_for(&world, 3000);
    assert_int_equal(process_metrics(&a).diverged, 1);
    assert_true(sim_server_of(a.port) != follower);
    check_last_error(&a);
    world_release_and_end(&world);
}

static void go_elsewhere(struct hold *hold)
{
    sim_connect_to(hold->process->port, sim_leader(world.sim));
    sim_disconnect(hold->process->port, SIM_RESET, 10);
}

/* The one that says whether it stood is another one, and innocent. */
static void who_did_not_say_it_is_not_left(uint64_t seed, void *const *state)
{
    int follower = begin(seed, state);

    begin_watched(follower);
    first.hook = go_elsewhere;
    assert_true(world_await(&world, &first.lost, WORLD_TIMEOUT_MS));
    assert_true(world_await(&world, &third.answered, 1000));
    world_run_for(&world, 3000);
    assert_int_equal(sim_server_of(a.port), sim_leader(world.sim));
    assert_int_equal(process_metrics(&a).diverged, 0);
    world_release_and_end(&world);
}

/* A leader has forgotten the create of what is held: nobody can promise that no other
 * one is granted before the holder hears of it. The token tells which came later. */
static void a_forgotten_hold_is_lost_and_its_token_is_less(uint64_t seed,
                                                           void *const *state)
{
    (void)begin(seed, state);
    hold_take(&first, &a);
    int64_t token = first.token;
    world.holder_deleted = true;
    sim_lose_transactions(world.sim, 1000);
    sim_restart(world.sim, 100);
    assert_true(world_await(&world, &first.lost, WORLD_TIMEOUT_MS));
    assert_true(process_await_connected(&b, 5000));
    hold_take(&second, &b);
    assert_true(second.token > token);
    world_release_and_end(&world);
}

/* Who waits for a child that its driver has named, by a number or by the one name. */
static void of_a_lock_driver(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = seed % 2 == 0 ? "lock-" : "lock";
    driver.mode = seed % 2 == 0 ? UVZK_NODE_EPHEMERAL_SEQUENTIAL : UVZK_NODE_EPHEMERAL;
    int follower = begin_with(seed, state, &driver);
    (void)missed_by(follower, &b);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    if (seed % 2 == 1) { /* it tries at once, and is told that the name is free */
        assert_true(world_await(&world, &second.answered, 3000));
        world_release_and_end(&world);
        return;
    }
    assert_true(world_await(&world, &second.answered, 2 * WORLD_TIMEOUT_MS));
    assert_int_equal(process_metrics(&a).diverged, 1);
    world_release_and_end(&world);
}

static int begin_with_a_fixed_name(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock";
    driver.mode = UVZK_NODE_EPHEMERAL;
    return begin_with(seed, state, &driver);
}

/* With a fixed name it is met by who waits for it already: that one is not told of its
 * end. */
static void of_a_fixed_name(uint64_t seed, void *const *state)
{
    int follower = begin_with_a_fixed_name(seed, state);

    hold_take(&first, &b);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    sim_miss_deletes(world.sim, follower, 1);
    hold_give_back(&first);
    assert_true(world_await(&world, &second.answered, 3 * WORLD_TIMEOUT_MS));
    assert_int_equal(second.status, 0);
    assert_int_equal(process_metrics(&a).diverged, 1);
    world_release_and_end(&world);
}

/* A create is lost, and its client comes to a server that still shows the znode of its last
 * hold, with its own session as the owner. That is not the lost one: its czxid is known. */
static void a_deleted_znode_is_not_the_lost_create(uint64_t seed, void *const *state)
{
    int follower = begin_with_a_fixed_name(seed, state);
    struct world_path path = missed_by(follower, &a);
    int64_t before = first.token;

    process_lose_request(&a);
    sim_connect_to(a.port, follower);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &second.answered, 5000));
    assert_int_equal(second.status, 0);
    assert_true(second.token > before);
    assert_true(sim_exists(world.sim, path.text)); /* as the leader has it */
    world_release_and_end(&world);
}

/* Nor is it a new one when it is back for all. It is waited for, without haste. */
static void what_is_back_of_a_fixed_name_is_waited_for(uint64_t seed, void *const *state)
{
    int follower = begin_with_a_fixed_name(seed, state);
    struct world_path path = missed_by(follower, &a);

    let_it_lead(follower, &path);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    uint64_t before = sim_submitted(a.port);
    world_run_for(&world, 5000);
    assert_true(hold_pending(&second));
    assert_true(sim_submitted(a.port) - before < 20);
    assert_int_equal(sim_delete_by_hand(world.sim, path.text), 0);
    hold_await(&second, 5000);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(one_that_shows_ours_is_left, 1, SEEDS),
        WORLD_SCENARIO(one_that_shows_anothers_is_left, 1, SEEDS),
        WORLD_SCENARIO(holds_stay, 1, SEEDS),
        WORLD_SCENARIO(where_there_is_no_other_nobody_is_stuck, 1, SEEDS),
        WORLD_SCENARIO(nor_where_readers_may_stand, 1, SEEDS),
        WORLD_SCENARIO(nor_behind_a_writer_of_another, 1, SEEDS),
        WORLD_SCENARIO(nor_where_leases_are_counted, 1, SEEDS),
        WORLD_SCENARIO(what_is_back_for_all_is_deleted_again, 1, SEEDS),
        WORLD_SCENARIO(what_is_back_behind_others_is_deleted, 1, SEEDS),
        WORLD_SCENARIO(who_only_lags_is_not_left, 1, SEEDS),
        WORLD_SCENARIO(a_lease_that_was_deleted, 1, SEEDS),
        WORLD_SCENARIO(one_that_does_not_show_ours_is_left, 1, SEEDS),
        WORLD_SCENARIO(a_hold_that_a_server_lacks_is_kept, 1, SEEDS),
        WORLD_SCENARIO(a_server_that_tells_of_a_deletion_wrongly, 1, SEEDS),
        WORLD_SCENARIO(who_did_not_say_it_is_not_left, 1, SEEDS),
        WORLD_SCENARIO(a_forgotten_hold_is_lost_and_its_token_is_less, 1, SEEDS),
        WORLD_SCENARIO(of_a_lock_driver, 1, SEEDS),
        WORLD_SCENARIO(of_a_fixed_name, 1, SEEDS),
        WORLD_SCENARIO(a_deleted_znode_is_not_the_lost_create, 1, SEEDS),
        WORLD_SCENARIO(what_is_back_of_a_fixed_name_is_waited_for, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
