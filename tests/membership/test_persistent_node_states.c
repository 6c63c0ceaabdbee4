/* SPDX-License-Identifier: Apache-2.0 */
/* One play with a persistent node that goes through every state of its machine, disturbed at
 * every single event, in every way there is: the znode is there again when the disturbance
 * is over, it is gone after the close, and nothing is left. Which states the disturbances
 * have met is counted: none may be missing. The same play while the n-th allocation fails. */
#include "disturbed_play.h"

#include <string.h>

#include "failing_allocator.h"
#include "persistent_process.h"

#define STATES UVZK__PERSISTENT_NODE_GONE /* GONE lasts no longer than a turn */

struct play {
    struct play_stage stage;
    struct persistent_process c;
    bool opened_again;
};

/* -------------------------------------------------------------------- the actions */

static void set(struct play *play, const char *data)
{
    int status = persistent_process_set(&play->c, data);

    if (status == UV_ENOMEM ? !play->stage.memory_may_fail
                            : status != 0 && status != UVZK_ECLOSED) {
        persistent_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
    }
}

static void set_one(struct play *play)
{
    set(play, "one");
}

static void delete_it(struct play *play)
{
    (void)sim_delete_by_hand(play->stage.world.sim, PERSISTENT_PROCESS_PATH);
}

/* In a session that never ends. */
static void take_it(struct play *play)
{
    delete_it(play);
    persistent_process_make_parents(play->stage.world.sim);
    (void)sim_create_by_hand(play->stage.world.sim, PERSISTENT_PROCESS_PATH,
                             UVZK__EPHEMERAL);
}

static void set_two(struct play *play)
{
    set(play, "two");
}

static void close_node(struct play *play)
{
    if (play->c.node.impl != NULL && play->c.node_closed == 0 &&
        !play->c.process.closing) {
        const struct uvzk__persistent_node *node = play->c.node.impl;
        if (!node->closing) {
            persistent_process_close(&play->c);
        }
    }
}

/* If the close is over by then. */
static void open_again(struct play *play)
{
    if (play->c.node.impl == NULL && !play->c.process.closing) {
        play->c.node_closed = 0;
        int status = persistent_process_init(&play->c, "again");
        if (status == UV_ENOMEM ? !play->stage.memory_may_fail : status != 0) {
            persistent_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
        }
        play->opened_again = true;
    }
}

static const struct play_action script[] = {
    {10, play_start}, {100, set_one},    {150, delete_it},
    {200, take_it},   {250, delete_it},  {300, play_cut_off},
    {310, set_two},   {450, close_node}, {500, open_again},
};

/* --------------------------------------------------------------- the disturbances */

static const struct disturbance disturbances[] = {
    {"close of the node", close_node, .end = CLOSED},
    {"deletion", delete_it, .end = GOES_ON},
};

static const char *state_name(size_t state)
{
    return uvzk__machine_state(&uvzk__persistent_node_machine, (unsigned)state);
}

static void meet(const struct play *play, unsigned *met)
{
    const struct uvzk__persistent_node *node = play->c.node.impl;

    if (node != NULL && node->state < STATES) {
        met[node->state]++;
    }
}

static void begin(struct play *play)
{
    persistent_process_begin(&play->c, &play->stage.world, "c",
                             UVZK_PERSISTENT_NODE_EPHEMERAL, "first");
    play->c.disturbed = true; /* by an operator */
    play->stage.process = &play->c.process;
}

/* A refused delete leaves the znode where it is, and so do refused credentials, until the
 * session ends. */
static void remove_left(struct play *play)
{
    world_run_for(&play->stage.world, 2ULL * WORLD_TIMEOUT_MS);
    bool left = sim_exists(play->stage.world.sim, PERSISTENT_PROCESS_PATH);

    if (left && sim_session_count(play->stage.world.sim) == 0) {
        struct uvzk__stat stat;
        assert_true(sim_stat(play->stage.world.sim, PERSISTENT_PROCESS_PATH, &stat));
        if (stat.ephemeral_owner != 0 &&
            sim_session_alive(play->stage.world.sim, stat.ephemeral_owner)) {
            delete_it(play); /* the operator's */
            return;
        }
        persistent_process_fail(&play->c, "the znode is left");
    }
}

static void check(struct play *play)
{
    assert_true(play->opened_again);
    assert_int_equal(play->c.status, 0);
    assert_true(play->c.present >= 5);
    assert_true(persistent_process_is_there(&play->c));
}

static void finish(struct play *play, enum play_end end)
{
    if (end == GOES_ON) {
        delete_it(play); /* whoever's it is */
        open_again(play);
        world_run_for(&play->stage.world, 60000);
        if (!persistent_process_is_there(&play->c) || play->c.status != 0) {
            persistent_process_fail(&play->c, "the znode is not there again");
        }
    }
    persistent_process_end(&play->c);
    remove_left(play);
}

static const struct play_kind kind = {
    .size = sizeof(struct play),
    .ms = 700,
    .script = script,
    .actions = sizeof(script) / sizeof(script[0]),
    .close = close_node,
    .disturbances = disturbances,
    .disturbance_count = sizeof(disturbances) / sizeof(disturbances[0]),
    .states = STATES,
    .state_name = state_name,
    .meet = meet,
    .begin = begin,
    .check = check,
    .finish = finish,
    .allocations = 5,
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY_TESTS((void *)(uintptr_t)&kind),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
