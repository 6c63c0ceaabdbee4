/* The part of a port (engine/port.h) on a libuv loop that is the same over every
 * transport: its life, its libuv handles, its options, and the calls that no transport is
 * needed for. The ports of the transports have it as their first member. Everything here
 * runs on the loop's thread. */
#ifndef UVZK_LOOP_PORT_H
#define UVZK_LOOP_PORT_H

#include <stdbool.h>
#include <uv.h>

#include "engine/port.h"
#include "platform/to_loop.h"
#include "port/dialect.h"
#include "port/port_life.h"
#include "port/port_loop.h"
#include "port/port_options.h"

struct uvzk__loop_port;

/* What a transport adds. */
struct uvzk__transport {
    /* The calls of engine/port.h that differ. */
    void (*open)(struct uvzk__port *);
    void (*abandon)(struct uvzk__port *);
    void (*leave_server)(struct uvzk__port *);
    void (*end_session)(struct uvzk__port *);
    void (*close)(struct uvzk__port *);
    void (*submit)(struct uvzk__port *, struct uvzk__rpc *);
    void (*unwatch)(struct uvzk__port *, struct uvzk__watch *);
    struct uvzk__port_loop_user loop_user;
    /* Returns true if nothing is left of the port but its libuv handles. */
    bool (*is_empty)(const struct uvzk__loop_port *);
    /* Frees the port, which no longer has libuv handles, or was never started. */
    void (*free)(struct uvzk__loop_port *);
};

struct uvzk__loop_port {
    struct uvzk__port port; /* first: a struct uvzk__port * is cast to this struct */
    struct uvzk__to_loop to_loop;
    struct uvzk__port_loop port_loop;
    struct uvzk__port_life life;
    struct uvzk__port_options options;
    struct uvzk__dialect dialect;
    const struct uvzk__transport *transport;
    unsigned forks; /* uvzk__forks() when it was opened */
};

/* What both transports say of a server. */
#define UVZK__DIVERGED_TEXT \
    "shows a znode that was deleted; the client has left it for another server"
#define UVZK__NO_SESSION_TEXT "created a session without an id or a timeout"
/* A server closes the connection of a client that has seen a later transaction, without a
 * word. */
#define UVZK__OLDER_DATA_TEXT                                                     \
    "does not continue the session: its data may be older than what the session " \
    "has seen (it lags behind, or was recreated)"

/* Allocates a port of `size` bytes, which begins with a struct uvzk__loop_port; the rest
 * is zero. `transport` is borrowed, the options are copied. Returns NULL if out of
 * memory. */
struct uvzk__loop_port *uvzk__loop_port_new(size_t size, uv_loop_t *loop,
                                            const uvzk_client_options_t *options,
                                            const struct uvzk__transport *transport);
/* Frees what uvzk__loop_port_new has made, and the port. */
void uvzk__loop_port_free(struct uvzk__loop_port *port);

static inline bool uvzk__loop_port_is_closing(const struct uvzk__loop_port *port)
{
    return uvzk__port_is_closing(&port->life);
}

/* Returns true if this process is a forked child of the process that opened the port. */
bool uvzk__loop_port_is_inherited(const struct uvzk__loop_port *port);

/* Reports a session event without details to the port's user. */
void uvzk__loop_port_tell(struct uvzk__loop_port *port,
                          enum uvzk__session_event_kind kind, int status);

/* The first step of close(): the port becomes CLOSING. Returns false if it is CLOSING
 * already, which is a fault. */
bool uvzk__loop_port_begin_close(struct uvzk__loop_port *port);
/* The last step, when nothing is left: the port becomes FINISHING, and its libuv handles
 * are closed. */
void uvzk__loop_port_finish(struct uvzk__loop_port *port);

#endif
