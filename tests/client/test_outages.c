/* SPDX-License-Identifier: Apache-2.0 */
/* What an outage or a pause costs a client that holds a lock or waits for one, by its
 * length: the table of docs/operations.md, which begins with "| T |". Its rows are read
 * from the page, whose path is the first argument. */
#include "world.h"

#include <stdio.h>

#define SEEDS 10U
#define ROWS_MAX 8U

/* In seconds. `unreachable`: the client reaches no server, or does not run. */
struct row {
    unsigned timeout;
    unsigned lock_kept, lock_lost;   /* shorter than, longer than */
    unsigned place_kept, place_lost; /* the client is unreachable */
    unsigned away_kept, away_lost;   /* the place; all servers were away */
};

static const char *page;
static struct world world;
static struct process a, b;
static struct hold held, waits;

/* --------------------------------------------------------------------- what happens */

static void network_fails(struct process *process, uint64_t ms)
{
    sim_disconnect(process->port, world.seed % 2 == 0 ? SIM_SILENT : SIM_RESET, ms);
}

static void servers_are_away(struct process *process, uint64_t ms)
{
    (void)process;
    sim_restart(world.sim, ms);
}

static void process_is_stopped(struct process *process, uint64_t ms)
{
    sim_pause(process->port, ms);
}

static void loop_is_late(struct process *process, uint64_t ms)
{
    sim_stall(process->port, ms);
}

typedef void event(struct process *process, uint64_t ms);

/* ------------------------------------------------------------------------ the costs */

static void begin(struct process *process, const char *name, unsigned timeout_ms)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.session_timeout_ms = timeout_ms;
    process_begin(process, &world, name, &options);
}

/* Lets the proofs of ownership, and so the moment of the event, fall anywhere. */
static void run_a_while(unsigned timeout_ms)
{
    world_run_for(&world, 1 + sim_random(world.sim, timeout_ms));
    world_run_for(&world, timeout_ms);
}

static void end(unsigned timeout_ms)
{
    world_run_for(&world, 2 * timeout_ms); /* sessions that were given up have ended */
    world_release_all(&world);
    world_end(&world);
}

/* Returns true if a holder loses its lock. */
static bool lock_is_lost(uint64_t seed, void *const *state, unsigned timeout_ms,
                         event *happens, uint64_t ms)
{
    world_begin(&world, seed, state);
    begin(&a, "a", timeout_ms);
    hold_take(&held, &a);
    assert_int_equal(uvzk_client_session_timeout(&a.client), timeout_ms);
    run_a_while(timeout_ms);
    happens(&a, ms);
    world_run_for(&world, ms + timeout_ms / 2);
    bool lost = held.lost != 0;
    end(timeout_ms);
    return lost;
}

static void expect_lock(uint64_t seed, void *const *state, unsigned timeout_ms,
                        event *happens, uint64_t ms, bool lost)
{
    if (lock_is_lost(seed, state, timeout_ms, happens, ms) != lost) {
        fail_msg("T = %u ms, %u ms, seed %u: the lock is %s", timeout_ms, (unsigned)ms,
                 (unsigned)seed, lost ? "kept" : "lost");
    }
}

/* Returns true if the waiter has lost its place. A server that ends the session first
 * tells of the deleted znode. A waiter that reads this, and is not told of the end of the
 * session in the same turn, queues again. */
static bool place_is_lost(void)
{
    bool expired = waits.answered > 0 && waits.status == UVZK_EEXPIRED;
    size_t made = world_znodes_made(&world, 0, "b");

    assert_true(expired || waits.answered == 0 || waits.status == 0);
    assert_in_range(made, 1, expired ? 1 : 2);
    return expired || made == 2;
}

/* Whether a waiter loses its place. */
static void expect_place(uint64_t seed, void *const *state, const struct row *row,
                         event *happens, uint64_t ms, bool lost)
{
    world_begin(&world, seed, state);
    begin(&a, "a", row->timeout * 1000);
    begin(&b, "b", row->timeout * 1000);
    hold_take(&held, &a);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    run_a_while(row->timeout * 1000);
    happens(&b, ms);
    world_run_for(&world, ms + 500 * row->timeout);
    if (place_is_lost() != lost) {
        fail_msg("T = %u s, %u ms: the place is %s", row->timeout, (unsigned)ms,
                 lost ? "kept" : "lost");
    }
    end(row->timeout * 1000);
}

/* ------------------------------------------------------------------------ the table */

