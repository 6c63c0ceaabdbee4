/* Persistent nodes (persistent_node.h). All is decided in
 * uvzk__persistent_request_decide(), after each reading of the znode. */
#include "membership/persistent_node.h"

#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/turn.h"
#include "membership/persistent_request.h"

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

bool uvzk__persistent_node_is_under_way(const struct uvzk__persistent_node *node)
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

/* ------------------------------------------------------------------- reporting */

/* What the user is told at the end of the turn, if it is news by then. */
void uvzk__persistent_node_note(struct uvzk__persistent_node *node, int status)
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

    uvzk_persistent_node_t *shell = node->shell;
    void (*client_gone_cb)(uvzk_persistent_node_t *) = node->client_gone_cb;

    shell->impl = NULL;
    free_node(node);
    if (client_gone_cb != NULL) {
        client_gone_cb(shell);
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
        uvzk__persistent_request_read_again(next);
    }
}

static void value_closed(uvzk_shared_value_t *value)
{
    struct uvzk__persistent_node *node = node_of(value);
    uvzk_persistent_node_t *shell = node->shell;
    uvzk_persistent_node_close_cb close_cb = node->close_cb;
    int status = node->status;

    shell->impl = NULL;
    let_next_begin(node);
    free_node(node);
    if (close_cb != NULL) {
        close_cb(shell, status);
    }
}

static void tell(struct uvzk__notification *notification)
{
    struct uvzk__persistent_node *node =
        UVZK__CONTAINER_OF(notification, struct uvzk__persistent_node, notification);

    if (node->state == UVZK__PERSISTENT_NODE_GONE) {
        (void)uvzk_shared_value_close(&node->value, value_closed);
    } else if (!node->closing && !uvzk__session_is_closing(node->session) &&
               node->status != node->told) {
        node->told = node->status;
        if (node->cb != NULL) {
            node->cb(node->shell, node->status);
        }
    }
}

/* The close is over: nothing is left to be done. */
void uvzk__persistent_node_end(struct uvzk__persistent_node *node, int status)
{
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_GONE);
    uvzk__growing_pause_end(node->session, &node->pause);
    uvzk__persistent_node_note(node, status);
}

bool uvzk__persistent_node_waits_for_another(const struct uvzk__persistent_node *node)
{
    return first_at_path(node) != node;
}

static struct uvzk__persistent_node *of_listener(struct uvzk__value_listener *listener)
{
    return UVZK__CONTAINER_OF(listener, struct uvzk__persistent_node, listener);
}

static void was_read(struct uvzk__value_listener *listener)
{
    uvzk__persistent_request_decide(of_listener(listener));
}

/* Called for what was read too, but then there is nothing left to decide. */
static void value_told(uvzk_shared_value_t *value, int status)
{
    (void)status;
    uvzk__persistent_request_decide(node_of(value));
}

static void session_ended(struct uvzk__value_listener *listener)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->state == UVZK__PERSISTENT_NODE_GONE ||
        uvzk__persistent_node_is_under_way(node)) {
        return;
    }
    uvzk__move_or_stay(node->session, &uvzk__persistent_node_machine, node,
                       UVZK__PERSISTENT_NODE_UNKNOWN);
    if (node->ephemeral && node->closing) {
        uvzk__persistent_node_end(node, UVZK_EEXPIRED);
    } else if (node->ephemeral && node->status == 0) {
        uvzk__persistent_node_note(node, UVZK_EEXPIRED);
    }
}

/* The servers may have deleted an ephemeral znode by now, though no connection reports it. If
 * the session turns out to live, the next reading says so. */
static void lapsed(struct uvzk__value_listener *listener)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->ephemeral && !node->closing && node->status == 0) {
        uvzk__persistent_node_note(node, UVZK_EEXPIRED);
    }
}

static void unreachable(struct uvzk__value_listener *listener, int code)
{
    struct uvzk__persistent_node *node = of_listener(listener);

    if (node->state == UVZK__PERSISTENT_NODE_GONE) {
        return;
    }
    if (!node->closing) {
        uvzk__persistent_node_note(node, code);
    } else if (uvzk__persistent_node_is_under_way(node)) {
        node->end_status = code; /* its reply is still to come */
    } else {
        uvzk__persistent_node_end(node, code);
    }
}

/* ----------------------------------------------------------------- init, close */

