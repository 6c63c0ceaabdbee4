/* SPDX-License-Identifier: Apache-2.0 */
/* A world for the conformance suite: a ZooKeeper, a port to it, and hands to
 * disturb both. world_real.c and world_sim.c implement it, the former with either
 * world_c_client.c or world_native.c. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>

#include "engine/port.h"

struct world;

/* Once, before and after all tests. 0 or -1. */
int world_begin(void);
void world_end(void);

/* A port that is not open yet; its session will start in an empty directory
 * of the test's own, or in an empty ZooKeeper. */
struct world *world_new(void);
struct uvzk__port *world_port(struct world *world);
/* The port has been closed. Whether nothing of it is left on the loop. */
bool world_free(struct world *world);

/* Lets time pass until the condition holds; false: too late. */
bool world_run_until(struct world *world, bool (*condition)(void *), void *context);
/* Lets about so much time pass. */
void world_run_for(struct world *world, unsigned ms);

/* Returns true if the port has persistent watches. */
bool world_has_persistent_watches(void);
/* Whether the port arms any number of watches again. The C client does that in one request, which
 * a server does not read if it is longer than 1 MiB (ZOOKEEPER-706). */
bool world_rearms_any_number(void);

/* Until world_restore, or for some seconds, there is no connection. What the
 * client has sent and the world has not run since is lost. */
void world_lose(struct world *world);
void world_restore(struct world *world);
/* The connection is lost and the server is elsewhere: the port comes back to it before
 * the session ends. */
void world_move(struct world *world);
/* Returns true if it comes back on a new handle then, without its watches. */
bool world_moves_by_a_new_handle(void);
/* The same, and the server is where it was, too, when the handle that knows it is closed:
 * that is connected then. Lets time pass until it is decided. */
void world_move_late(struct world *world);
/* The server ends the port's session. */
void world_expire(struct world *world);

/* Worlds made from now on have nothing between the port and its server, which ends
 * sessions while the world stands still; world_lose is not for them. */
void world_stand_direct(bool direct);
/* Sessions of worlds made from now on last long, for a test of how soon one ends. */
void world_have_long_sessions(bool have);
/* In a world that stands direct: ends the session, and comes back when the port has heard of it, its
 * user not. False: too late. */
bool world_expire_unheard(struct world *world);

/* Somebody else's session; the world may stand still meanwhile. */
void world_create(struct world *world, const char *path);
void world_set(struct world *world, const char *path);
void world_delete(struct world *world, const char *path);

/* Returns true if the port refuses what a user must not do; the simulator aborts. */
bool world_forgives(void);

/* Watches the server has. */
long world_watch_count(struct world *world);

#endif
