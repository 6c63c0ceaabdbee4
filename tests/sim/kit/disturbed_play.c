/* SPDX-License-Identifier: Apache-2.0 */
#include "disturbed_play.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/session.h"
#include "failing_allocator.h"
#include "ticker.h"

#define STATES_MAX 16
#define DISTURBANCES_MAX 32

static struct play_stage *stage_of(struct play *play)
{
    return (struct play_stage *)(void *)play;
}

static struct uvzk__port *port_of(struct play *play)
{
    return stage_of(play)->process->port;
}

/* ------------------------------------------------------------------ in the script */

void play_start(struct play *play)
{
    int status = uvzk_client_start(&stage_of(play)->process->client);

    assert_true(status == 0 || status == UVZK_ESTATE);
}

void play_cut_off(struct play *play)
{
    if (port_of(play) != NULL) {
        sim_disconnect(port_of(play), SIM_RESET, 50);
    }
}

/* ---------------------------------------------------- what befalls every client */

static void close_client(struct play *play)
{
    process_close(stage_of(play)->process);
}

static void close_both(struct play *play)
{
    stage_of(play)->kind->close(play);
    close_client(play);
}

static void expire(struct play *play)
{
    (void)sim_expire(port_of(play));
}

static void expire_connected(struct play *play)
{
    (void)sim_expire_connected(port_of(play));
}

static void befall(struct play *play)
{
    stage_of(play)->disturbance->trouble(stage_of(play)->process);
}

static void disconnect(struct play *play)
{
    const struct disturbance *disturbance = stage_of(play)->disturbance;

    sim_disconnect(port_of(play), disturbance->how, disturbance->ms);
}

static void delay(struct play *play)
{
    sim_delay(port_of(play), 30);
}

static void stop(struct play *play)
{
    sim_pause(port_of(play), 200);
}

static void connected_again(struct play *play)
{
    sim_repeat_connected(port_of(play));
}

static void restart(struct play *play)
{
    sim_restart(stage_of(play)->world.sim, 100);
}

/* The next request of each kind up to one. */
static void refuse(struct play *play)
{
    const struct disturbance *disturbance = stage_of(play)->disturbance;

    for (int kind = UVZK__RPC_CREATE; kind <= (int)disturbance->last_kind; kind++) {
        sim_refuse(stage_of(play)->world.sim, (enum uvzk__rpc_kind)kind,
                   disturbance->status, 1);
    }
}

static void refuse_credentials(struct play *play)
{
    stage_of(play)->process->may_log_errors = true;
    sim_fail_auth(port_of(play));
}

static const struct disturbance common[] = {
    {"close of the client", close_client, .end = CLOSED},
    {"close of both", close_both, .end = CLOSED},
    {"expiry", expire, .end = GOES_ON},
    {"expiry while connected", expire_connected, .end = GOES_ON},
    {"reset", disconnect, .end = GOES_ON, .how = SIM_RESET, .ms = 20},
    {"long reset", disconnect, .end = GOES_ON, .how = SIM_RESET,
     .ms = 2 * WORLD_TIMEOUT_MS},
    {"silence", disconnect, .end = GOES_ON, .how = SIM_SILENT,
     .ms = 2 * WORLD_TIMEOUT_MS},
    {"session given up", disconnect, .end = GOES_ON, .how = SIM_RESET,
     .ms = 4 * WORLD_TIMEOUT_MS},
    {"lost request", befall, .end = GOES_ON, .trouble = process_lose_request},
    {"lost reply", befall, .end = GOES_ON, .trouble = process_lose_reply},
    {"spoilt reply", befall, .end = GOES_ON, .trouble = process_reply_enomem},
    {"delay", delay, .end = GOES_ON},
    {"stop", stop, .end = GOES_ON},
    {"CONNECTED again", connected_again, .end = GOES_ON},
    {"restart", restart, .end = GOES_ON},
    {"overload", refuse, .end = GOES_ON, .status = UVZK_ETHROTTLED,
     .last_kind = UVZK__RPC_EXISTS},
    {"refusal", refuse, .end = GOES_ON, .status = UVZK_EZOOKEEPER,
     .last_kind = UVZK__RPC_EXISTS},
    {"forbidden", refuse, .end = GOES_ON, .status = UVZK_ENOAUTH,
     .last_kind = UVZK__RPC_GET},
    {"refused credentials", refuse_credentials, .end = SHUT_OUT},
};

#define COMMON (sizeof(common) / sizeof(common[0]))

static size_t disturbances_of(const struct play_kind *kind)
{
    return COMMON + kind->disturbance_count;
}

static const struct disturbance *disturbance_at(const struct play_kind *kind, size_t at)
{
    return at < COMMON ? &common[at] : &kind->disturbances[at - COMMON];
}

