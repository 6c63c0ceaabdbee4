/* SPDX-License-Identifier: Apache-2.0 */
/* Records the times of the calls between uvzk, libuv, the C client and the kernel, from
 * outside: a preloaded library replaces the functions by which they call each other.
 * bench/call_trace_report runs the library and prints its results. When the traced
 * program ends, the library writes one JSON object to stderr. All times are in ns. */
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

/* -------------------------------- CALL_TRACE=waits: how long the loop's thread waits */

void waits_begin(void);
void waits_print(void);
/* The loop's thread was in a call of the C client for `called` ns, and waited for mutexes
 * for `waited` ns of that time. */
void waits_called(uint64_t called, uint64_t waited);
/* Another thread than the loop's has called the C client. */
void waits_called_elsewhere(void);
/* The loop's thread has waited for a mutex outside of a call of the C client. */
void waits_outside(uint64_t waited);
/* The loop's thread slept from `from` to `to`. A turn begins now. */
void waits_slept(uint64_t from, uint64_t to);
/* A thread of the C client held mutexes for `held` ns and called send() `writes` times
 * meanwhile. `running` is the CPU time that the thread used from the first of these calls
 * on. */
void waits_held(uint64_t held, uint64_t running, unsigned writes);

/* -------------- CALL_TRACE=way: from a release to the next grant, in another session */

enum moment_kind {
    RELEASED,   /* uvzk_hold_release was called, in the acquire callback */
    CALLED,     /* the delete is passed to the C client */
    TAKEN,      /* the call of the C client has returned */
    WRITTEN,    /* the C client's thread has sent the delete */
    EVENT,      /* the next contender's session has read the event */
    WOKEN,      /* a thread of the C client wakes the loop */
    AWAKE,      /* the loop's thread is awake */
    ASKED,      /* the loop's thread passes a getChildren to the C client */
    ASKED_WIRE, /* the getChildren is sent */
    ANSWERED,   /* a reply was read */
    MOMENTS
};

void handover_trace_begin(void);
void handover_trace_print(void);
/* Records a moment. `number` is a znode's sequence number for RELEASED, CALLED, TAKEN,
 * WRITTEN and EVENT, a request's xid for ASKED_WIRE and ANSWERED, and -1 for the
 * others. */
void handover_trace_moment(enum moment_kind kind, int64_t number);
/* Records a moment for each lock znode whose name these bytes contain. */
void handover_trace_moments(enum moment_kind kind, const void *bytes, size_t length);

/* Finds the next lock znode in the bytes from *at to `end`. Returns its sequence number,
 * and sets *at behind it; -1: there is none. */
int64_t handover_trace_next_znode(const char **at, const char *end);

/* ------- CALL_TRACE=wire: the same over the native transport, from what is on the wire */

/* Request types of ZooKeeper. */
enum { CALL_TRACE_DELETE = 2, CALL_TRACE_MULTI = 14 };

void wire_trace_begin(void);
void wire_trace_print(void);
/* uvzk_hold_release was called for the hold with this path; a grant's callback runs. */
void wire_trace_released(const char *path);
void wire_trace_granted(void);
/* The kernel has taken or given these bytes. */
void wire_trace_sent(int fd, const void *bytes, size_t length);
void wire_trace_received(int fd, const void *bytes, size_t length);

#endif
