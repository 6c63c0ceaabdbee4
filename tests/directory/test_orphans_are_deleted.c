/* SPDX-License-Identifier: Apache-2.0 */
/* A znode of one of a client's own sessions that none of its contenders knows: shown by a
 * server that has lost its place in history, or left by a fault. Whoever waits for it finds
 * out whose it is, and it is deleted. What a contender may mean is not. */
#include "world.h"

#include <string.h>

#define SEEDS 8U
#define OTHER_PATH "/locks/b"
#define REST_MS 4000U
#define UUID_A "/_c_0f0f0f0f-1111-4222-8333-444444444444-"
#define UUID_B "/_c_0f0f0f0f-1111-4222-8333-555555555555-"

static struct world world;
static struct process a, b;
static struct hold first, second, third;

/* In the session of a process, which knows nothing of it. */
static struct world_path behind(const struct process *process, const char *directory,
                                const char *name)
{
    struct world_path path;

    (void)snprintf(path.text, sizeof(path.text), "%s%s", directory, name);
    const char *made = sim_create_in_session(world.sim, sim_session_id(process->port),
                                             path.text, UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(made);
    (void)snprintf(path.text, sizeof(path.text), "%s", made);
    return path;
}

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    world_make_directory(&world, &b);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    assert_int_equal(uvzk_client_start_metrics(&b.client), 0);
}

/* ---------------------------------------------------------------------- a predecessor */

static void one_of_ours_is_deleted(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path orphan = behind(&a, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 2000));
    assert_int_equal(first.status, 0);
    assert_false(sim_exists(world.sim, orphan.text));
    assert_int_equal(process_metrics(&a).orphans, 1);
    assert_int_equal(process_metrics(&a).diverged, 0);
    world_release_and_end(&world);
}

/* Others' are left alone, whoever they are, and so is what no contender of ours could ever
 * have made. */
static void those_of_others_stand(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path others = behind(&b, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 4 * WORLD_TIMEOUT_MS);
    assert_int_equal(first.answered, 0);
    assert_true(sim_exists(world.sim, others.text));
    assert_int_equal(process_metrics(&a).orphans + process_metrics(&b).orphans, 0);
    world_delete(&world, &others);
    world_release_and_end(&world);
}

/* Without a UUID, as go-zookeeper writes it, it is not of our making. */
static void a_name_that_is_not_ours_stands(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path strange =
        behind(&a, WORLD_PATH, "/_c_0f0f0f0f111142228333444444444444-lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(first.answered, 0);
    assert_true(sim_exists(world.sim, strange.text));
    world_delete(&world, &strange);
    world_release_and_end(&world);
}

/* The delete is lost, its reply is, the connection is: it is repeated. */
static void its_delete_is_guaranteed(uint64_t seed, void *const *state)
{
    static void (*const troubles[])(struct process *) = {
        process_lose_request, process_lose_reply, process_reset, process_silence};

    begin(seed, state);
    struct world_path orphan = behind(&a, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_steps(&world, seed / 4);
    troubles[seed % 4](&a);
    assert_true(world_await(&world, &first.answered, 3 * WORLD_TIMEOUT_MS));
    assert_int_equal(first.status, 0);
    assert_false(sim_exists(world.sim, orphan.text));
    world_release_and_end(&world);
}

/* Somebody makes one of the same name right after it has been deleted: that is another
 * one. */
static void one_of_its_name_convicts_nobody(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path orphan = behind(&a, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    while (sim_exists(world.sim, orphan.text)) {
        world_steps(&world, 1);
    }
    assert_non_null(sim_create_by_hand(world.sim, orphan.text, UVZK__EPHEMERAL));
    world_run_for(&world, 2000);
    assert_int_equal(process_metrics(&a).orphans, 1);
    assert_int_equal(process_metrics(&a).diverged, 0);
    world_delete(&world, &orphan);
    world_release_and_end(&world);
}

/* Each blocks the other one's client, and is seen by that one alone as the next before it:
 * who has waited for long asks whose the first of all is. */
static void two_that_block_each_other_go(uint64_t seed, void *const *state)
{
    begin(seed, state);
    struct world_path one = behind(&a, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    struct world_path two = behind(&b, WORLD_PATH, UUID_B "lock-");
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 2 * WORLD_TIMEOUT_MS));
    assert_false(sim_exists(world.sim, one.text));
    world_release_all(&world);
    assert_false(sim_exists(world.sim, two.text));
    world_end(&world);
}

/* The same, where a driver says who waits for whom. */
static void two_of_a_driver_that_block_each_other_go(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    world_begin(&world, seed, state);
    process_make(&a, &world, "a", NULL);
    process_make(&b, &world, "b", NULL);
    assert_int_equal(process_drive(&a, &driver) + process_drive(&b, &driver), 0);
    process_start(&a);
    process_start(&b);
    assert_true(process_await_connected(&a, 5000) && process_await_connected(&b, 5000));
    world_make_directory(&world, &b);
    struct world_path one = behind(&a, WORLD_PATH, UUID_A "lock-");
    hold_begin(&first, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    struct world_path two = behind(&b, WORLD_PATH, UUID_B "lock-");
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 3 * WORLD_TIMEOUT_MS));
    assert_false(sim_exists(world.sim, one.text));
    world_release_all(&world);
    assert_false(sim_exists(world.sim, two.text));
    world_end(&world);
}

/* ------------------------------------------------------------------- of a session beside */

static void of_another_session_of_ours(void **state)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.sessions = 3;
    world_begin(&world, 1, state);
    process_begin(&a, &world, "a", &options);
    assert_true(process_await_connected(&a, 2000));
    world_make_directory(&world, &a);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    for (uint32_t i = 0; i < a.sessions; i++) {
        const char *made =
            sim_create_in_session(world.sim, sim_session_id(a.ports[i]),
                                  WORLD_PATH UUID_A "lock-", UVZK__EPHEMERAL_SEQUENTIAL);
        assert_non_null(made);
        hold_begin(&first, &a, UVZK_WAIT_FOREVER);
        assert_true(world_await(&world, &first.answered, 5000));
        hold_give_back(&first);
        assert_int_equal(process_metrics(&a).orphans, i + 1);
    }
    world_end(&world);
}

