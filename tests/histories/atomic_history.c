#include "atomic_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic/atomic_number.h"
#include "client/create.h"
#include "failing_allocator.h"
#include "history_ports.h"
#include "history_strikes.h"
#include "history_transport.h"
#include "sim.h"
#include "ticker.h"

#define DIRECTORY "/numbers/deep"
#define PATH DIRECTORY "/n"
#define MUTEX "/numbers/mutex"
#define SLOTS_MAX 5
#define HANDLES 2
#define CALLS_MAX 2048
#define STATES_MAX 8192
#define ACTIVE_MS 8000U
#define HEAL_MS 300000U
#define SET_STEP (INT64_C(1) << 40) /* what is set is a multiple, what is added is less */

struct history;
struct client_slot;

enum kind { GET, ADD, COMPARE_AND_SET, TRY_SET, FORCE_SET, INITIALIZE };

/* An atomic long, made anew each time. */
struct handle {
    struct client_slot *slot;
    uvzk_atomic_long_t *atomic; /* NULL: closed */
    bool closing;
    uint64_t next_ms;
    int64_t known; /* what a call was told last */
};

struct client_slot {
    struct history *history;
    int number;
    struct uvzk__port *ports[HISTORY_PORTS_MAX];
    uint32_t sessions;
    uvzk_client_t *client; /* NULL: closed */
    struct handle handles[HANDLES];
    bool closing;
    uint64_t reopen_ms;
};

struct call {
    uvzk_atomic_call_t *request; /* NULL: told */
    uvzk_future_t *future;       /* in its place; NULL likewise */
    struct handle *handle;
    enum kind kind;
    int64_t operand, expected;
    int status;
    int64_t pre, post;
    size_t took_effect; /* how often */
    size_t state;       /* which of the znode's states it made */
};

/* What the znode was, one transaction after the other; mzxid 0: missing. */
struct znode_state {
    int64_t mzxid, number;
};

