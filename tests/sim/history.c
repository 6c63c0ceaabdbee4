#include "history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "sim.h"

#define CLIENTS_MAX 6
#define ACTORS_MAX 5
#define PATHS_MAX 3
#define ACTIVE_MS 25000U /* how long actors begin new acquires */
#define HEAL_MS 240000U  /* how long everybody has to be answered after that */

enum actor_state { IDLE, ASKING, HOLDING, RELEASING };

struct world;

/* Does one thing after the other with one request; may have re-entered. */
struct actor {
    struct world *world;
    struct seat *seat;
    uvzk_acquire_t *request; /* freed and made anew for each acquire */
    uvzk_acquire_t *nested;  /* a re-entry of the same owner, or NULL */
    enum actor_state state;
    enum actor_state nested_state;
    int path;
    int64_t token;     /* of the hold */
    uint64_t ended_ms; /* when it was no longer valid; UINT64_MAX: it is */
    uint64_t next_ms;  /* when to do the next thing */
    uint64_t deadline; /* of the acquire; UINT64_MAX: none */
    uint64_t asked_ms;
    bool cancelled;
};

/* A process: a client, its mutexes, its actors. Closed and opened anew at times. */
struct seat {
    struct world *world;
    int number;
    struct uvzk__port *port;
    uvzk_client_t *client;
    uvzk_mutex_t mutexes[PATHS_MAX];
    struct actor actors[ACTORS_MAX];
    uint64_t reopen_ms; /* when closed */
    bool closing;
};

struct world {
    struct sim *sim;
    const struct history_options *options;
    struct history_result *result;
    struct seat seats[CLIENTS_MAX];
    int seat_count, actor_count, path_count;
    int64_t last_token[PATHS_MAX];
    uint32_t timeout_ms;
    uint64_t end_ms; /* no new acquires from here on */
    uint64_t told_within_ms;
    bool pauses;    /* processes and loops stop at times */
    uint32_t proof; /* uvzk_proof_t; without any, nobody is safe */
    bool vandals;   /* somebody deletes the nodes of waiters by hand */
    bool killings;  /* an operator ends sessions before their time */
    bool failed;
};

static const char *const paths[PATHS_MAX] = {"/locks/a", "/locks/deep/er/b", "/locks/c"};

static void fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failed) {
        return;
    }
    world->failed = true;
    va_start(arguments, format);
    (void)vsnprintf(world->result->failure, sizeof(world->result->failure), format,
                    arguments);
    va_end(arguments);
    sim_note(world->sim, "FAILED: %s", world->result->failure);
}

static uint64_t chance(struct world *world, uint64_t n)
{
    return sim_random(world->sim, n);
}

/* ---------------------------------------------------------------- the checks */

/* Nothing can protect a hold from an operator who ends its session early: in
 * histories where that happens a hold ends with its session, told or not. */
static bool killed(const struct actor *actor)
{
    return actor->world->killings &&
           !sim_session_alive(actor->world->sim,
                              uvzk_client_session_id(actor->seat->client));
}

static bool holds(const struct actor *actor)
{
    return actor->world->proof != UVZK_PROOF_NONE && actor->state == HOLDING &&
           uvzk_is_held(actor->request) && !killed(actor);
}

/* A hold that is not valid is told to be lost, as soon as its process runs. */
static void check_told(struct actor *actor)
{
    struct world *world = actor->world;
    uint64_t now = sim_now(world->sim);

    if (actor->state != HOLDING || uvzk_is_held(actor->request)) {
        actor->ended_ms = UINT64_MAX;
        return;
    }
    if (actor->ended_ms == UINT64_MAX) {
        uint64_t until = uvzk_valid_until(actor->request);
        actor->ended_ms = until == 0 ? now : until;
    }
    if (actor->ended_ms > now) {
        fail(world, "is_held and valid_until disagree");
    } else if (now - actor->ended_ms > world->told_within_ms) {
        fail(world, "a hold of client %d ended %" PRIu64 " ms ago and nobody was told",
             actor->seat->number, now - actor->ended_ms);
    }
}

static void check_exclusion(struct world *world)
{
    const struct actor *holder[PATHS_MAX] = {NULL};

    for (int i = 0; i < world->seat_count; i++) {
        if (world->seats[i].client == NULL) {
            continue;
        }
        for (int j = 0; j < world->actor_count; j++) {
            struct actor *actor = &world->seats[i].actors[j];
            check_told(actor);
            if (!holds(actor)) {
                continue;
            }
            if (holder[actor->path] != NULL) {
                fail(world,
                     "two valid holds on %s: client %d token %" PRId64
                     " and client %d token %" PRId64,
                     paths[actor->path], holder[actor->path]->seat->number,
                     holder[actor->path]->token, i, actor->token);
            }
            holder[actor->path] = actor;
        }
    }
}

