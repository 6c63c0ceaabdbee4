/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one create or delete until a server has answered it (znode_write.h). done_cb
 * reports the outcome to its owner. */
#include "barrier/znode_write.h"

#include <string.h>

#include "barrier/barriers.h"
#include "engine/submission.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__ZNODE_WRITE_, IDLE, WAITING),
    UVZK__STATE(UVZK__ZNODE_WRITE_, WAITING, SENT, IDLE),
    UVZK__STATE(UVZK__ZNODE_WRITE_, SENT, WAITING, IDLE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__znode_write *write = object;

    return (write->state == UVZK__ZNODE_WRITE_IDLE) == uvzk__list_empty(&write->link);
}

const struct uvzk__machine uvzk__znode_write_machine =
    UVZK__MACHINE("barrier's change of the tree", table, struct uvzk__znode_write, state,
                  invariant_holds);

void uvzk__znode_write_init(struct uvzk__znode_write *write,
                            struct uvzk__session *session,
                            void (*done_cb)(struct uvzk__znode_write *, int status))
{
    write->session = session;
    write->done_cb = done_cb;
    uvzk__list_init(&write->link);
}

static void znode_write_finish(struct uvzk__znode_write *write, int status)
{
    uvzk__list_remove(&write->link);
    uvzk__move(write->session, &uvzk__znode_write_machine, write, UVZK__ZNODE_WRITE_IDLE);
    write->done_cb(write, status);
}

/* The request under way, or the last one, is about the znode itself, and not about an
 * ancestor. */
static bool is_about_its_znode(const struct uvzk__znode_write *write)
{
    return write->create == NULL || uvzk__node_create_is_last(write->create);
}

/* The default data may be known only now that there is a connection. */
static void prepare_create(struct uvzk__znode_write *write, uvzk__reply_cb replied)
{
    size_t length;
    const void *data = uvzk__default_data(write->session, &length);

    uvzk__node_create_set_data(write->create, data, length);
    uvzk__node_create_prepare(write->session, write->create, &write->rpc, replied);
}

/* -------------------------------------------------------------------- a delete */

static void delete_op(struct uvzk__op *op, const char *path)
{
    memset(op, 0, sizeof(*op));
    op->kind = UVZK__OP_DELETE;
    op->path = path;
    op->version = -1;
}

static void prepare_delete(struct uvzk__znode_write *write, uvzk__reply_cb replied)
{
    if (write->second == NULL) {
        uvzk__rpc_prepare(&write->rpc, UVZK__RPC_DELETE, write->path, replied);
        return;
    }
    uvzk__rpc_prepare(&write->rpc, UVZK__RPC_MULTI, NULL, replied);
    delete_op(&write->ops[0], write->path);
    delete_op(&write->ops[1], write->second);
    write->rpc.ops = write->ops;
    write->rpc.op_count = 2;
}

/* ------------------------------------------------------------------ the request */

static void znode_write_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__znode_write *write =
        UVZK__CONTAINER_OF(rpc, struct uvzk__znode_write, rpc);
    int status = reply->status;
    bool no_answer = uvzk__is_transient(status);

    uvzk__answered(write->session, rpc, status, true);
    write->refused = reply->failed_op;
    if (uvzk__outcome_of(status) == UVZK__OUTCOME_UNKNOWN && is_about_its_znode(write)) {
        write->attempted = true;
    }
    bool next = write->create != NULL &&
                uvzk__node_create_next(write->session, write->create, rpc, status);

    if (write->stopped || (!no_answer && !next)) {
        znode_write_finish(write, status);
        return;
    }
    uvzk__move(write->session, &uvzk__znode_write_machine, write,
               UVZK__ZNODE_WRITE_WAITING);
    if (next) {
        uvzk__znode_write_pump(write);
    } /* otherwise the end of the outage or of the pause sends it again */
}

void uvzk__znode_write_pump(struct uvzk__znode_write *write)
{
    if (write->state != UVZK__ZNODE_WRITE_WAITING ||
        uvzk__session_is_closing(write->session) || !uvzk__may_send(write->session)) {
        return;
    }
    if (write->create != NULL) {
        prepare_create(write, znode_write_replied);
    } else {
        prepare_delete(write, znode_write_replied);
    }
    uvzk__move(write->session, &uvzk__znode_write_machine, write, UVZK__ZNODE_WRITE_SENT);
    uvzk__submit(write->session, &write->rpc);
}

static void znode_write_begin(struct uvzk__znode_write *write)
{
    write->attempted = false;
    write->stopped = false;
    uvzk__list_append(&write->session->barriers->writes, &write->link);
    uvzk__move(write->session, &uvzk__znode_write_machine, write,
               UVZK__ZNODE_WRITE_WAITING);
    uvzk__znode_write_pump(write);
}

void uvzk__znode_write_create(struct uvzk__znode_write *write,
                              struct uvzk__node_create *create)
{
    write->create = create;
    write->path = create->path;
    write->second = NULL;
    uvzk__node_create_begin(create);
    znode_write_begin(write);
}

void uvzk__znode_write_delete(struct uvzk__znode_write *write, const char *path,
                              const char *second)
{
    write->create = NULL;
    write->path = path;
    write->second = second;
    znode_write_begin(write);
}

bool uvzk__znode_write_stop(struct uvzk__znode_write *write)
{
    if (write->state == UVZK__ZNODE_WRITE_SENT) {
        write->stopped = true;
        return false;
    }
    if (write->state == UVZK__ZNODE_WRITE_WAITING) {
        uvzk__list_remove(&write->link);
        uvzk__move(write->session, &uvzk__znode_write_machine, write,
                   UVZK__ZNODE_WRITE_IDLE);
    }
    return true;
}

bool uvzk__znode_write_may_be_done(const struct uvzk__znode_write *write)
{
    return write->attempted ||
           (write->state == UVZK__ZNODE_WRITE_SENT && is_about_its_znode(write));
}