struct history {
    struct sim *sim;
    struct atomic_history_result *result;
    struct client_slot slots[SLOTS_MAX];
    int slot_count;
    struct call calls[CALLS_MAX];
    size_t call_count;
    struct znode_state states[STATES_MAX];
    size_t state_count;
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms;
    uint64_t end_ms;
    bool deletes_nodes, operator_kills, pauses, failed;
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

/* ------------------------------------------------------------ what the znode was */

/* After each event; there is at most one transaction in it. */
static void write_down(struct history *history)
{
    const struct znode_state *last = &history->states[history->state_count - 1];
    struct znode_state now = {0, 0};
    struct uvzk__stat stat;
    size_t length;

    if (sim_stat(history->sim, PATH, &stat)) {
        if (stat.mzxid == last->mzxid) {
            return;
        }
        now.mzxid = stat.mzxid;
        const void *data = sim_data(history->sim, PATH, &length);
        if (!uvzk__atomic_number_read(data, length, &now.number)) {
            fail(history, "the znode has no number");
        }
    } else if (last->mzxid == 0) {
        return;
    }
    if (history->state_count == STATES_MAX) {
        fail(history, "too many states");
        return;
    }
    history->states[history->state_count++] = now;
}

static bool was_ever(const struct history *history, int64_t number)
{
    for (size_t i = history->state_count; i-- > 0;) {
        if (history->states[i].number == number) {
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------- the callbacks */

static void was_called(struct call *call, int status, const uvzk_atomic_value_t *value)
{
    struct history *history = call->handle->slot->history;

    sim_note(history->sim,
             "client %d: a call says %s, %" PRId64 " to %" PRId64 " in %u and %u tries",
             call->handle->slot->number, uvzk_err_name(status), value->pre_value,
             value->post_value, value->optimistic_tries, value->promoted_tries);
    if (status > 0) {
        fail(history, "the callback of a call out of order");
    }
    call->status = status;
    call->pre = value->pre_value;
    call->post = value->post_value;
    call->handle->known = value->post_value;
    write_down(history);
    if (status == 0 && call->kind == GET && !was_ever(history, call->post)) {
        fail(history, "%" PRId64 " was never the number", call->post);
    }
    history->result->done += status == 0;
    history->result->outrun += status == UVZK_EBADVERSION;
    history->result->unknown += status == UVZK_ECONNLOSS;
    history->result->promoted += value->promoted_tries > 0;
}

static void on_call(uvzk_atomic_call_t *request, int status,
                    const uvzk_atomic_value_t *value)
{
    struct call *call = request->data;

    if (call->request != request || request->impl != NULL) {
        fail(call->handle->slot->history, "the callback of a call out of order");
    }
    free(request);
    call->request = NULL;
    was_called(call, status, value);
}

static void on_call_done(uvzk_future_t *future, int status, void *context)
{
    struct call *call = context;
    uvzk_atomic_value_t value;

    uvzk_atomic_value_init(&value);
    if (call->future != future || uvzk_future_status(future) != status ||
        uvzk_future_atomic_value(future, &value) != 0) {
        fail(call->handle->slot->history, "told of another future");
    }
    uvzk_future_drop(future);
    free(future);
    call->future = NULL;
    was_called(call, status, &value);
}

static void on_atomic_closed(uvzk_atomic_long_t *atomic)
{
    struct handle *handle = atomic->data;

    if (!handle->closing || atomic->impl != NULL) {
        fail(handle->slot->history, "a close callback out of order");
    }
    free(atomic);
    handle->atomic = NULL;
    handle->next_ms = soon(handle->slot->history, 500);
}

static void on_client_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &slot->handles[i];
        if (handle->atomic != NULL && handle->atomic->impl != NULL) {
            fail(slot->history, "an atomic long outlives its client");
        }
        free(handle->atomic); /* closed with its client, without a word */
        handle->atomic = NULL;
    }
    free(client);
    slot->client = NULL;
    slot->sessions = 0;
    slot->reopen_ms = soon(slot->history, 1500);
}

/* ---------------------------------------------------------------- what they do */

static bool auth_failed(const struct client_slot *slot)
{
    return history_ports_auth_failed(slot->ports, slot->sessions);
}

static void open_seat(struct client_slot *slot)
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
    slot->closing = false;
    if (uvzk__client_create_over(slot->client, slot->ports, slot->sessions, &options,
                                 history->tuning) != 0 ||
        uvzk_client_start(slot->client) != 0) {
        fail(history, "a client cannot be made");
    }
    for (int i = 0; i < HANDLES; i++) {
        slot->handles[i].next_ms = soon(history, i == 0 ? 50 : 3000);
    }
}

static void close_seat(struct client_slot *slot)
{
    slot->closing = true;
    if (uvzk_client_close(slot->client, on_client_closed) != 0) {
        fail(slot->history, "a client cannot be closed");
    }
}

/* Two of three are promoted after a few tries. */
static void open_handle(struct handle *handle)
{
    struct history *history = handle->slot->history;
    uvzk_atomic_long_options_t options;

    uvzk_atomic_long_options_init(&options);
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = (uint32_t)chance(history, 2) * 20;
    options.retry.max_retries = (uint32_t)chance(history, 4);
    options.mutex_retry = options.retry;
    options.mutex_path = chance(history, 3) > 0 ? MUTEX : NULL;
    options.mutex_timeout_ms = chance(history, 4) == 0 ? 500 : UVZK_WAIT_FOREVER;
    handle->atomic = calloc(1, sizeof(*handle->atomic));
    handle->atomic->data = handle;
    handle->closing = false;
    if (uvzk_atomic_long_init(handle->slot->client, handle->atomic, PATH, &options) !=
        0) {
        fail(history, "an atomic long cannot be made");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_atomic_long_close(handle->atomic, on_atomic_closed) != 0) {
        fail(handle->slot->history, "an atomic long cannot be closed");
    }
}

static int call_by_future(struct call *call)
{
    uvzk_atomic_long_t *atomic = call->handle->atomic;
    uvzk_future_t *future = calloc(1, sizeof(*future));
    int status = 0;

    call->future = future;
    switch (call->kind) {
    case GET:
        status = uvzk_atomic_long_get_future(atomic, future);
        break;
    case ADD:
        status = uvzk_atomic_long_add_future(atomic, future, call->operand);
        break;
    case COMPARE_AND_SET:
        status = uvzk_atomic_long_compare_and_set_future(atomic, future, call->expected,
                                                         call->operand);
        break;
    case TRY_SET:
        status = uvzk_atomic_long_try_set_future(atomic, future, call->operand);
        break;
    case FORCE_SET:
        status = uvzk_atomic_long_force_set_future(atomic, future, call->operand);
        break;
    case INITIALIZE:
        status = uvzk_atomic_long_initialize_future(atomic, future, call->operand);
        break;
    }
    return status != 0 ? status : uvzk_future_then(future, on_call_done, call);
}

static int call_by_request(struct call *call)
{
    uvzk_atomic_long_t *atomic = call->handle->atomic;
    uvzk_atomic_call_t *request = calloc(1, sizeof(*request));

    call->request = request;
    request->data = call;
    switch (call->kind) {
    case GET:
        return uvzk_atomic_long_get(atomic, request, on_call);
    case ADD:
        return uvzk_atomic_long_add(atomic, request, call->operand, on_call);
    case COMPARE_AND_SET:
        return uvzk_atomic_long_compare_and_set(atomic, request, call->expected,
                                                call->operand, on_call);
    case TRY_SET:
        return uvzk_atomic_long_try_set(atomic, request, call->operand, on_call);
    case FORCE_SET:
        return uvzk_atomic_long_force_set(atomic, request, call->operand, on_call);
    case INITIALIZE:
        return uvzk_atomic_long_initialize(atomic, request, call->operand, on_call);
    }
    return UV_EINVAL;
}

static void begin_call(struct handle *handle, enum kind kind)
{
    struct history *history = handle->slot->history;
    struct call *call = &history->calls[history->call_count];
    int64_t own = (int64_t)history->call_count + 1;

    if (history->call_count == CALLS_MAX) {
        return;
    }
    history->call_count++;
    call->handle = handle;
    call->kind = kind;
    call->expected = handle->known;
    /* Of its own: a small amount, or a number that no sum reaches. */
    call->operand = kind == ADD               ? own
                    : kind == COMPARE_AND_SET ? handle->known + own
                                              : own * SET_STEP;
    bool by_future = (history->kinds & HISTORY_FUTURES) != 0 && chance(history, 2) == 0;
    int status = by_future ? call_by_future(call) : call_by_request(call);
    if (status != 0) {
        fail(history, "a call is refused: %s", uvzk_err_name(status));
    }
    history->result->calls++;
}

static void act(struct handle *handle)
{
    struct history *history = handle->slot->history;
    uint64_t kind = chance(history, 100);

    handle->next_ms = soon(history, 400);
    if (handle->atomic == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 55) {
        for (uint64_t count = 1 + chance(history, 3); count > 0; count--) {
            begin_call(handle, ADD);
        }
    } else if (kind < 70) {
        begin_call(handle, COMPARE_AND_SET);
    } else if (kind < 80) {
        begin_call(handle, GET);
    } else if (kind < 83) {
        begin_call(handle, TRY_SET);
    } else if (kind < 85) {
        begin_call(handle, FORCE_SET);
    } else if (kind < 87) {
        begin_call(handle, INITIALIZE);
    } else if (kind < 92) {
        close_handle(handle);
    } else if (kind < 94) {
        close_seat(handle->slot);
    }
}

/* Nothing can be done with it any more. */
static void close_refused(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->closing && auth_failed(slot)) {
            close_seat(slot);
        }
    }
}

