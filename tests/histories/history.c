/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_parts.h"
#include "invariants.h"

#define HEAL_MS 240000U /* how long everybody has to be answered after that */
#define TOGETHER_MIN_MS 200U
#define TOGETHER_MAX_MS 1500U

const char *const history_paths[PATHS_MAX] = {"/locks/a", "/locks/deep/er/b", "/locks/c"};

void history_fail(struct history *history, const char *format, ...)
{
    va_list arguments;

    history->failed = true;
    va_start(arguments, format);
    history_sim_failed(history->sim, history->result->failure, format, arguments);
    va_end(arguments);
}

const char *history_recipe_name(const struct recipe *recipe)
{
    return recipe->name;
}

const char *history_unseen(const struct recipe *recipe, const struct history_result *sum)
{
    bool none_is_worn = sum->high_counters > 0 && sum->exhausted == 0;
    bool none_is_asked = recipe->revocable && sum->revoked == 0 &&
                         (history_sim_allowed() & HISTORY_REVOKES) != 0;

    return none_is_worn           ? "a number that is worn out"
           : none_is_asked        ? "a revocation"
           : sum->given_back == 0 ? "a hold that is given back"
                                  : recipe->unseen(sum);
}

/* ------------------------------------------------------------------ how it begins */

static void some_faults(struct history *history, uint64_t seed)
{
    struct sim_faults faults;
    uint32_t weight = (uint32_t)chance(history, 4); /* one in four has hardly any */

    memset(&faults, 0, sizeof(faults));
    faults.lose_request = 4000 * weight;
    faults.lose_reply = 8000 * weight;
    faults.reply_enomem = chance(history, 4) == 0 ? 2000 : 0;
    faults.delay = 4000 * weight;
    faults.random_fails = chance(history, 8) == 0 ? 2000 : 0;
    faults.reset = 30000 * weight;
    faults.silence = 20000 * weight;
    faults.expire = history->operator_kills ? 30000 * weight : 0;
    faults.pause = history->pauses ? 15000 * weight : 0;
    faults.stall = history->pauses ? 15000 * weight : 0;
    faults.follower_cut = 15000 * weight;
    faults.repeat_connected = 10000;
    faults.replace_handle = 20000 * weight;
    faults.restart = 10000 * weight;
    static const uint32_t downs[] = {500, 500, 2, 6}; /* ms, ms, timeouts, timeouts */
    uint32_t down = downs[chance(history, 4)];
    faults.down_max_ms = down < 100 ? down * history->timeout_ms : down;
    faults.pause_max_ms = 2 * history->timeout_ms;
    faults.cut_max_ms = 2 * history->timeout_ms;
    history_sim_faults(&faults, seed, history->timeout_ms);
    if (history->deletes_nodes) {
        faults.forget = 0;
        faults.miss_delete = 0; /* likewise: its owner's server shows it to its owner */
    }
    history_sim_more_faults(&faults);
    faults.forget = history->leaders_lose_nothing ? 0 : faults.forget;
    sim_set_faults(history->sim, &faults);
}

static void create_sim(struct history *history, uint64_t seed)
{
    struct sim_options options;

    history_sim_options(&options, seed, history->options->verbose);
    options.container_check_random = true;
    options.container_check_ms =
        (history_sim_kinds(seed) & HISTORY_SPARSE) != 0 ? 1000 : 4000;
    history->watches_stay = options.no_removal;
    history->creates_come_late = options.forgets_sessions;
    history->sim = history_sim_new(seed, &options);
}

/* In three of four histories of this kind: each actor of a client has a path of its own, and
 * they often ask together, so that one multi makes one znode in each. Few clients take
 * turns, so many directories are mirrored. */
static void ask_for_several(struct history *history, uint64_t seed)
{
    struct seeded *random = &history->several_random;

    random->state = seed ^ HISTORY_STRIKES;
    history->several = seeded_below(random, 4) != 0;
    if (history->several) {
        history->slot_count = 2 + (int)seeded_below(random, 3);
        history->worker_count = 2 + (int)seeded_below(random, PATHS_MAX - 1);
        history->path_count = history->worker_count;
    }
}

