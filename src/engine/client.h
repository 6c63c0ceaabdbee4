/* A client as the engine knows it; what the rooms above keep of it is behind pointers that
 * they alone follow. It is made, and freed, by the room client/. */
#ifndef UVZK_ENGINE_CLIENT_H
#define UVZK_ENGINE_CLIENT_H

#include "base/deadline.h"
#include "base/memory.h"
#include "engine/barrier.h"
#include "engine/log.h"
#include "engine/session.h"
#include "engine/tuning.h"
#include "engine/turn.h"

struct uvzk__client {
    uvzk_client_t *shell;
    struct uvzk__port *port;
    unsigned tuning;
    const struct uvzk__above *above;

    struct uvzk__prover *prover;           /* proof/prover.h */
    struct uvzk__replica *replicas;        /* of shared values; uthash by path */
    struct uvzk__directories *directories; /* directory/directories.h */
    struct uvzk__claims *claims;           /* claim/claim.h */
    struct uvzk__futures *futures;         /* future/future.h */
    struct uvzk__life *life;               /* client/lifecycle.h */

    uvzk_client_log_cb log_cb;
    uvzk_retry_policy_t retry;
    char *ns; /* "" or "/ns" */
    void *default_data;
    size_t default_data_length;
    uvzk_client_acl_cb acl_cb;
    uvzk_acl_t *acl_entries;
    struct uvzk__acl acl;

    struct uvzk__log log;
    struct uvzk__session session;
    struct uvzk__barrier barrier;
    struct uvzk__deadlines deadlines;
    struct uvzk__link tellings;
    struct uvzk__timed hold_back; /* after the server refused by overload */

    uint64_t stamp;           /* grows with each submission */
    uint64_t connected_stamp; /* stamp at the last CONNECTED */
    uint64_t watch_bytes, watch_count;
    uint64_t request_count, listing_count;
    bool containers; /* until a server says that it has none */
    bool auth_failed, holding_back;
    bool closing, port_closing;
};

#endif
