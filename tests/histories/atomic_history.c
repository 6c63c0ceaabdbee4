/* SPDX-License-Identifier: Apache-2.0 */
#include "atomic_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic/atomic_number.h"
#include "history_transport.h"
#include "recipe_history.h"

#define DIRECTORY "/numbers/deep"
#define PATH DIRECTORY "/n"
#define MUTEX "/numbers/mutex"
#define HANDLES 2
#define CALLS_MAX 2048
#define STATES_MAX 8192
#define ACTIVE_MS 8000U
#define HEAL_MS 300000U
#define SET_STEP (INT64_C(1) << 40) /* what is set is a multiple, what is added is less */

enum kind { GET, ADD, COMPARE_AND_SET, TRY_SET, FORCE_SET, INITIALIZE };

/* An atomic long, made anew each time. */
struct handle {
    struct recipe_client *slot;
    uvzk_atomic_long_t *atomic; /* NULL: closed */
    bool closing;
    uint64_t next_ms;
    int64_t known; /* what a call was told last */
};

struct call {
    uvzk_req_t *request;   /* NULL: told */
    uvzk_future_t *future; /* in its place; NULL likewise */
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

struct numbers {
    struct handle handles[RECIPE_CLIENTS_MAX][HANDLES];
    struct call calls[CALLS_MAX];
    size_t call_count;
    struct znode_state states[STATES_MAX];
    size_t state_count;
    bool deletes_nodes;
};

static struct numbers *part_of(const struct recipe_history *history)
{
    return history->part;
}

static struct handle *handles_of(const struct recipe_client *client)
{
    return part_of(client->history)->handles[client->number];
}

static struct atomic_history_result *result_of(const struct recipe_history *history)
{
    return history->result;
}

/* ------------------------------------------------------------ what the znode was */

/* After each event; there is at most one transaction in it. */
static void write_down(struct recipe_history *history)
{
    const struct znode_state *last =
        &part_of(history)->states[part_of(history)->state_count - 1];
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
            recipe_fail(history, "the znode has no number");
        }
    } else if (last->mzxid == 0) {
        return;
    }
    if (part_of(history)->state_count == STATES_MAX) {
        recipe_fail(history, "too many states");
        return;
    }
    part_of(history)->states[part_of(history)->state_count++] = now;
}

