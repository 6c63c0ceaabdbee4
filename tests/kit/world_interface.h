/* SPDX-License-Identifier: Apache-2.0 */
/* What process.c and hold.c, which are compiled once for each kit, call of a world. Each
 * kit's world.c implements it: the world of sim/kit is a simulated ensemble, that of
 * live/kit consists of real servers. Tests call the first part too. */
#ifndef UVZK_KIT_WORLD_INTERFACE_H
#define UVZK_KIT_WORLD_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

struct hold;
struct process;
struct world;

/* Fails the test. A simulated world prints its trace first. */
void world_fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a line of the test to the simulated world's trace. A live world prints it to stderr
 * if UVZK_VERBOSE is set. */
void world_note(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The time in ms: the virtual time, or uvzk_now(). */
uint64_t world_now(const struct world *world);
/* Lets `ms` pass: runs the simulation, or the loop. A simulated world is checked at every
 * ms while there are holds or pending acquires. */
void world_run_for(struct world *world, uint64_t ms);
/* Lets time pass until the counter is 1 or more, or has reached `value`. Returns false if
 * that takes longer than `ms`. */
bool world_await(struct world *world, const int *counter, uint64_t ms);
bool world_await_count(struct world *world, const int *counter, int value, uint64_t ms);

/* ------------------------------------------------- for process.c and hold.c only */

/* Sets the kit's defaults: where the servers are, and the session timeout. */
void world_client_options(uvzk_client_options_t *options);
/* Creates the client of a process, as uvzk_client_init does. Returns its status. */
int world_create_client(struct world *world, struct process *process,
                        const uvzk_client_options_t *options);
/* Ends the first session of the process. */
void world_expire(struct world *world, struct process *process);
/* Returns true if acquires of this world have a queued_cb. */
bool world_has_queued_cb(const struct world *world);
/* A hold was granted: a simulated world checks its znodes and exclusion. */
void world_granted(struct world *world, struct hold *hold);

#endif
