/* CVE-2024-23944: servers since its mend do not deliver a watch's event to who may not
 * READ the znode at that moment, and the watch is used up. A waiter of Curator's then
 * waits for as long as its connection lasts. Here whoever waits on a watch looks again,
 * about once a session timeout.
 *
 *   waits ── the event is lost ── looks again ── is served
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "drivers.h"

#define SEEDS 4U
#define SETTLED_MS 500U
/* A quarter later than a session timeout, and some round trips. */
#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)

struct pair {
    struct world world;
    struct process a, b;
    struct hold holds, waits;
};

static void begin(struct pair *pair, uint64_t seed, void *const *state)
{
    memset(pair, 0, sizeof(*pair));
    world_begin_two(&pair->world, seed, state, &pair->a, &pair->b);
}

/* A has this lock and B waits for its own, the same one. A lets go, and B's next events
 * are lost. */
static void check_served(struct pair *pair, uvzk_lock_t *of_a, uvzk_lock_t *of_b,
                         uint32_t leases)
{
    hold_take_on(&pair->holds, &pair->a, of_a, leases);
    hold_begin_on(&pair->waits, &pair->b, of_b, leases, UVZK_WAIT_FOREVER);
    world_run_for(&pair->world, SETTLED_MS);
    assert_int_equal(pair->waits.answered, 0);
    sim_lose_events(pair->b.port, 1000);
    hold_give_back(&pair->holds);
    world_run_for(&pair->world, SETTLED_MS);
    assert_int_equal(pair->waits.answered, 0); /* it was lost indeed */
    hold_await(&pair->waits, AGAIN_MS);
    sim_lose_events(pair->b.port, 0);
    hold_give_back(&pair->waits);
    world_end(&pair->world);
}

static void of_a_mutex(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pair pair;

        begin(&pair, seed, state);
        check_served(&pair, &pair.a.mutex, &pair.b.mutex, 1);
    }
}

enum half { READS, WRITES };

static void check_halves(void *const *state, enum half first, enum half second)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_rwlock_t of_a = {.read = {0}}, of_b = {.read = {0}};
        struct pair pair;

        begin(&pair, seed, state);
        assert_int_equal(uvzk_rwlock_init(&pair.a.client, &of_a, "/rw"), 0);
        assert_int_equal(uvzk_rwlock_init(&pair.b.client, &of_b, "/rw"), 0);
        check_served(&pair, first == READS ? &of_a.read : &of_a.write,
                     second == READS ? &of_b.read : &of_b.write, 1);
    }
}

static void of_a_reader_behind_a_writer(void **state)
{
    check_halves(state, WRITES, READS);
}

static void of_a_writer_behind_a_reader(void **state)
{
    check_halves(state, READS, WRITES);
}

/* The watch is on the leases, all of which A has, and not on a ticket. */
static void of_a_semaphore(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_semaphore_t of_a = {0}, of_b = {0};
        struct pair pair;

        begin(&pair, seed, state);
        assert_int_equal(uvzk_semaphore_init(&pair.a.client, &of_a, "/s", 3, NULL), 0);
        assert_int_equal(uvzk_semaphore_init(&pair.b.client, &of_b, "/s", 3, NULL), 0);
        check_served(&pair, &of_a, &of_b, 2);
    }
}

static void of_lock_drivers(void **state)
{
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        uvzk_lock_driver_t driver;
        struct pair pair;

        if (seed % 2 == 0) {
            exclusive_driver(&driver);
        } else {
            n_leases_driver(&driver, 1);
        }
        begin(&pair, seed, state);
        process_drive(&pair.a, &driver);
        process_drive(&pair.b, &driver);
        check_served(&pair, &pair.a.mutex, &pair.b.mutex, 1);
    }
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

