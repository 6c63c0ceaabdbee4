/* SPDX-License-Identifier: Apache-2.0 */
#include "history_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tuning.h"
#include "history_transport.h"

/* Bits of the seed that its remainders, which choose everything else, know nothing
 * of. */
static uint64_t scattered(uint64_t seed)
{
    seed = (seed + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ (seed >> 29)) * UINT64_C(0x94d049bb133111eb);
    return seed >> 32;
}

unsigned history_sim_allowed(void)
{
    const char *only = getenv("UVZK_WORLD");

    return (only != NULL ? (unsigned)strtoul(only, NULL, 0) : ~0U) &
           ~history_transport.without;
}

unsigned history_sim_kinds(uint64_t seed)
{
    uint64_t bits = scattered(seed);
    unsigned kinds = 0;

    kinds |= bits % 2 == 0 ? HISTORY_BATCHES : 0;
    kinds |= bits / 4 % 2 == 0 ? HISTORY_SERVERS : 0;
    if ((kinds & HISTORY_SERVERS) != 0 && seed % 16 != 9) {
        kinds |= bits / 32 % 2 == 0 ? HISTORY_DEPOSED : 0;
    }
    kinds |= bits / 64 % 2 == 0 ? HISTORY_MOVES : 0;
    kinds |= bits / 128 % 2 == 0 ? HISTORY_EVENT_ORDER : 0;
    kinds |= bits / 256 % 4 == 0 ? HISTORY_CLOCKS : 0;
    kinds |= bits / 1024 % 4 == 0 ? HISTORY_THROTTLE : 0;
    kinds |= bits / 4096 % 8 == 0 ? HISTORY_AUTH : 0;
    kinds |= bits / 32768 % 8 == 0 ? HISTORY_UNREADABLE : 0;
    kinds |= bits / 262144 % 4 == 0 ? HISTORY_FUTURES : 0;
    kinds |= bits / 2097152 % 4 == 0 ? HISTORY_SPARSE : 0;
    kinds |= bits / 8388608 % 4 == 0 ? HISTORY_SESSIONS : 0;
    if ((kinds & HISTORY_SERVERS) != 0) {
        kinds |= bits / 268435456 % 4 == 0 ? HISTORY_DIVERGED : 0;
    }
    kinds |= scattered(~seed) % 4 == 0 ? HISTORY_CLOSES : 0;
    kinds |= scattered(seed ^ HISTORY_RENEGOTIATE) % 4 == 0 ? HISTORY_RENEGOTIATE : 0;
    kinds |= scattered(seed ^ HISTORY_DURABLE) % 4 == 0 ? HISTORY_DURABLE : 0;
    kinds |= scattered(seed ^ HISTORY_FORBID) % 4 == 0 ? HISTORY_FORBID : 0;
    if ((kinds & HISTORY_UNREADABLE) != 0) {
        kinds |= scattered(seed ^ HISTORY_UNREAD) % 2 == 0 ? HISTORY_UNREAD : 0;
    }
    kinds |= scattered(seed ^ HISTORY_HIGH_COUNTERS) % 8 == 0 ? HISTORY_HIGH_COUNTERS : 0;
    kinds |= scattered(seed ^ HISTORY_REVOKES) % 4 == 0 ? HISTORY_REVOKES : 0;
    kinds |= scattered(seed ^ HISTORY_SMALL_BUFFER) % 4 == 0 ? HISTORY_SMALL_BUFFER : 0;
    if ((kinds & HISTORY_RENEGOTIATE) == 0) {
        kinds |= scattered(seed ^ HISTORY_SLOW_LINKS) % 3 == 0 ? HISTORY_SLOW_LINKS : 0;
    }
    if ((kinds & HISTORY_UNREAD) == 0) {
        kinds |= scattered(seed ^ HISTORY_STRIKES) % 4 == 0 ? HISTORY_STRIKES : 0;
    }
    return kinds & history_sim_allowed();
}

unsigned history_sim_tuning(uint64_t seed, unsigned tuning)
{
    uint64_t bits = scattered(seed ^ HISTORY_STRIKES) / 4;

    if ((history_sim_kinds(seed) & HISTORY_STRIKES) == 0) {
        return tuning;
    }
    return tuning & ~(bits % 4 == 0 ? (unsigned)UVZK__TUNE_MIRROR : 0U) &
           ~(bits / 4 % 4 == 0 ? (unsigned)UVZK__TUNE_PREPARE : 0U);
}

static bool has_two_hops(uint64_t seed)
{
    return (history_sim_kinds(seed) & HISTORY_SLOW_LINKS) != 0 &&
           scattered(seed) % 11 % 2 == 0;
}

bool history_sim_has_slow_links(uint64_t seed)
{
    return (history_sim_kinds(seed) & HISTORY_SLOW_LINKS) != 0 && !has_two_hops(seed);
}

#define FAR_TICK_MS 200
#define SMALL_BUFFER 2048