static void check_token(struct actor *actor)
{
    struct world *world = actor->world;

    if (killed(actor) || world->proof == UVZK_PROOF_NONE) {
        return;
    }
    if (actor->token <= world->last_token[actor->path]) {
        fail(world, "token %" PRId64 " granted after %" PRId64 " on %s", actor->token,
             world->last_token[actor->path], paths[actor->path]);
    }
    world->last_token[actor->path] = actor->token;
}

/* -------------------------------------------------------------- the callbacks */

static void rest(struct actor *actor, uint64_t most_ms)
{
    actor->next_ms = sim_now(actor->world->sim) + chance(actor->world, most_ms);
}

static void over(struct actor *actor)
{
    if (actor->request->impl != NULL) {
        fail(actor->world, "impl is set after the last callback");
    }
    free(actor->request);
    actor->request = NULL;
    actor->state = IDLE;
    rest(actor, 1000);
}

static struct actor *actor_of(uvzk_acquire_t *request)
{
    return request->data;
}

/* What may end an acquire in these histories, and nothing else. */
static void check_refusal(const struct actor *actor, int status)
{
    switch (status) {
    case UV_ETIMEDOUT:
    case UV_ECANCELED:
    case UVZK_ECLOSED:
    case UVZK_EEXPIRED:
    case UVZK_ECONNLOSS: /* tried once */
    case UV_ENOMEM:      /* spoilt replies */
    case UV_EIO:         /* no random bytes for a new name */
        return;
    case UVZK_EDELETED:
        /* A session's end deletes its nodes, and may be heard of in that order. */
        if (actor->world->vandals || actor->world->killings) {
            return;
        }
        break;
    default:
        break;
    }
    fail(actor->world, "refused with %s", uvzk_err_name(status));
}

static void on_acquired(uvzk_acquire_t *request, int status)
{
    struct actor *actor = actor_of(request);
    struct world *world = actor->world;

    sim_note(world->sim, "client %d: acquire of %s says %s", actor->seat->number,
             paths[actor->path], uvzk_err_name(status));
    if (actor->state != ASKING || request != actor->request) {
        fail(world, "acquire callback out of order");
    }
    if (status < 0) {
        world->result->refusals++;
        check_refusal(actor, status);
        if (actor->cancelled && status != UV_ECANCELED) {
            fail(world, "cancelled, but told %s", uvzk_err_name(status));
        }
        over(actor);
        return;
    }
    if (actor->cancelled) {
        fail(world, "granted after cancel");
    }
    world->result->grants++;
    actor->state = HOLDING;
    actor->token = uvzk_token(request);
    check_token(actor);
    if (!uvzk_is_held(request)) {
        fail(world, "granted, but not valid");
    }
    rest(actor, chance(world, 8) == 0 ? 30000 : 1500);
}

static void on_lost(uvzk_acquire_t *request, int reason)
{
    struct actor *actor = actor_of(request);

    sim_note(actor->world->sim, "client %d: %s lost, %s", actor->seat->number,
             paths[actor->path], uvzk_err_name(reason));
    if (actor->state != HOLDING || request != actor->request) {
        fail(actor->world, "lost callback out of order");
    }
    actor->world->result->losses++;
    over(actor);
}

static void on_released(uvzk_acquire_t *request, int status)
{
    struct actor *actor = actor_of(request);

    if (actor->state != RELEASING || request != actor->request) {
        fail(actor->world, "release callback out of order");
    }
    if (status != 0 && status != UVZK_ELOST && status != UVZK_ECLOSED &&
        status != UVZK_EEXPIRED) {
        fail(actor->world, "release says %s", uvzk_err_name(status));
    }
    actor->world->result->releases++;
    over(actor);
}

static void nested_over(struct actor *actor)
{
    free(actor->nested);
    actor->nested = NULL;
    actor->nested_state = IDLE;
}

static void on_nested(uvzk_acquire_t *request, int status)
{
    struct actor *actor = actor_of(request);

    if (actor->nested_state != ASKING || request != actor->nested) {
        fail(actor->world, "nested acquire callback out of order");
    }
    if (status < 0) {
        nested_over(actor);
        return;
    }
    /* If the outer hold was lost meanwhile this is a hold of its own. */
    actor->nested_state = HOLDING;
}