static bool was_ever(const struct recipe_history *history, int64_t number)
{
    for (size_t i = part_of(history)->state_count; i-- > 0;) {
        if (part_of(history)->states[i].number == number) {
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------- the callbacks */

static void was_called(struct call *call, int status, const uvzk_atomic_value_t *value)
{
    struct recipe_history *history = call->handle->slot->history;

    sim_note(history->sim,
             "client %d: a call says %s, %" PRId64 " to %" PRId64 " in %u and %u tries",
             call->handle->slot->number, uvzk_err_name(status), value->pre_value,
             value->post_value, value->optimistic_tries, value->promoted_tries);
    if (status > 0) {
        recipe_fail(history, "the callback of a call out of order");
    }
    call->status = status;
    call->pre = value->pre_value;
    call->post = value->post_value;
    call->handle->known = value->post_value;
    write_down(history);
    if (status == 0 && call->kind == GET && !was_ever(history, call->post)) {
        recipe_fail(history, "%" PRId64 " was never the number", call->post);
    }
    result_of(history)->done += status == 0;
    result_of(history)->outrun += status == UVZK_EBADVERSION;
    result_of(history)->unknown += status == UVZK_ECONNLOSS;
    result_of(history)->promoted += value->promoted_tries > 0;
}

static void on_call(uvzk_req_t *request, int status)
{
    const uvzk_atomic_value_t *value = request->result->value;
    struct call *call = request->data;

    if (call->request != request || request->impl != NULL) {
        recipe_fail(call->handle->slot->history, "the callback of a call out of order");
    }
    free(request);
    call->request = NULL;
    was_called(call, status, value);
}

static void on_call_done(uvzk_future_t *future, int status, void *context)
{
    struct call *call = context;

    if (call->future != future || uvzk_future_status(future) != status) {
        recipe_fail(call->handle->slot->history, "told of another future");
    }
    uvzk_atomic_value_t value = *uvzk_future_req(future)->result->value;
    uvzk_future_drop(future);
    free(future);
    call->future = NULL;
    was_called(call, status, &value);
}

static void on_atomic_closed(uvzk_atomic_long_t *atomic)
{
    struct handle *handle = atomic->data;

    if (!handle->closing || atomic->impl != NULL) {
        recipe_fail(handle->slot->history, "a close callback out of order");
    }
    free(atomic);
    handle->atomic = NULL;
    handle->next_ms = recipe_soon(handle->slot->history, 500);
}

static void client_closed(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &handles_of(client)[i];
        if (handle->atomic != NULL && handle->atomic->impl != NULL) {
            recipe_fail(client->history, "an atomic long outlives its client");
        }
        free(handle->atomic); /* closed with its client, without a word */
        handle->atomic = NULL;
    }
}

/* ---------------------------------------------------------------- what they do */

static void client_opened(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        handles_of(client)[i].next_ms = recipe_soon(client->history, i == 0 ? 50 : 3000);
    }
}

/* Two of three are promoted after a few tries. */
static void open_handle(struct handle *handle)
{
    struct recipe_history *history = handle->slot->history;
    uvzk_atomic_long_options_t options;

    uvzk_atomic_long_options_init(&options);
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = (uint32_t)recipe_chance(history, 2) * 20;
    options.retry.max_retries = (uint32_t)recipe_chance(history, 4);
    options.mutex_retry = options.retry;
    options.mutex_path = recipe_chance(history, 3) > 0 ? MUTEX : NULL;
    options.mutex_timeout_ms = recipe_chance(history, 4) == 0 ? 500 : UVZK_WAIT_FOREVER;
    handle->atomic = calloc(1, sizeof(*handle->atomic));
    handle->atomic->data = handle;
    handle->closing = false;
    if (uvzk_atomic_long_init(handle->slot->client, handle->atomic, PATH, &options) !=
        0) {
        recipe_fail(history, "an atomic long cannot be made");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_atomic_long_close(handle->atomic, on_atomic_closed) != 0) {
        recipe_fail(handle->slot->history, "an atomic long cannot be closed");
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
        status =
            uvzk_atomic_long_get(atomic, uvzk_future_req(future), uvzk_future_complete);
        break;
    case ADD:
        status = uvzk_atomic_long_add(atomic, uvzk_future_req(future), call->operand,
                                      uvzk_future_complete);
        break;
    case COMPARE_AND_SET:
        status = uvzk_atomic_long_compare_and_set(atomic, uvzk_future_req(future),
                                                  call->expected, call->operand,
                                                  uvzk_future_complete);
        break;
    case TRY_SET:
        status = uvzk_atomic_long_try_set(atomic, uvzk_future_req(future), call->operand,
                                          uvzk_future_complete);
        break;
    case FORCE_SET:
        status = uvzk_atomic_long_force_set(atomic, uvzk_future_req(future),
                                            call->operand, uvzk_future_complete);
        break;
    case INITIALIZE:
        status = uvzk_atomic_long_create(atomic, uvzk_future_req(future), call->operand,
                                         uvzk_future_complete);
        break;
    }
    return status != 0 ? status : uvzk_future_then(future, on_call_done, call);
}

static int call_by_request(struct call *call)
{
    uvzk_atomic_long_t *atomic = call->handle->atomic;
    uvzk_req_t *request = calloc(1, sizeof(*request));

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
        return uvzk_atomic_long_create(atomic, request, call->operand, on_call);
    }
    return UV_EINVAL;
}

