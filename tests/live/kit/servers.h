/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a test program, which all its worlds use: either one server or an
 * ensemble of three. */
#ifndef SERVERS_H
#define SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ensemble.h"
#include "server.h"

/* At most one of them is not NULL. Both are NULL before the start. */
extern struct server *live_server;
extern struct ensemble *ensemble;

/* Group fixtures for cmocka: start the servers with the default options. */
int servers_start_one(void **state);
int servers_start_three(void **state);
/* For fixtures with other options. Both return 0 or -1. */
int servers_start_one_with(const struct server_options *options);
int servers_start_three_with(const struct ensemble_options *options);
int servers_stop(void **state);

/* NULL and 0 if no servers were started, as in a child process of the program. */
const char *servers_hosts(void);
uint32_t servers_tick_ms(void);

/* Called before each test: makes all servers run and serve. If the latest test failed,
 * the servers lose their data. What that test has left in this process stays, but the
 * servers do not know its sessions any more. Returns false if a server does not come
 * up. */
bool servers_make_whole(void);
/* Called after a test that has left nothing. */
void servers_are_clean(void);
/* Returns true if the servers that serve have neither watches nor ephemeral znodes. */
bool servers_are_bare(void);

#endif
