/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of the native transport in virtual time, and their random faults.
 *
 *   uvzk client ── native port ── stream ══ bytes ══ outside_client ── simulated server
 *                  (loop/native)           (virtual_sockets)
 *
 * The library is as it is in a program; only the kernel, the loop and the clock are
 * others. */
#ifndef UVZK_VIRTUAL_PORT_H
#define UVZK_VIRTUAL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/port.h"
#include "sim.h"

/* Everything is of this simulation from now on, and its random faults (sim_set_faults)
 * happen to these ports too. */
void virtual_ports_begin(struct sim *sim);
/* All ports have been closed. */
void virtual_ports_end(void);

/* A port in a new process called `name`; in the process of the port `beside`, if that is
 * not NULL. NULL: no memory. */
struct uvzk__port *virtual_port_new(const char *name, const struct uvzk__port *beside,
                                    uint32_t timeout_ms);
/* The port has a user now. When it has been closed it frees itself. */
void virtual_port_start(struct uvzk__port *port);
/* Frees a port that has not been started. */
void virtual_port_free(struct uvzk__port *port);
/* These may be called until the port's user is told that it is closed, and the session's id
 * even then. */
void virtual_port_set_latency(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms);
/* The session that the port knows; 0: none, or the port is closed. */
int64_t virtual_port_session_id(const struct uvzk__port *port);
/* How many requests have been submitted. */
uint64_t virtual_port_submitted(const struct uvzk__port *port);
/* How many watches it has. */
size_t virtual_port_watches(const struct uvzk__port *port);
/* Returns true if the servers know the removal of watches, as the port believes: one that
 * is lost when it has asked takes it that they do not (port/dialect.h). */
bool virtual_port_removes_watches(const struct uvzk__port *port);

/* The connections of the port's process are reset, and new ones are refused for ms. */
void virtual_port_reset(const struct uvzk__port *port, uint64_t ms);
/* The servers end its session. */
void virtual_port_expire(const struct uvzk__port *port);

#endif