static void act_all(struct history *history)
{
    uint64_t now = sim_now(history->sim);

    close_refused(history);
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client == NULL && now >= slot->reopen_ms) {
            open_seat(slot);
        }
        for (int j = 0; j < HANDLES; j++) {
            if (slot->client != NULL && !slot->closing &&
                now >= slot->handles[j].next_ms) {
                act(&slot->handles[j]);
            }
        }
    }
    if (history->deletes_nodes && chance(history, 800) == 0 &&
        sim_delete_by_hand(history->sim, PATH) == 0) {
        write_down(history);
    }
}

/* ------------------------------------------------------------------- the checks */

static bool made_by(const struct znode_state *before, const struct znode_state *after,
                    const struct call *call)
{
    switch (call->kind) {
    case ADD:
        return after->number - before->number == call->operand;
    case COMPARE_AND_SET:
        return after->number == call->operand && before->number == call->expected;
    case TRY_SET:
    case FORCE_SET:
    case INITIALIZE:
        return after->number == call->operand;
    default:
        return false;
    }
}

/* Each transaction on the znode is that of one call: the amounts are all different. Not if
 * the znode is deleted at times: when it has been created again and has come to the same
 * version, ZooKeeper carries out a write over the znode before, and the amount is any. */
static void count_effects(struct history *history)
{
    if (history->deletes_nodes) {
        return;
    }
    for (size_t i = 1; i < history->state_count; i++) {
        const struct znode_state *before = &history->states[i - 1];
        const struct znode_state *after = &history->states[i];
        /* It was deleted, or created with the 0 that a missing one reads as. */
        bool known = after->mzxid == 0 || (before->mzxid == 0 && after->number == 0);

        for (size_t j = 0; j < history->call_count && !known; j++) {
            if (made_by(before, after, &history->calls[j])) {
                history->calls[j].took_effect++;
                history->calls[j].state = i;
                known = true;
            }
        }
        if (!known) {
            fail(history, "nobody has written %" PRId64, after->number);
        }
    }
}