static void begin(struct history *history, uint64_t seed)
{
    create_sim(history, seed);
    history->kinds = history_sim_kinds(seed);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->deletes_nodes = seed % 4 == 2 || seed % 16 == 1 || seed % 16 == 4;
    history->lock_closings = seed % 7 == 3 && history->recipe->lock_count > 0;
    history->cohorts = seed % 8 >= 6;
    history->proof = seed % 16 == 9    ? UVZK_PROOF_SYNC
                     : seed % 16 == 13 ? UVZK_PROOF_NONE
                                       : UVZK_PROOF_QUORUM;
    history->tick_ms = history_sim_tick(seed);
    history->slow_links = history_sim_has_slow_links(seed);
    history->timeout_ms = (uint32_t)(4000 + chance(history, 8000));
    bool late = history->pauses || (history->kinds & HISTORY_CLOCKS) != 0;
    history->told_within_ms = late ? 8 * history->timeout_ms : 100;
    history->slot_count = 2 + (int)chance(history, CLIENTS_MAX - 1);
    history->worker_count = 1 + (int)chance(history, WORKERS_MAX);
    history->path_count = 1 + (int)chance(history, PATHS_MAX);
    if ((history->kinds & HISTORY_SPARSE) != 0) {
        history->slot_count = 2;
        history->worker_count = 1 + history->worker_count % 2;
        history->path_count = 1;
    }
    if ((history->kinds & HISTORY_STRIKES) != 0) {
        ask_for_several(history, seed);
    }
    hold_limits_begin(history, seed);
    history->readers = (uint64_t[]){20, 50, 75, 90}[chance(history, 4)];
    if (history->recipe->prepare != NULL) {
        history->recipe->prepare(history);
    }
    history->end_ms = sim_now(history->sim) + history->recipe->active_ms;
    foreign_clients_begin(history, seed);
    node_deleter_begin(history, seed);
    for (int i = 0; i < history->slot_count; i++) {
        history->slots[i].history = history;
        history->slots[i].number = i;
        client_slot_open(&history->slots[i]);
    }
    if (history->options->faults) {
        some_faults(history, seed);
    }
}

/* ---------------------------------------------------------------------- its time */

/* Those who do nothing ask in this turn. */
static void bring_together(struct client_slot *slot)
{
    struct history *history = slot->history;

    if (!history->several || sim_now(history->sim) < slot->together_ms) {
        return;
    }
    slot->together_ms = sim_now(history->sim) + TOGETHER_MIN_MS +
                        seeded_below(&history->several_random, TOGETHER_MAX_MS);
    for (int i = 0; i < history->worker_count; i++) {
        if (worker_idle(&slot->workers[i])) {
            slot->workers[i].acquisitions[0].next_ms = sim_now(history->sim);
        }
    }
}

static void move_seat(struct client_slot *slot, bool ending)
{
    struct history *history = slot->history;

    requests_check(slot);
    check_revocations(slot);
    if (!ending) {
        bring_together(slot);
    }
    for (int i = 0; i < history->worker_count; i++) {
        worker_act(&slot->workers[i]);
    }
    if (client_slot_auth_failed(slot)) {
        client_slot_close(slot);
        return;
    }
    if (ending) {
        return;
    }
    if (history->recipe->client_slot_step != NULL) {
        history->recipe->client_slot_step(slot);
    }
    revocation_step(slot);
    client_slot_reopen_locks(slot);
    if (history->lock_closings && chance(history, 200) == 0) {
        client_slot_close_a_lock(slot);
    }
    if (chance(history, 8000) == 0) {
        client_slot_close(slot);
    }
}

