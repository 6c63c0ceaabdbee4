/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of one client of a history, one for each of its sessions. */
#ifndef UVZK_HISTORY_PORTS_H
#define UVZK_HISTORY_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

#define HISTORY_PORTS_MAX 3

/* Makes the ports of the client with this number, in one process, and returns how many.
 * Every other client has several, where any has (HISTORY_SESSIONS). */
uint32_t history_ports_open(struct uvzk__port *ports[HISTORY_PORTS_MAX], struct sim *sim,
                            int number, unsigned kinds, uint32_t timeout_ms);

/* Returns true if a server has refused the credentials of any of them. */
bool history_ports_auth_failed(struct uvzk__port *const *ports, uint32_t count);

#endif
