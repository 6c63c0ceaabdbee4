/* SPDX-License-Identifier: Apache-2.0 */
/* CVE-2024-23944: servers since its mend do not deliver a watch's event to who may not
 * READ the znode at that moment, and the watch is used up. A waiter of Curator's then
 * waits for as long as its connection lasts. Here whoever waits on a watch looks again,
 * about once a session timeout.
 *
 *   waits ── the event is lost ── looks again ── is served
 */
#include "world.h"

#include "drivers.h"

#define SEEDS 4U
#define SETTLED_MS 500U
/* A quarter later than a session timeout, and some round trips. */
#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)

static struct world world;
static struct process a, b;
static struct hold holds, waits;

/* A has this lock and B waits for its own, the same one. */
static void begin_waiting(uvzk_lock_t *of_a, uvzk_lock_t *of_b, uint32_t leases)
{
    hold_take_on(&holds, &a, of_a, leases);
    hold_begin_on(&waits, &b, of_b, leases, UVZK_WAIT_FOREVER);
    world_run_for(&world, SETTLED_MS);
    assert_int_equal(waits.answered, 0);
}

/* A lets go, and B's next events are lost. */
static void check_served(uvzk_lock_t *of_a, uvzk_lock_t *of_b, uint32_t leases)
{
    begin_waiting(of_a, of_b, leases);
    sim_lose_events(b.port, 1000);
    hold_give_back(&holds);
    world_run_for(&world, SETTLED_MS);
    assert_int_equal(waits.answered, 0); /* it was lost indeed */
    hold_await(&waits, AGAIN_MS);
    sim_lose_events(b.port, 0);
    hold_give_back(&waits);
    world_end(&world);
}

static void of_a_mutex(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    check_served(&a.mutex, &b.mutex, 1);
}

static void begin_halves(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_rwlock(&a, "/rw");
    process_make_rwlock(&b, "/rw");
}

static void of_a_reader_behind_a_writer(uint64_t seed, void *const *state)
{
    begin_halves(seed, state);
    check_served(&a.rwlock.write, &b.rwlock.read, 1);
}

static void of_a_writer_behind_a_reader(uint64_t seed, void *const *state)
{
    begin_halves(seed, state);
    check_served(&a.rwlock.read, &b.rwlock.write, 1);
}

/* The watch is on the leases, all of which A has, and not on a ticket. */
static void of_a_semaphore(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_semaphore(&a, "/s", 3);
    process_make_semaphore(&b, "/s", 3);
    check_served(&a.semaphore, &b.semaphore, 2);
}

static void begin_driver_lock(uint64_t seed, void *const *state,
                              const uvzk_lock_driver_t *driver)
{
    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, driver), 0);
    assert_int_equal(process_drive(&b, driver), 0);
}

static void of_lock_drivers(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    if (seed % 2 == 0) {
        exclusive_driver(&driver);
    } else {
        n_leases_driver(&driver, 1);
    }
    begin_driver_lock(seed, state, &driver);
    check_served(&a.mutex, &b.mutex, 1);
}

/* Who waits for a driver's lock asks again when the child has changed, too. */
static int changed_asked;

static int counts_asks(const struct uvzk_lock_driver_s *driver,
                       const char *const *children, size_t count, size_t own,
                       size_t *watch)
{
    (void)driver;
    (void)children;
    (void)count;
    *watch = own - 1;
    changed_asked += own > 0;
    return own == 0;
}

static void of_a_change_that_a_driver_waits_for(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    n_leases_driver(&driver, 1);
    driver.gets_the_lock = counts_asks;
    begin_driver_lock(seed, state, &driver);
    begin_waiting(&a.mutex, &b.mutex, 1);
    changed_asked = 0;
    sim_lose_events(b.port, 1);
    assert_int_equal(sim_set_by_hand(world.sim, holds.path, "x", 1), 0);
    world_run_for(&world, SETTLED_MS);
    assert_int_equal(changed_asked, 0);
    assert_true(world_await(&world, &changed_asked, AGAIN_MS));
    hold_give_back(&holds);
    hold_acquire_release(&waits, 1000);
    world_end(&world);
}

static void on_revoked(uvzk_hold_t *request)
{
    struct hold *hold = request->data;

    hold->revoked++;
}

/* A holds, and may be asked to let go. */
static void begin_revocable(uint64_t seed, void *const *state)
{
    uvzk_acquire_options_t options;

    world_begin_two(&world, seed, state, &a, &b);
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    assert_int_equal(hold_ask(&holds, &a, NULL, &options), 0);
    hold_await(&holds, 1000);
    world_run_for(&world, SETTLED_MS);
}

