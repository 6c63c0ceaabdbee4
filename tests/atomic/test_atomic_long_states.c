/* SPDX-License-Identifier: Apache-2.0 */
/* One play with an atomic long that goes through every state of its machine, disturbed at
 * every single event, in every way there is: every call is answered once, the number is
 * what the answers say, and nothing is left. Which states the disturbances have met is
 * counted: none may be missing. The same play while the n-th allocation fails. */
#include "disturbed_play.h"

#include <inttypes.h>
#include <string.h>

#include "atomic_process.h"
#include "failing_allocator.h"

#define CALLS 8
#define STATES (UVZK__ATOMIC_RELEASING + 1)

struct play {
    struct play_stage stage;
    struct atomic_process c;
    struct atomic_process_call calls[CALLS];
    bool write_lost;
    int64_t added_by_hand;
};

/* -------------------------------------------------------------------- the actions */

/* What the calls may refuse, in a disturbed play. */
static void check_refusal(struct play *play, int status)
{
    bool closing = play->c.atomic_closed > 0 || play->c.process.closed > 0 ||
                   play->c.atomic.impl == NULL || status == UVZK_ECLOSED;

    if (status == UV_ENOMEM ? !play->stage.memory_may_fail : status != 0 && !closing) {
        atomic_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
    }
}

static void add(struct play *play, int call)
{
    check_refusal(play, atomic_process_add(&play->calls[call], &play->c, 1));
}

/* Adds 100, as another client does. */
static void outrun(struct play *play)
{
    int64_t number = atomic_process_number(play->stage.world.sim);

    if (number >= 0) {
        atomic_process_set_by_hand(play->stage.world.sim, number + 100);
        play->added_by_hand += 100;
    }
}

static void early(struct play *play)
{
    add(play, 0); /* waits for the connection; the znode is missing */
}

static void two_adds(struct play *play)
{
    add(play, 1);
    add(play, 2);
}

/* Refused by a reading alone, once the call has caught up. */
static void compare(struct play *play)
{
    check_refusal(play, atomic_process_compare_and_set(&play->calls[3], &play->c, -5, 0));
}

static void add_and_be_outrun(struct play *play)
{
    add(play, 4);
}

static void add_by_a_lost_request(struct play *play)
{
    add(play, 5);
}

static void last_add(struct play *play)
{
    add(play, 6);
}

static const struct play_action script[] = {
    {0, early},
    {10, play_start},
    {100, two_adds},
    {150, compare},
    {200, add_and_be_outrun},
    {300, play_cut_off},
    {400, add_by_a_lost_request},
    {600, last_add},
};

/* --------------------------------------------------------------- the disturbances */

static void close_atomic(struct play *play)
{
    if (play->c.atomic.impl != NULL) {
        atomic_process_close(&play->c);
    }
}

static const struct disturbance disturbances[] = {
    {"close of the atomic long", close_atomic, .end = CLOSED},
    {"another's write", outrun, .end = GOES_ON},
};

/* Outruns the call that is to be promoted, each time when it is about to write. */
static void outrun_the_call(struct play *play)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;
    const struct uvzk__atomic_call *call =
        atomic == NULL ? NULL : uvzk__atomic_call_first(&atomic->calls);

    if (call != NULL && call->handle == &play->calls[4].call && !call->promoted &&
        atomic->state == UVZK__ATOMIC_WRITING &&
        sim_outstanding(play->c.process.port) > 0 && call->over.mzxid != 0) {
        struct uvzk__stat stat;
        if (sim_stat(play->stage.world.sim, ATOMIC_PROCESS_PATH, &stat) &&
            stat.mzxid == call->over.mzxid) {
            outrun(play);
        }
    }
}

/* Loses the first write of a call. */
static void lose_the_write(struct play *play)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;
    const struct uvzk__atomic_call *call =
        atomic == NULL ? NULL : uvzk__atomic_call_first(&atomic->calls);

    if (call != NULL && call->handle == &play->calls[5].call && !play->write_lost &&
        atomic->state == UVZK__ATOMIC_WRITING && play->c.process.port != NULL) {
        play->write_lost = true;
        sim_lose_request(play->c.process.port);
    }
}

/* After the disturbance: it is as if nothing had been. */
static void recover(struct play *play)
{
    struct atomic_process_call *after = &play->calls[CALLS - 1];

    for (int attempt = 0; attempt < 5; attempt++) {
        assert_int_equal(atomic_process_add(after, &play->c, 0), 0);
        /* A late fault may meet this one. */
        if (atomic_process_await(after) == 0) {
            return;
        }
    }
    atomic_process_fail(&play->c, "a call fails for ever");
}

