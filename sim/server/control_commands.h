/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the control channel (control.h). */
#ifndef UVZK_SIM_CONTROL_COMMANDS_H
#define UVZK_SIM_CONTROL_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

struct tcp_server;

/* Carries out a line, without its end, and writes the answer. The line is changed. Sets
 * *quit if the program is to end. */
void control_command(struct tcp_server *server, char *line, FILE *answer, bool *quit);

#endif