uint32_t history_sim_tick(uint64_t seed)
{
    struct sim_options usual;

    sim_options_init(&usual);
    return has_two_hops(seed)                 ? 2 * usual.tick_ms
           : history_sim_has_slow_links(seed) ? FAR_TICK_MS
                                              : usual.tick_ms;
}

/* UVZK_DIALECT is the dialect of every server; otherwise some have one, and others another. */
static bool speaks(const char *dialect)
{
    const char *chosen = getenv("UVZK_DIALECT");

    return chosen != NULL && strcmp(chosen, dialect) == 0;
}

/* As ClickHouse Keeper's. */
static bool is_keeper(uint64_t seed)
{
    return speaks("keeper") ||
           (!speaks("zookeeper-3.9") && seed % 16 == 5 && scattered(seed) / 64 % 4 == 0);
}

/* All of what ZooKeeper 3.9.5 does, and 3.8.0 does not. */
static void be_3_9(struct sim_options *options)
{
    options->event_zxids = options->mixes_watches = true;
    options->exists_needs_read = options->multis_tell_stats = true;
    options->no_containers = options->no_create2 = options->no_removal = false;
    options->no_persistent_watches = false;
}

void history_sim_options(struct sim_options *options, uint64_t seed, bool verbose)
{
    unsigned kinds = history_sim_kinds(seed);

    sim_options_init(options);
    options->keeps_ports = true; /* the sessions of a client close one after the other */
    options->batches = (kinds & HISTORY_BATCHES) != 0;
    options->shuffle_ties = seed % 2 == 0;
    options->to_loop_max_ms = seed % 3 == 0 ? 3 : 0;
    options->followers = seed % 3 != 1;
    if (options->batches && scattered(seed) / 2 % 2 == 0) {
        options->to_loop_max_ms = 20;
    }
    if ((kinds & HISTORY_SERVERS) != 0) {
        static const uint32_t lags[] = {20, 20, 100, 400};
        options->servers = scattered(seed) / 8 % 4 == 0 ? 5 : 3;
        options->lag_max_ms = lags[scattered(seed) % 7 % 4];
    }
    options->shuffle_rewatches = (kinds & HISTORY_EVENT_ORDER) != 0;
    options->clock_drift_ppm = (kinds & HISTORY_CLOCKS) != 0 ? 10000 : 0;
    options->exists_needs_read =
        (kinds & HISTORY_UNREADABLE) != 0 && scattered(seed) % 3 == 0;
    options->eager_acl_checks =
        (kinds & HISTORY_FORBID) != 0 && scattered(seed ^ HISTORY_FORBID) / 4 % 2 == 0;
    options->event_zxids = scattered(seed) / 16384 % 2 == 0;
    options->mixes_watches = options->multis_tell_stats = options->event_zxids;
    options->late_loop = (kinds & HISTORY_CLOSES) != 0;
    options->late_open_max_ms = options->late_loop ? 500 : 0;
    options->different_limits = options->late_pings = (kinds & HISTORY_RENEGOTIATE) != 0;
    options->two_hops = has_two_hops(seed);
    if (options->two_hops) {
        options->followers = true;
    } else if (history_sim_has_slow_links(seed)) {
        options->tick_ms = FAR_TICK_MS;
    }
    options->forgets_sessions = options->reads_keep_no_session = is_keeper(seed);
    options->no_containers = options->forgets_sessions || seed % 16 == 5;
    options->no_create2 = options->no_containers && scattered(seed) / 4 % 3 != 0;
    options->no_removal = options->no_containers && scattered(seed) / 16 % 3 != 0;
    options->no_persistent_watches = scattered(seed) / 64 % 4 == 0;
    if (speaks("zookeeper-3.9")) {
        be_3_9(options);
    }
    if ((kinds & HISTORY_SMALL_BUFFER) != 0) {
        options->jute_maxbuffer = SMALL_BUFFER;
    }
    options->trace_lines = 400;
    options->trace_cb = verbose ? sim_trace_to_stderr : NULL;
}

struct sim *history_sim_new(uint64_t seed, const struct sim_options *options)
{
    struct sim *sim = sim_new(seed, options);

    if (history_transport.begin != NULL) {
        history_transport.begin(sim);
    }
    return sim;
}

void history_sim_free(struct sim *sim)
{
    if (history_transport.end != NULL) {
        history_transport.end();
    }
    sim_free(sim);
}