static void write_revocation(void)
{
    assert_int_equal(sim_set_by_hand(world.sim, holds.path, "__REVOKE__", 10), 0);
}

static void check_heard(uint64_t ms)
{
    assert_true(world_await(&world, &holds.revoked, ms));
    assert_true(hold_holds(&holds));
    hold_give_back(&holds);
    world_end(&world);
}

static void of_a_revocation(uint64_t seed, void *const *state)
{
    begin_revocable(seed, state);
    sim_lose_events(a.port, 1);
    write_revocation();
    world_run_for(&world, SETTLED_MS);
    assert_int_equal(holds.revoked, 0);
    check_heard(AGAIN_MS);
}

/* Whoever may not read what was written to it holds all the same. */
static void of_a_revocation_that_may_not_be_read(uint64_t seed, void *const *state)
{
    begin_revocable(seed, state);
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 3);
    write_revocation();
    check_heard(4 * AGAIN_MS);
}

/* Of the second in line, while its own watch does not hear of it. */
static struct world_path delete_unheard(void)
{
    struct world_path path = world_child(&world, WORLD_PATH, 1);

    assert_int_equal(world_queue_length(&world), 2);
    sim_lose_events(b.port, 1);
    world_delete(&world, &path);
    sim_lose_events(b.port, 0);
    return path;
}

/* Silence is not believed for longer than that: B's znode is deleted by hand after a
 * while, and its own watch does not tell. It is not granted on it, although there are
 * proofs of something else that B holds. */
static void of_the_own_watch(uint64_t seed, void *const *state)
{
    uvzk_mutex_t another = {0};
    struct hold other;

    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(uvzk_mutex_init(&b.client, &another, "/another"), 0);
    hold_take_on(&other, &b, &another, 1);
    begin_waiting(&a.mutex, &b.mutex, 1);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    struct world_path path = delete_unheard();
    hold_give_back(&holds);
    hold_await(&waits, 1000); /* by another znode */
    assert_string_not_equal(waits.path, path.text);
    world_run_for(&world, SETTLED_MS);
    assert_true(hold_holds(&waits));
    hold_give_back(&waits);
    hold_give_back(&other);
    world_end(&world);
}

/* A listing shows first that a znode is gone: its own watch is not taken for that of the
 * next one. */
static void no_own_watch_is_left_on_what_is_gone(void **state)
{
    for (uint64_t seed = 1; seed < 2 * SEEDS; seed += 2) { /* it asks for its place */
        struct hold later;

        world_begin_two(&world, seed, state, &a, &b);
        begin_waiting(&a.mutex, &b.mutex, 1);
        assert_int_equal(sim_armed(b.port), 2);
        (void)delete_unheard();
        hold_begin(&later, &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, SETTLED_MS);
        assert_int_equal(world_queue_length(&world), 3);
        assert_int_equal(sim_armed(b.port), 2); /* for who is first now */
        hold_give_back(&holds);
        hold_acquire_release(&later, 1000);
        hold_acquire_release(&waits, 1000);
        world_end(&world);
    }
}

/* While nothing is lost it costs hardly anything: two requests, now and then. */
static void it_is_slow(void **state)
{
    world_begin_two(&world, 1, state, &a, &b);
    begin_waiting(&a.mutex, &b.mutex, 1);
    size_t from = world.line_count;
    world_run_for(&world, 10 * WORLD_TIMEOUT_MS);
    assert_in_range(world_count(&world, from, "b", "get"), 8 * 2, 13 * 2);
    assert_int_equal(world_count(&world, from, "b", "getChildren"), 0);
    assert_int_equal(sim_armed(b.port), 2);
    hold_give_back(&holds);
    hold_acquire_release(&waits, 1000);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(of_a_mutex, 0, SEEDS - 1),
        WORLD_SCENARIO(of_a_reader_behind_a_writer, 0, SEEDS - 1),
        WORLD_SCENARIO(of_a_writer_behind_a_reader, 0, SEEDS - 1),
        WORLD_SCENARIO(of_a_semaphore, 0, SEEDS - 1),
        WORLD_SCENARIO(of_lock_drivers, 0, 2 * SEEDS - 1),
        WORLD_SCENARIO(of_a_change_that_a_driver_waits_for, 0, SEEDS - 1),
        WORLD_SCENARIO(of_a_revocation, 0, SEEDS - 1),
        WORLD_SCENARIO(of_a_revocation_that_may_not_be_read, 0, SEEDS - 1),
        WORLD_SCENARIO(of_the_own_watch, 0, SEEDS - 1),
        WORLD_TEST(no_own_watch_is_left_on_what_is_gone),
        WORLD_TEST(it_is_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
