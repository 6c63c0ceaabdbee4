#include "barrier_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barrier/double_barrier.h"
#include "barrier/member.h"
#include "client/create.h"
#include "failing_allocator.h"
#include "gate_history.h"
#include "history_ports.h"
#include "history_strikes.h"
#include "history_transport.h"
#include "sim.h"
#include "ticker.h"

#define PARENT "/rounds/deep" /* of the gate, too */
#define DIRECTORY PARENT "/b"
#define READY DIRECTORY "/ready"
#define SLOTS_MAX 5
#define PATH_SIZE 96
#define ACTIVE_MS 20000U
#define HEAL_MS 400000U
#define MEET_MS 100000U
#define STRUCK_TIMEOUTS 8U

struct history;

enum whereabouts { OUTSIDE, ENTERING, INSIDE, LEAVING };

/* A client with one member; both are made anew each time. */
struct client_slot {
    struct history *history;
    int number;
    struct uvzk__port *ports[HISTORY_PORTS_MAX];
    uint32_t sessions;
    uvzk_client_t *client;          /* NULL: closed */
    uvzk_double_barrier_t *barrier; /* NULL: closed */
    uvzk_barrier_call_t *call;      /* NULL: told */
    enum whereabouts where;
    bool barrier_closing, client_closing, given_up;
    bool lost;            /* it has been told of a loss inside */
    bool struck;          /* its znode was deleted by hand since its enter */
    bool met_ready;       /* `ready` and its znode were there at once */
    bool stood;           /* its znode, after the last event */
    char path[PATH_SIZE]; /* of its znode; empty: not known */
    uint32_t enters, leaves;
    uint64_t next_ms, reopen_ms;
};

struct history {
    struct sim *sim;
    struct barrier_history_result *result;
    struct client_slot slots[SLOTS_MAX];
    int slot_count;
    size_t quantity, peak; /* peak: the most members since `ready` went last */
    bool ready;
    /* Until then less is known of `ready`: it, or a member, was deleted by hand. */
    uint64_t struck_until_ms;
    struct gates gates;
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms;
    uint64_t end_ms;
    uint32_t rounds_before; /* enters of each, when the faults stopped */
    bool exact; /* nobody gives up or closes, and no session has ended so far */
    bool operator_kills, pauses, healing, failed;
    unsigned kinds; /* enum history_kind */
};

static void fail(struct history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct history *history, const char *format, ...)
{
    va_list arguments;

    history->failed = true;
    va_start(arguments, format);
    history_sim_failed(history->sim, history->result->outcome.failure, format, arguments);
    va_end(arguments);
}

static uint64_t chance(struct history *history, uint64_t n)
{
    return sim_random(history->sim, n);
}

static uint64_t soon(struct history *history, uint64_t most_ms)
{
    return sim_now(history->sim) + 1 + chance(history, most_ms);
}

/* ------------------------------------------------------- what the servers have had */

static size_t members(const struct history *history)
{
    return sim_children(history->sim, DIRECTORY, NULL, 0) -
           sim_exists(history->sim, READY);
}

/* After each event; there is at most one transaction in it. */
static void observe(struct history *history)
{
    bool ready = sim_exists(history->sim, READY);
    size_t count = members(history);

    gates_observe(&history->gates);
    if (history->gates.failure[0] != '\0' && !history->failed) {
        fail(history, "%s", history->gates.failure);
    }
    if (history->ready && !ready) {
        history->peak = 0;
    }
    if (count > history->peak) {
        history->peak = count;
    }
    if (ready && !history->ready && history->peak < history->quantity &&
        sim_now(history->sim) >= history->struck_until_ms) {
        fail(history, "ready, after %zu members at most", history->peak);
    }
    history->ready = ready;
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        bool stands = slot->path[0] != '\0' && sim_exists(history->sim, slot->path);
        slot->met_ready = slot->met_ready || (stands && ready);
        /* Its session has ended at the servers, and it is not told yet. */
        if (slot->stood && !stands && slot->where != LEAVING) {
            history->exact = false;
        }
        slot->stood = stands;
    }
}

/* ---------------------------------------------------------------------- the callbacks */

static bool auth_failed(const struct client_slot *slot)
{
    return history_ports_auth_failed(slot->ports, slot->sessions);
}

static bool auth_failed_at_the_gate(void *context, int number)
{
    return auth_failed(&((struct history *)context)->slots[number]);
}

