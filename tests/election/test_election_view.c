/* SPDX-License-Identifier: Apache-2.0 */
/* A view of an election (uvzk_participants_view_init_election), over the simulator: who takes
 * part, with which id, and who leads. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidate.h"
#include "failing_allocator.h"
#include "world.h"

#define LATCH "latch-"
#define SELECTOR "lock-"
#define MANY 100 /* more than are read at a time */
#define PATIENCE_MS 60000U

struct follower {
    uvzk_participants_view_t participants;
    int told, status, closed;
    size_t count;
    char ids[MANY + 1][32]; /* the leader first */
    int64_t tokens[MANY + 1];
};

static struct world world;
static struct process a, b;
static struct follower follower;

static void on_closed(uvzk_participants_view_t *participants)
{
    assert_ptr_equal(participants, &follower.participants);
    follower.closed++;
}

static void on_told(uvzk_participants_view_t *participants, int status,
                    const uvzk_result_t *result)
{
    assert_ptr_equal(participants, &follower.participants);
    assert_int_equal(follower.closed, 0);
    assert_true(status == 0 || result->count == 0);
    follower.told++;
    follower.status = status;
    follower.count = result->count;
    for (size_t i = 0; i < result->count; i++) {
        const uvzk_election_participant_t *one = result->participants[i];
        assert_int_equal(one->is_leader, i == 0);
        assert_int_equal(one->id_length, strlen(one->id));
        assert_true(one->token > 0);
        (void)snprintf(follower.ids[i], sizeof(follower.ids[i]), "%s", one->id);
        follower.tokens[i] = one->token;
    }
}

static int ask_view(uvzk_election_kind_t kind)
{
    memset(&follower, 0, sizeof(follower));
    follower.status = HOLD_NO_STATUS;
    return uvzk_participants_view_init_election(&a.client, &follower.participants,
                                                CANDIDATE_PATH, kind, 0, on_told);
}

static void open_view(uvzk_election_kind_t kind)
{
    assert_int_equal(ask_view(kind), 0);
}

static void close_view(void)
{
    assert_int_equal(uvzk_participants_view_close(&follower.participants, on_closed), 0);
    assert_true(world_await(&world, &follower.closed, PATIENCE_MS));
}

static void await_told(int times)
{
    uint64_t end = world_now(&world) + PATIENCE_MS;

    while (follower.told < times && world_now(&world) < end) {
        world_run_for(&world, 1);
    }
    assert_int_equal(follower.told, times);
}

static void expect_ids(int times, const char *const *ids, size_t count)
{
    await_told(times);
    assert_int_equal(follower.status, 0);
    assert_int_equal(follower.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(follower.ids[i], ids[i]);
    }
}
#define EXPECT_IDS(times, ...)                                                 \
    do {                                                                       \
        static const char *const expected[] = {__VA_ARGS__};                   \
        expect_ids((times), expected, sizeof(expected) / sizeof(expected[0])); \
    } while (0)

static void begin(void)
{
    candidates_reset();
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    world_run_for(&world, 100);
}

static void path_of(char *path, size_t size, const char *name, int number)
{
    (void)snprintf(path, size, CANDIDATE_PATH WORLD_FOREIGN_PREFIX "%s%010d", name,
                   number);
}

static void put(const char *name, int number, const char *id)
{
    char path[128];

    path_of(path, sizeof(path), name, number);
    assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
    assert_int_equal(sim_set_by_hand(world.sim, path, id, strlen(id)), 0);
}

static void take_away(const char *name, int number)
{
    char path[128];

    path_of(path, sizeof(path), name, number);
    assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
}

static void test_each_change_is_told(void **state)
{
    static const struct {
        uvzk_election_kind_t kind;
        const char *name, *other;
    } kinds[] = {{UVZK_ELECTION_LATCH, LATCH, SELECTOR},
                 {UVZK_ELECTION_SELECTOR, SELECTOR, LATCH}};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        const char *name = kinds[i].name;
        begin();
        open_view(kinds[i].kind);
        expect_ids(1, NULL, 0);
        world_make_path(&world, CANDIDATE_PATH);
        put(name, 8, "eight");
        EXPECT_IDS(2, "eight");
        put(name, 5, "five");
        EXPECT_IDS(3, "five", "eight");
        assert_true(follower.tokens[0] > follower.tokens[1]);
        put(kinds[i].other, 1, "of the other kind");
        world_run_for(&world, 5 * WORLD_TIMEOUT_MS); /* the watch is renewed, too */
        assert_int_equal(follower.told, 3);
        take_away(name, 5);
        EXPECT_IDS(4, "eight");
        close_view();
        world_release_and_end(&world);
    }
}