static int check(const uvzk_client_t *client, const uvzk_persistent_node_t *shell,
                 const char *path, uint32_t mode, const void *data, size_t length)
{
    int status = uvzk__refuse_if(
        UV_EINVAL, mode > UVZK_PERSISTENT_NODE_EPHEMERAL ? "mode: there is no such mode"
                   : data == NULL && length > 0          ? "data is NULL, length is not 0"
                   : length > UVZK__DATA_MAX             ? "length is more than 1000000"
                                                         : NULL);

    if (status == 0) {
        status = uvzk__check_init(client, "the node", shell,
                                  shell == NULL ? NULL : shell->impl, path);
    }
    return status != 0
               ? status
               : uvzk__znode_owner_check_open(client->impl, path, UVZK__NEEDS_ZNODE);
}

/* Follows the znode: what is read decides. */
static int follow(struct uvzk__persistent_node *node, uvzk_client_t *client,
                  const char *path)
{
    int status = uvzk__shared_value_follow(client, &node->value, path, value_told);

    if (status != 0) {
        return status;
    }
    node->value.data = node;
    uvzk__shared_value_set_client_gone(&node->value, client_gone);
    node->listener.was_read = was_read;
    node->listener.session_ended = session_ended;
    node->listener.lapsed = lapsed;
    node->listener.unreachable = unreachable;
    uvzk__shared_value_add_listener(&node->value, &node->listener);
    node->session = uvzk__shared_value_session(&node->value);
    if (uvzk__auth_has_failed(node->session)) {
        uvzk__persistent_node_note(node, UVZK_EAUTH);
    }
    /* Another value of this client on the path may have read it already. */
    uvzk__persistent_request_decide(node);
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
    node->notification.notify_cb = tell;
    node->pause.timer.due = uvzk__persistent_request_pause_over;
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

int uvzk_persistent_node_init(uvzk_client_t *client, uvzk_persistent_node_t *shell,
                              const char *path, uint32_t mode, const void *data,
                              size_t length, uvzk_persistent_node_change_cb cb)
{
    int status = check(client, shell, path, mode, data, length);

    if (status != 0) {
        return status;
    }
    struct uvzk__persistent_node *node = new_node(
        client->impl, path, mode == UVZK_PERSISTENT_NODE_EPHEMERAL, data, length);
    if (node == NULL) {
        return UV_ENOMEM;
    }
    node->shell = shell;
    node->cb = cb;
    status = uvzk__znode_owner_begin(client->impl, &node->owner, node->path,
                                     UVZK__OWNED_BY_NODE, node->ephemeral);
    if (status == 0) {
        status = follow(node, client, path);
    }
    if (status != 0) {
        free_unused(node);
        return status;
    }
    shell->impl = node;
    return 0;
}

int uvzk_persistent_node_set_data(uvzk_persistent_node_t *shell, const void *data,
                                  size_t length)
{
    struct uvzk__persistent_node *node = shell == NULL ? NULL : shell->impl;

    if (shell == NULL || (data == NULL && length > 0) || length > UVZK__DATA_MAX) {
        return uvzk__refuse(UV_EINVAL, shell == NULL  ? "the node is NULL"
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
    uvzk__persistent_request_decide(node);
    return 0;
}

int uvzk_persistent_node_close(uvzk_persistent_node_t *shell,
                               uvzk_persistent_node_close_cb close_cb)
{
    struct uvzk__persistent_node *node = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "the node is NULL");
    }
    if (node == NULL || node->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the node is closing, or not initialised");
    }
    node->closing = true;
    uvzk__znode_owner_closing(&node->owner);
    node->close_cb = close_cb;
    uvzk__growing_pause_end(node->session, &node->pause);
    if (uvzk__session_is_closing(node->session)) {
        unreachable(&node->listener, UVZK_ECLOSED);
    } else if (uvzk__auth_has_failed(node->session)) {
        unreachable(&node->listener, UVZK_EAUTH);
    } else if (!uvzk__persistent_node_is_under_way(node)) {
        /* It is deleted with the version that it has now. */
        uvzk__persistent_request_read_again(node);
        uvzk__persistent_request_decide(node);
    }
    return 0;
}

struct uvzk__session *uvzk__persistent_node_session(const uvzk_persistent_node_t *shell)
{
    const struct uvzk__persistent_node *node = shell == NULL ? NULL : shell->impl;

    return node == NULL ? NULL : node->session;
}

void uvzk__persistent_node_set_client_gone(uvzk_persistent_node_t *shell,
                                           void (*gone_cb)(uvzk_persistent_node_t *))
{
    struct uvzk__persistent_node *node = shell->impl;

    node->client_gone_cb = gone_cb;
}

void uvzk__persistent_node_data(const uvzk_persistent_node_t *shell, const void **data,
                                size_t *length)
{
    const struct uvzk__persistent_node *node = shell->impl;

    *data = node->data;
    *length = node->length;
}
