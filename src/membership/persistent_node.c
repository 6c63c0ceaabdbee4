/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a persistent node (persistent_node.h) and its requests.
 * persistent_node_decide() makes all decisions, after each reading of the znode. */
#include "membership/persistent_node.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* ----------------------------------------------------------------- the machine */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__PERSISTENT_NODE_, UNKNOWN, CREATING, SETTING, PRESENT, TAKEN,
                DELETING, GONE),
    UVZK__STATE(UVZK__PERSISTENT_NODE_, CREATING, PRESENT, UNKNOWN),
    UVZK__STATE(UVZK__PERSISTENT_NODE_, PRESENT, UNKNOWN),
    UVZK__STATE(UVZK__PERSISTENT_NODE_, SETTING, PRESENT, UNKNOWN),
    UVZK__STATE(UVZK__PERSISTENT_NODE_, TAKEN, UNKNOWN),
    UVZK__STATE(UVZK__PERSISTENT_NODE_, DELETING, UNKNOWN),
    UVZK__FINAL(UVZK__PERSISTENT_NODE_, GONE),
};

static bool is_under_way(const struct uvzk__persistent_node *node)
{
    return node->state == UVZK__PERSISTENT_NODE_CREATING ||
           node->state == UVZK__PERSISTENT_NODE_SETTING ||
           node->state == UVZK__PERSISTENT_NODE_DELETING;
}

static bool invariant_holds(const void *object)
{
    const struct uvzk__persistent_node *node = object;

    switch (node->state) {
    case UVZK__PERSISTENT_NODE_DELETING:
    case UVZK__PERSISTENT_NODE_GONE:
        return node->closing;
    case UVZK__PERSISTENT_NODE_PRESENT:
        return !node->ephemeral || node->session_id != 0;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__persistent_node_machine = UVZK__MACHINE(
    "persistent node", table, struct uvzk__persistent_node, state, invariant_holds);

/* The znode is read again, as soon as requests may be sent; that decides. */
static void persistent_node_read_again(struct uvzk__persistent_node *node)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__shared_value_read_again(&node->value);
}

/* ------------------------------------------------------------------- reporting */

/* What the user is told at the end of the turn, if it is news by then. */
static void persistent_node_note(struct uvzk__persistent_node *node, int status)
{
    node->status = status;
    uvzk__notify_later(node->session, &node->notification);
}

static void free_node(struct uvzk__persistent_node *node)
{
    if (node->listener.link.next != NULL) {
        uvzk__list_remove(&node->listener.link);
    }
    uvzk__znode_owner_end(node->session, &node->owner);
    uvzk__list_remove(&node->notification.link);
    uvzk__growing_pause_end(node->session, &node->pause);
    uvzk__node_create_free(&node->create);
    if (node->sent != node->data) {
        uvzk__free(node->sent);
    }
    uvzk__free(node->data);
    uvzk__free(node->path);
    uvzk__free(node);
}

static struct uvzk__persistent_node *node_of(const uvzk_shared_value_t *value)
{
    return value->data;
}

static void value_told(uvzk_shared_value_t *value, int status);

/* Its client has ended without a close. */
static void client_gone(uvzk_shared_value_t *value)
{
    struct uvzk__persistent_node *node = node_of(value);

    uvzk_persistent_node_t *handle = node->handle;
    void (*client_gone_cb)(uvzk_persistent_node_t *) = node->client_gone_cb;

    handle->impl = NULL;
    free_node(node);
    if (client_gone_cb != NULL) {
        client_gone_cb(handle);
    }
}

/* The first persistent node at the path of this one, which is one. */
static struct uvzk__persistent_node *
first_at_path(const struct uvzk__persistent_node *node)
{
    struct uvzk__znode_owner *owner = uvzk__znode_owner_first(node->session, node->path);

    return owner == NULL ? NULL
                         : UVZK__CONTAINER_OF(owner, struct uvzk__persistent_node, owner);
}

/* One that was opened during the close begins. What was read last may show the znode that is
 * gone by now. */
static void let_next_begin(struct uvzk__persistent_node *node)
{
    uvzk__znode_owner_end(node->session, &node->owner);
    struct uvzk__persistent_node *next = first_at_path(node);

    if (next != NULL && next->state == UVZK__PERSISTENT_NODE_UNKNOWN) {
        persistent_node_read_again(next);
    }
}

static void value_closed(uvzk_shared_value_t *value)
{
    struct uvzk__persistent_node *node = node_of(value);
    uvzk_persistent_node_t *handle = node->handle;
    uvzk_persistent_node_close_cb close_cb = node->close_cb;
    int status = node->status;

    handle->impl = NULL;
    let_next_begin(node);
    free_node(node);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle, status);
    }
    uvzk__end_tell(listener, status);
}

