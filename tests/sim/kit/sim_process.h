/* SPDX-License-Identifier: Apache-2.0 */
/* What a test can do only to a simulated process: faults, its lines in the trace, and a
 * look inside its client. */
#ifndef UVZK_SIM_KIT_SIM_PROCESS_H
#define UVZK_SIM_KIT_SIM_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "process.h"

/* Runs the simulation until the trace has a line at or after `from` that is about this
 * process and begins with `text`. Fails the test if there is none within `ms`. */
void process_await_line(struct process *process, size_t from, const char *text,
                        uint64_t ms);
/* How many of the client's watches are kept for watermarks. A watermark is kept for some
 * time after the last contender of its directory has ended. */
uint64_t process_watermarks(const struct process *process);

/* Faults, each for a table of faults. The first one does nothing. The next three affect
 * one request (sim.h). The others cut the process off for the world's outage_ms: at once
 * or silently, by a restart of all servers, or by cutting its follower off from the
 * leader. */
void process_no_fault(struct process *process);
void process_lose_request(struct process *process);
void process_lose_reply(struct process *process);
void process_reply_enomem(struct process *process);
void process_reset(struct process *process);
void process_silence(struct process *process);
void process_lose_servers(struct process *process);
void process_lose_leader(struct process *process);

#endif