static size_t read_rows(struct row *rows)
{
    size_t count = 0;
    char line[1024];
    FILE *file = fopen(page, "r");

    assert_non_null(file);
    while (count < ROWS_MAX && fgets(line, sizeof(line), file) != NULL) {
        struct row *row = &rows[count];
        count += sscanf(line, "| %u s | %u s | %u s | %u s | %u s | %u s | %u s |",
                        &row->timeout, &row->lock_kept, &row->lock_lost, &row->place_kept,
                        &row->place_lost, &row->away_kept, &row->away_lost) == 7;
    }
    fclose(file);
    return count;
}

#define EVENTS 4
static event *const events_of_locks[EVENTS] = {network_fails, servers_are_away,
                                               process_is_stopped, loop_is_late};

static void test_lock(const struct row *row, uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < EVENTS; i++) {
        expect_lock(seed, state, row->timeout * 1000, events_of_locks[i],
                    row->lock_kept * UINT64_C(1000), false);
        expect_lock(seed, state, row->timeout * 1000, events_of_locks[i],
                    row->lock_lost * UINT64_C(1000), true);
    }
}

static void test_place(const struct row *row, uint64_t seed, void *const *state)
{
    event *const events[] = {network_fails, process_is_stopped};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        expect_place(seed, state, row, events[i], row->place_kept * UINT64_C(1000),
                     false);
        expect_place(seed, state, row, events[i], row->place_lost * UINT64_C(1000), true);
    }
    expect_place(seed, state, row, servers_are_away, row->away_kept * UINT64_C(1000),
                 false);
    expect_place(seed, state, row, servers_are_away, row->away_lost * UINT64_C(1000),
                 true);
    /* The C client's thread keeps the session alive. */
    expect_place(seed, state, row, loop_is_late, row->away_lost * UINT64_C(1000), false);
}

static void test_table(void **state)
{
    struct row rows[ROWS_MAX];
    size_t count = read_rows(rows);

    assert_in_range(count, 3, ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            test_lock(&rows[i], seed, state);
            test_place(&rows[i], seed, state);
        }
    }
}

/* ------------------------------------------------------------------ the second table */

/* From so many tenths of a tick on, outages shorter than so many percent of T cost no
 * lock. */
struct bound {
    unsigned tenths, percent;
};

#define BOUNDS 2
#define TICK_MS 2000U
#define LONGEST 46U /* tenths of a tick; the first table has longer ones */
#define BOUND_SEEDS 40U

static void read_bounds(struct bound bounds[BOUNDS])
{
    unsigned whole, tenth;
    size_t count = 0;
    char line[1024];
    FILE *file = fopen(page, "r");

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        struct bound bound;
        if (sscanf(line, "| from %u.%u ticks | %u%% of T |", &whole, &tenth,
                   &bound.percent) == 3) {
            assert_in_range(count, 0, BOUNDS - 1);
            bound.tenths = 10 * whole + tenth;
            bounds[count++] = bound;
        }
    }
    fclose(file);
    assert_int_equal(count, BOUNDS);
}

static unsigned losses(void *const *state, unsigned timeout_ms, unsigned percent)
{
    unsigned lost = 0;

    for (uint64_t seed = 1; seed <= BOUND_SEEDS; seed++) {
        lost += lock_is_lost(seed, state, timeout_ms, events_of_locks[seed / 2 % EVENTS],
                             timeout_ms * percent / 100 - 10);
    }
    return lost;
}

static void test_bounds(void **state)
{
    struct bound bounds[BOUNDS];

    read_bounds(bounds);
    for (size_t i = 0; i < BOUNDS; i++) {
        unsigned end = i + 1 < BOUNDS ? bounds[i + 1].tenths - 1 : LONGEST;
        for (unsigned tenths = bounds[i].tenths; tenths <= end; tenths += 3) {
            unsigned timeout_ms = tenths * TICK_MS / 10;
            unsigned lost = losses(state, timeout_ms, bounds[i].percent);
            if (lost > 0) {
                fail_msg("T = %u ms: %u of %u locks are lost", timeout_ms, lost,
                         BOUND_SEEDS);
            }
        }
    }
    /* The second bound is none for the timeouts of the first. */
    assert_in_range(losses(state, 3 * TICK_MS, bounds[1].percent), 1, BOUND_SEEDS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_table), WORLD_TEST(test_bounds)};

    assert_int_equal(argc, 2);
    page = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
