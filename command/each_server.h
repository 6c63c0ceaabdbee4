/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk status --each-server: reads the lock through each server separately, and compares
 * what the servers show. */
#ifndef EACH_SERVER_H
#define EACH_SERVER_H

#include "query.h"

/* Reads, compares and prints. Returns the exit status: 0 if all servers show the same, 1
 * if they differ, 69 (EX_UNAVAILABLE) if a server did not answer and the others show the
 * same, or another code of sysexits.h after a failure. */
int each_server_run(const struct query_options *);

#endif
