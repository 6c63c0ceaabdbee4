#include "barrier/znode_write.h"

#include <string.h>

#include "barrier/barriers.h"
#include "base/path.h"
#include "engine/acl.h"
#include "engine/submission.h"

#define IDLE UVZK__ZNODE_WRITE_IDLE
#define WAITING UVZK__ZNODE_WRITE_WAITING
#define SENT UVZK__ZNODE_WRITE_SENT

static const struct uvzk__state table[] = {
    [IDLE] = {"IDLE", UVZK__BIT(WAITING)},
    [WAITING] = {"WAITING", UVZK__BIT(SENT) | UVZK__BIT(IDLE)},
    [SENT] = {"SENT", UVZK__BIT(WAITING) | UVZK__BIT(IDLE)},
};

const struct uvzk__machine uvzk__znode_write_machine =
    UVZK__OLD_MACHINE("barrier's change of the tree", table);

static bool invariant_holds(const struct uvzk__znode_write *write)
{
    return (write->state == IDLE) == uvzk__list_empty(&write->link);
}

/* The only writer of `state`. */
static void move(struct uvzk__znode_write *write, enum uvzk__znode_write_state state)
{
    write->state = (uint8_t)uvzk__old_move(write->session, &uvzk__znode_write_machine,
                                           write->state, state);
    uvzk__invariant(write->session, &uvzk__znode_write_machine, write->state,
                    invariant_holds(write));
}

void uvzk__znode_write_init(struct uvzk__znode_write *write,
                            struct uvzk__session *session,
                            void (*done_cb)(struct uvzk__znode_write *, int status))
{
    write->session = session;
    write->done_cb = done_cb;
    uvzk__list_init(&write->link);
}

static void finish(struct uvzk__znode_write *write, int status)
{
    uvzk__list_remove(&write->link);
    move(write, IDLE);
    write->done_cb(write, status);
}

/* -------------------------------------------------------------------- a create */

/* The znode that the next request is about is the znode itself. */
static bool is_at_its_znode(const struct uvzk__znode_write *write)
{
    return write->creating == NULL || strcmp(write->creating, write->path) == 0;
}

/* Which znode to create next after an answer: the length of its path; 0: none. */
static size_t next_length(const struct uvzk__znode_write *write, int status)
{
    if (write->creating == NULL) {
        return 0;
    }
    size_t length = strlen(write->creating);
    size_t parent_length = uvzk__path_parent_length(write->creating);

    if (!is_at_its_znode(write) && (status == 0 || status == UVZK_ENODEEXISTS)) {
        return uvzk__path_next_length(write->path, length);
    }
    if (status == UVZK_ENONODE && parent_length > 1) {
        return parent_length;
    }
    if (status == UVZK_EUNIMPLEMENTED && write->rpc.mode == UVZK__CONTAINER) {
        /* The server is older than 3.5.1: a persistent znode instead. */
        uvzk__no_containers(write->session);
        return length;
    }
    return 0;
}

static void prepare_create(struct uvzk__znode_write *write, uvzk__reply_cb replied)
{
    struct uvzk__session *session = write->session;
    bool itself = is_at_its_znode(write);
    const char *path = itself ? write->path : write->creating;

    uvzk__rpc_prepare(&write->rpc, UVZK__RPC_CREATE, path, replied);
    write->rpc.mode = itself                            ? write->mode
                      : uvzk__makes_containers(session) ? UVZK__CONTAINER
                                                        : UVZK__PERSISTENT;
    /* An ancestor gets no data. */
    write->rpc.data = "";
    if (itself) {
        write->rpc.data = uvzk__default_data(session, &write->rpc.data_length);
    }
    write->rpc.acl = uvzk__acl_of(session, path, &write->acl);
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

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__znode_write *write =
        UVZK__CONTAINER_OF(rpc, struct uvzk__znode_write, rpc);
    int status = reply->status;
    bool no_answer = uvzk__is_transient(status);

    uvzk__answered(write->session, rpc, status, true);
    write->refused = reply->failed_op;
    if (no_answer && is_at_its_znode(write) && status != UVZK_ENOTSENT &&
        status != UVZK_ETHROTTLED) {
        write->attempted = true;
    }
    size_t next = no_answer || !write->creates ? 0 : next_length(write, status);

    if (write->stopped || (!no_answer && next == 0)) {
        finish(write, status);
        return;
    }
    move(write, WAITING);
    if (next != 0) {
        memcpy(write->creating, write->path, next);
        write->creating[next] = '\0';
        uvzk__znode_write_pump(write);
    } /* otherwise the end of the outage or of the pause sends it again */
}

void uvzk__znode_write_pump(struct uvzk__znode_write *write)
{
    if (write->state != WAITING || uvzk__session_is_closing(write->session) ||
        !uvzk__may_send(write->session)) {
        return;
    }
    if (write->creates) {
        prepare_create(write, replied);
    } else {
        prepare_delete(write, replied);
    }
    move(write, SENT);
    uvzk__submit(write->session, &write->rpc);
}

static void begin(struct uvzk__znode_write *write)
{
    write->attempted = false;
    write->stopped = false;
    uvzk__list_append(&uvzk__barriers(write->session)->writes, &write->link);
    move(write, WAITING);
    uvzk__znode_write_pump(write);
}

void uvzk__znode_write_create(struct uvzk__znode_write *write, const char *path,
                              enum uvzk__mode mode, char *creating)
{
    write->creates = true;
    write->path = path;
    write->second = NULL;
    write->mode = (uint8_t)mode;
    write->creating = creating;
    if (creating != NULL) {
        memcpy(creating, path, strlen(path) + 1);
    }
    begin(write);
}

void uvzk__znode_write_delete(struct uvzk__znode_write *write, const char *path,
                              const char *second)
{
    write->creates = false;
    write->path = path;
    write->second = second;
    write->creating = NULL;
    begin(write);
}

bool uvzk__znode_write_stop(struct uvzk__znode_write *write)
{
    if (write->state == SENT) {
        write->stopped = true;
        return false;
    }
    if (write->state == WAITING) {
        uvzk__list_remove(&write->link);
        move(write, IDLE);
    }
    return true;
}

bool uvzk__znode_write_may_be_done(const struct uvzk__znode_write *write)
{
    return write->attempted || (write->state == SENT && is_at_its_znode(write));
}
