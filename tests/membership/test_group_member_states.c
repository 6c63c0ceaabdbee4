/* SPDX-License-Identifier: Apache-2.0 */
/* One play with a group member that goes through every state of the request that lists its
 * group, disturbed at every single event, in every way there is: when the disturbance is over
 * the list is what it is to be, and nothing is left after the close. Which states the
 * disturbances have met is counted: none may be missing. The same play while the n-th
 * allocation fails. */
#include "disturbed_play.h"

#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "group_process.h"

#define OWN GROUP_PROCESS_PATH "/c"
#define OTHER GROUP_PROCESS_PATH "/x"

struct play {
    struct play_stage stage;
    struct group_process c;
    bool opened_again;
};

/* -------------------------------------------------------------------- the actions */

static void set(struct play *play, const char *data)
{
    int status = group_process_set(&play->c, data);

    if (status == UV_ENOMEM ? !play->stage.memory_may_fail
                            : status != 0 && status != UVZK_ECLOSED) {
        group_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
    }
}

static void set_one(struct play *play)
{
    set(play, "one");
}

static void come(struct play *play)
{
    group_process_make_path(play->stage.world.sim);
    (void)sim_create_by_hand(play->stage.world.sim, OTHER, UVZK__PERSISTENT);
}

static void change(struct play *play)
{
    (void)sim_set_by_hand(play->stage.world.sim, OTHER, "changed", 7);
}

static void go(struct play *play)
{
    (void)sim_delete_by_hand(play->stage.world.sim, OTHER);
}

static void delete_own(struct play *play)
{
    (void)sim_delete_by_hand(play->stage.world.sim, OWN);
}

/* In a session that never ends. */
static void take_own(struct play *play)
{
    delete_own(play);
    group_process_make_path(play->stage.world.sim);
    (void)sim_create_by_hand(play->stage.world.sim, OWN, UVZK__EPHEMERAL);
}

/* The path of the group goes too. */
static void delete_all(struct play *play)
{
    go(play);
    delete_own(play);
    (void)sim_delete_by_hand(play->stage.world.sim, GROUP_PROCESS_PATH);
}

static void set_two(struct play *play)
{
    set(play, "two");
}

static void close_member(struct play *play)
{
    const struct uvzk__group_member *member = play->c.member.impl;

    if (member != NULL && !play->c.process.closing && !member->closing) {
        group_process_close(&play->c);
    }
}

/* If the close is over by then. */
static void open_again(struct play *play)
{
    if (play->c.member.impl == NULL && !play->c.process.closing) {
        play->c.member_closed = 0;
        int status = group_process_init(&play->c, "c", "again");
        if (status == UV_ENOMEM ? !play->stage.memory_may_fail : status != 0) {
            group_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
        }
        play->opened_again = true;
    }
}

static const struct play_action script[] = {
    {10, play_start},    {60, come},          {100, change},   {130, set_one},
    {160, delete_all},   {200, come},         {220, take_own}, {250, delete_own},
    {280, go},           {300, play_cut_off}, {310, set_two},  {320, come},
    {450, close_member}, {500, open_again},
};

/* --------------------------------------------------------------- the disturbances */

static void lose_event(struct play *play)
{
    sim_lose_events(play->c.process.port, 1);
}

static const struct disturbance disturbances[] = {
    {"close of the member", close_member, .end = CLOSED},
    {"deletion", delete_all, .end = GOES_ON},
    {"coming", come, .end = GOES_ON},
    {"lost event", lose_event, .end = GOES_ON},
};

/* What the reading of the group does when they meet it. */
enum doing { NOTHING, LISTING, LOOKING };
static const char *const doings[] = {"nothing", "the listing", "the look at the path"};

#define DOINGS (sizeof(doings) / sizeof(doings[0]))

static enum doing doing_of(const struct uvzk__reading *reading)
{
    if (reading->state != UVZK__READING_ASKED) {
        return NOTHING;
    }
    return reading->rpc.kind == UVZK__RPC_CHILDREN ? LISTING : LOOKING;
}

static const char *state_name(size_t state)
{
    return doings[state];
}

static void meet(const struct play *play, unsigned *met)
{
    const struct uvzk__group_member *member = play->c.member.impl;

    if (member != NULL && member->children.watched != NULL) {
        met[doing_of(&member->children.watched->reading)]++;
    }
}

static void begin(struct play *play)
{
    group_process_begin(&play->c, &play->stage.world, "c", "first");
    play->stage.process = &play->c.process;
}

static void check(struct play *play)
{
    assert_true(play->opened_again);
    assert_int_equal(play->c.status, 0);
    assert_true(play->c.changed >= 4);
}

static void join_again(struct play *play)
{
    delete_own(play); /* whoever's it is */
    open_again(play);
    come(play);
    change(play);
    const char *expected =
        strcmp(play->c.data, "again") == 0 ? "c=again x=changed " : "c=two x=changed ";
    group_process_await_list(&play->c, expected);
    world_run_for(&play->stage.world, 60000);
    if (play->c.status != 0 || !sim_exists(play->stage.world.sim, OWN)) {
        group_process_fail(&play->c, "it has not joined again");
    }
    go(play);
    char own[] = "c=again ";
    (void)snprintf(own, sizeof(own), "c=%s ", play->c.data);
    group_process_await_list(&play->c, own);
}

/* A refused delete leaves its znode where it is until the session ends, and so do refused
 * credentials. */
static void finish(struct play *play, enum play_end end)
{
    if (end == GOES_ON) {
        join_again(play);
    }
    group_process_end(&play->c);
}

static const struct play_kind kind = {
    .size = sizeof(struct play),
    .ms = 700,
    .script = script,
    .actions = sizeof(script) / sizeof(script[0]),
    .close = close_member,
    .disturbances = disturbances,
    .disturbance_count = sizeof(disturbances) / sizeof(disturbances[0]),
    .states = DOINGS,
    .state_name = state_name,
    .meet = meet,
    .begin = begin,
    .check = check,
    .finish = finish,
    .allocations = 5,
};

/* One member comes while the n-th allocation fails. It is listed before the watch is renewed.
 * Returns whether an allocation failed. */
static bool list_in_need(uint64_t first)
{
    struct play *play = play_begin(&kind);

    process_start(&play->c.process);
    group_process_await(&play->c, &play->c.present, 1);
    group_process_await_list(&play->c, "c=first ");
    failing_allocator_arm(first, 1);
    come(play);
    world_run_for(&play->stage.world, 50);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_arm(0, 0);
    uint64_t begun = world_now(&play->stage.world);
    group_process_await_list(&play->c, "c=first x= ");
    assert_in_range(world_now(&play->stage.world), begun, begun + WORLD_TIMEOUT_MS / 4);
    play_finish(play, CLOSED);
    return failed;
}

static void who_comes_without_memory_is_listed_soon(void **state)
{
    uint64_t first = 1;

    (void)state;
    while (list_in_need(first)) {
        first++;
    }
    assert_true(first > 3); /* there was something to fail */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY_TESTS((void *)(uintptr_t)&kind),
        cmocka_unit_test(who_comes_without_memory_is_listed_soon),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