static void test_it_does_not_take_part(void **state)
{
    (void)state;
    begin();
    open_view(UVZK_ELECTION_LATCH);
    world_run_for(&world, 5000);
    assert_false(sim_exists(world.sim, CANDIDATE_PATH));
    assert_int_equal(process_contenders(&a), 0);
    close_view();
    assert_int_equal(sim_armed(a.port), 0);
    world_release_and_end(&world);
}

/* More than are read at a time; of a change, only what is new is read. */
static void test_many(void **state)
{
    char id[32];
    (void)state;

    begin();
    world_make_path(&world, CANDIDATE_PATH);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "number %d", i);
        put(LATCH, i, id);
    }
    open_view(UVZK_ELECTION_LATCH);
    await_told(1);
    assert_int_equal(follower.count, MANY);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "number %d", i);
        assert_string_equal(follower.ids[i], id);
    }
    uint64_t before = sim_submitted(a.port);
    put(LATCH, MANY, "one more");
    await_told(2);
    assert_int_equal(follower.count, MANY + 1);
    assert_string_equal(follower.ids[MANY], "one more");
    assert_int_equal(sim_submitted(a.port) - before, 2); /* a listing and a read */
    close_view();
    world_release_and_end(&world);
}

/* Candidates of uvzk: the first leads, and the next one when it has gone. */
static void test_real_ones(void **state)
{
    struct candidate first, second;
    (void)state;

    begin();
    open_view(UVZK_ELECTION_LATCH);
    expect_ids(1, NULL, 0);
    candidate_begin(&first, &b, "first");
    candidate_await_led(&first, 1, PATIENCE_MS);
    EXPECT_IDS(2, "first");
    assert_int_equal(follower.tokens[0], first.token);
    candidate_begin(&second, &a, "second");
    EXPECT_IDS(3, "first", "second");
    candidate_resign(&first); /* it goes to the end of the queue */
    candidate_await_led(&second, 1, PATIENCE_MS);
    world_run_for(&world, 1000);
    assert_int_equal(follower.count, 2);
    assert_string_equal(follower.ids[0], "second");
    candidate_end(&first);
    candidate_end(&second);
    world_run_for(&world, 1000);
    assert_int_equal(follower.count, 0);
    close_view();
    world_release_and_end(&world);
}

/* ---------------------------------------------------------------------- troubles */

static void test_one_that_may_not_be_read(void **state)
{
    char path[128];
    (void)state;

    begin();
    world_make_path(&world, CANDIDATE_PATH);
    put(LATCH, 1, "one");
    put(LATCH, 2, "two");
    path_of(path, sizeof(path), LATCH, 2);
    assert_int_equal(sim_set_readable(world.sim, path, false), 0);
    open_view(UVZK_ELECTION_LATCH);
    await_told(1);
    assert_int_equal(follower.status, UVZK_ENOAUTH);
    world_run_for(&world, 5 * WORLD_TIMEOUT_MS);
    assert_int_equal(follower.told, 1);
    assert_int_equal(sim_set_readable(world.sim, path, true), 0);
    EXPECT_IDS(2, "one", "two");
    close_view();
    world_release_and_end(&world);
}

/* It is listed, and gone before it is read: it is left out. */
static void test_one_that_leaves_before_it_is_read(void **state)
{
    (void)state;
    begin();
    world_make_path(&world, CANDIDATE_PATH);
    put(LATCH, 1, "one");
    put(LATCH, 2, "two");
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENONODE, 1);
    open_view(UVZK_ELECTION_LATCH);
    EXPECT_IDS(1, "two");
    put(LATCH, 3, "three");
    EXPECT_IDS(2, "two", "three");
    close_view();
    world_release_and_end(&world);
}

