/* SPDX-License-Identifier: Apache-2.0 */
/* One ZooKeeper session of a client (client.h). The struct has what the engine keeps of
 * the session, and one pointer for each higher room, which the engine does not
 * dereference. client/create.c allocates and frees the struct with all rooms.
 *
 * Its life lasts from its creation until its port is closed. It is not the session's
 * connection (connection.h), which comes and goes.
 *
 *   CREATED --uvzk_client_start--> STARTED --uvzk_client_close--> CLOSING
 *      |                                                          ^  |
 *      `-----------------uvzk_client_close------------------------'  | nothing is left
 *                                                                    | to wait for
 *                                     CLOSED <--closed()-- PORT_CLOSING
 *
 * CLOSING: new acquires are refused; deletes are still sent; a broken client
 * (invariant.h) gets there by itself. PORT_CLOSING: port->close() has been called, so the
 * port must no longer be called. CLOSED: there is no port. The client ends when all its
 * sessions are CLOSED. */
#ifndef UVZK_SESSION_H
#define UVZK_SESSION_H

#include "base/deadline.h"
#include "base/machine.h"
#include "base/memory.h"
#include "engine/barrier.h"
#include "engine/client.h"
#include "engine/connection.h"
#include "engine/diverged.h"
#include "engine/inflight.h"
#include "engine/log.h"
#include "engine/observer.h"
#include "engine/submission.h"
#include "engine/tuning.h"
#include "engine/turn.h"
#include "engine/watch.h"

enum uvzk__session_state {
    UVZK__SESSION_CREATED,      /* next: STARTED CLOSING */
    UVZK__SESSION_STARTED,      /* next: CLOSING */
    UVZK__SESSION_CLOSING,      /* next: PORT_CLOSING */
    UVZK__SESSION_PORT_CLOSING, /* next: CLOSED */
    UVZK__SESSION_CLOSED        /* final */
};

extern const struct uvzk__machine uvzk__session_machine;

/* Zeros: CREATED. client/lifecycle.c moves it. */
struct uvzk__session_life {
    uint8_t state; /* enum uvzk__session_state */
};

/* Who is told that the close or the release of a handle is done (handle_end.h). */
struct uvzk__end_listener {
    struct uvzk__session *session;
    void (*ended)(struct uvzk__end_listener *, int status); /* NULL: nobody */
};

struct uvzk__session {
    uvzk_client_t *handle;       /* the user's; shared by all sessions of a client */
    struct uvzk__port *port;     /* NULL: the port has closed */
    struct uvzk__client *client; /* all sessions of the client, this one included */
    uint32_t number;             /* the index in client->sessions */
    unsigned tuning;             /* bits of enum uvzk__tuning */
    const struct uvzk__turn_hooks *turn_hooks;

    struct uvzk__prover *prover;            /* proof/prover.h */
    struct uvzk__reading *node_caches;      /* of shared values; engine/reading.h */
    struct uvzk__barriers *barriers;        /* barrier/barriers.h */
    struct uvzk__directories *directories;  /* directory/directories.h */
    struct uvzk__claims *claims;            /* claim/claim.h */
    struct uvzk__reading *watched_children; /* engine/watched_children.h */
    struct uvzk__elections *elections;      /* election/election.h */
    struct uvzk__futures *futures;          /* future/future.h */
    struct uvzk__lifecycle *lifecycle;      /* client/lifecycle.h */

    /* Shared by all sessions of the client; NULL: the client is not observed. */
    struct uvzk__observer *observer;
    uvzk_client_log_cb log_cb; /* NULL: not set */
    uvzk_retry_policy_t retry;
    /* A contender that came after one of another kind is refused, and not only warned of
     * (options.mixed_kinds). */
    bool refuses_mixed_kinds;
    char *ns; /* the namespace, "" or "/ns"; owned */
    /* The data of new znodes; owned. NULL while the default is the local address and that
     * is not known yet. */
    void *default_data;
    size_t default_data_length;
    uvzk_client_acl_cb acl_cb; /* NULL: not set */
    uvzk_acl_t *acl_entries;   /* a copy of options.acl, or world:anyone; owned */
    struct uvzk__acl acl;      /* the client's own ACL: acl_entries with their number */

