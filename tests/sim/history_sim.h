/* What every kind of history has of its simulation: the ensemble that the seed gives it,
 * and a trace that ends with what failed. */
#ifndef UVZK_HISTORY_SIM_H
#define UVZK_HISTORY_SIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

#define HISTORY_FAILURE_SIZE 256

/* verbose: every line of the trace to stderr, as it happens. */
void history_sim_options(struct sim_options *options, uint64_t seed, bool verbose);

/* Writes down what failed, for the result and in the trace; unless something has
 * failed before. */
void history_sim_failed(struct sim *sim, char failure[HISTORY_FAILURE_SIZE],
                        const char *format, va_list arguments);

#endif