static void persistent_node_tell(struct uvzk__notification *notification)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(notification, struct uvzk__persistent_node, notification);

    if (node->state == UVZK__PERSISTENT_NODE_GONE) {
        (void)uvzk_shared_value_close(&node->value, value_closed);
    } else if (!node->closing && !uvzk__session_is_closing(node->session) &&
               node->status != node->told) {
        node->told = node->status;
        if (node->cb != NULL) {
            node->cb(node->handle, node->status);
        }
    }
}

/* The close is over: nothing is left to be done. */
static void persistent_node_end(struct uvzk__persistent_node *node, int status)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_GONE);
    uvzk__growing_pause_end(node->session, &node->pause);
    persistent_node_note(node, status);
}

static bool waits_for_another(const struct uvzk__persistent_node *node)
{
    return first_at_path(node) != node;
}

/* ---------------------------------------------------------------- the requests */

static void persistent_node_submit(struct uvzk__persistent_node *node,
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

/* The request has failed; or its result is no longer wanted. */
static void persistent_node_failed(struct uvzk__persistent_node *node)
{
    if (node->end_status != 0) {
        persistent_node_end(node, node->end_status);
    } else {
        persistent_node_read_again(node);
    }
}

static void pause_over(struct uvzk__timer *timer)
{
    persistent_node_read_again(
        UVZK__CONTAINER_OF(timer, struct uvzk__persistent_node, pause.timer));
}

static void retry_later(struct uvzk__persistent_node *node)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__growing_pause_begin(node->session, &node->pause);
}

static void persistent_node_refused(struct uvzk__persistent_node *node, int status)
{
    if (node->closing) {
        persistent_node_failed(node);
    } else {
        persistent_node_note(node, status);
        retry_later(node);
    }
}

/* The znode exists, is ours, and has the data that the last request has written, or none was
 * needed. */
static void is_present(struct uvzk__persistent_node *node)
{
    uvzk__growing_pause_reset(&node->pause);
    node->session_id = node->session->connection.session_id;
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_PRESENT);
    persistent_node_note(node, 0);
}

/* The request has written what is wanted, or what was wanted before the last set_data. */
static void is_written(struct uvzk__persistent_node *node, bool newest)
{
    if (node->closing || !newest) {
        persistent_node_failed(node);
    } else {
        node->data_wanted = false;
        is_present(node);
    }
}

static void persistent_node_made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

static void persistent_node_make(struct uvzk__persistent_node *node)
{
    node->sent = node->data;
    uvzk__node_create_set_data(&node->create, node->data, node->length);
    uvzk__node_create_prepare(node->session, &node->create, &node->rpc,
                              persistent_node_made);
    persistent_node_submit(node, UVZK__PERSISTENT_NODE_CREATING);
}

static void persistent_node_made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(rpc, struct uvzk__persistent_node, rpc);
    bool newest = node->sent == node->data;

    (void)reply_begins(rpc, reply->status);
    bool next = uvzk__node_create_next(node->session, &node->create, rpc, reply->status);
    if (next && !node->closing && uvzk__may_send(node->session)) {
        uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                           UVZK__PERSISTENT_NODE_UNKNOWN);
        persistent_node_make(node);
    } else if (next) {
        persistent_node_failed(node);
    } else if (reply->status == 0) {
        is_written(node, newest);
    } else if (reply->status == UVZK_ENODEEXISTS) {
        node->data_wanted = true; /* if it is ours to take */
        persistent_node_failed(node);
    } else if (uvzk__is_transient(reply->status)) {
        persistent_node_failed(node);
    } else {
        persistent_node_refused(node, reply->status);
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
        persistent_node_failed(node);
    } else {
        persistent_node_refused(node, status);
    }
}

