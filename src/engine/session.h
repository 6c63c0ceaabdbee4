/* One ZooKeeper session of a client (client.h). The struct has what the engine keeps of
 * the session, and one pointer for each higher room, which the engine does not
 * dereference. client/create.c allocates and frees the struct with all rooms. */
#ifndef UVZK_SESSION_H
#define UVZK_SESSION_H

#include "base/deadline.h"
#include "base/memory.h"
#include "engine/barrier.h"
#include "engine/client.h"
#include "engine/connection.h"
#include "engine/diverged.h"
#include "engine/inflight.h"
#include "engine/log.h"
#include "engine/observer.h"
#include "engine/session_life.h"
#include "engine/submission.h"
#include "engine/tuning.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"

struct uvzk__session {
    uvzk_client_t *shell;        /* the user's; shared by all sessions of a client */
    struct uvzk__port *port;     /* NULL: the port has closed */
    struct uvzk__client *client; /* all sessions of the client, this one included */
    uint32_t number;             /* the index in client->sessions */
    unsigned tuning;             /* bits of enum uvzk__tuning */
    const struct uvzk__turn_hooks *turn_hooks;

    struct uvzk__prover *prover;           /* proof/prover.h */
    struct uvzk__node_cache *node_caches;  /* of shared values; a uthash by path */
    struct uvzk__directories *directories; /* directory/directories.h */
    struct uvzk__claims *claims;           /* claim/claim.h */
    struct uvzk__futures *futures;         /* future/future.h */
    struct uvzk__lifecycle *lifecycle;     /* client/lifecycle.h */

    /* Shared by all sessions of the client; NULL: the client is not observed. */
    struct uvzk__observer *observer;
    uvzk_client_log_cb log_cb; /* NULL: not set */
    uvzk_retry_policy_t retry;
    char *ns; /* the namespace, "" or "/ns"; owned */
    /* The data of new znodes; owned. NULL while it is to be the local address and that is
     * not known yet. */
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
    struct uvzk__submissions submissions;
    struct uvzk__inflight_pool inflight_pool;

    /* submissions.stamp at the last CONNECTED: a request with a greater stamp was sent on
     * the present connection. */
    uint64_t connected_stamp;
    struct uvzk__watch_budget watches;
    /* Missing parents are created as container znodes, until a server reports that it
     * does not support them. */
    bool containers;
    bool auth_failed; /* a server has refused the credentials */
    struct uvzk__session_life life;
    /* When port->close() was called; uvzk__now() returns this time from then on. */
    uint64_t port_closing_ms;
};

/* Whether an invariant of the session's client has been broken; whether its end has not
 * been reported yet (invariant.h). */
static inline bool uvzk__is_broken(const struct uvzk__session *session)
{
    return session->client->invariants.state != UVZK__INVARIANTS_INTACT;
}
static inline bool uvzk__is_broken_untold(const struct uvzk__session *session)
{
    return session->client->invariants.state == UVZK__INVARIANTS_BROKEN;
}

/* Returns whether the client is being closed: the user has closed it, or it is broken. */
static inline bool uvzk__session_is_closing(const struct uvzk__session *session)
{
    return session->life.state >= UVZK__SESSION_CLOSING;
}

/* Returns whether port->close() has been called, so that the port must not be called any
 * more. */
static inline bool uvzk__session_port_is_closing(const struct uvzk__session *session)
{
    return session->life.state >= UVZK__SESSION_PORT_CLOSING;
}

/* Sets the observer, which the session uses from now on. */
static inline void uvzk__set_observer(struct uvzk__session *session,
                                      struct uvzk__observer *observer)
{
    session->observer = observer;
}

/* A server has reported that it does not support container znodes. */
static inline void uvzk__no_containers(struct uvzk__session *session)
{
    session->containers = false;
}

#endif
