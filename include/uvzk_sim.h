/* uvzk_sim: a ZooKeeper in memory, with virtual time, to test programs that lock.
 *
 * Link a test with libuvzk-sim.a in the place of libuvzk. Every function of uvzk.h is in
 * it, and works as it does there; but uvzk_client_init makes a client of the simulation,
 * whatever loop it is handed (NULL, too) and whatever its hosts are, and nothing happens
 * until a function below lets time pass. An hour passes in milliseconds; the same seed and
 * the same calls give the same history, to the last message; no server, no thread, no
 * socket, no clock is there.
 *
 * uvzk_now() is virtual, too. What is not uvzk's is not: a uv_timer_t of the program under
 * test goes by the machine's clock.
 *
 * One simulation at a time, and one thread. The guide is docs/guide/simulator.md. */
#ifndef UVZK_UVZK_SIM_H
#define UVZK_UVZK_SIM_H

#include <stdio.h>
#include <uvzk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a simulation is like. It may grow, at its end. Begin with
 * uvzk_sim_options_init(&options); zero in any field means the default. */
typedef struct uvzk_sim_options_s {
    size_t size;      /* set by uvzk_sim_options_init */
    uint64_t seed;    /* of all that is left to chance: how long messages take, ... */
    uint32_t servers; /* 1; of several each lags a little behind the leader, and a
                                client connects to any of them */
    uint32_t tick_ms; /* the servers' tickTime; 2000 */
    uint32_t latency_max_ms; /* a message takes 1 ms to so many, one way; 20 */
} uvzk_sim_options_t;

#define uvzk_sim_options_init(options) \
    uvzk_sim_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_sim_options_init_size(uvzk_sim_options_t *options, size_t size);

/* Begins a simulation. options may be NULL. UV_EBUSY: one goes on already. UV_EINVAL. */
UVZK_EXTERN int uvzk_sim_begin(const uvzk_sim_options_t *options);

/* Ends it.
 * UV_EBUSY: a client has not been closed, or time has not passed since then: nothing is
 * done. UVZK_ESTATE: none goes on. */
UVZK_EXTERN int uvzk_sim_end(void);

/* --------------------------------------------------------------- time passes
 *
 * Callbacks of the program under test are called in here. None of these three may be
 * called by one of them. */

/* For so long. */
UVZK_EXTERN void uvzk_sim_run_for(uint64_t ms);

/* Until the condition is true, which is asked at each millisecond, so many of them at most:
 * 0, or UV_ETIMEDOUT. The first is the condition "this is not 0". */
UVZK_EXTERN int uvzk_sim_await(const int *flag, uint64_t ms);
UVZK_EXTERN int uvzk_sim_await_that(int (*condition)(void *context), void *context,
                                    uint64_t ms);

/* ------------------------------------------------------------------- troubles
 *
 * Of a client, and all of its sessions: 0, or UVZK_ESTATE if it is not initialised or has
 * ended. */

/* How a connection ends. */
typedef enum {
    UVZK_SIM_RESET = 0, /* the client learns at once that it has no connection */
    UVZK_SIM_SILENT     /* it has to find out */
} uvzk_sim_cut_t;

/* No connection for ms, which is more or less than a session. */
UVZK_EXTERN int uvzk_sim_disconnect(uvzk_client_t *client, uvzk_sim_cut_t cut,
                                    uint64_t ms);
/* The servers end its session before its time, as an operator may: until the client is
 * told, its holds protect nothing, which no client can help. What ends a session in its
 * time is a cut or a pause that is long enough. UVZK_ESTATE also: it has none. */
UVZK_EXTERN int uvzk_sim_expire(uvzk_client_t *client);
/* Its process is stopped, as by SIGSTOP, a debugger or the hypervisor. */
UVZK_EXTERN int uvzk_sim_pause(uvzk_client_t *client, uint64_t ms);
/* Its loop is busy with something else; its session is kept alive meanwhile. */
UVZK_EXTERN int uvzk_sim_stall(uvzk_client_t *client, uint64_t ms);
/* Its next request is carried out, but the reply is lost, and the connection with it. */
UVZK_EXTERN int uvzk_sim_lose_reply(uvzk_client_t *client);
/* It is moved to another server, if there are several. */
UVZK_EXTERN int uvzk_sim_move(uvzk_client_t *client);
/* Its next connections go to this server, the first being 0; -1: to any. UV_EINVAL. And
 * where it is connected; -1 if it is not. */
UVZK_EXTERN int uvzk_sim_connect_to(uvzk_client_t *client, int server);
UVZK_EXTERN int uvzk_sim_server_of(const uvzk_client_t *client);

/* Of the servers, while a simulation goes on; else UVZK_ESTATE. */

/* They are all away for ms. Sessions survive. */
UVZK_EXTERN int uvzk_sim_restart(uint64_t ms);
/* One of them, which does not lead, hears nothing of the others for ms, and answers from
 * what it has. UV_EINVAL: there is no such server. */
UVZK_EXTERN int uvzk_sim_lag(int server, uint64_t ms);
/* The leader is replaced: it is cut off with so many followers for ms, does not know it,
 * and answers as if nobody wrote any more, while the others elect another one. UV_EINVAL:
 * so few are left that they are no majority. */
UVZK_EXTERN int uvzk_sim_depose(uint32_t followers, uint64_t ms);
UVZK_EXTERN int uvzk_sim_leader(void);
/* From now on cuts, pauses, stalls, moves, restarts, lags and (of three servers or more)
 * depositions come by chance, for up to 30 s, each to each client or to the servers in so
 * many of a million virtual seconds; 0: no more. All of them are such that two holds of
 * one lock must never be valid at once. */
UVZK_EXTERN int uvzk_sim_trouble(uint32_t ppm);

/* -------------------------------------------------------------- the servers' view
 *
 * Paths are whole: with namespace, without chroot. */

/* What is there. */
UVZK_EXTERN int uvzk_sim_exists(const char *path);      /* 1 or 0 */
UVZK_EXTERN size_t uvzk_sim_children(const char *path); /* how many */
UVZK_EXTERN size_t uvzk_sim_sessions(void);             /* that live */
/* Somebody deletes a znode, perhaps a holder's. UVZK_ENONODE, UVZK_ENOTEMPTY. */
UVZK_EXTERN int uvzk_sim_delete(const char *path);

/* What has happened of late, a line an event, every line with its millisecond and whom it
 * is about: "client 1" is the first that was initialised. For a test that fails. */
UVZK_EXTERN void uvzk_sim_print(FILE *file);

#ifdef __cplusplus
}
#endif
#endif /* UVZK_UVZK_SIM_H */
