/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-716 and the herds behind it: one release wakes every waiter of a shared
 * lock object, each of which lists all children and sets its watch again. Here a
 * release costs what two waiters need, however many there are. */
#include "world.h"

#define MANY 24U
#define SEEDS 4U

/* Of one handover, apart from the release's own delete. Who is woken looks once at
 * those that stood before its predecessor. */
#define WAKE_REQUESTS 1U

/* The one behind it prepares: it lists, and watches its predecessor and its own node. It
 * is then granted without a request. */
#define PREPARE_REQUESTS 3U

static struct world world;
static struct process processes[MANY];
static struct hold holds[MANY];

/* Sessions so long that no proof or touch falls due while requests are counted. */
static void begin_process(size_t i, const char *name)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.session_timeout_ms = 600000;
    process_begin(&processes[i], &world, name, &options);
}

static void ask(size_t i, size_t process)
{
    hold_begin(&holds[i], &processes[process], UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
}

static uint64_t submitted(size_t i)
{
    return sim_submitted(processes[i].port);
}

static void hand_over(size_t i, uint64_t ms)
{
    hold_give_back(&holds[i]);
    hold_await(&holds[i + 1], ms);
}

static bool prepares(void)
{
    return (world.tuning & UVZK__TUNE_PREPARE) != 0;
}

/* What a handover from process i costs process j. */
static uint64_t most_requests(size_t i, size_t j)
{
    if (j == i) {
        return 1;
    }
    if (j == i + 1) {
        return prepares() ? 0 : WAKE_REQUESTS;
    }
    return j == i + 2 && prepares() ? PREPARE_REQUESTS : 0;
}

/* How many events it brings: the predecessor's; that of the one before the predecessor, if
 * the process prepares; and its own, if it had an own watch. */
static size_t events(size_t i, size_t j)
{
    return j == i + 1 || (j == i && (prepares() ? i >= 1 : i == 1)) ||
           (j == i + 2 && prepares());
}

/* One process each: all but the one who releases, the one who is next and the one who
 * prepares are left in peace. */
static void others_are_left_in_peace(uint64_t seed, void *const *state)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    uint64_t before[8];

    world_begin(&world, seed, state);
    for (size_t i = 0; i < count; i++) {
        begin_process(i, names[i]);
        ask(i, i);
    }
    world_run_for(&world, 1000); /* the sessions' first touches */
    for (size_t i = 0; i + 1 < count; i++) {
        size_t from = world.line_count;
        for (size_t j = 0; j < count; j++) {
            before[j] = submitted(j);
        }
        hand_over(i, 100);
        world_run_for(&world, 200);
        for (size_t j = 0; j < count; j++) {
            uint64_t cost = submitted(j) - before[j];
            assert_in_range(cost, 0, most_requests(i, j));
            assert_int_equal(world_count(&world, from, names[j], "watch "), events(i, j));
        }
    }
    hold_give_back(&holds[count - 1]);
    world_end(&world);
}

/* All in one process and on one mutex: the same, and each handover costs the same in
 * front of many as in front of few. */
static uint64_t drain(void *const *state, uint64_t seed, size_t count)
{
    uint64_t most = 0;

    world_begin(&world, seed, state);
    begin_process(0, "a");
    ask(0, 0);
    for (size_t i = 1; i < count; i++) {
        hold_begin(&holds[i], &processes[0], UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 1000);
    for (size_t i = 0; i + 1 < count; i++) {
        uint64_t before = submitted(0);
        hand_over(i, 200);
        world_run_for(&world, 500);
        uint64_t cost = submitted(0) - before;
        most = cost > most ? cost : most;
        for (size_t j = i + 2; j < count; j++) {
            assert_int_equal(holds[j].answered, 0);
        }
    }
    hold_give_back(&holds[count - 1]);
    world_end(&world);
    return most;
}

static void the_cost_does_not_grow_with_the_crowd(uint64_t seed, void *const *state)
{
    uint64_t few = drain(state, seed, 4);
    uint64_t many = drain(state, seed, MANY);

    assert_in_range(few, 1, 1 + WAKE_REQUESTS);
    assert_in_range(many, 1, 1 + WAKE_REQUESTS);
}

/* A waiter of the same process that gives up disturbs nobody. */
static void giving_up_disturbs_nobody(uint64_t seed, void *const *state)
{
    world_begin(&world, seed, state);
    begin_process(0, "a");
    begin_process(1, "b");
    ask(0, 0);
    for (size_t i = 1; i <= 6; i++) {
        ask(i, 1);
    }
    uint64_t before = submitted(1);
    hold_cancel(&holds[4]);
    hold_await_status(&holds[4], 10, UV_ECANCELED);
    world_run_for(&world, 500);
    assert_int_equal(submitted(1) - before, 1); /* its delete */
    for (size_t i = 0; i <= 6; i++) {
        if (i != 4) {
            hold_acquire_release(&holds[i], 500);
        }
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(others_are_left_in_peace, 1, SEEDS),
        WORLD_SCENARIO(the_cost_does_not_grow_with_the_crowd, 1, SEEDS),
        WORLD_SCENARIO(giving_up_disturbs_nobody, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
