/* What every live test stands on: a server for the program, and for each test
 * a loop, a client of the library on it, the raw view from outside, and at its
 * end the proof that nothing is left behind. */
#ifndef LIVE_H
#define LIVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attempt.h"
#include "proxy.h"
#include "raw.h"
#include "run_loop.h"
#include "server.h"
#include "uvzk.h"

#define LIVE_STATES_MAX 32

struct live {
    uv_loop_t *loop;
    struct proxy proxy; /* used if options.hosts is its hosts */
    uvzk_client_t client;
    uvzk_client_options_t options; /* yours to change between begin and start */
    zhandle_t *raw;
    int threads;                                 /* of the process, without a client */
    uvzk_client_state_t states[LIVE_STATES_MAX]; /* told so far */
    int state_count;
    int closed; /* close callbacks so far */
    bool proxied, started;
};

/* The program's server; NULL before live_server_start. */
extern struct server *live_server;

/* Group fixtures for cmocka. */
int live_server_start(void **state);
int live_server_stop(void **state);

/* A loop and a raw session. options: this server, its tick, a session of 10 s.
 * After a failed test the server is a fresh one, and what that test has left
 * running in this process is left alone. */
void live_begin(struct live *live);
/* Puts the proxy in front of the client. */
void live_use_proxy(struct live *live);
/* Initialises and starts the client. */
void live_start(struct live *live);
/* live_begin and live_start. */
void live_open(struct live *live);

/* Whether the state was told, after the first `from` ones, in time. */
bool live_wait_state(struct live *live, int from, uvzk_client_state_t state);

/* Asserts that nothing is left of the client (contenders, watches), and nothing
 * on the server (watches, ephemeral znodes); then closes the client if it is
 * not, and the loop, and asserts that no thread is left. */
void live_end(struct live *live);
/* The first part of it alone, for a client that goes on. */
void live_assert_nothing_left(struct live *live);

/* Closes the client and waits for the callback. */
void live_close_client(struct live *live);

/* Waits until so many children stand below the path; false: too late. */
bool live_wait_children(struct live *live, const char *path, long count);

uvzk_client_stats_t live_stats(const struct live *live);

#endif