static void on_nested_lost(uvzk_acquire_t *request, int reason)
{
    struct actor *actor = actor_of(request);

    (void)reason;
    if (actor->nested_state != HOLDING || request != actor->nested) {
        fail(actor->world, "nested lost callback out of order");
    }
    nested_over(actor);
}

static void on_nested_released(uvzk_acquire_t *request, int status)
{
    struct actor *actor = actor_of(request);

    (void)status;
    if (actor->nested_state != RELEASING || request != actor->nested) {
        fail(actor->world, "nested release callback out of order");
    }
    nested_over(actor);
}

static void on_queued(uvzk_acquire_t *request, uint64_t ahead)
{
    struct actor *actor = actor_of(request);

    if (actor->state != ASKING || ahead == 0) {
        fail(actor->world, "queued callback out of order");
    }
}

/* -------------------------------------------------------------- what actors do */

static void ask(struct actor *actor)
{
    struct world *world = actor->world;
    uvzk_acquire_options_t options;
    uint64_t kind = chance(world, 10);

    actor->path = (int)chance(world, (uint64_t)world->path_count);
    actor->request = calloc(1, sizeof(*actor->request));
    actor->request->data = actor;
    actor->cancelled = false;
    actor->deadline = UINT64_MAX;
    actor->asked_ms = sim_now(world->sim);
    uvzk_acquire_options_init(&options);
    options.owner = chance(world, 2) == 0 ? actor : NULL;
    options.queued_cb = chance(world, 2) == 0 ? on_queued : NULL;
    if (kind == 0) {
        options.timeout_ms = UVZK_TRY_ONCE;
    } else if (kind < 4) {
        options.timeout_ms = 1 + (int64_t)chance(world, 3000);
        actor->deadline = actor->asked_ms + (uint64_t)options.timeout_ms;
    }
    int status = uvzk_lock_acquire(&actor->seat->mutexes[actor->path], actor->request,
                                   &options, on_acquired, on_lost);
    if (status != 0) {
        if (status != UV_EIO) { /* no random bytes: one of the faults */
            fail(world, "acquire refused: %s", uvzk_err_name(status));
        }
        over(actor);
        return;
    }
    actor->state = ASKING;
    rest(actor, 4000);
}

static void let_go(struct actor *actor)
{
    if (uvzk_release(actor->request, on_released) == 0) {
        actor->state = RELEASING;
    } else {
        fail(actor->world, "release refused");
    }
    actor->next_ms = UINT64_MAX;
}

static void re_enter(struct actor *actor)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = actor;
    options.timeout_ms = 2000;
    actor->nested = calloc(1, sizeof(*actor->nested));
    actor->nested->data = actor;
    actor->nested_state = ASKING;
    if (uvzk_lock_acquire(&actor->seat->mutexes[actor->path], actor->nested, &options,
                          on_nested, on_nested_lost) != 0) {
        nested_over(actor);
    }
}

static void act_on_nested(struct actor *actor)
{
    if (actor->nested_state == HOLDING &&
        uvzk_release(actor->nested, on_nested_released) == 0) {
        actor->nested_state = RELEASING;
    }
}

static void act(struct actor *actor)
{
    struct world *world = actor->world;

    switch (actor->state) {
    case IDLE:
        if (sim_now(world->sim) < world->end_ms && actor->nested == NULL) {
            ask(actor);
        } else {
            rest(actor, 1000);
        }
        break;
    case ASKING:
        if (sim_now(world->sim) < world->end_ms && chance(world, 4) == 0 &&
            uvzk_cancel(actor->request) == 0) {
            actor->cancelled = true;
            actor->next_ms = UINT64_MAX;
        } else {
            rest(actor, 4000);
        }
        break;
    case HOLDING:
        if (actor->nested == NULL && chance(world, 4) == 0) {
            re_enter(actor);
            rest(actor, 500);
        } else {
            let_go(actor);
        }
        break;
    case RELEASING:
        actor->next_ms = UINT64_MAX;
        break;
    }
}

/* ------------------------------------------------------------------ the seats */

