/* Moments between the library, libuv, the C client and the kernel, seen from outside:
 * a preloaded library stands before the functions by which they call each other.
 * bench/call_trace_report runs it, and prints what it has seen. When the program ends,
 * one JSON object goes to stderr. */
#ifndef CALL_TRACE_H
#define CALL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t call_trace_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ------------------------------------- CALL_TRACE=waits: how long the loop's thread waits */

void waits_begin(void);
void waits_print(void);
/* The loop's thread was so long in a call of the C client, and waited so long for mutexes
 * meanwhile. */
void waits_called(uint64_t called, uint64_t waited);
/* Another thread has called for it. */
void waits_called_elsewhere(void);
/* It has waited for a mutex outside of such a call. */
void waits_outside(uint64_t waited);
/* It has slept from .. to; a turn begins. */
void waits_slept(uint64_t from, uint64_t to);
/* A thread of the client's held a mutex so long while it wrote so many times to the
 * socket; so much of that it was running. */
void waits_held(uint64_t held, uint64_t running, unsigned writes);

/* -------------------------- CALL_TRACE=way: from one release to the next grant, elsewhere */

enum moment_kind {
    RELEASED, /* uvzk_hold_release, in the grant's callback; of a znode, as the next four */
    CALLED,   /* the delete is given to the client */
    TAKEN,    /* the client has taken it */
    WRITTEN,    /* its thread has written it */
    EVENT,      /* the next one's session has read that the znode is gone */
    WOKEN,      /* a thread of the client's wakes the loop */
    AWAKE,      /* the loop is awake */
    ASKED,      /* it gives a listing to the client */
    ASKED_WIRE, /* which is written; of an xid, as the next */
    ANSWERED,   /* and answered */
    MOMENTS
};

void handover_trace_begin(void);
void handover_trace_print(void);
/* number: a znode's, or a request's xid; -1: none. */
void handover_trace_moment(enum moment_kind kind, int64_t number);
/* For each znode of a lock's that these bytes name. */
void handover_trace_moments(enum moment_kind kind, const void *bytes, size_t length);

#endif
