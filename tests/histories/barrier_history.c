/* SPDX-License-Identifier: Apache-2.0 */
#include "barrier_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barrier/double_barrier.h"
#include "barrier/member.h"
#include "gate_history.h"
#include "recipe_history.h"

#define PARENT "/rounds/deep" /* of the gate, too */
#define DIRECTORY PARENT "/b"
#define READY DIRECTORY "/ready"
#define PATH_SIZE 96
#define ACTIVE_MS 20000U
#define HEAL_MS 400000U
#define MEET_MS 100000U
#define STRUCK_TIMEOUTS 8U

enum whereabouts { OUTSIDE, ENTERING, INSIDE, LEAVING };

/* What a client has: one member, made anew each time. */
struct seat {
    struct recipe_client *client;
    uvzk_double_barrier_t *barrier; /* NULL: closed */
    uvzk_req_t *call;               /* NULL: told */
    enum whereabouts where;
    bool barrier_closing, given_up;
    bool lost;            /* it has been told of a loss inside */
    bool struck;          /* its znode was deleted by hand since its enter */
    bool met_ready;       /* `ready` and its znode were there at once */
    bool stood;           /* its znode, after the last event */
    char path[PATH_SIZE]; /* of its znode; empty: not known */
    uint32_t enters, leaves;
    uint64_t next_ms;
};

struct rounds {
    struct seat seats[RECIPE_CLIENTS_MAX];
    size_t quantity, peak; /* peak: the most members since `ready` went last */
    bool ready;
    /* Until then less is known of `ready`: it, or a member, was deleted by hand. */
    uint64_t struck_until_ms;
    struct gates gates;
    uint32_t rounds_before; /* enters of each, when the faults stopped */
    bool exact; /* nobody gives up or closes, and no session has ended so far */
    bool healing;
    void (*does)(struct seat *); /* what clients do now */
};

static struct rounds *part_of(const struct recipe_history *history)
{
    return history->part;
}

static struct barrier_history_result *result_of(const struct recipe_history *history)
{
    return history->result;
}

/* ------------------------------------------------------- what the servers have had */

static size_t members(const struct recipe_history *history)
{
    return sim_children(history->sim, DIRECTORY, NULL, 0) -
           sim_exists(history->sim, READY);
}

/* After each event; there is at most one transaction in it. */
static void observe(struct recipe_history *history)
{
    bool ready = sim_exists(history->sim, READY);
    size_t count = members(history);

    gates_observe(&part_of(history)->gates);
    if (part_of(history)->gates.failure[0] != '\0' && !history->failed) {
        recipe_fail(history, "%s", part_of(history)->gates.failure);
    }
    if (part_of(history)->ready && !ready) {
        part_of(history)->peak = 0;
    }
    if (count > part_of(history)->peak) {
        part_of(history)->peak = count;
    }
    if (ready && !part_of(history)->ready &&
        part_of(history)->peak < part_of(history)->quantity &&
        sim_now(history->sim) >= part_of(history)->struck_until_ms) {
        recipe_fail(history, "ready, after %zu members at most", part_of(history)->peak);
    }
    part_of(history)->ready = ready;
    for (int i = 0; i < history->client_count; i++) {
        struct seat *slot = &part_of(history)->seats[i];
        bool stands = slot->path[0] != '\0' && sim_exists(history->sim, slot->path);
        slot->met_ready = slot->met_ready || (stands && ready);
        /* Its session has ended at the servers, and it is not told yet. */
        if (slot->stood && !stands && slot->where != LEAVING) {
            part_of(history)->exact = false;
        }
        slot->stood = stands;
    }
}

/* ---------------------------------------------------------------------- the callbacks */

static bool auth_failed_at_the_gate(void *context, int number)
{
    return recipe_auth_failed(&((struct recipe_history *)context)->clients[number]);
}

static void check_round(struct seat *slot, bool in)
{
    struct recipe_history *history = slot->client->history;

    for (int i = 0; part_of(history)->exact && i < history->client_count; i++) {
        const struct seat *other = &part_of(history)->seats[i];
        if (in ? other->enters < slot->enters : other->leaves < slot->leaves) {
            recipe_fail(history, "client %d is %s round %u before client %d has called",
                        slot->client->number, in ? "in" : "out of",
                        in ? slot->enters : slot->leaves, other->client->number);
        }
    }
}

