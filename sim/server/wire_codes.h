/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper's error codes, as simulated servers send them, and their names. */
#ifndef UVZK_SIM_WIRE_CODES_H
#define UVZK_SIM_WIRE_CODES_H

#include <stdbool.h>
#include <stdint.h>

/* The code for a status of the simulation; BADARGUMENTS for one that has none. */
int32_t wire_code(int status);
/* Sets the status whose code has this name, such as "NONODE". Returns false if there is
 * none. */
bool wire_status_named(const char *name, int *status);

#endif
