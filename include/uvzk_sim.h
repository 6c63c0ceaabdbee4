/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_sim: a ZooKeeper in memory, with virtual time, to test programs that use locks.
 *
 * Link a test with libuvzk-sim.a instead of libuvzk. It has every function of uvzk.h,
 * with the same behaviour, except that uvzk_client_init creates a client of the
 * simulation. It ignores the loop, which may be NULL. options.hosts must not be empty,
 * but is not used. If no simulation has begun, uvzk_client_init returns UV_EINVAL.
 * Nothing happens until a function below lets time pass. A virtual hour takes
 * milliseconds. The same seed and the same calls give the same history, to the last
 * message. There is no server, thread, socket or real clock.
 *
 * uvzk_now() returns virtual time. Other clocks do not: a uv_timer_t of the program under
 * test uses the machine's clock.
 *
 * There is one simulation at a time, on one thread: call every function on that thread.
 * The guide is docs/guide/simulator.md. */
#ifndef UVZK_UVZK_SIM_H
#define UVZK_UVZK_SIM_H

#include <stdio.h>
#include <uvzk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The options of a simulation. The struct may grow at its end. Begin with
 * uvzk_sim_options_init(&options); a field that is zero means the default. */
typedef struct uvzk_sim_options_s {
    size_t size;      /* set by uvzk_sim_options_init */
    uint64_t seed;    /* determines everything random, such as the delay of messages */
    uint32_t servers; /* default 1; with several, followers lag a little behind the
                         leader, and a client connects to any of them */
    uint32_t tick_ms; /* the servers' tickTime; default 2000 */
    uint32_t latency_max_ms; /* a message takes 1 ms to this long, one way; default 20 */
} uvzk_sim_options_t;

#define uvzk_sim_options_init(options) \
    uvzk_sim_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_sim_options_init_size(uvzk_sim_options_t *options, size_t size);

/* Begins a simulation. options may be NULL for the defaults. UV_EBUSY: a simulation has
 * begun and not ended. UV_EINVAL: options was not initialised. */
UVZK_EXTERN int uvzk_sim_begin(const uvzk_sim_options_t *options);

/* Ends a simulation.
 * UV_EBUSY: a client is not closed, or no time has passed since its close; nothing is
 * done. UVZK_ESTATE: there is no simulation. */
UVZK_EXTERN int uvzk_sim_end(void);

/* --------------------------------------------------------------- time passes
 *
 * These functions call the callbacks of the program under test. A callback must not call
 * any of the three. */

/* Lets ms of virtual time pass. Without a simulation it does nothing. */
UVZK_EXTERN void uvzk_sim_run_for(uint64_t ms);

/* Let time pass until a condition is true, for ms at most. They check the condition at
 * each millisecond and return 0 when it is true, otherwise UV_ETIMEDOUT; without a
 * simulation they return UV_ETIMEDOUT at once. The condition of uvzk_sim_await is that
 * *flag is not 0. */
UVZK_EXTERN int uvzk_sim_await(const int *flag, uint64_t ms);
UVZK_EXTERN int uvzk_sim_await_that(int (*condition)(void *context), void *context,
                                    uint64_t ms);

/* --------------------------------------------------------------------- faults
 *
 * The faults of a client affect all of its sessions. The functions return 0, or
 * UVZK_ESTATE if the client is not initialised or is closed. */

/* How a client's connection ends. */
typedef enum {
    UVZK_SIM_RESET = 0, /* the client learns at once that it has no connection */
    UVZK_SIM_SILENT     /* the client notices only that no answer comes */
} uvzk_sim_cut_t;

/* Cuts a client off from the servers for ms, which may be longer than its session
 * timeout. */
UVZK_EXTERN int uvzk_sim_disconnect(uvzk_client_t *client, uvzk_sim_cut_t cut,
                                    uint64_t ms);
/* Makes the servers end a client's session early, as an operator may. Until the client
 * learns of it, another client may be granted its locks while its holds are still valid;
 * uvzk cannot prevent that. To end a session by its timeout, use a cut or a pause that is
 * long enough. UVZK_ESTATE also: the client has no session. */
UVZK_EXTERN int uvzk_sim_expire(uvzk_client_t *client);
/* Stops a client's process for ms, as SIGSTOP, a debugger or a hypervisor does. */
UVZK_EXTERN int uvzk_sim_pause(uvzk_client_t *client, uint64_t ms);
/* Keeps a client's loop busy with something else for ms, while its session is kept
 * alive. */
UVZK_EXTERN int uvzk_sim_stall(uvzk_client_t *client, uint64_t ms);
/* Loses the reply to a client's next request, and then the connection. The servers carry
 * out the request. */
UVZK_EXTERN int uvzk_sim_lose_reply(uvzk_client_t *client);
/* Moves a client's connection to another server, if there is one. */
UVZK_EXTERN int uvzk_sim_move(uvzk_client_t *client);
/* Choose the server of a client's next connections: 0 is the first, -1 any. UV_EINVAL: no
 * such server. uvzk_sim_server_of returns the number of the server to which the client's
 * first session is connected; -1: not connected. */
UVZK_EXTERN int uvzk_sim_connect_to(uvzk_client_t *client, int server);
UVZK_EXTERN int uvzk_sim_server_of(const uvzk_client_t *client);

/* Faults of the servers. The functions return UVZK_ESTATE if there is no simulation. */

/* Makes all servers unavailable for ms. Sessions survive, and their timeouts start
 * again. */
UVZK_EXTERN int uvzk_sim_restart(uint64_t ms);
/* Cuts a follower off from the other servers for ms. It continues to answer from the data
 * that it has. UV_EINVAL: no such server. */
UVZK_EXTERN int uvzk_sim_lag(int server, uint64_t ms);
/* Replaces the leader: it is cut off with this many followers for ms. It does not know
 * that, and answers as if all writes had stopped, while the others elect a new leader.
 * UV_EINVAL: the others are not a majority, or a replaced leader is still cut off.
 * uvzk_sim_leader returns the number of the leader. */
UVZK_EXTERN int uvzk_sim_depose(uint32_t followers, uint64_t ms);
UVZK_EXTERN int uvzk_sim_leader(void);
/* Injects faults at random from now on: cuts, pauses, stalls, moves, restarts, lags and
 * (with three servers or more) replaced leaders, of up to 30 s each. In each virtual
 * second each kind of fault affects each client, or the servers, with a probability of
 * ppm in a million; 0: no more faults. None of them may ever cause two valid holds of one
 * lock. */
UVZK_EXTERN int uvzk_sim_trouble(uint32_t ppm);

/* -------------------------------------------------------------- the servers' view
 *
 * Paths are full: with the namespace, without the chroot. */

/* Show what the servers have now. Without a simulation they return 0. */
UVZK_EXTERN int uvzk_sim_exists(const char *path);      /* 1 or 0 */
UVZK_EXTERN size_t uvzk_sim_children(const char *path); /* how many */
UVZK_EXTERN size_t uvzk_sim_sessions(void);             /* how many live */
/* Deletes a znode by hand, for example a holder's. UVZK_ENONODE: there is no such znode.
 * UVZK_ENOTEMPTY: it has children. UVZK_ESTATE: there is no simulation. */
UVZK_EXTERN int uvzk_sim_delete(const char *path);

/* Prints the latest events, one a line, each with its millisecond and the client or
 * server that it concerns; "client 1" is the first that was initialised. Call it in a
 * test that fails. */
UVZK_EXTERN void uvzk_sim_print(FILE *file);

#ifdef __cplusplus
}
#endif
#endif /* UVZK_UVZK_SIM_H */
