#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_world.h"

#define HEAL_MS 240000U /* how long everybody has to be answered after that */

const char *const history_paths[PATHS_MAX] = {"/locks/a", "/locks/deep/er/b", "/locks/c"};

void history_fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    world->failed = true;
    va_start(arguments, format);
    history_sim_failed(world->sim, world->result->failure, format, arguments);
    va_end(arguments);
}

const char *history_recipe_name(const struct recipe *recipe)
{
    return recipe->name;
}

const char *history_unseen(const struct recipe *recipe, const struct history_result *sum)
{
    return recipe->unseen(sum);
}

/* -------------------------------------------------------------------- the world */

static void some_faults(struct world *world, uint64_t seed)
{
    struct sim_faults faults;
    uint32_t weight = (uint32_t)chance(world, 4); /* one in four has hardly any */

    memset(&faults, 0, sizeof(faults));
    faults.lose_request = 4000 * weight;
    faults.lose_reply = 8000 * weight;
    faults.spoil_reply = chance(world, 4) == 0 ? 2000 : 0;
    faults.delay = 4000 * weight;
    faults.random_fails = chance(world, 8) == 0 ? 2000 : 0;
    faults.reset = 30000 * weight;
    faults.silence = 20000 * weight;
    faults.expire = world->killings ? 30000 * weight : 0;
    faults.pause = world->pauses ? 15000 * weight : 0;
    faults.stall = world->pauses ? 15000 * weight : 0;
    faults.follower_cut = 15000 * weight;
    faults.repeat_connected = 10000;
    faults.replace_handle = 20000 * weight;
    faults.restart = 10000 * weight;
    static const uint32_t downs[] = {500, 500, 2, 6}; /* ms, ms, timeouts, timeouts */
    uint32_t down = downs[chance(world, 4)];
    faults.down_max_ms = down < 100 ? down * world->timeout_ms : down;
    faults.pause_max_ms = 2 * world->timeout_ms;
    faults.cut_max_ms = 2 * world->timeout_ms;
    history_sim_faults(&faults, seed, world->timeout_ms);
    if (world->vandals) {
        faults.blind = 0; /* who does both to one znode is outside the promise */
    }
    sim_set_faults(world->sim, &faults);
}

static void create_sim(struct world *world, uint64_t seed)
{
    struct sim_options options;

    history_sim_options(&options, seed, world->options->verbose);
    options.container_check_random = true;
    options.container_check_ms = 4000;
    world->sim = sim_new(seed, &options);
}

static void create_world(struct world *world, uint64_t seed)
{
    create_sim(world, seed);
    world->kinds = history_sim_kinds(seed);
    world->killings = seed % 4 == 3;
    world->pauses = seed % 5 != 0;
    world->vandals = seed % 4 == 2 || seed % 16 == 1 || seed % 16 == 4;
    world->closings = seed % 7 == 3 && world->recipe->lock_count > 0;
    world->proof = seed % 16 == 9    ? UVZK_PROOF_SYNC
                   : seed % 16 == 13 ? UVZK_PROOF_NONE
                                     : UVZK_PROOF_QUORUM;
    world->timeout_ms = (uint32_t)(4000 + chance(world, 8000));
    bool late = world->pauses || (world->kinds & HISTORY_CLOCKS) != 0;
    world->told_within_ms = late ? 8 * world->timeout_ms : 100;
    world->seat_count = 2 + (int)chance(world, CLIENTS_MAX - 1);
    world->actor_count = 1 + (int)chance(world, ACTORS_MAX);
    world->path_count = 1 + (int)chance(world, PATHS_MAX);
    world->readers = (uint64_t[]){20, 50, 75, 90}[chance(world, 4)];
    if (world->recipe->prepare != NULL) {
        world->recipe->prepare(world);
    }
    world->end_ms = sim_now(world->sim) + world->recipe->active_ms;
    neighbours_begin(world, seed);
    for (int i = 0; i < world->seat_count; i++) {
        world->seats[i].world = world;
        world->seats[i].number = i;
        seat_open(&world->seats[i]);
    }
    if (world->options->faults) {
        some_faults(world, seed);
    }
}

/* ---------------------------------------------------------------------- its time */

