/* SPDX-License-Identifier: Apache-2.0 */
/* CALL_TRACE=way: how long each step takes between a release and the next grant, if the
 * next holder belongs to another session. call_trace.c calls it from all threads.
 *
 * The one idea: while the program runs, moments are only recorded, in one array that all
 * threads append to. The ways from a release to the next grant are found in that array
 * when the program ends. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_trace.h"
#include "latencies.h"

enum { MOST = 4000000, LATER = 400 /* moments that next() searches */ };

struct moment {
    uint64_t at;
    int64_t number;
    _Atomic uint32_t kind; /* enum moment_kind plus 1; 0: not written yet */
};

static struct moment *moments;
static atomic_size_t count;

void handover_trace_begin(void)
{
    moments = calloc(MOST, sizeof(*moments));
    if (moments == NULL) {
        fputs("call_trace: out of memory\n", stderr);
    }
}

void handover_trace_moment(enum moment_kind kind, int64_t number)
{
    size_t at = atomic_fetch_add(&count, 1U);
    if (moments != NULL && at < MOST) {
        moments[at].at = call_trace_now();
        moments[at].number = number;
        atomic_store(&moments[at].kind, kind + 1U);
    }
}

int64_t handover_trace_next_znode(const char **at, const char *end)
{
    static const char before[] = "-lock-";
    enum { BEFORE = sizeof(before) - 1, DIGITS = 10 };
    char digits[DIGITS + 1] = "";
    const char *found;

    while ((found = memmem(*at, (size_t)(end - *at), before, BEFORE)) != NULL) {
        *at = found + BEFORE;
        if (end - *at >= DIGITS) {
            memcpy(digits, *at, DIGITS);
            return strtoll(digits, NULL, 10);
        }
    }
    return -1;
}

void handover_trace_moments(enum moment_kind kind, const void *bytes, size_t length)
{
    const char *at = bytes;
    const char *end = at + length;
    int64_t number;

    while ((number = handover_trace_next_znode(&at, end)) >= 0) {
        handover_trace_moment(kind, number);
    }
}

/* --------------------------------------------------------- when the program has ended */

static size_t written(void)
{
    size_t all = atomic_load(&count);
    return all < MOST ? all : MOST;
}

/* Returns the first moment of this kind among the LATER moments from `from` on, or NULL.
 * If `number` is not negative, the moment must have that number. */
static const struct moment *next(const struct moment *from, enum moment_kind kind,
                                 int64_t number)
{
    const struct moment *end = moments + written();
    if (from == NULL) {
        return NULL;
    }
    for (int i = 0; i < LATER && from < end; i++, from++) {
        if (from->kind == kind + 1U && (number < 0 || from->number == number)) {
            return from;
        }
    }
    return NULL;
}

/* Returns the last moment of this kind before `before` and not before `least`, or
 * NULL. */
static const struct moment *last(const struct moment *before, enum moment_kind kind,
                                 const struct moment *least)
{
    while (before != NULL && least != NULL && before > least) {
        before--;
        if (before->kind == kind + 1U) {
            return before;
        }
    }
    return NULL;
}

/* The moments of a way in their order. Each step is named by the moment at its end. */
enum step {
    FROM,
    TO_CALL,
    TO_TAKEN,
    TO_WIRE,
    TO_EVENT,
    TO_WOKEN,
    TO_AWAKE,
    TO_ASKED,
    TO_ASKED_WIRE,
    TO_ANSWER,
    TO_WOKEN_AGAIN,
    TO_AWAKE_AGAIN,
    TO_GRANT,
    STEPS
};
static const char *const names[STEPS] = {
    "whole",        "release_to_call", "call",        "call_to_wire",
    "server",       "event_to_wake",   "loop_wakeup", "turn_to_listing",
    "to_wire",      "server_again",    "to_wake",     "loop_wakeup_again",
    "turn_to_grant"};
static struct latencies steps[STEPS];
static size_t ways, others;

/* Finds the way from this release to the next grant. A grant is recognized by its
 * RELEASED, because the traced program releases in the acquire callback. Returns false if
 * a moment is missing or is later than the grant. Then there was no next grant, or it did
 * not need the watch event and a getChildren in another session. */
static bool follow(const struct moment *released, const struct moment *way_taken[STEPS])
{
    const struct moment *granted = next(released + 1, RELEASED, -1);
    const struct moment *event = next(released, EVENT, released->number);
    const struct moment *asked = granted == NULL || event == NULL || granted < event
                                     ? NULL
                                     : last(granted, ASKED, event);
    const struct moment *wire = next(asked, ASKED_WIRE, -1);
    const struct moment *answer =
        wire == NULL ? NULL : next(wire, ANSWERED, wire->number);

    way_taken[FROM] = released;
    way_taken[TO_CALL] = next(released, CALLED, released->number);
    way_taken[TO_TAKEN] = next(released, TAKEN, released->number);
    way_taken[TO_WIRE] = next(released, WRITTEN, released->number);
    way_taken[TO_EVENT] = event;
    way_taken[TO_WOKEN] = next(event, WOKEN, -1);
    way_taken[TO_AWAKE] = last(asked, AWAKE, way_taken[TO_WOKEN]);
    way_taken[TO_ASKED] = asked;
    way_taken[TO_ASKED_WIRE] = wire;
    way_taken[TO_ANSWER] = answer;
    way_taken[TO_WOKEN_AGAIN] = next(answer, WOKEN, -1);
    way_taken[TO_AWAKE_AGAIN] = last(granted, AWAKE, way_taken[TO_WOKEN_AGAIN]);
    way_taken[TO_GRANT] = granted;
    for (int i = TO_CALL; i < STEPS; i++) {
        if (way_taken[i] == NULL || way_taken[i] > granted) {
            return false;
        }
    }
    return true;
}

/* The C client's thread may send a delete before the call that passed it to the C client
 * has returned. So TO_WIRE is counted from TO_CALL, and a step that ends before it begins
 * counts as 0. */
static void add(const struct moment *const way_taken[STEPS])
{
    ways++;
    latencies_add(&steps[FROM], way_taken[TO_GRANT]->at - way_taken[FROM]->at);
    for (int i = TO_CALL; i < STEPS; i++) {
        const struct moment *before = way_taken[i == TO_WIRE ? TO_CALL : i - 1];
        uint64_t at = way_taken[i]->at;
        latencies_add(&steps[i], at > before->at ? at - before->at : 0);
    }
}

void handover_trace_print(void)
{
    const struct moment *way_taken[STEPS];
    for (int i = 0; i < STEPS; i++) {
        if (moments == NULL || latencies_init(&steps[i], MOST / MOMENTS) != 0) {
            return;
        }
    }
    for (const struct moment *at = moments; at < moments + written(); at++) {
        if (at->kind != RELEASED + 1U) {
            continue;
        }
        if (follow(at, way_taken)) {
            add(way_taken);
        } else {
            others++;
        }
    }
    fprintf(stderr, "{\"ways\":%zu,\"others\":%zu", ways, others);
    for (int i = 0; i < STEPS; i++) {
        fprintf(stderr, ",\"%s\":{\"p50_us\":%.1f,\"p99_us\":%.1f}", names[i],
                latencies_percentile_us(&steps[i], 50),
                latencies_percentile_us(&steps[i], 99));
    }
    fputs("}\n", stderr);
}
