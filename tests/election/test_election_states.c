/* SPDX-License-Identifier: Apache-2.0 */
/* One play with an election that goes through every state of its machine, disturbed at
 * every single event by every call that its user has, and by what may happen to a client:
 * each callback comes in its order (candidate.c), nobody leads beside another, and
 * nothing is left. Which calls have met which states is counted: none may be missing. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "candidate.h"
#include "election/election.h"
#include "ticker.h"
#include "world.h"

#define PLAY_MS 400U
#define MS 120000U

static struct world world;
static struct process a, b;
static struct candidate first, second;
static struct ticker ticker; /* so that time passes though nothing happens */

static enum uvzk__candidacy_state state_of(const struct candidate *candidate)
{
    const struct uvzk__election *election = candidate->election.impl;

    return election == NULL ? UVZK__CANDIDACY_CLOSING
                            : (enum uvzk__candidacy_state)election->state;
}

/* -------------------------------------------------------------------- disturbances */

static void resign(void)
{
    bool leads = state_of(&first) == UVZK__CANDIDACY_LEADING;

    assert_int_equal(uvzk_election_resign(&first.election), leads ? 0 : UVZK_ENOTHELD);
}

static void requeue(void)
{
    bool idle = state_of(&first) == UVZK__CANDIDACY_IDLE;
    int status = uvzk_election_requeue(&first.election);

    assert_true(status == 0 || status == UVZK_ESTATE);
    assert_true(!idle || status == 0);
}

static void close_notified(void)
{
    candidate_close(&first, UVZK_ELECTION_NOTIFY);
}

static void close_silently(void)
{
    candidate_close(&first, UVZK_ELECTION_SILENT);
}

static void close_client(void)
{
    process_close(&a);
}

static void expire(void)
{
    process_expire(&a);
}

static void reset(void)
{
    sim_disconnect(a.port, SIM_RESET, 50);
}

static void cut(void)
{
    sim_disconnect(a.port, SIM_SILENT, 3ULL * WORLD_TIMEOUT_MS);
}

static void delete_first(void)
{
    if (world_children(&world, CANDIDATE_PATH) > 0) {
        a.killed = b.killed = true; /* a hold whose znode is deleted protects nothing */
        world_delete_child(&world, CANDIDATE_PATH, 0);
    }
}

static void refuse(void)
{
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 1);
}

static void lose_reply(void)
{
    sim_lose_reply(a.port);
}

static const struct disturbance {
    const char *name;
    void (*disturb)(void);
    bool ends; /* the first candidate */
} disturbances[] = {
    {"resign", resign, false},
    {"requeue", requeue, false},
    {"close, notified", close_notified, true},
    {"close, silent", close_silently, true},
    {"client closed", close_client, true},
    {"session expired", expire, false},
    {"connection reset", reset, false},
    {"cut off", cut, false},
    {"first znode deleted", delete_first, false},
    {"create refused", refuse, false},
    {"reply lost", lose_reply, false},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))
#define STATES ((size_t)UVZK__CANDIDACY_CLOSING)

/* -------------------------------------------------------------------------- the play */

static int met[DISTURBANCES][STATES + 1];

static void begin(bool manual)
{
    uvzk_election_options_t options;

    candidates_reset();
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    world.options.retry.kind = UVZK_RETRY_N_TIMES;
    world.options.retry.max_retries = 0;
    world.options.retry.base_ms = 20; /* a deleted znode is followed by a pause */
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    world.each_ms = candidates_check;
    a.may_log_errors = b.may_log_errors = true;
    candidate_begin(&second, &b, "second");
    candidate_await_led(&second, 1, MS);
    second.may_err = true;
    candidate_options(&options, "first");
    options.manual_requeue = manual;
    options.max_reign_ms = 60;
    assert_int_equal(candidate_ask(&first, &a, CANDIDATE_PATH, &options), 0);
    first.may_err = true;
}

static bool resigned, znode_deleted; /* in this play */

/* The steps that the play takes by itself, so many ms after its beginning. */
static void script(uint64_t ms)
{
    if (ms >= 40 && !resigned) {
        resigned = true;
        (void)uvzk_election_resign(&second.election);
    } else if (ms >= 150 && !znode_deleted && !first.closing && !a.closing &&
               state_of(&first) == UVZK__CANDIDACY_QUEUED &&
               world_children(&world, CANDIDATE_PATH) == 2) {
        /* The second in the queue, which is this one, loses its znode, and sees that when
         * it would be next: it pauses. */
        a.killed = b.killed = znode_deleted = true;
        world_delete_child(&world, CANDIDATE_PATH, 1);
        (void)uvzk_election_resign(&second.election);
    }
}

static void finish(bool ended)
{
    world.each_ms = NULL; /* from here on the callbacks check */
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 0);
    world_run_for(&world, 8ULL * WORLD_TIMEOUT_MS);
    if (a.closing) {
        process_end(&a);
        candidates_client_closed(&a);
    } else if (!ended || first.closing) {
        candidate_end(&first);
    }
    world_run_for(&world, 5000);
    assert_int_equal(second.may_err && second.election.impl != NULL, 1);
    candidate_end(&second);
    world_end(&world);
}

/* Returns whether the play was longer. */
static bool run(const struct disturbance *disturbance, uint64_t at, bool manual)
{
    begin(manual);
    resigned = znode_deleted = false;
    ticker_begin(&ticker, world.sim, 5);
    uint64_t from = world_now(&world), event = 0;
    bool disturbed = false;

    while (world_now(&world) < from + PLAY_MS) {
        (void)ticker_step(&ticker);
        candidates_check(&world);
        script(world_now(&world) - from);
        if (event++ == at) {
            met[disturbance - disturbances][state_of(&first)]++;
            disturbance->disturb();
            disturbed = true;
        }
    }
    ticker_end(&ticker);
    finish(disturbed && disturbance->ends);
    return disturbed;
}

static void every_event(void **state)
{
    bool manual = *(bool *)*state;

    for (size_t i = 0; i < DISTURBANCES; i++) {
        for (uint64_t at = 0; run(&disturbances[i], at, manual); at++) {
        }
    }
}

/* RESIGNING lasts for no event where a timer begins it: the same turn ends it. */
static void every_state_was_met(void **state)
{
    (void)state;
    for (size_t i = 0; i < DISTURBANCES; i++) {
        for (size_t j = 0; j < STATES; j++) {
            if (met[i][j] == 0 && j != UVZK__CANDIDACY_RESIGNING) {
                fail_msg("%s in %s", disturbances[i].name,
                         uvzk__candidacy_machine.states[j].name);
            }
        }
    }
}

int main(void)
{
    static bool by_itself = false, by_hand = true;
    const struct CMUnitTest tests[] = {
        {"queued by itself", every_event, NULL, NULL, &by_itself},
        {"queued by hand", every_event, NULL, NULL, &by_hand},
        cmocka_unit_test(every_state_was_met),
    };

    return cmocka_run_group_tests_name("election states", tests, NULL, NULL);
}