    struct uvzk__log log;
    struct uvzk__connection connection;
    struct uvzk__barrier barrier;
    struct uvzk__divergence divergence;
    struct uvzk__deadlines deadlines;
    struct uvzk__link notifications;
    struct uvzk__link objects; /* struct uvzk__session_object */
    struct uvzk__submissions submissions;
    /* Stands for the end of a handle to which nobody listens (handle_end.h). */
    struct uvzk__end_listener unheard_end;
    struct uvzk__inflight_pool inflight_pool;

    /* submissions.stamp at the last CONNECTED: a request with a greater stamp was sent on
     * the present connection. */
    uint64_t connected_stamp;
    struct uvzk__watch_budget watches;
    struct uvzk__watchers watchers;
    /* Missing parents are created as container znodes, until a server reports that it
     * does not support them. */
    bool containers;
    bool auth_failed; /* a server has refused the credentials */
    bool in_turn;     /* the rounds of a turn run */
    bool turn_wanted; /* uvzk__wake was called in the round that runs */
    struct uvzk__session_life life;
    /* When port->close() was called; uvzk__now() returns this time from then on. */
    uint64_t port_closing_ms;
};

/* ------------------------------------------------------ questions for the rooms above */

static inline struct uvzk__reading **
uvzk__node_caches(const struct uvzk__session *session)
{
    return (struct uvzk__reading **)(uintptr_t)&session->node_caches;
}

/* Returns true if requests may be submitted, although the barrier may still be unanswered
 * (uvzk__may_send). */
static inline bool uvzk__is_connected(const struct uvzk__session *session)
{
    return session->connection.connected;
}
/* When the connection was lost, in ms of uvzk__now; 0: it was not. */
static inline uint64_t uvzk__disconnected_since(const struct uvzk__session *session)
{
    return uvzk__is_connected(session) ? 0 : session->connection.suspended_ms;
}

/* Returns true if a request with this stamp was sent on the present connection. */
static inline bool uvzk__is_of_this_connection(const struct uvzk__session *session,
                                               uint64_t stamp)
{
    return stamp > session->connected_stamp;
}

/* Returns true if this bit of enum uvzk__tuning is set. */
static inline bool uvzk__tuned(const struct uvzk__session *session,
                               enum uvzk__tuning tuning)
{
    return (session->tuning & (unsigned)tuning) != 0;
}

/* The namespace, "" or "/ns". */
static inline const char *uvzk__namespace_of(const struct uvzk__session *session)
{
    return session->ns;
}

/* The data of new znodes, borrowed. NULL: the default is the local address, and that is
 * not known yet. */
static inline const void *uvzk__default_data(const struct uvzk__session *session,
                                             size_t *length)
{
    *length = session->default_data_length;
    return session->default_data;
}

/* Fills the bytes at random. Returns 0 or an error code, which the caller may ignore where
 * chance only spreads the load: the bytes then stay as they are. */
static inline int uvzk__random(const struct uvzk__session *session, void *bytes,
                               size_t length)
{
    return session->port->random(session->port, bytes, length);
}

/* The first function returns true if an invariant of the session's client has been
 * broken; the second, if that has not been reported yet (invariant.h). */
static inline bool uvzk__is_broken(const struct uvzk__session *session)
{
    return session->client->invariants.state != UVZK__INVARIANTS_INTACT;
}
static inline bool uvzk__is_broken_untold(const struct uvzk__session *session)
{
    return session->client->invariants.state == UVZK__INVARIANTS_BROKEN;
}

/* Returns true if the client is being closed: the user has closed it, or it is broken. */
static inline bool uvzk__session_is_closing(const struct uvzk__session *session)
{
    return session->life.state >= UVZK__SESSION_CLOSING;
}

/* Returns true if port->close() has been called; then the port must no longer be
 * called. */
static inline bool uvzk__session_port_is_closing(const struct uvzk__session *session)
{
    return session->life.state >= UVZK__SESSION_PORT_CLOSING;
}

#endif
