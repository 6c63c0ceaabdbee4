/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the client to which a log line of the C client belongs. The C client's log
 * callback has no context pointer, so the route is found from the thread that logs:
 * - A thread of uvzk's own calls uvzk__log_route_enter before it calls the C client, and
 *   uvzk__log_route_leave after it.
 * - The two threads that the C client starts inherit the name of the thread that creates
 *   them. uvzk__log_route_name sets that name to "uvzk-" and the route's number in
 *   hexadecimal.
 *
 * Lines that repeat are suppressed (log_repeats.h). All functions may be called on any
 * thread. */
#ifndef UVZK_LOG_ROUTE_H
#define UVZK_LOG_ROUTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "base/list.h"
#include "engine/port.h"
#include "log/log_repeats.h"
#include "platform/to_loop.h"

#define UVZK__LOG_LINES_MAX \
    64U /* log lines of one port on the to_loop queue; more are dropped and counted */
#define UVZK__THREAD_NAME 16 /* in bytes, with the terminating 0 */

/* The C client's log lines of one port. */
struct uvzk__log_lines {
    struct uvzk__port *port; /* its user receives the lines */
    struct uvzk__to_loop *to_loop;
    atomic_uint queued;               /* lines on the to_loop queue */
    atomic_uint dropped;              /* lines dropped and not yet reported */
    struct uvzk__log_repeats repeats; /* protected by the mutex of log_route.c */
    bool silent;                      /* lines are no longer passed on */
};

struct uvzk__log_route {
    struct uvzk__link link; /* in the list of all routes of the process */
    struct uvzk__log_lines *lines;
    uint32_t number; /* never 0 */
};

/* Initialises the lines of a port, in memory of zeros. */
void uvzk__log_lines_init(struct uvzk__log_lines *lines, struct uvzk__port *port,
                          struct uvzk__to_loop *to_loop);
/* The port is closing: its user receives no more lines. To be called on the loop's
 * thread. */
void uvzk__log_lines_silence(struct uvzk__log_lines *lines);

/* Adds the route to the list of the process. The route receives a new number. */
void uvzk__log_route_begin(struct uvzk__log_route *route, struct uvzk__log_lines *lines);
/* Removes the route. After the function has returned, no more lines are passed to the
 * route's port. */
void uvzk__log_route_end(struct uvzk__log_route *route);

/* Between these two calls, lines that the calling thread logs use this route. */
void uvzk__log_route_enter(const struct uvzk__log_route *route);
void uvzk__log_route_leave(void);

/* Between these two calls, the calling thread is named after the route. Threads that are
 * created meanwhile inherit the name, so the lines that they log use this route. `before`
 * receives the old name, for uvzk__log_route_unname. */
void uvzk__log_route_name(const struct uvzk__log_route *route,
                          char before[UVZK__THREAD_NAME]);
void uvzk__log_route_unname(const char *before);

/* Returns the log callback for zookeeper_init2. */
log_callback_fn uvzk__log_route_callback(void);

#endif
