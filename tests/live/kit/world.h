/* The world of the tests of whole clients on real servers: a loop, processes on it and
 * their holds (hold.h), and the raw view from outside.
 *
 * Checked at its end, whatever a test is about:
 *
 *   answers   as hold.h has it
 *   residue   no process has contenders or watches left, and no server watches, ephemeral
 *             znodes or anything below the world's path
 *   threads   none is left of the clients, nor anything on the loop
 *
 * With UVZK_VERBOSE set in the environment what is told goes to stderr, log lines too. */
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

#define WORLD_PATH "/locks/a"
#define WORLD_TIMEOUT_MS PATIENCE_MS /* of hold.h's own waits */

struct world {
    uv_loop_t *loop;               /* apart: threads of a failed test may still use it */
    zhandle_t *raw;                /* NULL beside another world */
    uvzk_client_options_t options; /* of the next process: the test's to change */
    struct proxy proxy;            /* if world_use_proxy was called */
    bool proxied;
    const char *path; /* of the processes' mutexes */
    struct process *processes;
    struct hold *holds; /* that are not over */
    int grants, ends;   /* of holds, so far */
    int threads;        /* without a client */
};

/* The program's servers are made whole. path: NULL for the usual one; its text stays. */
void world_begin(struct world *world, const char *path);
/* For a thread or a child while another world goes on: it sees no servers. */
void world_begin_beside(struct world *world, const char *path);
void world_end(struct world *world);
/* The first half of the end, for clients that go on. */
void world_assert_nothing_left(struct world *world);

/* Begins with a process "a", which need not be connected yet; with "b" as well. */
void world_begin_one(struct world *world, const char *path, struct process *a);
void world_begin_two(struct world *world, const char *path, struct process *a,
                     struct process *b);
/* "a" has the mutex. */
void world_begin_held(struct world *world, const char *path, struct process *a,
                      struct hold *held);

/* In front of the server, for the processes that are begun from now on. */
void world_use_proxy(struct world *world);

/* Fails. */
void world_fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------- time passes */

uint64_t world_now(const struct world *world);
void world_run_for(struct world *world, uint64_t ms);
/* Until the counter is above 0, or has reached a value; false: not within ms. */
bool world_await(struct world *world, const int *counter, uint64_t ms);
bool world_await_count(struct world *world, const int *counter, int value, uint64_t ms);
/* Until the condition holds; false: PATIENCE_MS have passed. */
bool world_await_that(struct world *world, condition_fn condition, void *context);
/* One turn of the loop. false: PATIENCE_MS have passed since then. */
bool world_turn(struct world *world, uint64_t since_ms);

/* ------------------------------------------------------------ the view from outside */

/* In a new session, where the one before may not have outlived its server; at these
 * servers. */
void world_look_again(struct world *world);
void world_look_from(struct world *world, const char *hosts);

/* Znodes of a path of which some may stand. */
void world_make_path(struct world *world, const char *path);
/* Another one's contender in this directory, by the end of its name ("lock-", "__WRIT__",
 * "lease-"), in the raw view's session: its path. */
struct world_path {
    char text[HOLD_PATH_MAX];
};
struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end);
/* The child in this place of the queue, the first one being 0: its path. */
struct world_path world_child(struct world *world, const char *directory, size_t place);
void world_delete(struct world *world, const struct world_path *path);
/* The data of a znode are these; become these. */
void world_assert_data(struct world *world, const char *path, const void *bytes,
                       size_t length);
void world_set_data(struct world *world, const char *path, const void *bytes,
                    size_t length);
/* How many there are below a path, which need not stand; -1 on an error. */
long world_children(struct world *world, const char *path);
/* Until there are so many; false: PATIENCE_MS have passed. */
bool world_await_children(struct world *world, const char *path, long count);

/* --------------------------------------------------- for hold.c and process.c alone */

void world_note(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool world_has_queued_cb(const struct world *world);
void world_granted(struct world *world, struct hold *hold);

#endif
