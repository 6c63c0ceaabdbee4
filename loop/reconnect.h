/* Keeps the port's handle within reach of servers: finds those that it is opened
 * with, and while it is not connected finds out whether they are others by now.
 * Then it leaves its own and goes on with those (handle.h). */
#ifndef UVZK_RECONNECT_H
#define UVZK_RECONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "search.h"

struct uvzk__zk_port;

struct uvzk__reconnect {
    struct uvzk__search_user user;
    struct uvzk__search *search; /* NULL: not needed yet, or closed */
    uint32_t pause_ms;           /* before the next search */
    bool only_unknown;           /* only servers unknown to the handle answered */
};

/* A search has been begun, and is not closed. */
static inline bool uvzk__reconnect_is_searching(const struct uvzk__reconnect *reconnect)
{
    return reconnect->search != NULL;
}

/* The port's handle is to be opened. 0, UV_ENOMEM, UV_EMFILE, ... */
int uvzk__reconnect_open(struct uvzk__zk_port *port);
/* It is open, or was connected, and is not connected. */
void uvzk__reconnect_lost(struct uvzk__zk_port *port);
void uvzk__reconnect_connected(struct uvzk__zk_port *port);
/* It could not be opened, and is to be tried again. */
void uvzk__reconnect_retry(struct uvzk__zk_port *port);
/* Not connected any more, as far as the user has been told: it goes on with another server
 * than the one that it has, or had. */
void uvzk__reconnect_diverged(struct uvzk__zk_port *port);
/* It has reached something that is no server. */
void uvzk__reconnect_wrong_server(struct uvzk__zk_port *port, const char *server);
/* It has left its servers. */
void uvzk__reconnect_left(struct uvzk__zk_port *port);
/* No handle wants anything any more until the next uvzk__reconnect_open. */
void uvzk__reconnect_stop(struct uvzk__zk_port *port);
/* The port is closing. It is told (handle_user->freed) once the search is gone. */
void uvzk__reconnect_close(struct uvzk__zk_port *port);

#endif
