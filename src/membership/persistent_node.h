/* SPDX-License-Identifier: Apache-2.0 */
/* A persistent node (Curator's PersistentNode): keeps a znode in existence. A shared
 * value without a seed reads and watches the znode, in every session and on every
 * connection. What it reads decides the next move of this machine:
 *
 *             missing             created
 *   UNKNOWN ---------> CREATING ------------> PRESENT
 *     | ^ |  other data           set           ^ | |
 *     | | |----------> SETTING -----------------' | |   deleted, or its session has ended
 *     | | |  as it should be                      | |
 *     | | `---------------------------------------' |
 *     | |-- the request has failed; or it must be read again
 *     | |
 *     | `-- TAKEN     there is a znode that is not ours: it is watched
 *     |
 *     `--> DELETING --> GONE      it is being closed
 *
 * Each request that fails, for any reason, leads to a new read, which is sent as soon as
 * requests may be sent. A lost reply therefore needs no special case: the read shows the
 * result of the request. A server that lags does no harm either: if it shows a znode that
 * is gone, the watch that the read has set reports that later; if it shows none, the
 * create is refused.
 *
 * A client has at most one persistent node at a path that is not closing (znode_owner.h): both
 * would be in one session, so each would treat the znode as its own and replace the
 * other's data. A node that is opened while another one is closing waits until the other
 * one has ended. */
#ifndef UVZK_PERSISTENT_NODE_H
#define UVZK_PERSISTENT_NODE_H

#include "base/machine.h"
#include "engine/growing_pause.h"
#include "engine/node_create.h"
#include "engine/session.h"
#include "engine/znode_owner.h"
#include "value/shared_value.h"

enum uvzk__persistent_node_state {
    UVZK__PERSISTENT_NODE_UNKNOWN,
    UVZK__PERSISTENT_NODE_CREATING,
    UVZK__PERSISTENT_NODE_PRESENT,
    UVZK__PERSISTENT_NODE_SETTING,
    UVZK__PERSISTENT_NODE_TAKEN,
    UVZK__PERSISTENT_NODE_DELETING,
    UVZK__PERSISTENT_NODE_GONE
};

extern const struct uvzk__machine uvzk__persistent_node_machine;

struct uvzk__persistent_node {
    /* The user's struct. It refers to this one until the close callback. */
    uvzk_persistent_node_t *handle;
    struct uvzk__session *session; /* that of the value */
    uvzk_shared_value_t value;     /* reads and watches the znode */
    struct uvzk__value_listener listener;
    char *path; /* namespace included */
    struct uvzk__znode_owner owner;
    struct uvzk__node_create create;
    struct uvzk__rpc rpc;             /* under way in CREATING, SETTING and DELETING */
    struct uvzk__growing_pause pause; /* after a refusal */
    struct uvzk__notification notification;
    uvzk_persistent_node_change_cb cb; /* may be NULL, and so may close_cb */
    uvzk_persistent_node_close_cb close_cb;
    void (*client_gone_cb)(
        uvzk_persistent_node_t *); /* its client ended before its close; may be NULL */
    void *data;                    /* what the znode should have */
    size_t length;
    /* What the request under way writes: `data`, or older data that are freed after
     * it. */
    void *sent;
    int64_t session_id; /* in which it was created or found last */
    int status;         /* what the user is told next; UV_EAGAIN: nothing is known yet */
    int told;           /* what the user was told last; UV_EAGAIN: nothing relevant */
    int end_status;     /* the status with which it ends after the reply to come; 0:
                           none */
    uint8_t state;      /* enum uvzk__persistent_node_state */
    bool ephemeral;
    bool data_wanted; /* the znode must get `data`, even if it exists with other data */
    bool closing;
};

/* The session of an initialized persistent node, else NULL. */
struct uvzk__session *uvzk__persistent_node_session(const uvzk_persistent_node_t *);

/* ------------------------------------------------------------ for this room alone */

/* The callback for the end of the client before the node's close. */
void uvzk__persistent_node_set_client_gone(uvzk_persistent_node_t *,
                                           void (*gone_cb)(uvzk_persistent_node_t *));
/* What the znode of an initialized persistent node should have; valid until they are set
 * again. */
void uvzk__persistent_node_data(const uvzk_persistent_node_t *, const void **data,
                                size_t *length);

#endif
