/* SPDX-License-Identifier: Apache-2.0 */
#include "gate_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATE "/rounds/deep/gate"

static void fail(struct gates *gates, int number, const char *what)
{
    if (gates->failure[0] == '\0') {
        (void)snprintf(gates->failure, sizeof(gates->failure), "client %d: %s", number,
                       what);
    }
}

static bool is_expected(const struct gate_call *call, int status)
{
    const struct gates *gates = call->gates;

    switch (status) {
    case UV_ETIMEDOUT:
    case UV_ECANCELED:
        return call->what == WAITS && call->given_up;
    case UVZK_ECLOSED:
        return gates->closing[call->number];
    case UVZK_EAUTH:
        return gates->auth_failed(gates->context, call->number);
    case UVZK_ENOAUTH:
        return gates->unreadable;
    default:
        return false;
    }
}

static void on_call(uvzk_req_t *handle, int status)
{
    static const char *const names[] = {"set", "remove", "wait"};
    struct gate_call *call = handle->data;
    struct gates *gates = call->gates;

    gates_observe(gates);
    sim_note(gates->sim, "client %d: %s of the gate says %s", call->number,
             names[call->what], uvzk_err_name(status));
    if (call->call != handle || handle->impl != NULL) {
        fail(gates, call->number, "the callback of a call at the gate out of order");
    }
    if (status == 0 && !(call->what == SETS ? call->was_set : call->was_absent)) {
        fail(gates, call->number,
             call->what == SETS      ? "a set did not set the gate"
             : call->what == REMOVES ? "a remove did not remove the gate"
                                     : "a wait went through a gate that was set");
    }
    if (status != 0 && !is_expected(call, status)) {
        fail(gates, call->number, "a call at the gate says what cannot be");
    }
    gates->passed += status == 0 && call->what == WAITS;
    free(handle);
    call->call = NULL;
}

void gates_open(struct gates *gates, int number, uvzk_client_t *client)
{
    gates->closing[number] = false;
    gates->barriers[number] = calloc(1, sizeof(*gates->barriers[number]));
    if (uvzk_barrier_init(client, gates->barriers[number], GATE) != 0) {
        fail(gates, number, "a gate cannot be made");
    }
}

void gates_client_closing(struct gates *gates, int number)
{
    gates->closing[number] = true;
}

void gates_client_closed(struct gates *gates, int number)
{
    for (int i = 0; i < GATE_CALLS; i++) {
        if (gates->calls[number][i].call != NULL) {
            fail(gates, number, "a call at the gate outlives its client");
        }
    }
    free(gates->barriers[number]);
    gates->barriers[number] = NULL;
}

static void begin_call(struct gate_call *call, uvzk_barrier_t *barrier)
{
    struct sim *sim = call->gates->sim;
    int64_t timeout_ms =
        sim_random(sim, 2) == 0 ? UVZK_WAIT_FOREVER : 1 + (int64_t)sim_random(sim, 3000);
    int status;

    call->call = calloc(1, sizeof(*call->call));
    call->call->data = call;
    call->was_set = call->was_absent = false;
    call->given_up = timeout_ms != UVZK_WAIT_FOREVER;
    gates_observe(call->gates);
    if (call->what == WAITS) {
        status = uvzk_barrier_wait(barrier, call->call, timeout_ms, on_call);
        call->gates->waits++;
    } else {
        status = call->what == SETS ? uvzk_barrier_set(barrier, call->call, on_call)
                                    : uvzk_barrier_remove(barrier, call->call, on_call);
    }
    if (status != 0) {
        fail(call->gates, call->number, "a call at the gate is refused");
    }
}

void gates_act(struct gates *gates, int number)
{
    struct gate_call *call = &gates->calls[number][sim_random(gates->sim, GATE_CALLS)];
    uint64_t kind = sim_random(gates->sim, 10);

    call->gates = gates;
    call->number = number;
    if (gates->barriers[number] == NULL || gates->closing[number]) {
        return;
    }
    if (call->call != NULL) {
        if (kind < 2 && uvzk_req_cancel(call->call) == 0) {
            call->given_up = true;
        }
        return;
    }
    call->what = kind < 2 ? SETS : kind < 4 ? REMOVES : WAITS;
    begin_call(call, gates->barriers[number]);
}

void gates_observe(struct gates *gates)
{
    bool is_set = sim_exists(gates->sim, GATE);

    for (int i = 0; i < GATES_MAX; i++) {
        for (int j = 0; j < GATE_CALLS; j++) {
            struct gate_call *call = &gates->calls[i][j];
            call->was_set = call->was_set || is_set;
            call->was_absent = call->was_absent || !is_set;
        }
    }
}

void gates_remove_by_hand(struct gates *gates)
{
    if (sim_exists(gates->sim, GATE)) {
        (void)sim_delete_by_hand(gates->sim, GATE);
        gates_observe(gates);
    }
}

bool gates_are_idle(const struct gates *gates)
{
    for (int i = 0; i < GATES_MAX; i++) {
        for (int j = 0; j < GATE_CALLS; j++) {
            if (gates->calls[i][j].call != NULL) {
                return false;
            }
        }
    }
    return true;
}
