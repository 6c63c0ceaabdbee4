/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon of `uvzk serve`: one ZooKeeper client, and the connections of the programs
 * that share it, or that of the parent (parent_process.h).
 *
 *     SERVING --- a signal, failed --> ENDING --- no hold left ---> CLOSING ---> DONE
 *
 * The daemon of a parent also ends when that or its connection has ended.
 *
 * SERVING begins before the first connection to the servers: acquires wait for it.
 * ENDING: no new connection, no new acquire; what waits is cancelled, watches end, and the
 * programs are told that, and that what they hold is lost. Each hold is released when its
 * program releases it or is gone, at the latest when the last validity that the program
 * was told has passed (served_hold.h). What is pending then gets a moment to be answered.
 * CLOSING: the session and all handles are being closed. */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "connection.h"
#include "serve/expiring_holds.h"
#include "serve/listener.h"
#include "serve/metrics_listener.h"
#include "serve/parent_process.h"
#include "serve/served_atomic.h"
#include "serve/served_lock.h"
#include "serve/served_metrics.h"
#include "serve/served_slots.h"
#include "serve/validity_file.h"

enum daemon_state {
    DAEMON_SERVING, /* next: ENDING */
    DAEMON_ENDING,  /* next: CLOSING */
    DAEMON_CLOSING, /* next: DONE */
    DAEMON_DONE     /* final */
};

extern const struct uvzk__machine daemon_machine;

#define DAEMON_SIGNALS 5

struct daemon_options {
    struct listener_options listener;
    struct parent_options parent; /* instead of the listener */
    struct metrics_options metrics;
    struct connection_options connection;
    size_t max_connections;
    size_t max_pending; /* of a connection: requests without an answer, holds, watches */
    size_t max_line;    /* bytes */
    size_t max_unsent;  /* of a connection: bytes of answers that are not read */
};

struct served_connection;
struct served_status;

struct daemon {
    uint8_t state; /* enum daemon_state */
    const struct daemon_options *options;
    uv_loop_t loop;
    struct connection zookeeper;
    struct listener listener;
    uv_pipe_t socket;       /* the listener's, on the loop */
    uv_timer_t socket_file; /* checks that it is still the listener's, if it has one */
    uv_fs_t look;           /* of socket_file */
    bool looking;           /* the look is under way */
    struct parent_process parent;
    uv_pipe_t output; /* to the parent, if it is not read from this descriptor too */
    struct validity_file validity; /* of a parent */
    struct served_slots slots;
    struct metrics_listener metrics;
    uv_signal_t signals[DAEMON_SIGNALS];
    size_t signal_count;
    uv_prepare_t checks; /* ENDING: checks whether a hold or a pending request is left */
    uv_timer_t last_answers; /* ENDING, without holds: how long requests may be pending */
    struct expiring_holds expiring;
    struct served_locks locks;
    struct served_atomics atomics;
    struct served_connection *connections;
    struct served_connection *unsent; /* those that have answers of this turn */
    uv_idle_t answers;                /* sends them before the loop waits */
    struct served_status *statuses;   /* under way */
    size_t connection_count;
    struct served_counts counts;
    size_t hold_count;   /* that are neither over nor being released */
    int64_t last_number; /* of a hold or a watch */
    size_t open_handles; /* CLOSING: handles that are still being closed */
    int exit_code;
};

/* Serves until SIGTERM or another signal that ends programs, or until it cannot go on.
 * Returns the exit status. */
int daemon_run(const struct daemon_options *);

bool daemon_is_ending(const struct daemon *);
/* A connection has ended, which ends the daemon of a parent. */
void daemon_connection_ended(struct daemon *);
/* The daemon cannot go on: prints why, and ends with the exit code of this status. Does
 * nothing if it is ending already. */
void daemon_fail(struct daemon *, int status);

#endif
