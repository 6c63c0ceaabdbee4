/* SPDX-License-Identifier: Apache-2.0 */
/* Finds servers for the port's handle. Before the handle is opened, reconnect searches
 * for servers and opens the handle with those that answer. While an open handle has no
 * connection, reconnect searches again. If two searches in turn find only servers that
 * the handle does not know, the handle leaves its servers and is opened again with the
 * new ones (handle.h). */
#ifndef UVZK_RECONNECT_H
#define UVZK_RECONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "discovery/search.h"

struct uvzk__zk_port;

struct uvzk__reconnect {
    struct uvzk__search_user user; /* the callbacks of the search */
    struct uvzk__search *search;   /* NULL: not created yet, or closed */
    uint32_t pause_ms;             /* before the next search, in ms; it grows */
    /* The last search found only servers that the handle does not know. */
    bool only_unknown;
};

/* Returns whether the search exists; it may be resting. After uvzk__reconnect_close it
 * becomes false once the search has been freed. */
static inline bool uvzk__reconnect_is_searching(const struct uvzk__reconnect *reconnect)
{
    return reconnect->search != NULL;
}

/* The port is about to create a handle: begins a search at once. The handle is opened
 * with the servers that answer. Returns 0, or UV_ENOMEM, UV_EMFILE, ... if the search
 * cannot be created. */
int uvzk__reconnect_open(struct uvzk__zk_port *port);
/* The handle is open and not connected: it has just been opened, or it has lost its
 * connection. */
void uvzk__reconnect_lost(struct uvzk__zk_port *port);
/* The handle is connected: the search ends. */
void uvzk__reconnect_connected(struct uvzk__zk_port *port);
/* The handle could not be opened, or the last search was useless: searches again after
 * reconnect->pause_ms, and doubles the pause. */
void uvzk__reconnect_retry(struct uvzk__zk_port *port);
/* The handle's server has diverged, and the user has been told SUSPENDED. The handle
 * leaves its servers. The search avoids this server for a time, so the session continues
 * on another server if one answers. */
void uvzk__reconnect_diverged(struct uvzk__zk_port *port);
/* The C client has connected to `server` ("address:port"), which is not a ZooKeeper
 * server: it granted a session without an id or a timeout. The handle leaves its
 * servers. */
void uvzk__reconnect_wrong_server(struct uvzk__zk_port *port, const char *server);
/* The handle has left its servers and is SEEKING again. */
void uvzk__reconnect_left(struct uvzk__zk_port *port);
/* The session has ended: the search rests until the next uvzk__reconnect_open. */
void uvzk__reconnect_stop(struct uvzk__zk_port *port);
/* The port is closing: closes the search. handle_user->search_freed is called when
 * the search has been freed. Does nothing if there is no search. */
void uvzk__reconnect_close(struct uvzk__zk_port *port);

#endif
