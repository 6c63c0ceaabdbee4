/* The servers of a test program, on which its worlds stand: one, or an ensemble of
 * three. */
#ifndef SERVERS_H
#define SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ensemble.h"
#include "server.h"

/* One of them, and NULL before they are started. */
extern struct server *live_server;
extern struct ensemble *ensemble;

/* Group fixtures for cmocka, with the default options, and what others are made of. */
int servers_start_one(void **state);
int servers_start_three(void **state);
int servers_start_one_with(const struct server_options *options);
int servers_start_three_with(const struct ensemble_options *options);
int servers_stop(void **state);

/* NULL and 0 where none was started: in a program's child. */
const char *servers_hosts(void);
uint32_t servers_tick_ms(void);

/* Before a test: all run, and serve. What a failed one has left in this process is left
 * alone, and meets servers that know nothing of it. */
bool servers_make_whole(void);
/* After a test of which nothing is left. */
void servers_are_clean(void);
/* Whether those that serve have neither watches nor ephemeral znodes. */
bool servers_are_bare(void);

#endif
