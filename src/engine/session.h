/* A client as the engine knows it, or one of its sessions, if it has several
 * (client.h); what the rooms above keep of it is behind pointers that they alone
 * follow. It is made, and freed, by the room client/. */
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
#include "engine/submission.h"
#include "engine/tuning.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"

struct uvzk__session {
    uvzk_client_t *shell;
    struct uvzk__port *port;
    struct uvzk__client *client; /* it is one of these */
    uint32_t number;             /* its place among them */
    unsigned tuning;
    const struct uvzk__turn_hooks *turn_hooks;

    struct uvzk__prover *prover;           /* proof/prover.h */
    struct uvzk__node_cache *node_caches;  /* of shared values; uthash by path */
    struct uvzk__directories *directories; /* directory/directories.h */
    struct uvzk__claims *claims;           /* claim/claim.h */
    struct uvzk__futures *futures;         /* future/future.h */
    struct uvzk__lifecycle *lifecycle;     /* client/lifecycle.h */

    struct uvzk__observer *observer; /* NULL: nobody observes it */
    uvzk_client_log_cb log_cb;
    uvzk_client_log_line_cb log_line_cb; /* in its place, if there is one */
    uvzk_retry_policy_t retry;
    char *ns; /* "" or "/ns" */
    void *default_data;
    size_t default_data_length;
    uvzk_client_acl_cb acl_cb;
    uvzk_acl_t *acl_entries;
    struct uvzk__acl acl;

    struct uvzk__log log;
    struct uvzk__connection connection;
    struct uvzk__barrier barrier;
    struct uvzk__divergence divergence;
    struct uvzk__deadlines deadlines;
    struct uvzk__link notifications;
    struct uvzk__submissions submissions;
    struct uvzk__inflight_pool inflight_pool;

    uint64_t connected_stamp; /* submissions.stamp at the last CONNECTED */
    struct uvzk__watch_budget watches;
    bool containers; /* until a server says that it has none */
    bool auth_failed;
    bool closing, port_closing;
    uint64_t port_closing_ms;
};

/* From now on. */
static inline void uvzk__set_observer(struct uvzk__session *session,
                                      struct uvzk__observer *observer)
{
    session->observer = observer;
}

/* A server has said so. */
static inline void uvzk__no_containers(struct uvzk__session *session)
{
    session->containers = false;
}

#endif
