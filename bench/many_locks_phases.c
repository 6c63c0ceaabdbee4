/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a run of many_locks, and how a failure ends the run. */
#include <stdarg.h>

#include "many_locks_run.h"

void run_begin_phase(struct run *run, enum phase phase)
{
    run->phase = phase;
    run->events++;
    run->phase_began_ns = uv_hrtime();
    run->phase_began_requests = run_requests(run);
}

uint64_t run_requests(const struct run *run)
{
    uint64_t requests = 0;

    if (run->phase != QUEUEING && run->phase != DRAINING) {
        return 0;
    }
    for (size_t c = 0; c < run->options->clients; c++) {
        uvzk_client_metrics_t stats;
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(&run->clients[c], &stats);
        requests += stats.requests - stats.proofs;
    }
    return requests;
}

/* Ends the run early: closes the clients, whatever the phase is. In CHECKING_LIVE and
 * later there is nothing to do, because the run closes the clients next or has done
 * so. */
void run_give_up(struct run *run)
{
    if (run->phase < CHECKING_LIVE) {
        ending_close_clients(run);
    }
}

void run_fail(struct run *run, const char *format, ...)
{
    struct many_locks_result *result = run->result;
    va_list arguments;

    if (result->failure[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(result->failure, sizeof(result->failure), format, arguments);
        va_end(arguments);
        run_give_up(run);
    }
}
