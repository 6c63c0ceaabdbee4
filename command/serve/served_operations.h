/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out one line that a program has sent. */
#ifndef SERVED_OPERATIONS_H
#define SERVED_OPERATIONS_H

#include <stddef.h>

struct served_connection;

/* Reads the line, and answers it now or later. May end the connection. */
void served_operations_run(struct served_connection *, const char *line, size_t length);

#endif