static void move_seat(struct seat *seat, bool ending)
{
    struct world *world = seat->world;

    requests_check(seat);
    for (int i = 0; i < world->actor_count; i++) {
        actor_act(&seat->actors[i]);
    }
    if (sim_auth_failed(seat->port)) {
        seat_close(seat);
        return;
    }
    if (ending) {
        return;
    }
    if (world->recipe->seat_moves != NULL) {
        world->recipe->seat_moves(seat);
    }
    seat_reopen_locks(seat);
    if (world->closings && chance(world, 200) == 0) {
        seat_close_a_lock(seat);
    }
    if (chance(world, 8000) == 0) {
        seat_close(seat);
    }
}

/* The tests' own hands move in steps of a few virtual ms. */
static void move_all(struct world *world)
{
    uint64_t now = sim_now(world->sim);
    bool ending = now >= world->end_ms;

    if (!ending) {
        vandal_moves(world);
    } else if (world->recipe->ending != NULL) {
        world->recipe->ending(world);
    }
    for (int i = 0; i < world->seat_count && !world->failed; i++) {
        struct seat *seat = &world->seats[i];
        if (seat->client == NULL && !ending && now >= seat->reopen_ms) {
            seat_open(seat);
        } else if (seat->client != NULL && !seat->closing) {
            move_seat(seat, ending);
        }
    }
    neighbours_move(world, ending);
}

static void step_until(struct world *world, uint64_t until,
                       bool (*done)(const struct world *))
{
    uint64_t moved = 0;

    while (!world->failed && sim_now(world->sim) < until &&
           !(done != NULL && done(world))) {
        if (!sim_step(world->sim)) {
            sim_run_for(world->sim, 10);
        }
        check_holds(world);
        if (sim_now(world->sim) >= moved + 10) {
            moved = sim_now(world->sim);
            move_all(world);
        }
    }
}

static bool seat_at_rest(const struct seat *seat)
{
    uvzk_client_state_t state;

    if (seat->client == NULL) {
        return true;
    }
    for (int i = 0; i < seat->world->actor_count; i++) {
        if (!actor_idle(&seat->actors[i])) {
            return false;
        }
    }
    state = uvzk_client_state(seat->client);
    return seat->closing || state == UVZK_STATE_CONNECTED ||
           state == UVZK_STATE_RECONNECTED;
}

/* Everybody has been answered, and the servers are back. */
static bool at_rest(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        if (!seat_at_rest(&world->seats[i])) {
            return false;
        }
    }
    return neighbours_gone(world);
}

static bool all_closed(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        if (world->seats[i].client != NULL) {
            return false;
        }
    }
    return true;
}

static void close_all(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        if (world->seats[i].client != NULL && !world->seats[i].closing) {
            seat_close(&world->seats[i]);
        }
    }
}

static void finish(struct world *world)
{
    sim_set_faults(world->sim, NULL);
    /* The sessions of who has closed meanwhile run out from then on. */
    step_until(world, sim_back_at(world->sim), NULL);
    do {
        step_until(world, sim_now(world->sim) + HEAL_MS, at_rest);
        if (!at_rest(world)) {
            history_fail(world, "somebody was never answered");
        }
        /* Nodes are withdrawn in the background, sessions that were left run out, and who
         * was cut off in silence has noticed. */
        step_until(world, sim_now(world->sim) + 4 * world->timeout_ms, NULL);
    } while (!at_rest(world) && world->result->failure[0] == '\0');
    check_residue(world);
    close_all(world);
    step_until(world, sim_now(world->sim) + HEAL_MS, all_closed);
    if (!all_closed(world)) {
        history_fail(world, "a client never closed");
    }
}

void history_run(uint64_t seed, const struct history_options *options,
                 struct history_result *result)
{
    struct world *world = calloc(1, sizeof(*world));

    memset(result, 0, sizeof(*result));
    world->options = options;
    world->recipe = options->recipe;
    world->result = result;
    create_world(world, seed);
    step_until(world, world->end_ms, NULL);
    if (!world->failed) {
        finish(world);
    }
    result->steps = sim_steps(world->sim);
    result->trace_hash = sim_trace_hash(world->sim);
    if (world->failed) {
        if (!options->verbose) {
            sim_trace_print(world->sim, stderr);
        }
        return; /* what is broken is left as it is: the process is about to end */
    }
    sim_free(world->sim);
    neighbours_free(world);
    free(world);
}