static void check_round(struct client_slot *slot, bool in)
{
    struct history *history = slot->history;

    for (int i = 0; history->exact && i < history->slot_count; i++) {
        const struct client_slot *other = &history->slots[i];
        if (in ? other->enters < slot->enters : other->leaves < slot->leaves) {
            fail(history, "client %d is %s round %u before client %d has called",
                 slot->number, in ? "in" : "out of", in ? slot->enters : slot->leaves,
                 other->number);
        }
    }
}

static void session_ended(struct client_slot *slot)
{
    slot->history->exact = false;
    slot->history->result->expired++;
}

static bool is_expected(const struct client_slot *slot, int status)
{
    switch (status) {
    case UVZK_EEXPIRED:
        return true;
    case UVZK_ECLOSED:
        return slot->barrier_closing || slot->client_closing;
    case UV_ETIMEDOUT:
    case UV_ECANCELED:
        return slot->given_up;
    case UVZK_EAUTH:
        return auth_failed(slot);
    case UVZK_ENOAUTH: /* for a time */
        return (slot->history->kinds & HISTORY_UNREADABLE) != 0;
    case UVZK_ENONODE:
        return slot->struck;
    default:
        return false;
    }
}

static void entered(struct client_slot *slot)
{
    slot->where = INSIDE;
    slot->history->result->entered++;
    if (!slot->met_ready && !slot->struck) {
        fail(slot->history, "client %d is inside, and never met ready", slot->number);
    }
    check_round(slot, true);
}

static void on_call(uvzk_barrier_call_t *call, int status)
{
    struct client_slot *slot = call->data;
    struct history *history = slot->history;
    bool entering = slot->where == ENTERING;

    sim_note(history->sim, "client %d: %s says %s", slot->number,
             entering ? "enter" : "leave", uvzk_err_name(status));
    observe(history);
    if (slot->call != call || call->impl != NULL || status > 0) {
        fail(history, "the callback of a call out of order");
    }
    if (status != 0 && !is_expected(slot, status)) {
        fail(history, "client %d: a call says %s", slot->number, uvzk_err_name(status));
    }
    free(call);
    slot->call = NULL;
    slot->where = OUTSIDE;
    slot->next_ms = soon(history, 400);
    if (status == UVZK_EEXPIRED) {
        session_ended(slot);
    } else if (status != 0) {
        history->exact = false;
        history->result->given_up++;
    } else if (entering) {
        entered(slot);
        return;
    } else {
        history->result->left++;
        if (sim_exists(history->sim, slot->path)) {
            fail(history, "client %d has left, and its znode stands", slot->number);
        }
        check_round(slot, false);
    }
    slot->path[0] = '\0';
    slot->stood = false;
}

static void on_lost(uvzk_double_barrier_t *barrier, int reason)
{
    struct client_slot *slot = barrier->data;

    sim_note(slot->history->sim, "client %d: lost, %s", slot->number,
             uvzk_err_name(reason));
    if (slot->where != INSIDE || slot->lost || !is_expected(slot, reason)) {
        fail(slot->history, "client %d is told of a loss it cannot have", slot->number);
    }
    slot->lost = true;
    session_ended(slot);
}

static void on_barrier_closed(uvzk_double_barrier_t *barrier)
{
    struct client_slot *slot = barrier->data;

    if (!slot->barrier_closing || barrier->impl != NULL || slot->call != NULL) {
        fail(slot->history, "a close callback out of order");
    }
    free(barrier);
    slot->barrier = NULL;
    slot->where = OUTSIDE;
    slot->next_ms = soon(slot->history, 800);
}

static void on_client_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    if (slot->call != NULL) {
        fail(slot->history, "a call outlives its client");
    }
    if (slot->barrier != NULL && slot->barrier->impl != NULL) {
        fail(slot->history, "a barrier outlives its client");
    }
    gates_client_closed(&slot->history->gates, slot->number);
    free(slot->barrier); /* closed with its client, without a word */
    slot->barrier = NULL;
    free(client);
    slot->client = NULL;
    slot->where = OUTSIDE;
    slot->sessions = 0;
    slot->reopen_ms = soon(slot->history, 1500);
}

/* ---------------------------------------------------------------- what they do */

static void open_client(struct client_slot *slot)
{
    struct history *history = slot->history;
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    slot->sessions = history_ports_open(slot->ports, history->sim, slot->number,
                                        history->kinds, history->timeout_ms);
    slot->client = calloc(1, sizeof(*slot->client));
    slot->client->data = slot;
    slot->client_closing = false;
    if (uvzk__client_create_over(slot->client, slot->ports, slot->sessions, &options,
                                 history->tuning) != 0 ||
        uvzk_client_start(slot->client) != 0) {
        fail(history, "a client cannot be made");
    }
    gates_open(&history->gates, slot->number, slot->client);
    slot->next_ms = soon(history, 50);
}