static void session_ended(struct seat *slot)
{
    part_of(slot->client->history)->exact = false;
    result_of(slot->client->history)->expired++;
}

static bool is_expected(const struct seat *slot, int status)
{
    switch (status) {
    case UVZK_EEXPIRED:
        return true;
    case UVZK_ECLOSED:
        return slot->barrier_closing || slot->client->closing;
    case UV_ETIMEDOUT:
    case UV_ECANCELED:
        return slot->given_up;
    case UVZK_EAUTH:
        return recipe_auth_failed(slot->client);
    case UVZK_ENOAUTH: /* for a time */
        return (slot->client->history->kinds & HISTORY_UNREADABLE) != 0;
    case UVZK_ENONODE:
        return slot->struck;
    default:
        return false;
    }
}

static void entered(struct seat *slot)
{
    slot->where = INSIDE;
    result_of(slot->client->history)->entered++;
    if (!slot->met_ready && !slot->struck) {
        recipe_fail(slot->client->history, "client %d is inside, and never met ready",
                    slot->client->number);
    }
    check_round(slot, true);
}

static void on_call(uvzk_req_t *call, int status)
{
    struct seat *slot = call->data;
    struct recipe_history *history = slot->client->history;
    bool entering = slot->where == ENTERING;

    sim_note(history->sim, "client %d: %s says %s", slot->client->number,
             entering ? "enter" : "leave", uvzk_err_name(status));
    observe(history);
    if (slot->call != call || call->impl != NULL || status > 0) {
        recipe_fail(history, "the callback of a call out of order");
    }
    if (status != 0 && !is_expected(slot, status)) {
        recipe_fail(history, "client %d: a call says %s", slot->client->number,
                    uvzk_err_name(status));
    }
    free(call);
    slot->call = NULL;
    slot->where = OUTSIDE;
    slot->next_ms = recipe_soon(history, 400);
    if (status == UVZK_EEXPIRED) {
        session_ended(slot);
    } else if (status != 0) {
        part_of(history)->exact = false;
        result_of(history)->given_up++;
    } else if (entering) {
        entered(slot);
        return;
    } else {
        result_of(history)->left++;
        if (sim_exists(history->sim, slot->path)) {
            recipe_fail(history, "client %d has left, and its znode stands",
                        slot->client->number);
        }
        check_round(slot, false);
    }
    slot->path[0] = '\0';
    slot->stood = false;
}

static void on_lost(uvzk_double_barrier_t *barrier, int reason)
{
    struct seat *slot = barrier->data;

    sim_note(slot->client->history->sim, "client %d: lost, %s", slot->client->number,
             uvzk_err_name(reason));
    if (slot->where != INSIDE || slot->lost || !is_expected(slot, reason)) {
        recipe_fail(slot->client->history, "client %d is told of a loss it cannot have",
                    slot->client->number);
    }
    slot->lost = true;
    session_ended(slot);
}

static void on_barrier_closed(uvzk_double_barrier_t *barrier)
{
    struct seat *slot = barrier->data;

    if (!slot->barrier_closing || barrier->impl != NULL || slot->call != NULL) {
        recipe_fail(slot->client->history, "a close callback out of order");
    }
    free(barrier);
    slot->barrier = NULL;
    slot->where = OUTSIDE;
    slot->next_ms = recipe_soon(slot->client->history, 800);
}

static void client_closed(struct recipe_client *client)
{
    struct seat *slot = &part_of(client->history)->seats[client->number];

    if (slot->call != NULL) {
        recipe_fail(client->history, "a call outlives its client");
    }
    if (slot->barrier != NULL && slot->barrier->impl != NULL) {
        recipe_fail(client->history, "a barrier outlives its client");
    }
    gates_client_closed(&part_of(client->history)->gates, client->number);
    free(slot->barrier); /* closed with its client, without a word */
    slot->barrier = NULL;
    slot->where = OUTSIDE;
}

/* ---------------------------------------------------------------- what they do */

static void client_opened(struct recipe_client *client)
{
    struct rounds *rounds = part_of(client->history);

    gates_open(&rounds->gates, client->number, client->client);
    rounds->seats[client->number].next_ms = recipe_soon(client->history, 50);
}

