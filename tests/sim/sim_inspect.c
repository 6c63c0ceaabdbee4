/* SPDX-License-Identifier: Apache-2.0 */
/* What a test asks the servers, and what it changes there as an operator (sim.h).
 * Questions read the leader's znodes, which are what has been committed. Changes are
 * transactions in the operator's session, which never ends and never lacks DELETE.
 * Exceptions: sim_create_in_session uses a client's session, and sim_set_counter changes
 * the leader's counter directly. */
#include "sim_internal.h"

#include <string.h>

/* NULL: there is no such znode. */
static struct sim__node *find(const struct sim *sim, const char *path)
{
    return sim__tree_find(&sim->server.tree, path, strlen(path));
}

bool sim_exists(const struct sim *sim, const char *path)
{
    return find(sim, path) != NULL;
}

bool sim_stat(const struct sim *sim, const char *path, struct uvzk__stat *stat)
{
    const struct sim__node *node = find(sim, path);
    if (node != NULL) {
        *stat = node->stat;
    }
    return node != NULL;
}

const void *sim_data(const struct sim *sim, const char *path, size_t *length)
{
    const struct sim__node *node = find(sim, path);
    if (node == NULL) {
        return NULL;
    }
    *length = node->data_length;
    return node->data != NULL ? node->data : ""; /* NULL means that there is no znode */
}

size_t sim_children(const struct sim *sim, const char *path, const char **names,
                    size_t max)
{
    const struct sim__node *node = find(sim, path);
    size_t count = 0;
    if (node == NULL) {
        return 0;
    }
    for (struct uvzk__link *at = node->children.next;
         at != &node->children && count < max; at = at->next) {
        names[count++] = UVZK__CONTAINER_OF(at, struct sim__node, sibling)->name;
    }
    return (size_t)node->stat.child_count;
}

size_t sim_node_count(const struct sim *sim)
{
    return sim->server.tree.count;
}

size_t sim_ephemeral_count(const struct sim *sim, int64_t session_id)
{
    const struct sim__session *session = sim__session_find(sim, session_id);
    size_t count = 0;
    if (session != NULL) {
        for (const struct uvzk__link *at = session->ephemerals.next;
             at != &session->ephemerals; at = at->next) {
            count++;
        }
    }
    return count;
}

bool sim_session_alive(const struct sim *sim, int64_t session_id)
{
    return sim__session_find(sim, session_id) != NULL;
}

size_t sim_session_count(const struct sim *sim)
{
    return HASH_COUNT(sim->server.sessions);
}

uint64_t sim_too_long(const struct sim *sim)
{
    return sim->server.too_long;
}

size_t sim_watch_count(const struct sim *sim)
{
    size_t count = 0;
    for (size_t i = 0; i < sim->server.member_count; i++) {
        count += HASH_COUNT(sim->server.members[i].watches);
    }
    return count;
}

int64_t sim_zxid(const struct sim *sim)
{
    return sim->server.tree.zxid;
}

static const char *create(struct sim *sim, struct sim__session *session, const char *path,
                          enum uvzk__mode mode)
{
    static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
    static const struct uvzk__acl acl = {&anyone, 1};
    struct uvzk__op op = {
        .kind = UVZK__OP_CREATE, .mode = mode, .path = path, .acl = &acl};
    struct sim__node *made = NULL;
    if (!sim__path_valid(path, sim__mode_sequential(mode))) {
        return NULL;
    }
    int status = sim__server_write(sim, op, session, &made);
    sim__trace(sim, "hand", "create %s -> %s", made != NULL ? made->path : path,
               sim__code(status));
    return made != NULL ? made->path : NULL;
}

const char *sim_create_by_hand(struct sim *sim, const char *path, enum uvzk__mode mode)
{
    return create(sim, &sim->server.operator_session, path, mode);
}

const char *sim_create_in_session(struct sim *sim, int64_t session_id, const char *path,
                                  enum uvzk__mode mode)
{
    struct sim__session *session = sim__session_find(sim, session_id);
    return session == NULL ? NULL : create(sim, session, path, mode);
}

int sim_delete_by_hand(struct sim *sim, const char *path)
{
    struct uvzk__op op = {.kind = UVZK__OP_DELETE, .version = -1, .path = path};
    struct sim__node *made = NULL;
    int status = sim__server_write(sim, op, &sim->server.operator_session, &made);
    sim__trace(sim, "hand", "delete %s -> %s", path, sim__code(status));
    return status;
}

int sim_set_by_hand(struct sim *sim, const char *path, const void *data, size_t length)
{
    struct uvzk__op op = {.kind = UVZK__OP_SET,
                          .version = -1,
                          .path = path,
                          .data = data,
                          .data_length = length};
    struct sim__node *made = NULL;
    int status = sim__server_write(sim, op, &sim->server.operator_session, &made);
    sim__trace(sim, "hand", "set %s -> %s", path, sim__code(status));
    return status;
}

int sim_set_readable(struct sim *sim, const char *path, bool readable)
{
    struct sim__node *node = find(sim, path);
    if (node == NULL) {
        return UVZK_ENONODE;
    }
    sim__trace(sim, "hand", "%s %s", readable ? "gives READ on" : "takes READ on", path);
    if (!readable) {
        sim__blinded(sim, node);
    }
    sim__txn_begin(sim);
    sim__txn_permit(sim, node, readable, !node->undeletable);
    sim__txn_commit(sim);
    return 0;
}

int sim_set_deletable(struct sim *sim, const char *path, bool deletable)
{
    struct sim__node *node = find(sim, path);
    if (node == NULL) {
        return UVZK_ENONODE;
    }
    sim__trace(sim, "hand", "%s %s", deletable ? "gives DELETE on" : "takes DELETE on",
               path);
    sim__txn_begin(sim);
    sim__txn_permit(sim, node, !node->unreadable, deletable);
    sim__txn_commit(sim);
    return 0;
}

bool sim_is_readable(const struct sim *sim, const char *path)
{
    const struct sim__node *node = find(sim, path);
    return node != NULL && !node->unreadable;
}

int32_t sim_counter(const struct sim *sim, const char *path)
{
    const struct sim__node *node = find(sim, path);

    return node == NULL ? INT32_MAX : node->counter;
}

int sim_set_counter(struct sim *sim, const char *path, int32_t value)
{
    struct sim__node *node = find(sim, path);
    if (node == NULL) {
        return UVZK_ENONODE;
    }
    node->counter = value;
    return 0;
}

void sim_set_failed_op(struct sim *sim, size_t index)
{
    sim->server.refused_op = index;
}

void sim_refuse(struct sim *sim, enum uvzk__rpc_kind kind, int status, uint32_t times)
{
    sim->server.refuse[kind].status = status;
    sim->server.refuse[kind].times = times;
}
