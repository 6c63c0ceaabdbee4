/* SPDX-License-Identifier: Apache-2.0 */
/* The USDT probes (probe_points.h). Each DTRACE_PROBE is one nop instruction, and a note
 * in the file that says where its arguments are. Users' tracing programs read the names
 * and the arguments: like the public header, they may only grow, at their end. */
#include "engine/probe_points.h"

#include "engine/session.h"

#ifdef UVZK_PROBES

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* The probes are macros that name no argument for a "...". */
#pragma GCC diagnostic ignored "-Wpedantic"

#define IN_THIS_LIBRARY visibility("hidden")

volatile unsigned short uvzk__probes_semaphore
    __attribute__((section(".probes"), used, IN_THIS_LIBRARY));

/* sys/sdt.h looks for a semaphore PROVIDER_PROBE_semaphore of each probe. */
#define SHARES_THE_SEMAPHORE(probe)                         \
    extern volatile unsigned short uvzk_##probe##_semaphore \
        __attribute__((alias("uvzk__probes_semaphore"), IN_THIS_LIBRARY))

SHARES_THE_SEMAPHORE(acquire);
SHARES_THE_SEMAPHORE(granted);
SHARES_THE_SEMAPHORE(refused);
SHARES_THE_SEMAPHORE(release);
SHARES_THE_SEMAPHORE(released);
SHARES_THE_SEMAPHORE(lost);
SHARES_THE_SEMAPHORE(handover);
SHARES_THE_SEMAPHORE(request);
SHARES_THE_SEMAPHORE(reply);
SHARES_THE_SEMAPHORE(state);

#else

/* No tracer can watch, so uvzk__probed() is false and these are not reached. */
#define DTRACE_PROBE3(provider, probe, a, b, c) ((void)(a), (void)(b), (void)(c))
#define DTRACE_PROBE4(provider, probe, a, b, c, d) \
    (DTRACE_PROBE3(provider, probe, a, b, c), (void)(d))
#define DTRACE_PROBE5(provider, probe, a, b, c, d, e) \
    (DTRACE_PROBE4(provider, probe, a, b, c, d), (void)(e))
#define DTRACE_PROBE6(provider, probe, a, b, c, d, e, f) \
    (DTRACE_PROBE5(provider, probe, a, b, c, d, e), (void)(f))

#endif

void uvzk__probe_hold(const struct uvzk__probed_hold *of, enum uvzk_trace_step step,
                      int64_t token, int status)
{
    switch (step) {
    case UVZK_TRACE_ACQUIRE:
        DTRACE_PROBE3(uvzk, acquire, of->hold, of->path, of->session_id);
        break;
    case UVZK_TRACE_GRANTED:
        DTRACE_PROBE5(uvzk, granted, of->hold, of->path, of->session_id, of->took_ms,
                      token);
        break;
    case UVZK_TRACE_REFUSED:
        DTRACE_PROBE5(uvzk, refused, of->hold, of->path, of->session_id, of->took_ms,
                      status);
        break;
    case UVZK_TRACE_RELEASE:
        DTRACE_PROBE5(uvzk, release, of->hold, of->path, of->session_id, of->took_ms,
                      token);
        break;
    case UVZK_TRACE_RELEASED:
        DTRACE_PROBE5(uvzk, released, of->hold, of->path, of->session_id, of->took_ms,
                      status);
        break;
    case UVZK_TRACE_LOST:
        DTRACE_PROBE6(uvzk, lost, of->hold, of->path, of->session_id, of->took_ms, token,
                      status);
        break;
    default:
        break;
    }
}

void uvzk__probe_handover(const struct uvzk__probed_hold *of, uint64_t took_ms)
{
    DTRACE_PROBE4(uvzk, handover, of->hold, of->path, of->session_id, took_ms);
}

void uvzk__probe_request(const struct uvzk__session *session, const struct uvzk__rpc *rpc)
{
    DTRACE_PROBE4(uvzk, request, rpc, rpc->path, session->connection.session_id,
                  uvzk__rpc_name(rpc));
}

void uvzk__probe_reply(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                       int status)
{
    DTRACE_PROBE6(uvzk, reply, rpc, rpc->path, session->connection.session_id,
                  uvzk__rpc_name(rpc), uvzk__now(session) - rpc->sent_ms, status);
}

void uvzk__probe_state(const struct uvzk__session *session, uvzk_client_state_t state)
{
    DTRACE_PROBE3(uvzk, state, session->handle, session->connection.session_id,
                  (int)state);
}