static void client_closes(struct recipe_client *client)
{
    part_of(client->history)->exact = false;
    gates_client_closing(&part_of(client->history)->gates, client->number);
}

static void open_barrier(struct seat *slot)
{
    slot->barrier = calloc(1, sizeof(*slot->barrier));
    slot->barrier->data = slot;
    slot->barrier_closing = false;
    slot->lost = false;
    slot->where = OUTSIDE;
    slot->path[0] = '\0';
    if (uvzk_double_barrier_init(slot->client->client, slot->barrier, DIRECTORY,
                                 (uint32_t)part_of(slot->client->history)->quantity,
                                 on_lost) != 0) {
        recipe_fail(slot->client->history, "a barrier cannot be made");
    }
}

static void close_barrier(struct seat *slot)
{
    part_of(slot->client->history)->exact = false;
    slot->barrier_closing = true;
    if (uvzk_double_barrier_close(slot->barrier, on_barrier_closed) != 0) {
        recipe_fail(slot->client->history, "a barrier cannot be closed");
    }
}

static int64_t some_timeout(struct recipe_history *history)
{
    return part_of(history)->exact || part_of(history)->healing ||
                   recipe_chance(history, 3) == 0
               ? UVZK_WAIT_FOREVER
               : 1 + (int64_t)recipe_chance(history, 3000);
}

static void enter(struct seat *slot)
{
    int64_t timeout_ms = some_timeout(slot->client->history);

    slot->call = calloc(1, sizeof(*slot->call));
    slot->call->data = slot;
    slot->given_up = timeout_ms != UVZK_WAIT_FOREVER;
    slot->met_ready = slot->struck = false;
    if (uvzk_double_barrier_enter(slot->barrier, slot->call, timeout_ms, on_call) != 0) {
        recipe_fail(slot->client->history, "an enter is refused");
        return;
    }
    const struct uvzk__double_barrier *inside = slot->barrier->impl;
    if (inside->member != NULL) {
        (void)snprintf(slot->path, sizeof(slot->path), "%s", inside->member->path);
    }
    slot->where = ENTERING;
    slot->enters++;
    result_of(slot->client->history)->enters++;
}

static void leave(struct seat *slot)
{
    int64_t timeout_ms = some_timeout(slot->client->history);

    slot->call = calloc(1, sizeof(*slot->call));
    slot->call->data = slot;
    slot->given_up = timeout_ms != UVZK_WAIT_FOREVER;
    slot->where = LEAVING;
    slot->lost = false;
    slot->leaves++;
    if (uvzk_double_barrier_leave(slot->barrier, slot->call, timeout_ms, on_call) != 0) {
        recipe_fail(slot->client->history, "a leave is refused");
    }
}

static void give_up(struct seat *slot)
{
    if (slot->call != NULL && uvzk_req_cancel(slot->call) == 0) {
        slot->given_up = true;
        part_of(slot->client->history)->exact = false;
    }
}

static void act(struct seat *slot)
{
    struct recipe_history *history = slot->client->history;
    uint64_t kind = part_of(history)->exact ? 100 : recipe_chance(history, 100);

    slot->next_ms = recipe_soon(history, 300);
    gates_act(&part_of(history)->gates, slot->client->number);
    if (slot->barrier == NULL) {
        open_barrier(slot);
    } else if (slot->barrier_closing) {
        return;
    } else if (slot->struck && slot->where == ENTERING) {
        give_up(slot); /* nobody counts it any more */
    } else if (kind < 3) {
        close_barrier(slot);
    } else if (kind < 5) {
        recipe_close_client(slot->client);
    } else if (slot->call != NULL) {
        if (kind < 15) {
            give_up(slot);
        }
    } else if (slot->where == INSIDE) {
        leave(slot);
    } else {
        enter(slot);
    }
}

/* Whoever is outside enters. Not told: closed, or under way. */
static void act_to_enter(struct seat *slot)
{
    slot->next_ms = recipe_soon(slot->client->history, 100);
    /* Again and again, because a set may be under way. */
    gates_remove_by_hand(&part_of(slot->client->history)->gates);
    if (slot->barrier == NULL) {
        open_barrier(slot);
    } else if (slot->struck && slot->where == ENTERING) {
        give_up(slot);
    } else if (!slot->barrier_closing && slot->call == NULL && slot->where == OUTSIDE) {
        enter(slot);
    }
}

