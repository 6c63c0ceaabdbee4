/* SPDX-License-Identifier: Apache-2.0 */
/* Probes (tests/kit/probe.h) over the simulator's port, and cmocka fixtures with one or
 * two of them. */
#include "probe.h"

#include <stdio.h>

#include "sim.h"

#define HOUR_MS UINT64_C(3600000)

struct sim *sim_plain(void)
{
    return sim_new(1, NULL);
}

struct sim *sim_exact(void)
{
    struct sim_options options;

    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.alarm_late_max_ms = 0;
    return sim_new(1, &options);
}

/* Runs the simulation until the condition holds, for one virtual hour at most. Prints the
 * trace if it never holds. */
static bool run_until(void *place, bool (*condition)(void *), void *context)
{
    struct sim *sim = place;
    uint64_t limit = sim_now(sim) + HOUR_MS;

    while (!condition(context) && sim_now(sim) < limit) {
        sim_step(sim);
    }
    if (!condition(context)) {
        sim_trace_print(sim, stderr);
    }
    return condition(context);
}

struct probe *probe_new(struct sim *sim, const char *name)
{
    return probe_over(sim_port_new(sim, name), sim, run_until);
}

struct probe *probe_beside(const struct probe *probe)
{
    return probe_over(sim_port_beside(probe->port), probe->sim, run_until);
}

struct probe *probe_connected(struct sim *sim, const char *name)
{
    struct probe *probe = probe_new(sim, name);

    probe_open(probe);
    probe_hear(probe, "CONNECTED");
    return probe;
}

/* ------------------------------------------------------------------ fixtures */

/* The state of a test is probe "a"; its data is probe "b" or NULL. */
static int begin(void **state, struct sim *sim, size_t count)
{
    struct probe *a = probe_connected(sim, "a");

    a->data = count > 1 ? probe_connected(sim, "b") : NULL;
    *state = a;
    return 0;
}

int one_unopened(void **state)
{
    *state = probe_new(sim_plain(), "a");
    return 0;
}

int one_plain(void **state)
{
    return begin(state, sim_plain(), 1);
}

int one_exact(void **state)
{
    return begin(state, sim_exact(), 1);
}

int two_plain(void **state)
{
    return begin(state, sim_plain(), 2);
}

int two_exact(void **state)
{
    return begin(state, sim_exact(), 2);
}

int probes_end_with_their_sim(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;

    probe_end(a);
    if (b != NULL) {
        probe_end(b);
    }
    sim_free(sim);
    return 0;
}
