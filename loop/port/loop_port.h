/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a port (engine/port.h) on a libuv loop that is the same over every
 * transport: its life, what wakes it (an answer, a call, its alarm), its libuv handles, its
 * options, and the calls that no transport is needed for. The ports of the transports have
 * it as their first member. Everything here runs on the loop's thread.
 *
 * The life of a port:
 *
 *   OPEN --close_soon()--> ENDING --close()--> CLOSING --nothing is left--> FINISHING
 *
 * ENDING: the port keeps its loop alive, and learns at once if the program closes its
 * loop handles. CLOSING: no callback but the replies with UVZK_ECLOSED; what the
 * transport has may be left. FINISHING: libuv closes the loop handles, then the
 * port is freed. */
#ifndef UVZK_LOOP_PORT_H
#define UVZK_LOOP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/machine.h"
#include "engine/port.h"
#include "platform/to_loop.h"
#include "port/dialect.h"
#include "uvzk.h"

struct uvzk__loop_port;
struct uvzk__loop_handles;
struct uvzk__port_loop;

enum uvzk__port_state {
    UVZK__PORT_OPEN,     /* next: ENDING */
    UVZK__PORT_ENDING,   /* next: CLOSING */
    UVZK__PORT_CLOSING,  /* next: FINISHING */
    UVZK__PORT_FINISHING /* final */
};

extern const struct uvzk__machine uvzk__port_machine;

/* Part of struct uvzk__loop_port; zeros: OPEN. */
struct uvzk__port_life {
    uint8_t state; /* enum uvzk__port_state */
};

/* These return true if the port is in this state or in a later one. */
static inline bool uvzk__port_is_ending(const struct uvzk__port_life *life)
{
    return life->state >= UVZK__PORT_ENDING;
}
static inline bool uvzk__port_is_closing(const struct uvzk__port_life *life)
{
    return life->state >= UVZK__PORT_CLOSING;
}
static inline bool uvzk__port_is_finishing(const struct uvzk__port_life *life)
{
    return life->state == UVZK__PORT_FINISHING;
}

/* The callbacks run on the loop's thread and never inside a call of this interface. */
struct uvzk__port_loop_user {
    /* Something has arrived, or the port has been woken. What was on the to_loop queue has
     * been delivered. */
    void (*woken)(struct uvzk__port_loop *);
    /* The alarm is due. */
    void (*alarm)(struct uvzk__port_loop *);
    /* DRAIN_MS have passed since uvzk__port_loop_drain. */
    void (*drain_timeout)(struct uvzk__port_loop *);
    /* libuv has finished with all handles. */
    void (*closed)(struct uvzk__port_loop *);
};

struct uvzk__port_loop {
    uv_loop_t *loop;
    struct uvzk__to_loop *to_loop;
    const struct uvzk__port_life *life; /* of the port */
    const struct uvzk__port_loop_user *user;
    struct uvzk__loop_handles *handles;
    uv_timer_t last_timer; /* closed last; used twice in turn */
    uint64_t alarm_at;     /* in the time of uvzk_now(); UINT64_MAX: no alarm */
    bool turn_wanted;      /* a turn is due */
    bool entered;          /* the port takes the turn that becomes due */
    bool unreferenced;     /* the port does not keep its loop alive */
    bool draining;         /* the timer ends the draining */
};

/* The options of a client that its ports need, copied. */
struct uvzk__port_options {
    char *hosts;                 /* the connect string as the user gave it */
    uint32_t session_timeout_ms; /* as the user asked for it */
    char *auth_scheme;           /* NULL: no credentials */
    /* The credentials, auth_length bytes; cleared before they are freed. */
    void *auth;
    size_t auth_length;
};

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

/* ------------------------------------------------------------------- on the loop */

/* Opens the libuv handles. From now on they keep the loop alive. */
void uvzk__port_loop_start(struct uvzk__port_loop *port_loop);
/* Sets whether the libuv handles keep their loop alive. Has no effect once the port is
 * ENDING: then they do. */
void uvzk__port_loop_set_ref(struct uvzk__port_loop *port_loop, bool keep);

/* A turn is due: `woken` is called in the loop's next iteration, unless the port takes the
 * turn before. */
void uvzk__port_loop_want_turn(struct uvzk__port_loop *port_loop);
/* A callback of the loop is in the port: turns that become due send no wake-up until
 * uvzk__port_loop_leave. The port should take them before, which saves an iteration of the
 * loop. */
void uvzk__port_loop_enter(struct uvzk__port_loop *port_loop);
/* The callback ends. A turn that is due again is for the loop's next iteration. */
void uvzk__port_loop_leave(struct uvzk__port_loop *port_loop);
/* Returns true if a turn is due, and takes it: it is then no longer due. */
bool uvzk__port_loop_take_turn(struct uvzk__port_loop *port_loop);

/* The requests in flight have DRAIN_MS from now on. */
void uvzk__port_loop_drain(struct uvzk__port_loop *port_loop);
/* There are no requests in flight left. */
void uvzk__port_loop_drained(struct uvzk__port_loop *port_loop);

#endif
