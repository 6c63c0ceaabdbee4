/* SPDX-License-Identifier: Apache-2.0 */
/* The library's USDT probes (sys/sdt.h): points in the code that a tracer such as bpftrace
 * finds in the library's file and can watch in a running process. docs/operations.md lists
 * the probes with their arguments, and a test compares the list with the library
 * (tests/rules/probe_points).
 *
 * All probes share one semaphore: a counter which a tracer increments while it watches any
 * of them. While it is 0, a step costs only the test of it, and nothing is computed for
 * the probes. A build without sys/sdt.h (UVZK_PROBES is not defined) has no probes: then
 * uvzk__probed() is always false, and the other functions are never called. */
#ifndef UVZK_PROBE_POINTS_H
#define UVZK_PROBE_POINTS_H

#include <stdbool.h>

#include "engine/port.h"

struct uvzk__session;

#ifdef UVZK_PROBES
/* Written by the tracer, through the kernel. */
extern volatile unsigned short uvzk__probes_semaphore
    __attribute__((visibility("hidden")));
#endif

/* Returns true if a tracer watches a probe of this process. */
static inline bool uvzk__probed(void)
{
#ifdef UVZK_PROBES
    return __builtin_expect(uvzk__probes_semaphore != 0, 0);
#else
    return false;
#endif
}

/* What the probes of an acquire and its hold have in common. */
struct uvzk__probed_hold {
    const uvzk_hold_t *hold;
    const char *path;   /* of the lock, with the namespace */
    int64_t session_id; /* 0: there is no session */
    uint64_t took_ms;   /* since the step before; 0 if that was not watched */
};

/* Passes the probe of this step (ACQUIRE to LOST). token: of the hold. status: of a
 * refusal, a loss or a release. */
void uvzk__probe_hold(const struct uvzk__probed_hold *, enum uvzk_trace_step,
                      int64_t token, int status);
/* The grant is a handover, which took took_ms (claim/observed_steps.c). */
void uvzk__probe_handover(const struct uvzk__probed_hold *, uint64_t took_ms);
/* The client's state is a new one. */
void uvzk__probe_state(const struct uvzk__session *, uvzk_client_state_t);

/* ------------------------------------------------------------ for this room alone */

/* A request is being sent; its reply has arrived. */
void uvzk__probe_request(const struct uvzk__session *, const struct uvzk__rpc *);
void uvzk__probe_reply(struct uvzk__session *, const struct uvzk__rpc *, int status);

#endif
