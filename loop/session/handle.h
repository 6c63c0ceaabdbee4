/* SPDX-License-Identifier: Apache-2.0 */
/* A handle keeps one ZooKeeper session of a port by means of one zhandle_t after another.
 *
 *                  fails
 *              .-----------.
 *              v           |
 *     .---> SEEKING --> OPENING --> OPEN <--> CONNECTED --> DRAINING <-- (OPEN, ASKING)
 *     |        |           |        ^ |           |             |
 *     |        |           v        | v           v             v
 *     |        |        CLOSE_PENDING -----|-----> CLOSING <-----------'
 *     |        `-----------^--------|---------^     closed: freed
 *     |                    |        v
 *     `------------------- LEAVING -'
 *
 * SEEKING: the handle waits for the addresses of servers (reconnect.h). OPENING:
 * zookeeper_init2 runs. LEAVING: the zhandle_t is closed without ending the session
 * (close_keep_session.h), because its servers do not answer or because another server is
 * wanted. The handle then seeks other servers and continues the session with a new
 * zhandle_t. ASKING, between OPEN and CONNECTED: the first connection of a port, on which
 * the servers are asked what they know (port/dialect.h). DRAINING: the answers to requests are
 * waited for before the zhandle_t is closed; the port may have ended the session, and then
 * the handle was OPEN before. Opening, leaving and closing block, so each runs on a thread
 * of its own (blocking_call.h).
 *
 * When the session has ended, the port creates a new handle and the old one is closed
 * meanwhile, so a port may have several handles. */
#ifndef UVZK_HANDLE_H
#define UVZK_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <zookeeper/zookeeper.h>

#include "base/machine.h"
#include "discovery/addresses.h"
#include "engine/port.h"
#include "log/log_route.h"
#include "platform/blocking_call.h"
#include "platform/to_loop.h"
#include "requests/send_window.h"
#include "session/pending_events.h"

struct uvzk__handle;
struct uvzk__zk_port;

/* The events that a handle reports to its port, on the loop's thread. A callback may
 * close the port. */
struct uvzk__handle_user {
    /* The C client has a connection. The callback may run while the handle is CONNECTED
     * already. */
    void (*connected)(struct uvzk__handle *, const struct uvzk__session_news *);
    /* The connection of a CONNECTED handle is lost. */
    void (*suspended)(struct uvzk__handle *);
    /* The session has ended, or it never existed (UVZK__SESSION_OPEN_FAILED; status says
     * why). */
    void (*ended)(struct uvzk__handle *, enum uvzk__session_event_kind, int status);
    /* The C client has connected to a program that is not a ZooKeeper server. */
    void (*wrong_server)(struct uvzk__handle *, const char *server);
    /* opened: the zhandle_t exists. unopened: it could not be created, and the handle,
     * which has an earlier session to continue, is SEEKING again. */
    void (*opened)(struct uvzk__handle *);
    void (*unopened)(struct uvzk__handle *);
    /* The zhandle_t has been closed without ending the session. The handle is SEEKING
     * again. */
    void (*left)(struct uvzk__handle *);
    /* The servers of an ASKING handle have answered. */
    void (*asked)(struct uvzk__handle *);
    /* The connection of an ASKING handle is no longer usable. */
    void (*asked_in_vain)(struct uvzk__handle *);
    /* A DRAINING handle has no more requests in flight and is being closed. */
    void (*drained)(struct uvzk__handle *);
    /* A handle has been closed and freed. */
    void (*freed)(struct uvzk__zk_port *);
    /* The port's search has been closed and freed (reconnect.h). */
    void (*search_freed)(struct uvzk__zk_port *);
};

enum uvzk__handle_state {
    UVZK__HANDLE_SEEKING, /* next: OPENING CLOSING */
    UVZK__HANDLE_OPENING, /* next: OPEN SEEKING CLOSE_PENDING */
    /* To be closed when the opening or leaving is over; next: CLOSING. */
    UVZK__HANDLE_CLOSE_PENDING,
    UVZK__HANDLE_OPEN, /* not connected; next: ASKING CONNECTED LEAVING DRAINING CLOSING */
    /* Its zhandle_t is being closed; next: SEEKING OPEN CLOSE_PENDING. */
    UVZK__HANDLE_LEAVING,
    UVZK__HANDLE_ASKING,    /* next: OPEN CONNECTED DRAINING CLOSING */
    UVZK__HANDLE_CONNECTED, /* as the user has been told; next: OPEN DRAINING CLOSING */
    UVZK__HANDLE_DRAINING,  /* requests are in flight; next: CLOSING */
    UVZK__HANDLE_CLOSING    /* final */
};