static void open_barrier(struct client_slot *slot)
{
    slot->barrier = calloc(1, sizeof(*slot->barrier));
    slot->barrier->data = slot;
    slot->barrier_closing = false;
    slot->lost = false;
    slot->where = OUTSIDE;
    slot->path[0] = '\0';
    if (uvzk_double_barrier_init(slot->client, slot->barrier, DIRECTORY,
                                 (uint32_t)slot->history->quantity, on_lost) != 0) {
        fail(slot->history, "a barrier cannot be made");
    }
}

static void close_client(struct client_slot *slot)
{
    slot->history->exact = false;
    slot->client_closing = true;
    gates_client_closing(&slot->history->gates, slot->number);
    if (uvzk_client_close(slot->client, on_client_closed) != 0) {
        fail(slot->history, "a client cannot be closed");
    }
}

static void close_barrier(struct client_slot *slot)
{
    slot->history->exact = false;
    slot->barrier_closing = true;
    if (uvzk_double_barrier_close(slot->barrier, on_barrier_closed) != 0) {
        fail(slot->history, "a barrier cannot be closed");
    }
}

static int64_t some_timeout(struct history *history)
{
    return history->exact || history->healing || chance(history, 3) == 0
               ? UVZK_WAIT_FOREVER
               : 1 + (int64_t)chance(history, 3000);
}

static void enter(struct client_slot *slot)
{
    int64_t timeout_ms = some_timeout(slot->history);

    slot->call = calloc(1, sizeof(*slot->call));
    slot->call->data = slot;
    slot->given_up = timeout_ms != UVZK_WAIT_FOREVER;
    slot->met_ready = slot->struck = false;
    if (uvzk_double_barrier_enter(slot->barrier, slot->call, timeout_ms, on_call) != 0) {
        fail(slot->history, "an enter is refused");
        return;
    }
    const struct uvzk__double_barrier *inside = slot->barrier->impl;
    if (inside->member != NULL) {
        (void)snprintf(slot->path, sizeof(slot->path), "%s", inside->member->path);
    }
    slot->where = ENTERING;
    slot->enters++;
    slot->history->result->enters++;
}

static void leave(struct client_slot *slot)
{
    int64_t timeout_ms = some_timeout(slot->history);

    slot->call = calloc(1, sizeof(*slot->call));
    slot->call->data = slot;
    slot->given_up = timeout_ms != UVZK_WAIT_FOREVER;
    slot->where = LEAVING;
    slot->lost = false;
    slot->leaves++;
    if (uvzk_double_barrier_leave(slot->barrier, slot->call, timeout_ms, on_call) != 0) {
        fail(slot->history, "a leave is refused");
    }
}

static void give_up(struct client_slot *slot)
{
    if (slot->call != NULL && uvzk_barrier_call_cancel(slot->call) == 0) {
        slot->given_up = true;
        slot->history->exact = false;
    }
}

static void act(struct client_slot *slot)
{
    struct history *history = slot->history;
    uint64_t kind = history->exact ? 100 : chance(history, 100);

    slot->next_ms = soon(history, 300);
    gates_act(&history->gates, slot->number);
    if (slot->barrier == NULL) {
        open_barrier(slot);
    } else if (slot->barrier_closing) {
        return;
    } else if (slot->struck && slot->where == ENTERING) {
        give_up(slot); /* nobody counts it any more */
    } else if (kind < 3) {
        close_barrier(slot);
    } else if (kind < 5) {
        close_client(slot);
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
static void act_to_enter(struct client_slot *slot)
{
    slot->next_ms = soon(slot->history, 100);
    /* Again and again, because a set may be under way. */
    gates_remove_by_hand(&slot->history->gates);
    if (slot->barrier == NULL) {
        open_barrier(slot);
    } else if (slot->struck && slot->where == ENTERING) {
        give_up(slot);
    } else if (!slot->barrier_closing && slot->call == NULL && slot->where == OUTSIDE) {
        enter(slot);
    }
}

/* Whoever is inside leaves, and whoever enters gives up. */
static void act_to_leave(struct client_slot *slot)
{
    slot->next_ms = soon(slot->history, 100);
    if (slot->where == ENTERING) {
        give_up(slot);
    } else if (slot->where == INSIDE && slot->call == NULL && !slot->barrier_closing) {
        leave(slot);
    }
}

/* Nothing can be done with it any more. */
static void close_refused(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->client_closing && auth_failed(slot)) {
            close_client(slot);
        }
    }
}

