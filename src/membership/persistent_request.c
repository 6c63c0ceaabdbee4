/* The requests of a persistent node (persistent_request.h). All is decided in
 * uvzk__persistent_request_decide(), after each reading of the znode. */
#include "membership/persistent_request.h"

#include <string.h>

#include "base/memory.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* ---------------------------------------------------------------- the requests */

static void submit(struct uvzk__persistent_node *node,
                   enum uvzk__persistent_node_state doing)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node, doing);
    uvzk__submit(node->session, &node->rpc);
}

/* Called first for every reply. */
static struct uvzk__persistent_node *reply_begins(struct uvzk__rpc *rpc, int status)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(rpc, struct uvzk__persistent_node, rpc);

    uvzk__answered(node->session, rpc, status, true);
    if (node->sent != node->data) {
        uvzk__free(node->sent);
    }
    node->sent = NULL;
    return node;
}

void uvzk__persistent_request_read_again(struct uvzk__persistent_node *node)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__shared_value_read_again(&node->value);
}

/* The request has failed; or its result is no longer wanted. */
static void failed(struct uvzk__persistent_node *node)
{
    if (node->end_status != 0) {
        uvzk__persistent_node_end(node, node->end_status);
    } else {
        uvzk__persistent_request_read_again(node);
    }
}

void uvzk__persistent_request_pause_over(struct uvzk__timer *timer)
{
    uvzk__persistent_request_read_again(
        UVZK__CONTAINER_OF(timer, struct uvzk__persistent_node, pause.timer));
}

static void retry_later(struct uvzk__persistent_node *node)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__growing_pause_begin(node->session, &node->pause);
}

static void refused(struct uvzk__persistent_node *node, int status)
{
    if (node->closing) {
        failed(node);
    } else {
        uvzk__persistent_node_note(node, status);
        retry_later(node);
    }
}

/* The znode exists, is ours, and has the data that the last request has written, or none was
 * needed. */
static void is_present(struct uvzk__persistent_node *node)
{
    uvzk__growing_pause_reset(&node->pause);
    node->session_id = uvzk__session_id(node->session);
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_PRESENT);
    uvzk__persistent_node_note(node, 0);
}

/* The request has written what is wanted, or what was wanted before the last set_data. */
static void is_written(struct uvzk__persistent_node *node, bool newest)
{
    if (node->closing || !newest) {
        failed(node);
    } else {
        node->data_wanted = false;
        is_present(node);
    }
}

static void made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

static void make(struct uvzk__persistent_node *node)
{
    node->sent = node->data;
    uvzk__node_create_set_data(&node->create, node->data, node->length);
    uvzk__node_create_prepare(node->session, &node->create, &node->rpc, made);
    submit(node, UVZK__PERSISTENT_NODE_CREATING);
}

static void made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(rpc, struct uvzk__persistent_node, rpc);
    bool newest = node->sent == node->data;

    (void)reply_begins(rpc, reply->status);
    bool next = uvzk__node_create_next(node->session, &node->create, rpc, reply->status);
    if (next && !node->closing && uvzk__may_send(node->session)) {
        uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                           UVZK__PERSISTENT_NODE_UNKNOWN);
        make(node);
    } else if (next) {
        failed(node);
    } else if (reply->status == 0) {
        is_written(node, newest);
    } else if (reply->status == UVZK_ENODEEXISTS) {
        node->data_wanted = true; /* if it is ours to take */
        failed(node);
    } else if (uvzk__is_transient(reply->status)) {
        failed(node);
    } else {
        refused(node, reply->status);
    }
}

static void was_set(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(rpc, struct uvzk__persistent_node, rpc);
    bool newest = node->sent == node->data;
    int status = reply->status;

    (void)reply_begins(rpc, status);
    if (status == 0) {
        is_written(node, newest);
    } else if (status == UVZK_EBADVERSION || status == UVZK_ENONODE ||
               uvzk__is_transient(status)) {
        failed(node);
    } else {
        refused(node, status);
    }
}

static void set(struct uvzk__persistent_node *node, int32_t version)
{
    uvzk__rpc_prepare(&node->rpc, UVZK__RPC_SET, node->path, was_set);
    node->rpc.data = node->sent = node->data;
    node->rpc.data_length = node->length;
    node->rpc.version = version;
    submit(node, UVZK__PERSISTENT_NODE_SETTING);
}