static void of_a_change_that_a_driver_waits_for(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_lock_driver_t driver;
        struct pair pair;

        begin(&pair, seed, state);
        n_leases_driver(&driver, 1);
        driver.gets_the_lock = counts_asks;
        process_drive(&pair.a, &driver);
        process_drive(&pair.b, &driver);
        hold_take_on(&pair.holds, &pair.a, &pair.a.mutex, 1);
        hold_begin_on(&pair.waits, &pair.b, &pair.b.mutex, 1, UVZK_WAIT_FOREVER);
        world_run_for(&pair.world, SETTLED_MS);
        changed_asked = 0;
        sim_lose_events(pair.b.port, 1);
        assert_int_equal(sim_set_by_hand(pair.world.sim, pair.holds.path, "x", 1), 0);
        world_run_for(&pair.world, SETTLED_MS);
        assert_int_equal(changed_asked, 0);
        assert_true(world_await(&pair.world, &changed_asked, AGAIN_MS));
        hold_give_back(&pair.holds);
        hold_await(&pair.waits, 1000);
        hold_give_back(&pair.waits);
        world_end(&pair.world);
    }
}

static void on_revoked(uvzk_hold_t *request)
{
    struct hold *hold = request->data;

    hold->revoked++;
}

/* A plea, to who holds. */
static void of_a_revocation(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_acquire_options_t options;
        struct pair pair;

        begin(&pair, seed, state);
        uvzk_acquire_options_init(&options);
        options.revoke_cb = on_revoked;
        assert_int_equal(hold_ask(&pair.holds, &pair.a, &pair.a.mutex, &options), 0);
        hold_await(&pair.holds, 1000);
        world_run_for(&pair.world, SETTLED_MS);
        sim_lose_events(pair.a.port, 1);
        assert_int_equal(
            sim_set_by_hand(pair.world.sim, pair.holds.path, "__REVOKE__", 10), 0);
        world_run_for(&pair.world, SETTLED_MS);
        assert_int_equal(pair.holds.revoked, 0);
        assert_true(world_await(&pair.world, &pair.holds.revoked, AGAIN_MS));
        assert_true(hold_holds(&pair.holds));
        hold_give_back(&pair.holds);
        world_end(&pair.world);
    }
}

/* Whoever may not read what was written to it holds all the same. */
static void of_a_revocation_that_may_not_be_read(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_acquire_options_t options;
        struct pair pair;

        begin(&pair, seed, state);
        uvzk_acquire_options_init(&options);
        options.revoke_cb = on_revoked;
        assert_int_equal(hold_ask(&pair.holds, &pair.a, &pair.a.mutex, &options), 0);
        hold_await(&pair.holds, 1000);
        world_run_for(&pair.world, SETTLED_MS);
        sim_refuse(pair.world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 3);
        assert_int_equal(
            sim_set_by_hand(pair.world.sim, pair.holds.path, "__REVOKE__", 10), 0);
        assert_true(world_await(&pair.world, &pair.holds.revoked, 4 * AGAIN_MS));
        assert_true(hold_holds(&pair.holds));
        hold_give_back(&pair.holds);
        world_end(&pair.world);
    }
}

/* Of the second in line, while its guard does not hear of it. */
static void delete_unheard(struct pair *pair, char *path, size_t size)
{
    const char *names[2];

    assert_int_equal(sim_children(pair->world.sim, WORLD_PATH, names, 2), 2);
    (void)snprintf(path, size, WORLD_PATH "/%s", names[1]);
    sim_lose_events(pair->b.port, 1);
    assert_int_equal(sim_delete_by_hand(pair->world.sim, path), 0);
    sim_lose_events(pair->b.port, 0);
}

/* Silence is not believed for longer than that: B's znode is deleted by hand after a
 * while, and its guard does not tell. It is not granted on it, although there are proofs
 * of something else that B holds. */