/* Where each of them has met the object. */
static unsigned met[DISTURBANCES_MAX][STATES_MAX];

/* ------------------------------------------------------------------------ the play */

struct play *play_begin(const struct play_kind *kind)
{
    struct play *play = calloc(1, kind->size);

    assert_true(disturbances_of(kind) <= DISTURBANCES_MAX && kind->states <= STATES_MAX);
    stage_of(play)->kind = kind;
    world_begin_exact(&stage_of(play)->world, UVZK__TUNE_ALL, 1);
    kind->begin(play);
    return play;
}

static uint64_t act(struct play *play, uint64_t begun, size_t next)
{
    const struct play_kind *kind = stage_of(play)->kind;

    while (next < kind->actions &&
           world_now(&stage_of(play)->world) >= begun + kind->script[next].at_ms) {
        kind->script[next++].act(play);
    }
    return next;
}

/* Returns how many events there were. After the event number `at`, from 0, it is disturbed
 * by the disturbance of this number, if it has one. */
static uint64_t perform(struct play *play, uint64_t at, size_t number)
{
    struct play_stage *stage = stage_of(play);
    struct ticker ticker;
    uint64_t begun = world_now(&stage->world), events = 0;
    size_t next = 0;

    ticker_begin(&ticker, stage->world.sim, 1);
    while (world_now(&stage->world) < begun + stage->kind->ms) {
        next = act(play, begun, next);
        bool event = ticker_step(&ticker);
        if (stage->kind->each_step != NULL) {
            stage->kind->each_step(play);
        }
        if (event && events++ == at && stage->disturbance != NULL) {
            stage->kind->meet(play, met[number]);
            stage->disturbance->disturb(play);
        }
    }
    ticker_end(&ticker);
    return events;
}

static bool is_shut_out(struct play *play)
{
    const struct uvzk__session *session = stage_of(play)->process->client.impl;

    return session != NULL && session->auth_failed;
}

void play_finish(struct play *play, enum play_end end)
{
    struct play_stage *stage = stage_of(play);

    world_run_for(&stage->world, 60000);
    if (end == SHUT_OUT && !is_shut_out(play)) {
        end = GOES_ON; /* there was no connection just then */
    }
    stage->kind->finish(play, end);
    world_end(&stage->world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    free(play);
}

/* ----------------------------------------------------------------------- the tests */

void play_undisturbed(void **state)
{
    const struct play_kind *kind = *state;
    struct play *play = play_begin(kind);

    (void)perform(play, 0, 0);
    kind->check(play);
    play_finish(play, GOES_ON);
}

static uint64_t perform_disturbed(const struct play_kind *kind, size_t number,
                                  uint64_t at)
{
    struct play *play = play_begin(kind);
    const struct disturbance *disturbance = disturbance_at(kind, number);

    stage_of(play)->disturbance = disturbance;
    world_note(&stage_of(play)->world, "%s at event %" PRIu64, disturbance->name, at);
    uint64_t events = perform(play, at, number);
    play_finish(play, disturbance->end);
    return events;
}

void play_disturbed_at_every_event(void **state)
{
    const struct play_kind *kind = *state;

    for (size_t i = 0; i < disturbances_of(kind); i++) {
        for (uint64_t at = 0; at < perform_disturbed(kind, i, at); at++) {
        }
    }
}

void play_every_state_has_met_every_disturbance(void **state)
{
    const struct play_kind *kind = *state;

    for (size_t i = 0; i < disturbances_of(kind); i++) {
        for (size_t j = 0; j < kind->states; j++) {
            if (met[i][j] == 0) {
                fail_msg("%s has not met %s", disturbance_at(kind, i)->name,
                         kind->state_name(j));
            }
        }
    }
}

/* Returns true if an allocation failed. */
static bool perform_in_need(const struct play_kind *kind, uint64_t first, uint64_t count)
{
    struct play *play = play_begin(kind);

    stage_of(play)->memory_may_fail = true;
    world_note(&stage_of(play)->world, "allocations %" PRIu64 " to %" PRIu64 " fail",
               first, first + count - 1);
    failing_allocator_arm(first, count);
    (void)perform(play, 0, 0);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_arm(0, 0);
    if (kind->memory_back != NULL) {
        kind->memory_back(play);
    }
    play_finish(play, GOES_ON);
    return failed;
}

void play_memory_runs_out(void **state)
{
    static const uint64_t counts[] = {1, 5, 40};
    const struct play_kind *kind = *state;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t first = 1;
        while (perform_in_need(kind, first, counts[i])) {
            first++;
        }
        assert_true(first > kind->allocations); /* there was something to fail */
    }
}
