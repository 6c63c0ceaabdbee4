/* The C client's log lines: its callback has no pointer for us, so the thread that
 * logs must tell whose line it is. A call of the client's says so while it lasts; and
 * the two threads that the client starts inherit the name of the thread that starts
 * them, "uvzk-" and the route's number, as they inherit nothing else of ours. What comes
 * again and again is told now and then (log_repeats.h). */
#ifndef UVZK_LOG_ROUTE_H
#define UVZK_LOG_ROUTE_H

#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "base/list.h"

struct uvzk__zk_port;

#define UVZK__LOG_LINES_MAX \
    64U /* on the to_loop queue; further ones are dropped, and counted */
#define UVZK__THREAD_NAME 16 /* with the end */

struct uvzk__log_route {
    struct uvzk__link link; /* among all routes of the process */
    struct uvzk__zk_port *port;
    uint32_t number;
};

/* Any thread, as all here. */
void uvzk__log_route_begin(struct uvzk__log_route *route, struct uvzk__zk_port *port);
/* Once it returns no line takes this route any more. */
void uvzk__log_route_end(struct uvzk__log_route *route);

/* Between the two what this thread logs takes this route. */
void uvzk__log_route_enter(const struct uvzk__log_route *route);
void uvzk__log_route_leave(void);

/* Between the two this thread has another name, and whatever a thread logs that is
 * started meanwhile takes this route. */
void uvzk__log_route_name(const struct uvzk__log_route *route,
                          char before[UVZK__THREAD_NAME]);
void uvzk__log_route_unname(const char *before);

/* What to hand to zookeeper_init2. */
log_callback_fn uvzk__log_route_callback(void);

#endif