static bool may_have_been_done(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ECLOSED || status == UVZK_EAUTH;
}

/* The number is the sum of what was added for certain, and of some of what may have been
 * added. */
static void check_sum(struct play *play)
{
    int64_t least = play->added_by_hand, most, number = 0;

    most = least;
    for (int i = 0; i < CALLS - 1; i++) {
        if (!atomic_process_call_over(&play->calls[i])) {
            atomic_process_fail(&play->c, "call %d is never answered", i);
        }
        if (!play->calls[i].accepted || play->calls[i].told == 0 || i == 3) {
            continue;
        }
        least += play->calls[i].status == 0;
        most += play->calls[i].status == 0 || may_have_been_done(play->calls[i].status);
    }
    if (sim_exists(play->stage.world.sim, ATOMIC_PROCESS_PATH)) {
        number = atomic_process_number(play->stage.world.sim);
    }
    if (number < least || number > most) {
        atomic_process_fail(&play->c, "%" PRId64 " is not %" PRId64 " to %" PRId64,
                            number, least, most);
    }
}

static const char *state_name(size_t state)
{
    return uvzk__machine_state(&uvzk__atomic_machine, (unsigned)state);
}

static void meet(const struct play *play, unsigned *met)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;

    if (atomic != NULL) {
        met[atomic->state]++;
    }
}

static void begin(struct play *play)
{
    uvzk_atomic_long_options_t options;

    /* Outrun twice, a call is promoted. */
    atomic_process_options(&options, 2, true);
    options.retry.base_ms = 5;
    atomic_process_begin(&play->c, &play->stage.world, "c", &options);
    play->stage.process = &play->c.process;
}

static void each_step(struct play *play)
{
    outrun_the_call(play);
    lose_the_write(play);
}

static void check(struct play *play)
{
    const int expected[] = {0, 0, 0, UVZK_EBADVERSION, 0, 0, 0};

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(play->calls[i].told, 1);
        assert_int_equal(play->calls[i].status, expected[i]);
    }
    assert_int_equal(play->calls[4].value.optimistic_tries, 2);
    assert_int_equal(play->calls[4].value.promoted_tries, 1);
    assert_true(atomic_process_number(play->stage.world.sim) == play->added_by_hand + 6);
}

static void finish(struct play *play, enum play_end end)
{
    if (end == GOES_ON) {
        recover(play);
    }
    atomic_process_end(&play->c);
    check_sum(play);
    world_run_for(&play->stage.world, 2ULL * WORLD_TIMEOUT_MS);
    if (sim_session_count(play->stage.world.sim) != 0) {
        atomic_process_fail(&play->c, "a session is left");
    }
}

static const struct play_kind kind = {
    .size = sizeof(struct play),
    .ms = 700,
    .script = script,
    .actions = sizeof(script) / sizeof(script[0]),
    .close = close_atomic,
    .disturbances = disturbances,
    .disturbance_count = sizeof(disturbances) / sizeof(disturbances[0]),
    .states = STATES,
    .state_name = state_name,
    .meet = meet,
    .begin = begin,
    .each_step = each_step,
    .check = check,
    .finish = finish,
    .allocations = 10,
};

/* The init fails at each of its allocations, and leaves nothing. */
static void memory_runs_out_in_the_init(void **state)
{
    struct play *play = play_begin(&kind);
    int status = UV_ENOMEM;
    uint64_t failures = 0;

    (void)state;
    play_start(play);
    atomic_process_close(&play->c);
    assert_true(world_await(&play->stage.world, &play->c.atomic_closed, PATIENCE_MS));
    play->c.atomic_closed = 0;
    int64_t blocks = failing_allocator_live_blocks();
    while (status == UV_ENOMEM) {
        uvzk_atomic_long_options_t options;

        atomic_process_options(&options, 1, true);
        failing_allocator_arm(++failures, 1);
        status = atomic_process_init(&play->c, &options);
        failing_allocator_arm(0, 0);
        assert_true(status == 0 || failing_allocator_live_blocks() == blocks);
    }
    assert_int_equal(status, 0);
    assert_true(failures > 3);
    play_finish(play, GOES_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY_TESTS((void *)(uintptr_t)&kind),
        cmocka_unit_test(memory_runs_out_in_the_init),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