static void of_the_guard_on_ones_own_znode(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uvzk_mutex_t another = {0};
        struct hold other;
        struct pair pair;
        char path[128];

        begin(&pair, seed, state);
        assert_int_equal(uvzk_mutex_init(&pair.b.client, &another, "/another"), 0);
        hold_take_on(&other, &pair.b, &another, 1);
        hold_take_on(&pair.holds, &pair.a, &pair.a.mutex, 1);
        hold_begin_on(&pair.waits, &pair.b, &pair.b.mutex, 1, UVZK_WAIT_FOREVER);
        world_run_for(&pair.world, WORLD_TIMEOUT_MS + SETTLED_MS);
        delete_unheard(&pair, path, sizeof(path));
        hold_give_back(&pair.holds);
        hold_await(&pair.waits, 1000); /* by another znode */
        assert_string_not_equal(pair.waits.path, path);
        world_run_for(&pair.world, SETTLED_MS);
        assert_true(hold_holds(&pair.waits));
        hold_give_back(&pair.waits);
        hold_give_back(&other);
        world_end(&pair.world);
    }
}

/* A listing shows first that a znode is gone: its guard is not taken for that of the
 * next one. */
static void no_guard_is_left_on_what_is_gone(void **state)
{
    for (uint64_t seed = 1; seed < 2 * SEEDS; seed += 2) { /* it asks for its place */
        uvzk_acquire_options_t options;
        struct hold later;
        struct pair pair;
        char path[128];

        begin(&pair, seed, state);
        uvzk_acquire_options_init(&options);
        hold_take_on(&pair.holds, &pair.a, &pair.a.mutex, 1);
        hold_begin_on(&pair.waits, &pair.b, &pair.b.mutex, 1, UVZK_WAIT_FOREVER);
        world_run_for(&pair.world, SETTLED_MS);
        assert_int_equal(sim_armed(pair.b.port), 2);
        delete_unheard(&pair, path, sizeof(path));
        assert_int_equal(hold_ask(&later, &pair.b, &pair.b.mutex, &options), 0);
        world_run_for(&pair.world, SETTLED_MS);
        assert_int_equal(world_queue_length(&pair.world), 3);
        assert_int_equal(sim_armed(pair.b.port), 2); /* for who is first now */
        hold_give_back(&pair.holds);
        hold_await(&later, 1000);
        hold_give_back(&later);
        hold_await(&pair.waits, 1000);
        hold_give_back(&pair.waits);
        world_end(&pair.world);
    }
}

/* While nothing is lost it costs hardly anything: two requests, now and then. */
static void it_is_slow(void **state)
{
    struct pair pair;

    begin(&pair, 1, state);
    hold_take_on(&pair.holds, &pair.a, &pair.a.mutex, 1);
    hold_begin_on(&pair.waits, &pair.b, &pair.b.mutex, 1, UVZK_WAIT_FOREVER);
    world_run_for(&pair.world, SETTLED_MS);
    size_t from = pair.world.line_count;
    world_run_for(&pair.world, 10 * WORLD_TIMEOUT_MS);
    assert_in_range(world_count(&pair.world, from, "b", "get"), 8 * 2, 13 * 2);
    assert_int_equal(world_count(&pair.world, from, "b", "getChildren"), 0);
    assert_int_equal(sim_armed(pair.b.port), 2);
    hold_give_back(&pair.holds);
    hold_await(&pair.waits, 1000);
    hold_give_back(&pair.waits);
    world_end(&pair.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(of_a_mutex),
        WORLD_TEST(of_a_reader_behind_a_writer),
        WORLD_TEST(of_a_writer_behind_a_reader),
        WORLD_TEST(of_a_semaphore),
        WORLD_TEST(of_lock_drivers),
        WORLD_TEST(of_a_change_that_a_driver_waits_for),
        WORLD_TEST(of_a_revocation),
        WORLD_TEST(of_a_revocation_that_may_not_be_read),
        WORLD_TEST(of_the_guard_on_ones_own_znode),
        WORLD_TEST(no_guard_is_left_on_what_is_gone),
        WORLD_TEST(it_is_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
