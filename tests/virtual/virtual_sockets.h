/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the native transport (discovery/sockets.h) as streams
 * of bytes between processes and simulated servers, in virtual time. A server has the
 * address 127.0.0.1 and the port VIRTUAL_PORT plus its number.
 *
 * The kernel of a process takes what is sent in pieces of any length, and none for a time
 * when it is full. What a server sends is read in pieces of any length. A connection that
 * is reset ends at any byte, in both directions. */
#ifndef UVZK_VIRTUAL_SOCKETS_H
#define UVZK_VIRTUAL_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "outside_client.h"
#include "virtual_loop.h"

#define VIRTUAL_PORT 2181U

/* Of all connections from now on; borrowed. */
void virtual_sockets_begin(const struct outside_settings *settings);
/* How long the messages of this process's connections take from now on, one way. */
void virtual_sockets_set_latency(struct virtual_process *process, uint32_t min_ms,
                                 uint32_t max_ms);

/* The connections of the process are reset, some byte after another. The servers refuse
 * new ones for ms. */
void virtual_sockets_reset(struct virtual_process *process, uint64_t ms);
/* The same, but everything that the kernel has taken arrives, late, and new connections
 * are accepted at once. */
void virtual_sockets_leave(struct virtual_process *process, uint64_t late_ms);
/* Nothing arrives for ms, in either direction; nor is a connection accepted. */
void virtual_sockets_silence(struct virtual_process *process, uint64_t ms);
/* The servers lose their leader for ms, as sim_follower_cut. */
void virtual_sockets_cut_followers(struct virtual_process *process, uint64_t ms);

#endif