/* Whoever is inside leaves, and whoever enters gives up. */
static void act_to_leave(struct seat *slot)
{
    slot->next_ms = recipe_soon(slot->client->history, 100);
    if (slot->where == ENTERING) {
        give_up(slot);
    } else if (slot->where == INSIDE && slot->call == NULL && !slot->barrier_closing) {
        leave(slot);
    }
}

/* --------------------------------------------------------------------- the history */

static void act_one(struct recipe_client *client, uint64_t now)
{
    struct seat *slot = &part_of(client->history)->seats[client->number];

    if (now >= slot->next_ms) {
        part_of(client->history)->does(slot);
    }
}

static void other_faults(const struct recipe_history *history, struct sim_faults *faults)
{
    faults->lose_request *= 2;
    faults->lose_reply *= 2;
    faults->delay *= 2;
    faults->pause_max_ms = history->timeout_ms;
    faults->cut_max_ms = history->timeout_ms;
    /* Servers whose trees differ show members that others do not have. */
    faults->miss_delete = 0;
    faults->forget = 0;
    faults->blind_removal = 0;
    faults->forbid =
        0; /* a member that may not be deleted stays until its session ends */
    faults->random_fails = 0; /* an enter would be refused */
}

/* Others may go on without this member, and make `ready` behind the end of a round. */
static void struck(void *context, const char *path)
{
    struct recipe_history *history = context;

    if (strncmp(path, DIRECTORY "/", strlen(DIRECTORY "/")) != 0) {
        return; /* the gate, or the directory without members */
    }
    part_of(history)->exact = false;
    part_of(history)->struck_until_ms =
        sim_now(history->sim) + STRUCK_TIMEOUTS * history->timeout_ms;
    for (int i = 0; i < history->client_count; i++) {
        struct seat *slot = &part_of(history)->seats[i];
        slot->struck = slot->struck || strcmp(slot->path, path) == 0;
    }
}

/* In one of four histories the gate alone, so that all is checked of the members. */
static void begin_strikes(struct recipe_history *history, uint64_t seed)
{
    struct strikes *strikes = &history->strikes;

    strikes_begin(strikes, history->sim, seed, history->timeout_ms);
    strikes->context = history;
    strikes->struck = struck;
    strikes_add_named(strikes, PARENT, false);
    if (seeded_below(&strikes->random, 4) != 0) {
        strikes_add_named(strikes, DIRECTORY, false);
    }
}

/* Servers that resume no session end one at each reconnect. */
static void options(struct sim_options *options)
{
    options->forgets_sessions = false;
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    struct rounds *rounds = part_of(history);

    rounds->gates.sim = history->sim;
    rounds->gates.auth_failed = auth_failed_at_the_gate;
    rounds->gates.context = history;
    rounds->gates.unreadable = (history->kinds & HISTORY_UNREADABLE) != 0;
    rounds->exact = seed % 2 == 0;
    history->client_count = 2 + (int)recipe_chance(history, 4);
    rounds->quantity = rounds->exact
                           ? (size_t)history->client_count
                           : 1 + recipe_chance(history, (uint64_t)history->client_count);
    begin_strikes(history, seed);
    for (int i = 0; i < history->client_count; i++) {
        rounds->seats[i].client = &history->clients[i];
    }
}

static void live(struct recipe_history *history, uint64_t until,
                 void (*does)(struct seat *),
                 bool (*is_done)(const struct recipe_history *))
{
    part_of(history)->does = does;
    while (sim_now(history->sim) < until && !history->failed &&
           (is_done == NULL || !is_done(history))) {
        if (ticker_step(&history->ticker)) {
            observe(history);
            if (sim_now(history->sim) < history->end_ms) {
                strikes_step(&history->strikes);
                observe(history);
            }
        } else if (does != NULL) {
            recipe_act_all(history);
        }
    }
}

static void live_on(struct recipe_history *history)
{
    live(history, history->end_ms, act, NULL);
}