extern const struct uvzk__machine uvzk__handle_machine;

struct uvzk__handle {
    struct uvzk__zk_port *port;
    /* NULL until it is open. While OPENING, LEAVING, CLOSE_PENDING or CLOSING, a thread
     * of `call` uses and writes it. */
    zhandle_t *zh;
    struct uvzk__blocking_call call; /* opening, leaving, closing */

    struct uvzk__pending_events pending;

    uint8_t state; /* enum uvzk__handle_state */
    /* The handle continues the session of an earlier zhandle_t, and has not been
     * connected since it was created or left its servers. */
    bool resumes_session;
    char *servers;   /* the connect string for zookeeper_init2; owned */
    int open_status; /* why zookeeper_init2 failed */
    /* The status of rpcs that are submitted while the end of the session is being
     * reported; 0: it is not. */
    int end_status;
    /* This machine's address towards the servers; "": unknown. */
    char local_address[UVZK__ADDRESS_TEXT];
    struct uvzk__log_route log_route;

    /* While ASKING: what the user will be told of the connection, and when it began. */
    struct uvzk__session_news unannounced;
    uint64_t asking_since;

    struct uvzk__send_window window; /* connected while ASKING or CONNECTED */
};

/* Creates a handle in state SEEKING. It will continue the port's session if the port has
 * one. Returns NULL if out of memory. The handle frees itself after uvzk__handle_end. */
struct uvzk__handle *uvzk__handle_new(struct uvzk__zk_port *port);
/* SEEKING to OPENING: opens a zhandle_t with these servers. The handle takes ownership of
 * `servers`. The port learns the outcome by opened, unopened or ended. */
void uvzk__handle_start(struct uvzk__handle *handle, char *servers);

static inline bool uvzk__handle_is_connected(const struct uvzk__handle *handle)
{
    return handle->state == UVZK__HANDLE_CONNECTED;
}
/* A connection begins that the user is not told of yet: sends the questions. Calls asked()
 * or asked_in_vain() of the handle's user, now or later. */
void uvzk__handle_ask(struct uvzk__handle *handle, const struct uvzk__session_news *news);
static inline bool uvzk__handle_is_asking(const struct uvzk__handle *handle)
{
    return handle->state == UVZK__HANDLE_ASKING;
}
/* uvzk__handle_connect: the port is about to tell the user CONNECTED; a new connection
 * number begins. uvzk__handle_disconnect: the port is about to tell the user SUSPENDED or
 * the end, or ends an ASKING handle; does nothing in other states. */
void uvzk__handle_connect(struct uvzk__handle *handle);
void uvzk__handle_disconnect(struct uvzk__handle *handle);

/* Leaves the servers: closes the zhandle_t without ending the session. The handle must be
 * OPEN, so the user regards it as not connected; the C client may have connected
 * meanwhile. All watches are lost. Afterwards the handle is SEEKING and `left` is
 * called. */
void uvzk__handle_leave(struct uvzk__handle *handle);
/* Copies "address:port" of the server to which the handle is connected, or was connected
 * last. */
void uvzk__handle_server(struct uvzk__handle *handle, char text[UVZK__SERVER_TEXT]);
/* Returns whether the C client is connected although the user does not know it: the loop
 * has not yet read the event, or the handle is ASKING. */
bool uvzk__handle_has_connected(const struct uvzk__handle *handle);

/* Closes the handle, which then frees itself and calls `freed`. If the C client is
 * connected, the handle first waits until no request is in flight, or until
 * uvzk__handle_stop_draining is called. The port must have abandoned the handle's requests
 * and detached its watches before. */
void uvzk__handle_end(struct uvzk__handle *handle);
static inline bool uvzk__handle_is_draining(const struct uvzk__handle *handle)
{
    return handle->state == UVZK__HANDLE_DRAINING;
}
void uvzk__handle_stop_draining(struct uvzk__handle *handle);

/* Ends the handle as if its session had expired. `ended` is called later, not from inside
 * this call. */
void uvzk__handle_abandon(struct uvzk__handle *handle);

#endif