/* Of several locks it may stand at another one. */
static bool asks_below(const struct actor *worker, const char *path)
{
    for (int i = 0; i < worker->history->recipe->acquisition_count; i++) {
        const struct acquisition *acquisition = &worker->acquisitions[i];
        int shares =
            acquisition->state == ASKING && acquisition->share_count == 1 ? 1 : 0;
        for (int j = 0; j < shares; j++) {
            const char *lock = history_paths[acquisition->shares[j].path];
            if (strncmp(lock, path, strlen(lock)) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Who asks for nothing there does not meet what is back of his; and whoever does knows
 * nothing of a name that a driver has chosen (docs/decisions/diverged-servers.md). */
static bool is_idle(void *context, int64_t owner, const char *path)
{
    const struct history *history = context;

    for (int i = 0; i < history->slot_count; i++) {
        const struct client_slot *slot = &history->slots[i];
        for (int j = 0; slot->client != NULL && !slot->closing && j < slot->sessions;
             j++) {
            for (int k = 0; k < history->worker_count; k++) {
                if (!history->recipe->unnumbered && slot->ports[j] != NULL &&
                    history_transport.session_id(slot->ports[j]) == owner &&
                    asks_below(&slot->workers[k], path)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* The tests' own hands move in steps of a few virtual ms. */
static void move_all(struct history *history)
{
    uint64_t now = sim_now(history->sim);
    bool ending = now >= history->end_ms;

    if (ending && (history->kinds & HISTORY_DIVERGED) != 0) {
        sim_delete_resurrected(history->sim, is_idle, history);
    }
    operator_step(history);
    if (!ending) {
        node_deleter_step(history);
        counters_step(history);
    } else if (history->recipe->ending != NULL) {
        history->recipe->ending(history);
    }
    for (int i = 0; i < history->slot_count && !history->failed; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client == NULL && !ending && now >= slot->reopen_ms) {
            client_slot_open(slot);
        } else if (slot->client != NULL && !slot->closing) {
            move_seat(slot, ending);
        }
    }
    foreign_clients_step(history, ending);
}

static void check_soundness(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        const uvzk_client_t *client = history->slots[i].client;
        const char *broken = client == NULL ? NULL : invariants_broken(client);
        if (broken != NULL) {
            history_fail(history, "%s", broken);
        }
    }
}

static void step_until(struct history *history, uint64_t until,
                       bool (*done)(const struct history *))
{
    uint64_t moved = 0;

    while (!history->failed && sim_now(history->sim) < until &&
           !(done != NULL && done(history))) {
        if (!sim_step(history->sim)) {
            sim_run_for(history->sim, 10);
        }
        if (sim_now(history->sim) < history->end_ms) {
            strikes_step(&history->strikes);
        }
        check_holds(history);
        if (sim_now(history->sim) >= moved + 10) {
            moved = sim_now(history->sim);
            check_soundness(history);
            move_all(history);
        }
    }
}

static bool seat_at_rest(const struct client_slot *slot)
{
    uvzk_client_state_t state;

    if (slot->client == NULL) {
        return true;
    }
    for (int i = 0; i < slot->history->worker_count; i++) {
        if (!worker_idle(&slot->workers[i])) {
            return false;
        }
    }
    state = uvzk_client_state(slot->client);
    return slot->closing || state == UVZK_STATE_CONNECTED ||
           state == UVZK_STATE_RECONNECTED;
}

/* Everybody has been answered, and the servers are back. */
static bool at_rest(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (!seat_at_rest(&history->slots[i])) {
            return false;
        }
    }
    return foreign_clients_gone(history);
}

static bool all_closed(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].client != NULL) {
            return false;
        }
    }
    return true;
}

static void close_all(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].client != NULL && !history->slots[i].closing) {
            client_slot_close(&history->slots[i]);
        }
    }
}

static uint64_t answers(const struct history *history)
{
    const struct history_result *result = history->result;

    return result->grants + result->refusals + result->losses + result->releases;
}

/* Nobody asks anew. Sixty may stand in one line, each for several round trips: where these
 * take a second and more, it is enough that somebody is answered in that time. */
static void answer_all(struct history *history)
{
    uint64_t before = 0;

    do {
        before = answers(history);
        step_until(history, sim_now(history->sim) + HEAL_MS, at_rest);
    } while (history->slow_links && !history->failed && !at_rest(history) &&
             answers(history) > before);
    if (!at_rest(history)) {
        history_fail(history, "somebody was never answered");
    }
}

static void finish(struct history *history)
{
    sim_set_faults(history->sim, NULL);
    if (history->foreign_clients != NULL) {
        sim_converge(history->sim); /* other libraries stay where they are */
    }
    /* The sessions of who has closed meanwhile run out from then on. */
    step_until(history, sim_back_at(history->sim), NULL);
    do {
        answer_all(history);
        /* Nodes are withdrawn in the background, sessions that were left run out, and who
         * was cut off in silence has noticed. */
        step_until(history, sim_now(history->sim) + 4 * history->timeout_ms, NULL);
    } while (!at_rest(history) && history->result->failure[0] == '\0');
    /* What nobody has met nobody has asked about. */
    sim_converge(history->sim);
    check_residue(history);
    close_all(history);
    step_until(history, sim_now(history->sim) + HEAL_MS, all_closed);
    if (!all_closed(history)) {
        history_fail(history, "a client never closed");
    }
}

void history_run(uint64_t seed, const struct history_options *options,
                 struct history_result *result)
{
    struct history *history = calloc(1, sizeof(*history));

    memset(result, 0, sizeof(*result));
    history->options = options;
    history->recipe = options->recipe;
    history->result = result;
    begin(history, seed);
    step_until(history, history->end_ms, NULL);
    if (!history->failed) {
        finish(history);
    }
    result->steps = sim_steps(history->sim);
    result->faults = sim_fault_count(history->sim);
    result->nodes_deleted += history->strikes.deleted;
    result->trace_hash = sim_trace_hash(history->sim);
    if (history->failed) {
        if (!options->verbose) {
            sim_trace_print(history->sim, stderr);
        }
        return; /* what is broken is left as it is: the process is about to end */
    }
    history_sim_free(history->sim);
    foreign_clients_free(history);
    free(history);
}