static bool may_have_taken_effect(int status)
{
    return status == 0 || status == UVZK_ECONNLOSS || status == UVZK_ECLOSED ||
           status == UVZK_EAUTH;
}

static void check_call(struct history *history, const struct call *call)
{
    size_t number = (size_t)(call - history->calls) + 1;
    const char *name = uvzk_err_name(call->status);

    if (call->request != NULL || call->future != NULL) {
        fail(history, "call %zu is never answered", number);
    } else if (call->took_effect > 1) {
        fail(history, "call %zu took effect %zu times", number, call->took_effect);
    } else if (call->kind != GET && call->status == 0 && call->took_effect == 0 &&
               !history->deletes_nodes) {
        fail(history, "call %zu was told to be done, and was not", number);
    } else if (call->took_effect == 1 && !may_have_taken_effect(call->status)) {
        fail(history, "call %zu took effect, and is told %s", number, name);
    } else if (call->took_effect == 1 && call->status == 0 && call->kind != FORCE_SET &&
               history->states[call->state - 1].number != call->pre) {
        fail(history, "call %zu replaced another number than it says", number);
    } else if (call->status == UV_ERANGE || call->status == UVZK_EDATA) {
        fail(history, "call %zu says %s", number, name);
    }
}

static bool all_answered(const struct history *history)
{
    for (size_t i = 0; i < history->call_count; i++) {
        if (history->calls[i].request != NULL || history->calls[i].future != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- the history */

static void some_faults(struct history *history, uint64_t seed)
{
    struct sim_faults faults;

    history_sim_usual_faults(history->sim, &faults, history->operator_kills,
                             history->pauses, history->timeout_ms);
    history_sim_faults(&faults, seed, history->timeout_ms);
    if ((history->kinds & HISTORY_STRIKES) != 0) {
        faults.forget = 0;
        faults.miss_delete = 0; /* the waiter's own server shows it to the waiter */
    }
    history_sim_more_faults(&faults);
    sim_set_faults(history->sim, &faults);
}

/* Each write is over a version, so the number needs nobody's hold of the mutex. */
static void ends_hold(void *context, size_t directory, int64_t session_id)
{
    (void)context;
    (void)directory;
    (void)session_id;
}

/* The znodes of the mutex; and in every second history the number's, of whose calls less is
 * known then. */
static void begin_strikes(struct history *history, uint64_t seed)
{
    struct strikes *strikes = &history->strikes;

    strikes_begin(strikes, history->sim, seed, history->timeout_ms);
    strikes->ends_hold = ends_hold;
    strikes_add(strikes, MUTEX, 1, false);
    if ((history->kinds & HISTORY_STRIKES) != 0 &&
        seeded_below(&strikes->random, 2) == 0) {
        history->deletes_nodes = true;
        strikes_add_named(strikes, DIRECTORY, false);
    }
}

static void begin(struct history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->deletes_nodes = seed % 3 == 2;
    history->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    history->slot_count = 3 + (int)chance(history, 3);
    history->end_ms = sim_now(history->sim) + ACTIVE_MS;
    history->state_count = 1; /* missing */
    begin_strikes(history, seed);
    for (int i = 0; i < history->slot_count; i++) {
        history->slots[i].history = history;
        history->slots[i].number = i;
        for (int j = 0; j < HANDLES; j++) {
            history->slots[i].handles[j].slot = &history->slots[i];
        }
        open_seat(&history->slots[i]);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    some_faults(history, seed);
}

/* A znode of the mutex that exists again: its client deletes it when it acquires the mutex
 * the next time. For one that calls nothing an operator does so
 * (docs/decisions/diverged-servers.md). */
static bool owner_is_idle(void *context, int64_t owner, const char *path)
{
    const struct history *history = context;

    (void)path;
    for (size_t i = 0; i < history->call_count; i++) {
        const struct call *call = &history->calls[i];
        const struct client_slot *slot = call->handle->slot;
        bool pending = (call->request != NULL || call->future != NULL) && !slot->closing;
        for (uint32_t j = 0; pending && j < slot->sessions; j++) {
            if (slot->ports[j] != NULL &&
                history_transport.session_id(slot->ports[j]) == owner) {
                return false;
            }
        }
    }
    return true;
}

static void act_in_the_end(struct history *history)
{
    if ((history->kinds & HISTORY_DIVERGED) != 0) {
        sim_delete_resurrected(history->sim, owner_is_idle, history);
    }
}

static void live(struct history *history, uint64_t until, bool active)
{
    while (sim_now(history->sim) < until && !history->failed) {
        if (ticker_step(&history->ticker)) {
            write_down(history);
            if (active) {
                strikes_step(&history->strikes);
                write_down(history);
            }
        } else if (active) {
            act_all(history);
        } else if (all_answered(history)) {
            break;
        } else {
            act_in_the_end(history);
        }
    }
}

static void heal(struct history *history)
{
    sim_set_faults(history->sim, NULL);
    close_refused(history);
    live(history, sim_now(history->sim) + HEAL_MS, false);
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        for (int j = 0; j < HANDLES; j++) {
            if (slot->client != NULL && !slot->closing &&
                slot->handles[j].atomic != NULL && !slot->handles[j].closing) {
                begin_call(&slot->handles[j], ADD);
            }
        }
    }
    live(history, sim_now(history->sim) + HEAL_MS, false);
    if (!history->failed && !all_answered(history)) {
        fail(history, "a call is never answered");
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

static bool any_handle_open(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (history->slots[i].handles[j].atomic != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void close_handles(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &slot->handles[j];
            if (handle->atomic != NULL && !handle->closing && !slot->closing) {
                close_handle(handle);
            }
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         any_handle_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    if (any_handle_open(history)) {
        fail(history, "an atomic long does not close");
    }
}

static void close_clients(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->closing) {
            close_seat(slot);
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         anyone_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    /* The servers may be down, or a deposed one may keep a connection that has gone. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_session_count(history->sim) > 0 && sim_now(history->sim) < until;) {
        sim_run_for(history->sim, 1000);
    }
    if (anyone_open(history) || sim_session_count(history->sim) != 0) {
        fail(history, "left: %s, %zu sessions",
             anyone_open(history) ? "clients" : "no client",
             sim_session_count(history->sim));
    }
}

static void check(struct history *history)
{
    count_effects(history);
    for (size_t i = 0; i < history->call_count; i++) {
        check_call(history, &history->calls[i]);
    }
}

void atomic_history_run(uint64_t seed, bool verbose, struct atomic_history_result *result)
{
    struct history *history = calloc(1, sizeof(*history));

    memset(result, 0, sizeof(*result));
    history->result = result;
    begin(history, seed, verbose);
    live(history, history->end_ms, true);
    if (!history->failed) {
        heal(history);
    }
    if (!history->failed) {
        check(history);
        close_handles(history);
    }
    if (!history->failed) {
        sim_run_for(history->sim, 1000);
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