static void act_all(struct history *history, void (*does)(struct client_slot *))
{
    uint64_t now = sim_now(history->sim);

    close_refused(history);
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client == NULL && now >= slot->reopen_ms) {
            open_client(slot);
        }
        if (slot->client != NULL && !slot->client_closing && now >= slot->next_ms) {
            does(slot);
        }
    }
}

/* --------------------------------------------------------------------- the history */

static void some_faults(struct history *history, uint64_t seed)
{
    struct sim_faults faults;

    history_sim_usual_faults(history->sim, &faults, history->operator_kills,
                             history->pauses, history->timeout_ms);
    faults.lose_request *= 2;
    faults.lose_reply *= 2;
    faults.delay *= 2;
    faults.pause_max_ms = history->timeout_ms;
    faults.cut_max_ms = history->timeout_ms;
    history_sim_faults(&faults, seed, history->timeout_ms);
    history_sim_more_faults(&faults);
    /* Servers whose trees differ show members that others do not have. */
    faults.miss_delete = 0;
    faults.forget = 0;
    faults.blind_removal = 0;
    faults.forbid = 0; /* a member that may not be deleted stays until its session ends */
    faults.random_fails = 0; /* an enter would be refused */
    sim_set_faults(history->sim, &faults);
}

/* Others may go on without this member, and make `ready` behind the end of a round. */
static void struck(void *context, const char *path)
{
    struct history *history = context;

    if (strncmp(path, DIRECTORY "/", strlen(DIRECTORY "/")) != 0) {
        return; /* the gate, or the directory without members */
    }
    history->exact = false;
    history->struck_until_ms =
        sim_now(history->sim) + STRUCK_TIMEOUTS * history->timeout_ms;
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        slot->struck = slot->struck || strcmp(slot->path, path) == 0;
    }
}

/* In one of four histories the gate alone, so that all is checked of the members. */
static void begin_strikes(struct history *history, uint64_t seed)
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

static void begin(struct history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    /* Servers that resume no session end one at each reconnect. */
    options.forgets_sessions = false;
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    history->gates.sim = history->sim;
    history->gates.auth_failed = auth_failed_at_the_gate;
    history->gates.context = history;
    history->gates.unreadable = (history->kinds & HISTORY_UNREADABLE) != 0;
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->exact = seed % 2 == 0;
    history->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    history->slot_count = 2 + (int)chance(history, 4);
    history->quantity = history->exact
                            ? (size_t)history->slot_count
                            : 1 + chance(history, (uint64_t)history->slot_count);
    history->end_ms = sim_now(history->sim) + ACTIVE_MS;
    begin_strikes(history, seed);
    for (int i = 0; i < history->slot_count; i++) {
        history->slots[i].history = history;
        history->slots[i].number = i;
        open_client(&history->slots[i]);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    some_faults(history, seed);
}

static void live(struct history *history, uint64_t until,
                 void (*does)(struct client_slot *),
                 bool (*is_done)(const struct history *))
{
    while (sim_now(history->sim) < until && !history->failed &&
           (is_done == NULL || !is_done(history))) {
        if (ticker_step(&history->ticker)) {
            observe(history);
            if (sim_now(history->sim) < history->end_ms) {
                strikes_step(&history->strikes);
                observe(history);
            }
        } else if (does != NULL) {
            act_all(history, does);
        }
    }
}

static int count_of(const struct history *history, enum whereabouts where)
{
    int count = 0;

    for (int i = 0; i < history->slot_count; i++) {
        const struct client_slot *slot = &history->slots[i];
        count +=
            slot->barrier != NULL && slot->where == where && !slot->lost && !slot->struck;
    }
    return count;
}

/* Two more rounds have begun, or there are no exact rounds any more. */
static bool rounds_go_on(const struct history *history)
{
    for (int i = 0; history->exact && i < history->slot_count; i++) {
        if (history->slots[i].enters < history->rounds_before + 2) {
            return false;
        }
    }
    return true;
}

static bool nobody_enters(const struct history *history)
{
    return count_of(history, OUTSIDE) == 0 && count_of(history, ENTERING) == 0 &&
           gates_are_idle(&history->gates);
}

static bool all_are_inside(const struct history *history)
{
    return count_of(history, INSIDE) == history->slot_count;
}

static bool all_are_out(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].call != NULL || history->slots[i].where != OUTSIDE) {
            return false;
        }
    }
    return true;
}