static void persistent_node_set(struct uvzk__persistent_node *node, int32_t version)
{
    uvzk__rpc_prepare(&node->rpc, UVZK__RPC_SET, node->path, was_set);
    node->rpc.data = node->sent = node->data;
    node->rpc.data_length = node->length;
    node->rpc.version = version;
    persistent_node_submit(node, UVZK__PERSISTENT_NODE_SETTING);
}

static void persistent_node_deleted(struct uvzk__rpc *rpc,
                                    const struct uvzk__reply *reply)
{
    struct uvzk__persistent_node *node = reply_begins(rpc, reply->status);
    int status = reply->status;

    if (status == 0 || status == UVZK_ENONODE) {
        persistent_node_end(node, 0);
    } else if (status == UVZK_EBADVERSION || uvzk__is_transient(status)) {
        persistent_node_failed(node);
    } else if (status == UVZK_ENOAUTH && node->end_status == 0) {
        retry_later(node); /* a znode that is no longer wanted must not stay */
    } else {
        persistent_node_end(node, status);
    }
}

/* Only the version that was read just now: what another client has created since has another
 * one, unless it was changed as often. */
static void delete_node(struct uvzk__persistent_node *node, int32_t version)
{
    uvzk__rpc_prepare(&node->rpc, UVZK__RPC_DELETE, node->path, persistent_node_deleted);
    node->rpc.version = version;
    persistent_node_submit(node, UVZK__PERSISTENT_NODE_DELETING);
}

/* -------------------------------------------------------------------- deciding */

static bool is_ours(const struct uvzk__persistent_node *node,
                    const struct uvzk__stat *stat)
{
    return stat->ephemeral_owner ==
           (node->ephemeral ? node->session->connection.session_id : 0);
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
        persistent_node_note(node, UVZK_ENODEEXISTS);
    }
}

static void decide_close(struct uvzk__persistent_node *node, int status,
                         const struct uvzk__stat *stat)
{
    if (status == 0 && is_ours(node, stat)) {
        delete_node(node, stat->version);
    } else if (status != UVZK_ENOAUTH) { /* else it is read again, once in a while */
        persistent_node_end(node, status == UVZK_ENONODE || status == 0 ? 0 : status);
    }
}

static void decide_open(struct uvzk__persistent_node *node, int status,
                        const struct uvzk__stat *stat)
{
    if (status == UVZK_ENONODE) {
        if (node->told == 0) {
            persistent_node_note(node, UVZK_ENONODE);
        }
        uvzk__node_create_begin(&node->create);
        persistent_node_make(node);
    } else if (status != 0) {
        persistent_node_note(node, status);
    } else if (!is_ours(node, stat)) {
        is_taken(node, stat);
    } else if ((node->data_wanted || node->ephemeral) && !has_data(node)) {
        /* An ephemeral znode is this client's alone: what others have set is set back. It
         * may be a set that was meant for the znode before, and has come late. */
        persistent_node_set(node, stat->version);
    } else {
        node->data_wanted = false;
        is_present(node);
    }
}

/* The znode was read, or cannot be read. The server has answered after the barrier of
 * this connection, so it shows this session's own requests, and everything that a quorum
 * had accepted before the connection. */
static void persistent_node_decide(struct uvzk__persistent_node *node)
{
    struct uvzk__stat stat;
    int status = uvzk__shared_value_known(&node->value, &stat);

    if (is_under_way(node) || node->state == UVZK__PERSISTENT_NODE_GONE ||
        status == UV_EAGAIN || uvzk__growing_pause_runs(&node->pause) ||
        waits_for_another(node)) {
        return; /* a later reading decides, or the other one's end */
    }
    if (status != UVZK_ELIMIT && !uvzk__may_send(node->session)) {
        persistent_node_read_again(node);
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

/* ------------------------------------------------------------ what the value tells */

static struct uvzk__persistent_node *of_listener(struct uvzk__value_listener *listener)
{
    return UVZK__CONTAINER_OF(listener, struct uvzk__persistent_node, listener);
}

static void was_read(struct uvzk__value_listener *listener)
{
    persistent_node_decide(of_listener(listener));
}

/* Called for what was read too, but then there is nothing left to decide. */
static void value_told(uvzk_shared_value_t *value, int status)
{
    (void)status;
    persistent_node_decide(node_of(value));
}

static void session_ended(struct uvzk__value_listener *listener)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->state == UVZK__PERSISTENT_NODE_GONE || is_under_way(node)) {
        return;
    }
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    if (node->ephemeral && node->closing) {
        persistent_node_end(node, UVZK_EEXPIRED);
    } else if (node->ephemeral && node->status == 0) {
        persistent_node_note(node, UVZK_EEXPIRED);
    }
}