static void open_seat(struct seat *seat)
{
    struct world *world = seat->world;
    uvzk_options_t options;
    char name[16];

    (void)snprintf(name, sizeof(name), "c%d", seat->number);
    seat->port = sim_port_new(world->sim, name);
    sim_set_timeout(seat->port, world->timeout_ms);
    seat->client = calloc(1, sizeof(*seat->client));
    seat->client->data = seat;
    seat->closing = false;
    uvzk_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = world->timeout_ms;
    options.proof = world->proof;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    if (uvzk__client_create(seat->client, seat->port, &options, world->options->tuning) !=
        0) {
        fail(world, "client refused");
    }
    memset(seat->mutexes, 0, sizeof(seat->mutexes));
    for (int i = 0; i < world->path_count; i++) {
        if (uvzk_mutex_init(seat->client, &seat->mutexes[i], paths[i]) != 0) {
            fail(world, "mutex refused");
        }
    }
    for (int i = 0; i < world->actor_count; i++) {
        struct actor *actor = &seat->actors[i];
        memset(actor, 0, sizeof(*actor));
        actor->world = world;
        actor->seat = seat;
        rest(actor, 1500);
    }
    if (uvzk_client_start(seat->client) != 0) {
        fail(world, "start refused");
    }
}

static void on_closed(uvzk_client_t *client)
{
    struct seat *seat = client->data;

    for (int i = 0; i < seat->world->actor_count; i++) {
        if (seat->actors[i].state != IDLE || seat->actors[i].nested != NULL) {
            fail(seat->world, "client closed before a request was answered");
        }
    }
    free(client);
    seat->client = NULL;
    seat->port = NULL;
    seat->reopen_ms = sim_now(seat->world->sim) + 1 + chance(seat->world, 3000);
}

static void close_seat(struct seat *seat)
{
    seat->closing = true;
    for (int i = 0; i < seat->world->actor_count; i++) {
        seat->actors[i].next_ms = UINT64_MAX;
        seat->actors[i].cancelled = false;
    }
    if (uvzk_client_close(seat->client, on_closed) != 0) {
        fail(seat->world, "close refused");
    }
}

static bool idle(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        for (int j = 0; j < world->actor_count; j++) {
            if (world->seats[i].client != NULL &&
                (world->seats[i].actors[j].state != IDLE ||
                 world->seats[i].actors[j].nested != NULL)) {
                return false;
            }
        }
    }
    return true;
}

/* Everybody has been answered, and the servers are back. */
static bool at_rest(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        const uvzk_client_t *client = world->seats[i].client;
        if (client != NULL && uvzk_client_state(client) != UVZK_STATE_CONNECTED &&
            uvzk_client_state(client) != UVZK_STATE_RECONNECTED &&
            !world->seats[i].closing) {
            return false;
        }
    }
    return idle(world);
}

static void act_in(struct seat *seat, uint64_t now, bool ending)
{
    for (int i = 0; i < seat->world->actor_count && !seat->closing; i++) {
        struct actor *actor = &seat->actors[i];
        if (actor->nested_state == HOLDING && (ending || chance(seat->world, 3) == 0)) {
            act_on_nested(actor);
        }
        if (actor->next_ms <= now) {
            act(actor);
        }
    }
}

static bool is_held_somewhere(const struct world *world, int path, int64_t czxid)
{
    for (int i = 0; i < world->seat_count; i++) {
        for (int j = 0; j < world->actor_count; j++) {
            const struct actor *actor = &world->seats[i].actors[j];
            if (world->seats[i].client != NULL && actor->state == HOLDING &&
                actor->path == path && actor->token == czxid) {
                return true;
            }
        }
    }
    return false;
}

/* Somebody deletes a waiter's node by hand. Never the first one in line: whoever
 * deletes a holder's node makes two holders, and nothing can prevent it. */
static void delete_by_hand(struct world *world, int path)
{
    const char *names[64];
    char victim[256];
    struct uvzk__stat stat;
    size_t count = sim_children(world->sim, paths[path], names, 64);

    if (count < 2) {
        return;
    }
    (void)snprintf(victim, sizeof(victim), "%s/%s", paths[path],
                   names[1 + chance(world, (count < 64 ? count : 64) - 1)]);
    if (sim_stat(world->sim, victim, &stat) &&
        !is_held_somewhere(world, path, stat.czxid)) {
        (void)sim_delete_by_hand(world->sim, victim);
    }
}

/* The tests' own hands move in steps of a few virtual ms. */
static void move_all(struct world *world)
{
    uint64_t now = sim_now(world->sim);
    bool ending = now >= world->end_ms;

    if (world->vandals && !ending && chance(world, 50) == 0) {
        delete_by_hand(world, (int)chance(world, (uint64_t)world->path_count));
    }
    for (int i = 0; i < world->seat_count && !world->failed; i++) {
        struct seat *seat = &world->seats[i];
        if (seat->client == NULL) {
            if (!ending && now >= seat->reopen_ms) {
                open_seat(seat);
            }
        } else if (!seat->closing) {
            act_in(seat, now, ending);
            if (!ending && chance(world, 8000) == 0) {
                close_seat(seat);
            }
        }
    }
}