static void expect(struct history *history, bool holds, const char *otherwise)
{
    if (!history->failed && !holds) {
        fail(history, "%s", otherwise);
    }
}

static void heal(struct history *history)
{
    uint64_t until = sim_now(history->sim) + HEAL_MS;

    sim_set_faults(history->sim, NULL);
    for (int i = 0; i < history->slot_count; i++) {
        uint32_t enters = history->slots[i].enters;
        history->rounds_before =
            enters > history->rounds_before ? enters : history->rounds_before;
    }
    live(history, until, act, rounds_go_on);
    expect(history, rounds_go_on(history), "the rounds do not go on");
    history->healing = true;
    /* Those who leave may wait for those who are inside, so not all need to come. */
    live(history, sim_now(history->sim) + MEET_MS, act_to_enter, nobody_enters);
    int there = count_of(history, INSIDE) + count_of(history, ENTERING);
    expect(history, count_of(history, ENTERING) == 0 || there < (int)history->quantity,
           "enough are there, and somebody is not let in");
    expect(history, gates_are_idle(&history->gates), "a wait at the gate never ends");
    live(history, until, act_to_leave, all_are_out);
    expect(history, all_are_out(history), "not all come out");
    live(history, until, act_to_enter, all_are_inside);
    expect(history, all_are_inside(history), "not all come in");
    live(history, until, act_to_leave, all_are_out);
    expect(history, all_are_out(history), "not all come out at the end");
}

static bool all_are_closed(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].barrier != NULL) {
            return false;
        }
    }
    return true;
}

static bool nothing_is_left(const struct history *history)
{
    return members(history) == 0 && !history->ready;
}

static void close_barriers(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        close_barrier(&history->slots[i]);
    }
    live(history, sim_now(history->sim) + HEAL_MS, NULL, all_are_closed);
    /* A client that was closed without a connection leaves its session behind, and in it a
     * create may come late. Servers that were away give the session its whole timeout. */
    live(history, sim_now(history->sim) + HEAL_MS, NULL, nothing_is_left);
    if (!all_are_closed(history) || !nothing_is_left(history)) {
        fail(history, "left: %zu members%s", members(history),
             history->ready ? ", and ready" : "");
    }
}

static bool anyone_open(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].client != NULL) {
            return true;
        }
    }
    return false;
}

static void close_clients(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        uvzk_client_metrics_t stats;
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(slot->client, &stats);
        for (uint32_t j = 0; j < slot->sessions; j++) {
            if (stats.watches != 0 || history_transport.watches(slot->ports[j]) != 0) {
                fail(history, "client %d has watches left", slot->number);
            }
        }
        close_client(slot);
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         anyone_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    /* The servers may be down, or a deposed one may keep a connection that has gone. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_session_count(history->sim) + sim_watch_count(history->sim) > 0 &&
         sim_now(history->sim) < until;) {
        sim_run_for(history->sim, 1000);
    }
    if (anyone_open(history) || sim_watch_count(history->sim) != 0 ||
        sim_session_count(history->sim) != 0) {
        fail(history, "left: %s, %zu watches, %zu sessions",
             anyone_open(history) ? "clients" : "no client",
             sim_watch_count(history->sim), sim_session_count(history->sim));
    }
}

void barrier_history_run(uint64_t seed, bool verbose,
                         struct barrier_history_result *result)
{
    struct history *history = calloc(1, sizeof(*history));

    memset(result, 0, sizeof(*result));
    history->result = result;
    begin(history, seed, verbose);
    live(history, history->end_ms, act, NULL);
    if (!history->failed) {
        heal(history);
    }
    if (!history->failed) {
        close_barriers(history);
    }
    if (!history->failed) {
        ticker_end(&history->ticker);
        close_clients(history);
    }
    if (!history->failed && failing_allocator_live_blocks() != 0) {
        fail(history, "%" PRId64 " blocks of memory are left",
             failing_allocator_live_blocks());
    }
    history_sim_outcome(history->sim, &result->outcome);
    result->outcome.struck = history->strikes.deleted;
    if (history->failed) {
        sim_trace_print(history->sim, stderr);
        return; /* what is broken is not taken to pieces */
    }
    history_sim_free(history->sim);
    free(history);
}