/* The servers may have deleted an ephemeral znode by now, though no connection reports it. If
 * the session turns out to live, the next reading says so. */
static void persistent_node_lapsed(struct uvzk__value_listener *listener)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->ephemeral && !node->closing && node->status == 0) {
        persistent_node_note(node, UVZK_EEXPIRED);
    }
}

static void persistent_node_unreachable(struct uvzk__value_listener *listener, int code)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->state == UVZK__PERSISTENT_NODE_GONE) {
        return;
    }
    if (!node->closing) {
        persistent_node_note(node, code);
    } else if (is_under_way(node)) {
        node->end_status = code; /* its reply is still to come */
    } else {
        persistent_node_end(node, code);
    }
}

/* ----------------------------------------------------------------- init, close */

static int persistent_node_check(const uvzk_client_t *client,
                                 const uvzk_persistent_node_t *handle, const char *path,
                                 uint32_t mode, const void *data, size_t length)
{
    int status = uvzk__refuse_if(
        UV_EINVAL, mode > UVZK_PERSISTENT_NODE_EPHEMERAL ? "mode: there is no such mode"
                   : data == NULL && length > 0          ? "data is NULL, length is not 0"
                   : length > UVZK__DATA_MAX             ? "length is more than 1000000"
                                                         : NULL);

    if (status == 0) {
        status = uvzk__check_init(client, "the node", handle,
                                  handle == NULL ? NULL : handle->impl, path);
    }
    return status != 0
               ? status
               : uvzk__znode_owner_check_open(client->impl, path, UVZK__NEEDS_ZNODE);
}

/* Follows the znode: what is read decides. */
static int persistent_node_follow(struct uvzk__persistent_node *node,
                                  uvzk_client_t *client, const char *path)
{
    int status = uvzk__shared_value_follow(client, &node->value, path, value_told);

    if (status != 0) {
        return status;
    }
    node->value.data = node;
    uvzk__shared_value_set_client_gone(&node->value, client_gone);
    node->listener.was_read = was_read;
    node->listener.session_ended = session_ended;
    node->listener.lapsed = persistent_node_lapsed;
    node->listener.unreachable = persistent_node_unreachable;
    uvzk__shared_value_add_listener(&node->value, &node->listener);
    node->session = uvzk__shared_value_session(&node->value);
    if (node->session->auth_failed) {
        persistent_node_note(node, UVZK_EAUTH);
    }
    /* Another value of this client on the path may have read it already. */
    persistent_node_decide(node);
    return 0;
}

static void free_unused(struct uvzk__persistent_node *node)
{
    uvzk__znode_owner_end(node->session, &node->owner);
    uvzk__node_create_free(&node->create);
    uvzk__free(node->path);
    uvzk__free(node->data);
    uvzk__free(node);
}

/* Nothing refers to it yet. NULL: out of memory. */
static struct uvzk__persistent_node *new_node(struct uvzk__session *session,
                                              const char *path, bool ephemeral,
                                              const void *data, size_t length)
{
    struct uvzk__persistent_node *node = uvzk__calloc(1, sizeof(*node));

    if (node == NULL) {
        return NULL;
    }
    uvzk__list_init(&node->notification.link);
    node->session = session; /* until it follows the znode: one of the client */
    node->notification.notify_cb = persistent_node_tell;
    node->pause.timer.due = pause_over;
    node->ephemeral = ephemeral;
    node->data_wanted = true;
    node->status = node->told = UV_EAGAIN;
    node->data = uvzk__memdup(data, length);
    node->length = length;
    node->path = uvzk__path_join(uvzk__namespace_of(session), path);
    if (node->data == NULL || node->path == NULL ||
        !uvzk__node_create_init(&node->create, node->path,
                                ephemeral ? UVZK__EPHEMERAL : UVZK__PERSISTENT)) {
        free_unused(node);
        return NULL;
    }
    return node;
}