void history_sim_faults(struct sim_faults *faults, uint64_t seed, uint32_t timeout_ms)
{
    unsigned kinds = history_sim_kinds(seed);

    if ((kinds & HISTORY_SERVERS) != 0) {
        faults->lag = 100000;
        faults->lag_max_ms = timeout_ms / 2;
    }
    if ((kinds & HISTORY_MOVES) != 0) {
        faults->move = 50000;
        faults->move_at_event = 100000; /* before what it has made the client ask for */
    }
    if ((kinds & HISTORY_CLOCKS) != 0) {
        faults->clock_jump = 20000;
        faults->jump_max_ms = timeout_ms;
    }
    if ((kinds & HISTORY_THROTTLE) != 0) {
        faults->throttle = 100000;
        faults->throttle_max_ms = 1000;
    }
    if ((kinds & HISTORY_AUTH) != 0) {
        faults->fail_auth = 20000;
    }
    if ((kinds & HISTORY_UNREADABLE) != 0) {
        faults->unreadable = 300000;
        faults->unreadable_max_ms = timeout_ms / 2;
    }
    if ((kinds & HISTORY_FORBID) != 0) {
        faults->forbid = 300000;
        faults->forbid_max_ms = timeout_ms;
    }
    if ((kinds & HISTORY_UNREAD) != 0) {
        faults->blind_removal = 200000;
    }
    if ((kinds & HISTORY_DIVERGED) != 0) {
        faults->miss_delete = 50000;
        faults->diverges = (uint32_t)(seed % 3);
        faults->forget = scattered(seed) % 5 % 2 == 0 ? 500000 : 0;
    }
    if ((kinds & HISTORY_CLOSES) != 0) {
        faults->stall += faults->stall > 0 ? 50000 : 0;
        faults->reconnect_unreported = 100000;
        faults->close_handle = 20000;
    }
    if ((kinds & HISTORY_RENEGOTIATE) != 0) {
        faults->limit = 100000;
        faults->cut_behind_lag = 500000;
    }
    if ((kinds & HISTORY_DEPOSED) != 0) {
        faults->depose = 50000;
        faults->lose_reply_deposed = 100000;
        faults->depose_max_ms = 2 * timeout_ms;
    }
    if (history_transport.by_bytes) {
        faults->reply_enomem = 0; /* no server says that */
    }
    faults->tamper = history_transport.tamper;
}

void history_sim_usual_faults(struct sim *sim, struct sim_faults *faults, bool expires,
                              bool pauses, uint32_t timeout_ms)
{
    uint32_t weight = (uint32_t)sim_random(sim, 4);

    memset(faults, 0, sizeof(*faults));
    faults->lose_request = 4000 * weight;
    faults->lose_reply = 8000 * weight;
    faults->reply_enomem = sim_random(sim, 4) == 0 ? 4000 : 0;
    faults->delay = 4000 * weight;
    faults->reset = 60000 * weight;
    faults->silence = 30000 * weight;
    faults->expire = expires ? 60000 * weight : 0;
    faults->pause = pauses ? 30000 * weight : 0;
    faults->stall = pauses ? 30000 * weight : 0;
    faults->follower_cut = 30000 * weight;
    faults->repeat_connected = 20000;
    faults->replace_handle = 40000;
    faults->restart = 20000 * weight;
    faults->down_max_ms = sim_random(sim, 2) == 0
                              ? 500
                              : (uint32_t)(2 + 4 * sim_random(sim, 2)) * timeout_ms;
    faults->pause_max_ms = 2 * timeout_ms;
    faults->cut_max_ms = 2 * timeout_ms;
}

/* UVZK_FAULTS: so many times as many. */
void history_sim_more_faults(struct sim_faults *faults)
{
    const char *text = getenv("UVZK_FAULTS");
    uint32_t factor = text != NULL ? (uint32_t)strtoul(text, NULL, 0) : 1;
    uint32_t *each[] = {
        &faults->lose_request,
        &faults->lose_reply,
        &faults->reply_enomem,
        &faults->delay,
        &faults->random_fails,
        &faults->reset,
        &faults->silence,
        &faults->expire,
        &faults->pause,
        &faults->stall,
        &faults->follower_cut,
        &faults->repeat_connected,
        &faults->move,
        &faults->clock_jump,
        &faults->fail_auth,
        &faults->move_at_event,
        &faults->replace_handle,
        &faults->reconnect_unreported,
        &faults->close_handle,
        &faults->restart,
        &faults->lag,
        &faults->depose,
        &faults->throttle,
        &faults->unreadable,
        &faults->forbid,
        &faults->lose_reply_deposed,
        &faults->miss_delete,
        &faults->forget,
        &faults->limit,
        &faults->cut_behind_lag,
    };

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        *each[i] *= factor;
    }
}

void history_sim_failed(struct sim *sim, char failure[HISTORY_FAILURE_SIZE],
                        const char *format, va_list arguments)
{
    if (failure[0] == '\0') {
        (void)vsnprintf(failure, HISTORY_FAILURE_SIZE, format, arguments);
        sim_note(sim, "FAILED: %s", failure);
    }
}

void history_sim_outcome(const struct sim *sim, struct history_outcome *outcome)
{
    outcome->steps = sim_steps(sim);
    outcome->faults = sim_fault_count(sim);
    outcome->trace_hash = sim_trace_hash(sim);
}
