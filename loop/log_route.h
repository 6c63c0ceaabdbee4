/* The C client's log lines: its callback has no pointer for us, so that every
 * port borrows one of a few callbacks of its own. A handle that finds none
 * left is silent. */
#ifndef UVZK_LOG_ROUTE_H
#define UVZK_LOG_ROUTE_H

#include <zookeeper/zookeeper.h>

struct uvzk__zk_port;

#define UVZK__LOG_LINES_MAX 64U /* on the hop; further ones are dropped */

/* A route to this port, or -1. Any thread, as all here. */
int uvzk__log_route_take(struct uvzk__zk_port *port);
/* Once it returns no line takes this route any more. -1 is fine. */
void uvzk__log_route_give_back(int route);
/* What to hand to zookeeper_init2; never NULL. */
log_callback_fn uvzk__log_route_callback(int route);

#endif