static void test_reads_that_are_lost_are_repeated(void **state)
{
    static const int codes[] = {UVZK_ETHROTTLED, UVZK_EZOOKEEPER};
    (void)state;

    for (size_t i = 0; i < 4; i++) {
        begin();
        a.may_log_errors = true;
        world_make_path(&world, CANDIDATE_PATH);
        put(LATCH, 1, "one");
        open_view(UVZK_ELECTION_LATCH);
        EXPECT_IDS(1, "one");
        put(LATCH, 2, "two");
        if (i < 2) {
            sim_refuse(world.sim, UVZK__RPC_GET, codes[i], 1);
        } else {
            while (sim_outstanding(a.port) == 0) { /* the event comes first */
                world_steps(&world, 1);
            }
            world_run_for(&world, i == 2 ? 2 : 3);
            sim_disconnect(a.port, SIM_RESET, 500);
        }
        world_run_for(&world, 3 * WORLD_TIMEOUT_MS);
        assert_int_equal(follower.status, 0);
        assert_int_equal(follower.count, 2);
        assert_true(i == 1 || follower.told == 2);
        close_view();
        world_release_and_end(&world);
    }
}

/* -------------------------------------------------------------------------- the calls */

static void unused(uvzk_participants_view_t *participants, int status,
                   const uvzk_result_t *result)
{
    (void)participants;
    (void)result;
    fail_msg("a call that was refused is answered: %s", uvzk_err_name(status));
}

static int init(uvzk_participants_view_t *participants, const char *path, unsigned kind)
{
    return uvzk_participants_view_init_election(&a.client, participants, path, kind, 0,
                                                unused);
}

static void test_bad_calls_are_refused(void **state)
{
    uvzk_participants_view_t participants = {0};
    (void)state;

    begin();
    assert_int_equal(init(NULL, "/e", UVZK_ELECTION_LATCH), UV_EINVAL);
    assert_int_equal(init(&participants, NULL, UVZK_ELECTION_LATCH), UV_EINVAL);
    assert_int_equal(init(&participants, "e", UVZK_ELECTION_LATCH), UVZK_EPATH);
    assert_int_equal(init(&participants, "/e", 2), UV_EINVAL);
    assert_int_equal(
        uvzk_participants_view_init_election(NULL, &participants, "/e", 0, 0, unused),
        UV_EINVAL);
    assert_int_equal(
        uvzk_participants_view_init_election(&a.client, &participants, "/e", 0, 0, NULL),
        UV_EINVAL);
    assert_null(participants.impl);
    world_release_and_end(&world);
}

/* Also while the znodes are read, and with the client. */
static bool closes_after(int steps, bool client)
{
    begin();
    world_make_path(&world, CANDIDATE_PATH);
    put(LATCH, 1, "one");
    open_view(UVZK_ELECTION_LATCH);
    for (int i = 0; i < steps && follower.told == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = follower.told == 0;
    int told = follower.told;
    if (client) {
        process_close(&a);
        world_run_for(&world, 5000);
        assert_null(follower.participants.impl);
    } else {
        close_view();
    }
    assert_int_equal(follower.told, told);
    world_release_and_end(&world);
    return in_time;
}

static void test_closing_at_every_step(void **state)
{
    (void)state;
    for (int client = 0; client < 2; client++) {
        int steps = 0;
        while (closes_after(steps, client != 0)) {
            steps++;
        }
        assert_true(steps > 4);
    }
}

static bool run_with(uint64_t fails)
{
    begin();
    a.may_log_errors = true;
    world_make_path(&world, CANDIDATE_PATH);
    put(LATCH, 1, "one");
    put(LATCH, 2, "two");
    failing_allocator_arm(fails, 1);
    int status = ask_view(UVZK_ELECTION_LATCH);
    assert_true(status == 0 || status == UV_ENOMEM);
    world_run_for(&world, 1000);
    put(LATCH, 3, "three");
    take_away(LATCH, 1);
    world_run_for(&world, 1000);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_stop();
    if (status == 0) {
        assert_int_equal(follower.status, 0);
        assert_int_equal(follower.count, 2);
        assert_string_equal(follower.ids[0], "two");
        assert_string_equal(follower.ids[1], "three");
        close_view();
    } else {
        assert_null(follower.participants.impl);
    }
    world_release_and_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void test_out_of_memory(void **state)
{
    uint64_t fails = 1;
    (void)state;

    while (run_with(fails)) {
        fails++;
    }
    assert_true(fails > 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_change_is_told),
        cmocka_unit_test(test_it_does_not_take_part),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_real_ones),
        cmocka_unit_test(test_one_that_may_not_be_read),
        cmocka_unit_test(test_one_that_leaves_before_it_is_read),
        cmocka_unit_test(test_reads_that_are_lost_are_repeated),
        cmocka_unit_test(test_bad_calls_are_refused),
        cmocka_unit_test(test_closing_at_every_step),
        cmocka_unit_test(test_out_of_memory),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("election view", tests, NULL, NULL);
}