static int count_of(const struct recipe_history *history, enum whereabouts where)
{
    int count = 0;

    for (int i = 0; i < history->client_count; i++) {
        const struct seat *slot = &part_of(history)->seats[i];
        count +=
            slot->barrier != NULL && slot->where == where && !slot->lost && !slot->struck;
    }
    return count;
}

/* Two more rounds have begun, or there are no exact rounds any more. */
static bool rounds_go_on(const struct recipe_history *history)
{
    for (int i = 0; part_of(history)->exact && i < history->client_count; i++) {
        if (part_of(history)->seats[i].enters < part_of(history)->rounds_before + 2) {
            return false;
        }
    }
    return true;
}

static bool nobody_enters(const struct recipe_history *history)
{
    return count_of(history, OUTSIDE) == 0 && count_of(history, ENTERING) == 0 &&
           gates_are_idle(&part_of(history)->gates);
}

static bool all_are_inside(const struct recipe_history *history)
{
    return count_of(history, INSIDE) == history->client_count;
}

static bool all_are_out(const struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        if (part_of(history)->seats[i].call != NULL ||
            part_of(history)->seats[i].where != OUTSIDE) {
            return false;
        }
    }
    return true;
}

static void expect(struct recipe_history *history, bool holds, const char *otherwise)
{
    if (!history->failed && !holds) {
        recipe_fail(history, "%s", otherwise);
    }
}

static void heal(struct recipe_history *history)
{
    uint64_t until = sim_now(history->sim) + HEAL_MS;

    sim_set_faults(history->sim, NULL);
    for (int i = 0; i < history->client_count; i++) {
        uint32_t enters = part_of(history)->seats[i].enters;
        part_of(history)->rounds_before = enters > part_of(history)->rounds_before
                                              ? enters
                                              : part_of(history)->rounds_before;
    }
    live(history, until, act, rounds_go_on);
    expect(history, rounds_go_on(history), "the rounds do not go on");
    part_of(history)->healing = true;
    /* Those who leave may wait for those who are inside, so not all need to come. */
    live(history, sim_now(history->sim) + MEET_MS, act_to_enter, nobody_enters);
    int there = count_of(history, INSIDE) + count_of(history, ENTERING);
    expect(history,
           count_of(history, ENTERING) == 0 || there < (int)part_of(history)->quantity,
           "enough are there, and somebody is not let in");
    expect(history, gates_are_idle(&part_of(history)->gates),
           "a wait at the gate never ends");
    live(history, until, act_to_leave, all_are_out);
    expect(history, all_are_out(history), "not all come out");
    live(history, until, act_to_enter, all_are_inside);
    expect(history, all_are_inside(history), "not all come in");
    live(history, until, act_to_leave, all_are_out);
    expect(history, all_are_out(history), "not all come out at the end");
}

static bool all_are_closed(const struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        if (part_of(history)->seats[i].barrier != NULL) {
            return false;
        }
    }
    return true;
}

static bool nothing_is_left(const struct recipe_history *history)
{
    return members(history) == 0 && !part_of(history)->ready;
}

static void close_barriers(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        close_barrier(&part_of(history)->seats[i]);
    }
    live(history, sim_now(history->sim) + HEAL_MS, NULL, all_are_closed);
    /* A client that was closed without a connection leaves its session behind, and in it a
     * create may come late. Servers that were away give the session its whole timeout. */
    live(history, sim_now(history->sim) + HEAL_MS, NULL, nothing_is_left);
    if (!all_are_closed(history) || !nothing_is_left(history)) {
        recipe_fail(history, "left: %zu members%s", members(history),
                    part_of(history)->ready ? ", and ready" : "");
    }
}

static const struct recipe_history_kind kind = {.size = sizeof(struct rounds),
                                                .active_ms = ACTIVE_MS,
                                                .heal_ms = HEAL_MS,
                                                .leaves_no_watch = true,
                                                .options = options,
                                                .begin = begin,
                                                .faults = other_faults,
                                                .client_opened = client_opened,
                                                .client_closes = client_closes,
                                                .client_closed = client_closed,
                                                .act = act_one,
                                                .live = live_on,
                                                .heal = heal,
                                                .end = close_barriers};

void barrier_history_run(uint64_t seed, bool verbose,
                         struct barrier_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
