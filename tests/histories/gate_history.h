/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of the histories of barriers (barrier_history.h): the same clients set a
 * distributed barrier, the gate, remove it, and wait for it.
 *
 * Checked at every callback, in the servers' tree after each event: a set, a remove and
 * a wait that are told 0 found the gate set, or not set, at a moment between the call
 * and the callback. When the faults have stopped and the gate is removed, all waits
 * end. */
#ifndef UVZK_GATE_HISTORY_H
#define UVZK_GATE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"
#include "uvzk.h"

#define GATES_MAX 5
#define GATE_CALLS 3

struct gates;

struct gate_call {
    uvzk_req_t *call; /* NULL: told */
    struct gates *gates;
    int number; /* of the client */
    enum { SETS, REMOVES, WAITS } what;
    bool given_up, was_set, was_absent; /* was_...: since the call */
};

struct gates {
    struct sim *sim;
    uvzk_barrier_t *barriers[GATES_MAX]; /* NULL: the client is closed */
    struct gate_call calls[GATES_MAX][GATE_CALLS];
    bool closing[GATES_MAX], unreadable;
    /* Returns true if the client's credentials have been refused. */
    bool (*auth_failed)(void *context, int number);
    void *context;
    uint64_t waits, passed;
    char failure[128]; /* empty: all is well */
};

/* A client has been opened, begins to be closed, has been closed. */
void gates_open(struct gates *gates, int number, uvzk_client_t *client);
void gates_client_closing(struct gates *gates, int number);
void gates_client_closed(struct gates *gates, int number);

/* Something at random. */
void gates_act(struct gates *gates, int number);
/* After each event. */
void gates_observe(struct gates *gates);
/* An operator removes the gate for good. */
void gates_remove_by_hand(struct gates *gates);
/* Returns true if all calls have been told. */
bool gates_are_idle(const struct gates *gates);

#endif
