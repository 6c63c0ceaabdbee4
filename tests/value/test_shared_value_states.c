/* SPDX-License-Identifier: Apache-2.0 */
/* One play with a shared value that goes through every state of its machines, disturbed
 * at every single event, in every way there is: everybody is answered once, what is
 * known comes to be what the znode has, and nothing is left. Which states the
 * disturbances have met is counted: none may be missing. The same play while the n-th
 * allocation fails. */
#include "disturbed_play.h"

#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "value/node_cache.h"
#include "value/shared_value.h"
#include "value_process.h"

#define SETS 8

struct play {
    struct play_stage stage;
    struct value_process value_process;
    uvzk_shared_value_t other; /* of the same client, on the same path */
    int other_told, other_closed;
    struct value_process_set sets[SETS];
};

/* -------------------------------------------------------------------- the actions */

/* What the calls may refuse, in a disturbed play. */
static void check_refusal(struct play *play, int status)
{
    bool closing = play->value_process.value_closed > 0 ||
                   play->value_process.process.closed > 0 ||
                   play->value_process.value.impl == NULL || status == UVZK_ECLOSED;

    if (status == UV_ENOMEM ? !play->stage.memory_may_fail : status != 0 && !closing) {
        value_process_fail(&play->value_process, "refused with %s",
                           uvzk_err_name(status));
    }
}

static void set(struct play *play, int number, const char *text)
{
    check_refusal(play,
                  value_process_set(&play->sets[number], &play->value_process, text));
}

static void try_set(struct play *play, int number, const char *text)
{
    uvzk_value_version_t version = value_process_version(&play->value_process);

    check_refusal(play, value_process_try_set(&play->sets[number], &play->value_process,
                                              &version, text));
}

static void make_again(struct play *play)
{
    if (!sim_exists(play->stage.world.sim, VALUE_PROCESS_PATH)) {
        value_process_make_by_hand(play->stage.world.sim);
    }
}

static void meddle(struct play *play, const char *text)
{
    (void)sim_set_by_hand(play->stage.world.sim, VALUE_PROCESS_PATH, text, strlen(text));
}

static void remove_it(struct play *play)
{
    (void)sim_delete_by_hand(play->stage.world.sim, VALUE_PROCESS_PATH);
}

static void early(struct play *play)
{
    check_refusal(play, value_process_share(&play->value_process, "seed"));
    set(play, 0, "early"); /* waits for the connection */
}

static void two_sets(struct play *play)
{
    set(play, 1, "one");
    try_set(play, 2, "two"); /* over what is replaced by then */
}

static void lost_race(struct play *play)
{
    meddle(play, "three");
    try_set(play, 3, "four");
}

static void gone(struct play *play)
{
    remove_it(play);
    set(play, 4, "five");
}

static void back(struct play *play)
{
    make_again(play);
    meddle(play, "six");
}

static void gone_and_back(struct play *play)
{
    remove_it(play);
    make_again(play);
}

static void on_other(uvzk_shared_value_t *value, int status)
{
    struct play *play = value->data;

    (void)status;
    play->other_told++;
}

static void on_other_closed(uvzk_shared_value_t *value)
{
    struct play *play = value->data;

    play->other_closed++;
}

/* Its seed makes the znode again, while the first one watches its place. */
static void other_opens(struct play *play)
{
    play->other.data = play;
    int status = uvzk_shared_value_init(&play->value_process.process.client, &play->other,
                                        VALUE_PROCESS_PATH, "again", 5, on_other);
    if (status != 0 && status != UVZK_ESTATE) {
        check_refusal(play, status);
    }
}

static void other_closes(struct play *play)
{
    if (play->other.impl != NULL) {
        assert_int_equal(uvzk_shared_value_close(&play->other, on_other_closed), 0);
    }
}

static void set_while_cut_off(struct play *play)
{
    set(play, 5, "seven");
}

static void last_sets(struct play *play)
{
    make_again(play);
    set(play, 6, "last");
}

static const struct play_action script[] = {
    {0, early},           {10, play_start},
    {100, two_sets},      {150, lost_race},
    {200, gone},          {250, back},
    {300, remove_it},     {302, make_again},
    {320, gone_and_back}, {340, remove_it},
    {360, other_opens},   {380, other_closes},
    {400, play_cut_off},  {410, set_while_cut_off},
    {500, last_sets},
};

/* --------------------------------------------------------------- the disturbances */

static void close_value(struct play *play)
{
    if (play->value_process.value.impl != NULL) {
        value_process_close_value(&play->value_process);
    }
}

static void set_by_another(struct play *play)
{
    meddle(play, "another's");
}

static const struct disturbance disturbances[] = {
    {"close of the value", close_value, .end = CLOSED},
    {"deletion", remove_it, .end = GOES_ON},
    {"deletion and making", gone_and_back, .end = GOES_ON},
    {"another's set", set_by_another, .end = GOES_ON},
};