/* ------------------------------------------------------- what a contender may mean */

/* A create whose outcome is not known: its znode is found by its UUID. */
static void a_create_that_is_not_known_yet_stands(uint64_t seed, void *const *state)
{
    begin(seed, state);
    sim_lose_reply(a.port);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 3 * WORLD_TIMEOUT_MS));
    assert_int_equal(first.status, 0);
    assert_int_equal(process_metrics(&a).orphans, 0);
    world_release_and_end(&world);
}

/* Of one that has no place only the UUID tells which znode it may mean, and it rests before
 * it has another one. */
static void the_uuid_of_one_that_rests_stands(uint64_t seed, void *const *state)
{
    char prefix[HOLD_PATH_MAX];
    uvzk_client_options_t rests;

    process_options(&rests);
    rests.retry.base_ms = REST_MS;
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &rests);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000) && process_await_connected(&b, 1000));
    hold_take(&first, &b);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    struct world_path own = world_child(&world, WORLD_PATH, 1);
    (void)snprintf(prefix, sizeof(prefix), "%.*s", (int)(strlen(UUID_A "lock-")),
                   strrchr(own.text, '/'));
    world_delete(&world, &own);
    struct world_path meant = behind(&a, WORLD_PATH, prefix);
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_give_back(&first);
    world_run_for(&world, REST_MS / 2);
    assert_true(sim_exists(world.sim, meant.text));
    assert_int_equal(third.answered, 0);
    assert_true(world_await(&world, &third.answered, 2 * WORLD_TIMEOUT_MS));
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------ readers and writers */

static void of_a_read_write_lock(uint64_t seed, void *const *state)
{
    static const char *const names[] = {UUID_A "__WRIT__", UUID_A "__READ__"};

    begin(seed, state);
    process_make_rwlock(&a, OTHER_PATH);
    hold_begin_on(&first, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
    world_release_all(&world);
    struct world_path orphan = behind(&a, OTHER_PATH, names[seed % 2]);
    hold_begin_on(&first, &a, &a.rwlock.write, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 2000));
    assert_int_equal(first.status, 0);
    assert_false(sim_exists(world.sim, orphan.text));
    assert_int_equal(process_metrics(&a).orphans, 1);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------------------ leases */

/* It has a permit, and nobody knows. Whoever waits for one asks whose they are when the
 * children have been under watch for long. */
static void a_lease_of_ours_is_deleted(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, OTHER_PATH, 1);
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_release_all(&world);
    struct world_path orphan = behind(&a, OTHER_PATH "/leases", UUID_A "lease-");
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 2 * WORLD_TIMEOUT_MS));
    assert_int_equal(first.status, 0);
    assert_false(sim_exists(world.sim, orphan.text));
    assert_int_equal(process_metrics(&a).orphans, 1);
    world_release_and_end(&world);
}

/* Its owner's client is not the one that waits for room: it stands in line behind that. */
static void a_lease_of_who_stands_behind_is_deleted(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, OTHER_PATH, 1);
    process_make_semaphore(&b, OTHER_PATH, 1);
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_release_all(&world);
    struct world_path orphan = behind(&a, OTHER_PATH "/leases", UUID_A "lease-");
    hold_begin_on(&first, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin_on(&second, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 3 * WORLD_TIMEOUT_MS));
    assert_int_equal(first.status, 0);
    assert_false(sim_exists(world.sim, orphan.text));
    assert_int_equal(process_metrics(&a).orphans, 1);
    world_release_and_end(&world);
}

static void a_lease_of_another_stands(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, OTHER_PATH, 2);
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_release_all(&world);
    struct world_path orphan = behind(&b, OTHER_PATH "/leases", UUID_A "lease-");
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, 2000));
    hold_begin_on(&second, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 4 * WORLD_TIMEOUT_MS);
    assert_int_equal(second.answered, 0);
    assert_true(sim_exists(world.sim, orphan.text));
    assert_int_equal(process_metrics(&a).orphans, 0);
    world_delete(&world, &orphan);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(one_of_ours_is_deleted, 1, SEEDS),
        WORLD_SCENARIO(those_of_others_stand, 1, SEEDS),
        WORLD_SCENARIO(a_name_that_is_not_ours_stands, 1, SEEDS),
        WORLD_SCENARIO(its_delete_is_guaranteed, 0, 39),
        WORLD_SCENARIO(one_of_its_name_convicts_nobody, 1, SEEDS),
        WORLD_SCENARIO(two_that_block_each_other_go, 1, SEEDS),
        WORLD_SCENARIO(two_of_a_driver_that_block_each_other_go, 1, SEEDS),
        WORLD_TEST(of_another_session_of_ours),
        WORLD_SCENARIO(a_create_that_is_not_known_yet_stands, 1, SEEDS),
        WORLD_SCENARIO(the_uuid_of_one_that_rests_stands, 1, SEEDS),
        WORLD_SCENARIO(of_a_read_write_lock, 1, SEEDS),
        WORLD_SCENARIO(a_lease_of_ours_is_deleted, 1, SEEDS),
        WORLD_SCENARIO(a_lease_of_who_stands_behind_is_deleted, 1, SEEDS),
        WORLD_SCENARIO(a_lease_of_another_stands, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