static void deleted(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__persistent_node *node = reply_begins(rpc, reply->status);
    int status = reply->status;

    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__persistent_node_end(node, 0);
    } else if (status == UVZK_EBADVERSION || uvzk__is_transient(status)) {
        failed(node);
    } else if (status == UVZK_ENOAUTH && node->end_status == 0) {
        retry_later(node); /* a znode that is no longer wanted must not stay */
    } else {
        uvzk__persistent_node_end(node, status);
    }
}

/* Only the version that was read just now: what another client has created since has another
 * one, unless it was changed as often. */
static void delete_node(struct uvzk__persistent_node *node, int32_t version)
{
    uvzk__rpc_prepare(&node->rpc, UVZK__RPC_DELETE, node->path, deleted);
    node->rpc.version = version;
    submit(node, UVZK__PERSISTENT_NODE_DELETING);
}

/* -------------------------------------------------------------------- deciding */

static bool is_ours(const struct uvzk__persistent_node *node,
                    const struct uvzk__stat *stat)
{
    return stat->ephemeral_owner ==
           (node->ephemeral ? uvzk__session_id(node->session) : 0);
}

static bool has_data(const struct uvzk__persistent_node *node)
{
    const void *data;
    size_t length;

    return uvzk_shared_value_get(&node->value, &data, &length, NULL) == 0 &&
           length == node->length && memcmp(data, node->data, length) == 0;
}

/* There is a znode, and it is not ours. If it is of the session before, that session is about
 * to end, or has ended already at other servers; the user has been told. */
static void is_taken(struct uvzk__persistent_node *node, const struct uvzk__stat *stat)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_TAKEN);
    if (stat->ephemeral_owner == 0 || stat->ephemeral_owner != node->session_id) {
        uvzk__persistent_node_note(node, UVZK_ENODEEXISTS);
    }
}

static void decide_close(struct uvzk__persistent_node *node, int status,
                         const struct uvzk__stat *stat)
{
    if (status == 0 && is_ours(node, stat)) {
        delete_node(node, stat->version);
    } else if (status != UVZK_ENOAUTH) { /* else it is read again, once in a while */
        uvzk__persistent_node_end(node,
                                  status == UVZK_ENONODE || status == 0 ? 0 : status);
    }
}

static void decide_open(struct uvzk__persistent_node *node, int status,
                        const struct uvzk__stat *stat)
{
    if (status == UVZK_ENONODE) {
        if (node->told == 0) {
            uvzk__persistent_node_note(node, UVZK_ENONODE);
        }
        uvzk__node_create_begin(&node->create);
        make(node);
    } else if (status != 0) {
        uvzk__persistent_node_note(node, status);
    } else if (!is_ours(node, stat)) {
        is_taken(node, stat);
    } else if ((node->data_wanted || node->ephemeral) && !has_data(node)) {
        /* An ephemeral znode is this client's alone: what others have set is set back. It
         * may be a set that was meant for the znode before, and has come late. */
        set(node, stat->version);
    } else {
        node->data_wanted = false;
        is_present(node);
    }
}

/* The znode was read, or cannot be read. The server has answered after the barrier of
 * this connection, so it shows this session's own requests, and everything that a quorum
 * had accepted before the connection. */
void uvzk__persistent_request_decide(struct uvzk__persistent_node *node)
{
    struct uvzk__stat stat;
    int status = uvzk__shared_value_known(&node->value, &stat);

    if (uvzk__persistent_node_is_under_way(node) ||
        node->state == UVZK__PERSISTENT_NODE_GONE || status == UV_EAGAIN ||
        uvzk__growing_pause_runs(&node->pause) ||
        uvzk__persistent_node_waits_for_another(node)) {
        return; /* a later reading decides, or the other one's end */
    }
    if (status != UVZK_ELIMIT && !uvzk__may_send(node->session)) {
        uvzk__persistent_request_read_again(node);
        return;
    }
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    if (node->closing) {
        decide_close(node, status, &stat);
    } else {
        decide_open(node, status, &stat);
    }
}