static void begin_call(struct handle *handle, enum kind kind)
{
    struct recipe_history *history = handle->slot->history;
    struct call *call = &part_of(history)->calls[part_of(history)->call_count];
    int64_t own = (int64_t)part_of(history)->call_count + 1;

    if (part_of(history)->call_count == CALLS_MAX) {
        return;
    }
    part_of(history)->call_count++;
    call->handle = handle;
    call->kind = kind;
    call->expected = handle->known;
    /* Of its own: a small amount, or a number that no sum reaches. */
    call->operand = kind == ADD               ? own
                    : kind == COMPARE_AND_SET ? handle->known + own
                                              : own * SET_STEP;
    bool by_future =
        (history->kinds & HISTORY_FUTURES) != 0 && recipe_chance(history, 2) == 0;
    int status = by_future ? call_by_future(call) : call_by_request(call);
    if (status != 0) {
        recipe_fail(history, "a call is refused: %s", uvzk_err_name(status));
    }
    result_of(history)->calls++;
}

static void act(struct handle *handle)
{
    struct recipe_history *history = handle->slot->history;
    uint64_t kind = recipe_chance(history, 100);

    handle->next_ms = recipe_soon(history, 400);
    if (handle->atomic == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 55) {
        for (uint64_t count = 1 + recipe_chance(history, 3); count > 0; count--) {
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
        recipe_close_client(handle->slot);
    }
}

static void act_all(struct recipe_client *client, uint64_t now)
{
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &handles_of(client)[i];
        if (recipe_is_open(client) && now >= handle->next_ms) {
            act(handle);
        }
    }
}

