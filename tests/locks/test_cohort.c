/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex with a cohort: its znode goes from one local acquire to the next past somebody
 * else who waits, so often and for so long, and no further; and never unless asked for. */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define OURS 8
#define LATENCY_MS 10U
#define SOON_MS 2000U
#define LONG_MS 60000U

static struct world world;
static struct process processes[2];
static struct hold ours[OURS], theirs;
static uint32_t numbers[OURS]; /* at the grant, uvzk_hold_cohort */
static char story[32];         /* who was granted: digits of ours, "F" of theirs */
static int holding;

static void note(struct hold *hold)
{
    if (hold->answered == 0 || hold->status != 0 || hold->released > 0 ||
        hold->lost > 0) {
        return;
    }
    size_t length = strlen(story), i = (size_t)(hold - ours);
    assert_int_equal(holding, 0); /* tokens do not tell ours apart */
    if (hold == &theirs) {
        story[length] = 'F';
        assert_int_equal(uvzk_hold_cohort(&hold->request), 0);
    } else {
        story[length] = (char)('0' + i);
        numbers[i] = uvzk_hold_cohort(&hold->request);
    }
    story[length + 1] = '\0';
    holding++;
}

static void begin(void *const *state, uint32_t handovers, uint32_t ms)
{
    const unsigned *tuning = *state;

    memset(ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    memset(numbers, 0, sizeof(numbers));
    story[0] = '\0';
    holding = 0;
    world_begin_exact_two(&world, *tuning, LATENCY_MS, &processes[0], &processes[1]);
    if (handovers > 0) {
        process_make_cohort(&processes[0], handovers, ms);
    }
    world_make_path(&world, WORLD_PATH);
    world_run_for(&world, SOON_MS);
}

static void ask(struct hold *hold, struct process *process)
{
    hold_begin(hold, process, UVZK_WAIT_FOREVER);
    hold->hook = note;
    world_run_for(&world, SOON_MS);
}

/* Ours, theirs, then all the others of ours. */
static void line_up(void)
{
    ask(&ours[0], &processes[0]);
    ask(&theirs, &processes[1]);
    for (int i = 1; i < OURS; i++) {
        ask(&ours[i], &processes[0]);
    }
    assert_string_equal(story, "0");
}

static void let_go(struct hold *hold)
{
    holding--;
    hold_release(hold);
    world_run_for(&world, SOON_MS);
    assert_int_equal(hold->release_status, 0);
}

/* Whoever has it lets it go, until nobody wants it. */
static void drain(void)
{
    for (size_t i = 0; story[i] != '\0'; i++) {
        let_go(story[i] == 'F' ? &theirs : &ours[story[i] - '0']);
    }
    assert_int_equal(strlen(story), OURS + 1);
}

/* ------------------------------------------------------------------------ the bound */

static void test_so_many_handovers_past_others_and_no_more(void **state)
{
    begin(state, 3, LONG_MS);
    line_up();
    drain();
    assert_string_equal(story, "0123F4567");
    world_end(&world);
}

/* Each holds for SOON_MS: two of them begin in the time that there is. */
static void test_so_long_past_others_and_no_longer(void **state)
{
    begin(state, 1000, 1);
    line_up(); /* which takes longer */
    drain();
    assert_string_equal(story, "0F1234567");
    world_end(&world);
    begin(state, 1000, (OURS + 2) * SOON_MS);
    line_up();
    drain();
    assert_string_equal(story, "012F34567");
    world_end(&world);
}

static void test_never_unless_asked_for(void **state)
{
    begin(state, 0, 0);
    line_up();
    drain();
    assert_string_equal(story, "0F1234567");
    for (int i = 0; i < OURS; i++) {
        assert_int_equal(numbers[i], 0);
    }
    world_end(&world);
}

/* ------------------------------------------------------------------------ the token */

static void test_the_token_stays_and_that_is_told(void **state)
{
    begin(state, 3, LONG_MS);
    line_up();
    drain();
    for (int i = 1; i < OURS; i++) {
        if (i < 4) {
            assert_true(ours[i].token == ours[0].token);
        } else {
            assert_true(ours[i].token > ours[i - 1].token);
        }
    }
    assert_true(theirs.token > ours[3].token && ours[4].token > theirs.token);
    for (int i = 0; i < OURS; i++) {
        assert_int_equal(numbers[i], i < 4 ? i + 1 : 1);
    }
    assert_int_equal(uvzk_hold_cohort(&ours[0].request), 0); /* it is over */
    assert_int_equal(uvzk_hold_cohort(NULL), 0);
    world_end(&world);
}

/* Where nobody else stands between each has its own znode, as ever. */
static void test_tokens_grow_where_nobody_else_waits(void **state)
{
    begin(state, 3, LONG_MS);
    for (int i = 0; i < OURS; i++) {
        ask(&ours[i], &processes[0]);
    }
    for (int i = 0; i < OURS; i++) {
        let_go(&ours[i]);
        assert_int_equal(numbers[i], 1);
        assert_true(i == 0 || ours[i].token > ours[i - 1].token);
    }
    assert_string_equal(story, "01234567");
    world_end(&world);
}

/* ---------------------------------------------------------------------- who goes on */

static void test_who_gives_up_is_passed_over(void **state)
{
    begin(state, 3, LONG_MS);
    line_up();
    hold_cancel(&ours[1]);
    world_run_for(&world, SOON_MS);
    let_go(&ours[0]);
    assert_string_equal(story, "02");
    for (int i = 3; i < OURS; i++) {
        hold_cancel(&ours[i]);
    }
    world_run_for(&world, SOON_MS);
    let_go(&ours[2]);
    assert_string_equal(story, "02F");
    let_go(&theirs);
    world_end(&world);
}

/* Its own locks on one path do not share a cohort, and nobody of ours is passed. */
static void beside_another_lock(void **state, bool with_cohort)
{
    uvzk_mutex_t other;

    begin(state, 3, LONG_MS);
    memset(&other, 0, sizeof(other));
    uvzk_client_t *client = &processes[0].client;
    assert_int_equal(
        with_cohort ? uvzk_mutex_init_with_cohort(client, &other, WORLD_PATH, 3, LONG_MS)
                    : uvzk_mutex_init(client, &other, WORLD_PATH),
        0);
    ask(&ours[0], &processes[0]);
    ask(&theirs, &processes[1]);
    hold_begin_on(&ours[1], &processes[0], &other, 0, UVZK_WAIT_FOREVER);
    ours[1].hook = note;
    world_run_for(&world, SOON_MS);
    ask(&ours[2], &processes[0]);
    let_go(&ours[0]);
    assert_string_equal(story, "0F");
    let_go(&theirs);
    let_go(&ours[1]);
    let_go(&ours[2]);
    assert_string_equal(story, "0F12");
    assert_int_equal(uvzk_lock_close(&other, NULL), 0);
    world_end(&world);
}

static void test_another_lock_of_the_client_is_not_passed(void **state)
{
    beside_another_lock(state, false);
    beside_another_lock(state, true);
}

/* What the znode says is the holder's. */
static void test_other_data_is_another_znode(void **state)
{
    uvzk_acquire_options_t options;

    begin(state, 3, LONG_MS);
    uvzk_acquire_options_init(&options);
    options.node_data = "mine";
    options.node_data_length = 4;
    ask(&ours[0], &processes[0]);
    ask(&theirs, &processes[1]);
    assert_int_equal(hold_ask(&ours[1], &processes[0], NULL, &options), 0);
    ours[1].hook = note;
    world_run_for(&world, SOON_MS);
    let_go(&ours[0]);
    assert_string_equal(story, "0F");
    let_go(&theirs);
    let_go(&ours[1]);
    world_end(&world);
}

/* The znode is lost with its session, for whoever has it. */
static void test_the_session_ends_under_a_cohort(void **state)
{
    begin(state, 3, LONG_MS);
    line_up();
    let_go(&ours[0]);
    assert_string_equal(story, "01");
    holding--;
    process_expire(&processes[0]);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(ours[1].reason, UVZK_EEXPIRED);
    assert_string_equal(story, "01F");
    let_go(&theirs);
    world_end(&world);
}

static void test_a_lock_that_closes_hands_nothing_on(void **state)
{
    begin(state, 3, LONG_MS);
    line_up();
    holding--;
    process_close_mutex(&processes[0]);
    world_run_for(&world, SOON_MS);
    assert_int_equal(ours[0].reason, UVZK_ECLOSED);
    assert_string_equal(story, "0F");
    for (int i = 1; i < OURS; i++) {
        assert_int_equal(ours[i].status, UVZK_ECLOSED);
    }
    let_go(&theirs);
    world_end(&world);
}

/* ------------------------------------------------------------------------- refusals */

static void test_bounds_are_bounded(void **state)
{
    static const uint32_t bad[][2] = {{0, 1}, {1001, 1}, {1, 0}, {1, 60001}};
    uvzk_mutex_t mutex;
    uvzk_multilock_t multilock;
    uvzk_lock_t *members[] = {&mutex};

    begin(state, 0, 0);
    memset(&mutex, 0, sizeof(mutex));
    memset(&multilock, 0, sizeof(multilock));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(uvzk_mutex_init_with_cohort(&processes[0].client, &mutex, "/c",
                                                     bad[i][0], bad[i][1]),
                         UV_EINVAL);
        assert_non_null(strstr(uvzk_refusal(UV_EINVAL), i < 2 ? "handovers" : "ms"));
    }
    assert_int_equal(
        uvzk_mutex_init_with_cohort(&processes[0].client, &mutex, "/c", 1000, 60000), 0);
    assert_int_equal(
        uvzk_multilock_init(&processes[0].client, &multilock, members, 1, 0, NULL),
        UV_EINVAL);
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), "cohort"));
    assert_int_equal(uvzk_lock_close(&mutex, NULL), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_so_many_handovers_past_others_and_no_more),
        WORLD_TEST(test_so_long_past_others_and_no_longer),
        WORLD_TEST(test_never_unless_asked_for),
        WORLD_TEST(test_the_token_stays_and_that_is_told),
        WORLD_TEST(test_tokens_grow_where_nobody_else_waits),
        WORLD_TEST(test_who_gives_up_is_passed_over),
        WORLD_TEST(test_another_lock_of_the_client_is_not_passed),
        WORLD_TEST(test_other_data_is_another_znode),
        WORLD_TEST(test_the_session_ends_under_a_cohort),
        WORLD_TEST(test_a_lock_that_closes_hands_nothing_on),
        WORLD_TEST(test_bounds_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
