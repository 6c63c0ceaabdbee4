/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of a port's user that do nothing, for simulated clients that need neither
 * the reason why there is no connection nor log lines. */
#ifndef UVZK_SIM_IGNORED_EVENTS_H
#define UVZK_SIM_IGNORED_EVENTS_H

#include "engine/port.h"

void ignore_no_connection(struct uvzk__port_user *, const struct uvzk__connect_error *);
/* A port of the simulator has no invariants of its own. */
void ignore_broken(struct uvzk__port_user *, const char *what);
void ignore_log(struct uvzk__port_user *, int level, const char *module,
                const char *line);

#endif