static void delete_node(struct recipe_history *history)
{
    if (part_of(history)->deletes_nodes && recipe_chance(history, 800) == 0 &&
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
static void count_effects(struct recipe_history *history)
{
    if (part_of(history)->deletes_nodes) {
        return;
    }
    for (size_t i = 1; i < part_of(history)->state_count; i++) {
        const struct znode_state *before = &part_of(history)->states[i - 1];
        const struct znode_state *after = &part_of(history)->states[i];
        /* It was deleted, or created with the 0 that a missing one reads as. */
        bool known = after->mzxid == 0 || (before->mzxid == 0 && after->number == 0);

        for (size_t j = 0; j < part_of(history)->call_count && !known; j++) {
            if (made_by(before, after, &part_of(history)->calls[j])) {
                part_of(history)->calls[j].took_effect++;
                part_of(history)->calls[j].state = i;
                known = true;
            }
        }
        if (!known) {
            recipe_fail(history, "nobody has written %" PRId64, after->number);
        }
    }
}

static bool may_have_taken_effect(int status)
{
    return status == 0 || status == UVZK_ECONNLOSS || status == UVZK_ECLOSED ||
           status == UVZK_EAUTH;
}

static void check_call(struct recipe_history *history, const struct call *call)
{
    size_t number = (size_t)(call - part_of(history)->calls) + 1;
    const char *name = uvzk_err_name(call->status);

    if (call->request != NULL || call->future != NULL) {
        recipe_fail(history, "call %zu is never answered", number);
    } else if (call->took_effect > 1) {
        recipe_fail(history, "call %zu took effect %zu times", number, call->took_effect);
    } else if (call->kind != GET && call->status == 0 && call->took_effect == 0 &&
               !part_of(history)->deletes_nodes) {
        recipe_fail(history, "call %zu was told to be done, and was not", number);
    } else if (call->took_effect == 1 && !may_have_taken_effect(call->status)) {
        recipe_fail(history, "call %zu took effect, and is told %s", number, name);
    } else if (call->took_effect == 1 && call->status == 0 && call->kind != FORCE_SET &&
               part_of(history)->states[call->state - 1].number != call->pre) {
        recipe_fail(history, "call %zu replaced another number than it says", number);
    } else if (call->status == UV_ERANGE || call->status == UVZK_EDATA) {
        recipe_fail(history, "call %zu says %s", number, name);
    }
}

static bool all_answered(struct recipe_history *history)
{
    for (size_t i = 0; i < part_of(history)->call_count; i++) {
        if (part_of(history)->calls[i].request != NULL ||
            part_of(history)->calls[i].future != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- the history */

static void other_faults(const struct recipe_history *history, struct sim_faults *faults)
{
    if ((history->kinds & HISTORY_STRIKES) != 0) {
        faults->forget = 0;
        faults->miss_delete = 0; /* the waiter's own server shows it to the waiter */
    }
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
static void begin_strikes(struct recipe_history *history, uint64_t seed)
{
    struct strikes *strikes = &history->strikes;

    strikes_begin(strikes, history->sim, seed, history->timeout_ms);
    strikes->ends_hold = ends_hold;
    strikes_add(strikes, MUTEX, 1, false);
    if ((history->kinds & HISTORY_STRIKES) != 0 &&
        seeded_below(&strikes->random, 2) == 0) {
        part_of(history)->deletes_nodes = true;
        strikes_add_named(strikes, DIRECTORY, false);
    }
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    part_of(history)->deletes_nodes = seed % 3 == 2;
    history->client_count = 3 + (int)recipe_chance(history, 3);
    part_of(history)->state_count = 1; /* missing */
    begin_strikes(history, seed);
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            handles_of(&history->clients[i])[j].slot = &history->clients[i];
        }
    }
}

/* A znode of the mutex that exists again: its client deletes it when it acquires the mutex
 * the next time. For one that calls nothing an operator does so
 * (docs/decisions/diverged-servers.md). */
static bool owner_is_idle(void *context, int64_t owner, const char *path)
{
    const struct recipe_history *history = context;

    (void)path;
    for (size_t i = 0; i < part_of(history)->call_count; i++) {
        const struct call *call = &part_of(history)->calls[i];
        const struct recipe_client *slot = call->handle->slot;
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

static void act_in_the_end(struct recipe_history *history)
{
    if ((history->kinds & HISTORY_DIVERGED) != 0) {
        sim_delete_resurrected(history->sim, owner_is_idle, history);
    }
}

static void heal(struct recipe_history *history)
{
    sim_set_faults(history->sim, NULL);
    recipe_close_refused(history);
    recipe_live(history, sim_now(history->sim) + HEAL_MS, false);
    for (int i = 0; i < history->client_count; i++) {
        struct recipe_client *slot = &history->clients[i];
        for (int j = 0; j < HANDLES; j++) {
            if (slot->client != NULL && !slot->closing &&
                handles_of(slot)[j].atomic != NULL && !handles_of(slot)[j].closing) {
                begin_call(&handles_of(slot)[j], ADD);
            }
        }
    }
    recipe_live(history, sim_now(history->sim) + HEAL_MS, false);
    if (!history->failed && !all_answered(history)) {
        recipe_fail(history, "a call is never answered");
    }
}

static bool all_handles_closed(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (handles_of(&history->clients[i])[j].atomic != NULL) {
                return false;
            }
        }
    }
    return true;
}

static void close_handles(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        struct recipe_client *slot = &history->clients[i];
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &handles_of(slot)[j];
            if (handle->atomic != NULL && !handle->closing && !slot->closing) {
                close_handle(handle);
            }
        }
    }
    if (!recipe_step_until(history, all_handles_closed)) {
        recipe_fail(history, "an atomic long does not close");
    }
}

static void check(struct recipe_history *history)
{
    count_effects(history);
    for (size_t i = 0; i < part_of(history)->call_count; i++) {
        check_call(history, &part_of(history)->calls[i]);
    }
}

static void end(struct recipe_history *history)
{
    check(history);
    close_handles(history);
    sim_run_for(history->sim, 1000);
}

static const struct recipe_history_kind kind = {.size = sizeof(struct numbers),
                                                .active_ms = ACTIVE_MS,
                                                .heal_ms = HEAL_MS,
                                                .begin = begin,
                                                .faults = other_faults,
                                                .act_outside = delete_node,
                                                .unsettled = act_in_the_end,
                                                .client_opened = client_opened,
                                                .client_closed = client_closed,
                                                .act = act_all,
                                                .transaction = write_down,
                                                .is_settled = all_answered,
                                                .heal = heal,
                                                .end = end};

void atomic_history_run(uint64_t seed, bool verbose, struct atomic_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