int uvzk_persistent_node_init(uvzk_client_t *client, uvzk_persistent_node_t *handle,
                              const char *path, uint32_t mode, const void *data,
                              size_t length, uvzk_persistent_node_change_cb cb)
{
    int status = persistent_node_check(client, handle, path, mode, data, length);

    if (status != 0) {
        return status;
    }
    struct uvzk__persistent_node *node = new_node(
        client->impl, path, mode == UVZK_PERSISTENT_NODE_EPHEMERAL, data, length);
    if (node == NULL) {
        return UV_ENOMEM;
    }
    node->handle = handle;
    node->cb = cb;
    status = uvzk__znode_owner_begin(client->impl, &node->owner, node->path,
                                     UVZK__OWNED_BY_NODE, node->ephemeral);
    if (status == 0) {
        status = persistent_node_follow(node, client, path);
    }
    if (status != 0) {
        free_unused(node);
        return status;
    }
    handle->impl = node;
    return 0;
}

int uvzk_persistent_node_set_data(uvzk_persistent_node_t *handle, const void *data,
                                  size_t length)
{
    struct uvzk__persistent_node *node = handle == NULL ? NULL : handle->impl;

    if (handle == NULL || (data == NULL && length > 0) || length > UVZK__DATA_MAX) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "the node is NULL"
                                       : data == NULL ? "data is NULL, length is not 0"
                                                      : "length is more than 1000000");
    }
    if (node == NULL || node->closing || uvzk__session_is_closing(node->session)) {
        return uvzk__refuse(UVZK_ECLOSED, "the node or its client is closing, or it is "
                                          "not initialised");
    }
    void *copy = uvzk__memdup(data, length);
    if (copy == NULL) {
        return UV_ENOMEM;
    }
    /* A request under way may still write the data before; its reply frees them. */
    if (node->sent != node->data) {
        uvzk__free(node->data);
    }
    node->data = copy;
    node->length = length;
    node->data_wanted = true;
    if (node->told == 0) {
        node->told = UV_EAGAIN; /* it is told again */
    }
    persistent_node_decide(node);
    return 0;
}

int uvzk_persistent_node_close(uvzk_persistent_node_t *handle,
                               uvzk_persistent_node_close_cb close_cb)
{
    struct uvzk__persistent_node *node = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the node is NULL");
    }
    if (node == NULL || node->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the node is closing, or not initialised");
    }
    node->closing = true;
    uvzk__znode_owner_closing(&node->owner);
    node->close_cb = close_cb;
    uvzk__end_begin(&handle->end, node->session);
    uvzk__growing_pause_end(node->session, &node->pause);
    if (uvzk__session_is_closing(node->session)) {
        persistent_node_unreachable(&node->listener, UVZK_ECLOSED);
    } else if (node->session->auth_failed) {
        persistent_node_unreachable(&node->listener, UVZK_EAUTH);
    } else if (!is_under_way(node)) {
        /* It is deleted with the version that it has now. */
        persistent_node_read_again(node);
        persistent_node_decide(node);
    }
    return 0;
}

struct uvzk__session *uvzk__persistent_node_session(const uvzk_persistent_node_t *handle)
{
    const struct uvzk__persistent_node *node = handle == NULL ? NULL : handle->impl;

    return node == NULL ? NULL : node->session;
}

void uvzk__persistent_node_set_client_gone(uvzk_persistent_node_t *handle,
                                           void (*gone_cb)(uvzk_persistent_node_t *))
{
    struct uvzk__persistent_node *node = handle->impl;

    node->client_gone_cb = gone_cb;
}

void uvzk__persistent_node_data(const uvzk_persistent_node_t *handle, const void **data,
                                size_t *length)
{
    const struct uvzk__persistent_node *node = handle->impl;

    *data = node->data;
    *length = node->length;
}