/* ------------------------------------------------------------------- a history */

static void some_faults(struct world *world)
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
    faults.restart = 10000 * weight;
    static const uint32_t downs[] = {500, 500, 2, 6}; /* ms, ms, timeouts, timeouts */
    uint32_t down = downs[chance(world, 4)];
    faults.down_max_ms = down < 100 ? down * world->timeout_ms : down;
    faults.pause_max_ms = 2 * world->timeout_ms;
    faults.cut_max_ms = 2 * world->timeout_ms;
    sim_set_faults(world->sim, &faults);
}

static void print_line(void *arg, const char *line)
{
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

static void create_world(struct world *world, uint64_t seed)
{
    struct sim_options options;

    sim_options_init(&options);
    options.shuffle_ties = seed % 2 == 0;
    options.container_check_random = true;
    options.container_check_ms = 4000;
    options.hop_max_ms = seed % 3 == 0 ? 3 : 0;
    options.followers = seed % 3 != 1;
    options.no_containers = seed % 16 == 5;
    options.trace_lines = 400;
    options.trace_cb = world->options->verbose ? print_line : NULL;
    world->sim = sim_new(seed, &options);
    world->killings = seed % 4 == 3;
    world->pauses = seed % 5 != 0;
    world->vandals = seed % 8 == 6;
    world->proof = seed % 16 == 9    ? UVZK_PROOF_SYNC
                   : seed % 16 == 13 ? UVZK_PROOF_NONE
                                     : UVZK_PROOF_QUORUM;
    world->timeout_ms = (uint32_t)(4000 + chance(world, 8000));
    world->told_within_ms = world->pauses ? 8 * world->timeout_ms : 100;
    world->seat_count = 2 + (int)chance(world, CLIENTS_MAX - 1);
    world->actor_count = 1 + (int)chance(world, ACTORS_MAX);
    world->path_count = 1 + (int)chance(world, PATHS_MAX);
    world->end_ms = sim_now(world->sim) + ACTIVE_MS;
    for (int i = 0; i < world->seat_count; i++) {
        world->seats[i].world = world;
        world->seats[i].number = i;
        open_seat(&world->seats[i]);
    }
    if (world->options->faults) {
        some_faults(world);
    }
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
        check_exclusion(world);
        if (sim_now(world->sim) >= moved + 10) {
            moved = sim_now(world->sim);
            move_all(world);
        }
    }
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

static void check_clients(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        uvzk_client_stats_t stats;
        if (world->seats[i].client == NULL || world->seats[i].closing) {
            continue;
        }
        uvzk_client_stats(world->seats[i].client, &stats);
        world->result->requests += stats.requests;
        if (stats.contenders != 0 || stats.watches != 0) {
            fail(world, "client %d: %" PRIu64 " contenders and %" PRIu64 " watches left",
                 i, stats.contenders, stats.watches);
        }
    }
}

static void check_server(struct world *world)
{
    if (sim_watch_count(world->sim) != 0) {
        fail(world, "%zu watches left", sim_watch_count(world->sim));
    }
    for (int i = 0; i < world->path_count; i++) {
        const char *name = "";
        size_t count = sim_children(world->sim, paths[i], &name, 1);
        if (count != 0) {
            fail(world, "%zu nodes left in %s, the first is %s", count, paths[i], name);
        }
    }
}

static void close_all(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        if (world->seats[i].client != NULL && !world->seats[i].closing) {
            close_seat(&world->seats[i]);
        }
    }
}

static void finish(struct world *world)
{
    sim_set_faults(world->sim, NULL);
    step_until(world, sim_now(world->sim) + HEAL_MS, at_rest);
    if (!at_rest(world)) {
        fail(world, "somebody was never answered");
    }
    /* Nodes are withdrawn in the background, and sessions that were left run out. */
    step_until(world, sim_now(world->sim) + 4 * world->timeout_ms, NULL);
    check_clients(world);
    check_server(world);
    close_all(world);
    step_until(world, sim_now(world->sim) + HEAL_MS, all_closed);
    if (!all_closed(world)) {
        fail(world, "a client never closed");
    }
}

void history_run(uint64_t seed, const struct history_options *options,
                 struct history_result *result)
{
    struct world *world = calloc(1, sizeof(*world));

    memset(result, 0, sizeof(*result));
    world->options = options;
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
    free(world);
}
