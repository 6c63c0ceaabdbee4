/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the tests of whole clients on real servers: a loop, processes on it, their
 * holds (hold.h), and a raw view of the servers through a session of its own.
 *
 * world_end checks the following in every test:
 *
 *   answers   see hold.h
 *   residue   no process has contenders or watches left; no server has watches or
 *             ephemeral znodes, and there is nothing below the world's path
 *   threads   no thread of the clients is left, and nothing on the loop
 *
 * If UVZK_VERBOSE is set in the environment, all callbacks and log lines go to stderr. */
#ifndef UVZK_LIVE_KIT_WORLD_H
#define UVZK_LIVE_KIT_WORLD_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stdint.h>

#include "hold.h"
#include "process.h"
#include "proxy.h"
#include "raw.h"
#include "run_loop.h"
#include "servers.h"
#include "world_interface.h"

#define WORLD_PATH "/locks/a"
#define WORLD_TIMEOUT_MS PATIENCE_MS /* for the waits of hold.h and process.h */
#define WORLD_SESSION_MS 10000U      /* the session timeout of process_options */

struct world {
    /* Allocated separately, because threads of a failed test may still use it. */
    uv_loop_t *loop;
    zhandle_t *raw;                /* NULL in a world beside another world */
    uvzk_client_options_t options; /* of the next process; the test may change them */
    struct proxy proxy;            /* if world_use_proxy was called */
    bool proxied;
    const char *path; /* of the processes' mutexes */
    struct process *processes;
    struct hold *holds; /* holds and acquires that are not over */
    int grants, ends;   /* grants and ends of holds, so far */
    int threads;        /* threads of the program without any client */
};

/* How many threads this process has. */
int world_threads(void);
/* Returns true if the clients have the native transport: UVZK_TEST_TRANSPORT is
 * "native". */
bool world_is_native(void);

/* Makes the program's servers serve (servers_make_whole) and begins a world. path: NULL
 * for WORLD_PATH; the text is borrowed. */
void world_begin(struct world *world, const char *path);
/* Begins a world for a thread or a child process, while another world goes on. It has no
 * raw view and does not check the servers. */
void world_begin_beside(struct world *world, const char *path);
/* Closes all clients, checks that nothing is left, and frees the world. All holds must be
 * over. */
void world_end(struct world *world);
/* Runs the loop until the client has neither contenders nor watches. Fails the test after
 * PATIENCE_MS. */
void world_assert_idle(struct world *world, const struct process *process);
/* The checks of world_end that need no closed clients, for a test whose clients go on. */
void world_assert_nothing_left(struct world *world);

/* Begins a world with a process "a", which need not be connected when the function
 * returns. */
void world_begin_one(struct world *world, const char *path, struct process *a);
/* The same with a second process, "b". */
void world_begin_two(struct world *world, const char *path, struct process *a,
                     struct process *b);
/* Begins a world with a process "a", which holds the mutex. */
void world_begin_held(struct world *world, const char *path, struct process *a,
                      struct hold *held);

/* Puts a proxy in front of the server, for the processes that are begun from now on. */
void world_use_proxy(struct world *world);

/* -------------------------------------------------------------------------- time */

/* Runs the loop until the condition holds. Returns false after PATIENCE_MS. */
bool world_await_that(struct world *world, condition_fn condition, void *context);
/* Runs one iteration of the loop. Returns false if PATIENCE_MS have passed since
 * since_ms. */
bool world_turn(struct world *world, uint64_t since_ms);

/* --------------------------------------------------------------------- the raw view */

/* Opens a new session for the raw view, because the old one may have ended with its
 * server. With world_look_from, at these servers. */
void world_look_again(struct world *world);
void world_look_from(struct world *world, const char *hosts);

/* Creates the znodes of a path that do not exist yet. */
void world_make_path(struct world *world, const char *path);
/* Creates a contender of a foreign client in this directory, in the raw view's session.
 * end: the end of its name before the sequence number ("lock-", "__WRIT__", "lease-").
 * Returns its path. */
struct world_path {
    char text[HOLD_PATH_MAX];
};
struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end);
/* Returns the path of the child at this place in queue order, from 0. */
struct world_path world_child(struct world *world, const char *directory, size_t place);
/* Deletes a znode, which must exist. */
void world_delete(struct world *world, const struct world_path *path);
/* Asserts that the data of a znode are these bytes. */
void world_assert_data(struct world *world, const char *path, const void *bytes,
                       size_t length);
/* Sets the data of a znode. */
void world_set_data(struct world *world, const char *path, const void *bytes,
                    size_t length);
/* The number of children of a path; 0 if it does not exist; -1 on an error. */
long world_children(struct world *world, const char *path);
/* Runs the loop until the path has `count` children. Returns false after PATIENCE_MS. */
bool world_await_children(struct world *world, const char *path, long count);

#endif
