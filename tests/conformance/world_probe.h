/* SPDX-License-Identifier: Apache-2.0 */
/* A probe (kit/probe.h) over a world of the conformance suite, one each. */
#ifndef WORLD_PROBE_H
#define WORLD_PROBE_H

#include "probe.h"
#include "world.h"

/* Over a new world, not open. */
struct probe *probe_in_world(void);
/* Opens it and waits until it is connected. */
void probe_connect(struct probe *probe);
struct probe *probe_in_world_connected(void);
/* Ends it and its world; of both nothing is left. */
void probe_leave(struct probe *probe);

/* Loses the connection and waits until that is told; has it back, and waits; both. */
void probe_lose(struct probe *probe);
void probe_regain(struct probe *probe);
void probe_reconnect(struct probe *probe);

/* What the server had to say before it has been told after. */
void probe_round_trip(struct probe *probe);
void probe_await_watches(struct probe *probe, long count);

#endif
