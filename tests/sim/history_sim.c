#include "history_sim.h"

#include <stdio.h>

void history_sim_options(struct sim_options *options, uint64_t seed, bool verbose)
{
    sim_options_init(options);
    options->shuffle_ties = seed % 2 == 0;
    options->hop_max_ms = seed % 3 == 0 ? 3 : 0;
    options->followers = seed % 3 != 1;
    options->no_containers = seed % 16 == 5;
    options->trace_lines = 400;
    options->trace_cb = verbose ? sim_trace_to_stderr : NULL;
}

void history_sim_failed(struct sim *sim, char failure[HISTORY_FAILURE_SIZE],
                        const char *format, va_list arguments)
{
    if (failure[0] == '\0') {
        (void)vsnprintf(failure, HISTORY_FAILURE_SIZE, format, arguments);
        sim_note(sim, "FAILED: %s", failure);
    }
}