/* What it is doing, how it watches, and where its sets are. */
enum doing { NOTHING, READING, SEEDING, LOOKING };
static const char *const doings[] = {"nothing", "the read", "the seed", "the look"};

#define DOINGS (LOOKING + 1)
#define WATCHINGS (UVZK__WATCHER_ARMED + 1)
#define SET_STATES (UVZK__SET_DECIDED + 1)

/* After the disturbance: it is as if nothing had been. */
static void recover(struct play *play)
{
    struct value_process_set *set_after = &play->sets[SETS - 1];
    bool set_now = false;

    for (int attempt = 0; attempt < 5 && !set_now; attempt++) {
        world_run_for(&play->stage.world, 10000);
        make_again(play);
        value_process_await_current(&play->value_process);
        assert_int_equal(value_process_set(set_after, &play->value_process, "after"), 0);
        value_process_await(&play->value_process, &set_after->told, 1);
        set_now = set_after->status == 0; /* a late fault may have met this one */
    }
    if (!set_now || !value_process_znode_is(play->stage.world.sim, "after")) {
        value_process_fail(&play->value_process, "a set fails for ever");
    }
    value_process_await_current(&play->value_process);
}

static const char *state_name(size_t state)
{
    if (state < DOINGS) {
        return doings[state];
    }
    state -= DOINGS;
    return state < WATCHINGS
               ? uvzk__machine_state(&uvzk__watcher_machine, (unsigned)state)
               : uvzk__machine_state(&uvzk__value_set_machine,
                                     (unsigned)(state - WATCHINGS));
}

static enum doing doing_of(const struct uvzk__reading *reading)
{
    if (reading->state != UVZK__READING_ASKED) {
        return NOTHING;
    }
    switch (reading->rpc.kind) {
    case UVZK__RPC_GET:
        return READING;
    case UVZK__RPC_CREATE:
        return SEEDING;
    default:
        return LOOKING;
    }
}

static void meet(const struct play *play, unsigned *met)
{
    const struct uvzk__node_cache *node_cache =
        value_process_node_cache(&play->value_process);

    if (node_cache != NULL) {
        met[doing_of(&node_cache->reading)]++;
        met[DOINGS + node_cache->reading.renewed.watcher.state]++;
    }
    for (int i = 0; i < SETS; i++) {
        const struct uvzk__value_set *pending = play->sets[i].request.impl;
        if (pending != NULL) {
            met[DOINGS + WATCHINGS + pending->state]++;
        }
    }
}

static void begin(struct play *play)
{
    value_process_begin(&play->value_process, &play->stage.world, "c", NULL);
    play->stage.process = &play->value_process.process;
}

static void memory_back(struct play *play)
{
    if (play->value_process.value.impl == NULL) {
        assert_int_equal(value_process_share(&play->value_process, "seed"), 0);
    }
}

static void check(struct play *play)
{
    const int expected[] = {0, 0, UVZK_EBADVERSION, UVZK_EBADVERSION, UVZK_ENONODE, 0, 0};

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(play->sets[i].told, 1);
        assert_int_equal(play->sets[i].status, expected[i]);
    }
    assert_true(value_process_is_current(&play->value_process));
    assert_true(value_process_knows(&play->value_process, "last"));
    assert_true(play->value_process.troubles > 0);
    assert_true(play->other_told > 0);
    assert_int_equal(play->other_closed, 1);
}

static void check_ends(struct play *play)
{
    for (int i = 0; i < SETS; i++) {
        if (!value_process_set_over(&play->sets[i])) {
            value_process_fail(&play->value_process, "set %d is never answered", i);
        }
    }
    if (play->other.impl != NULL &&
        uvzk_client_state(&play->value_process.process.client) != UVZK_STATE_CLOSED) {
        value_process_fail(&play->value_process, "the other value is never closed");
    }
}

static void finish(struct play *play, enum play_end end)
{
    if (end == GOES_ON) {
        recover(play);
    } else if (end == SHUT_OUT && play->value_process.status != UVZK_EAUTH) {
        value_process_fail(&play->value_process,
                           "nobody says that the credentials were refused");
    }
    check_ends(play);
    value_process_end(&play->value_process);
    assert_null(play->other.impl);
}

static const struct play_kind kind = {
    .size = sizeof(struct play),
    .ms = 700,
    .script = script,
    .actions = sizeof(script) / sizeof(script[0]),
    .close = close_value,
    .disturbances = disturbances,
    .disturbance_count = sizeof(disturbances) / sizeof(disturbances[0]),
    .states = DOINGS + WATCHINGS + SET_STATES,
    .state_name = state_name,
    .meet = meet,
    .begin = begin,
    .memory_back = memory_back,
    .check = check,
    .finish = finish,
    .allocations = 20,
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY_TESTS((void *)(uintptr_t)&kind),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("shared value, every state", tests, NULL, NULL);
}
