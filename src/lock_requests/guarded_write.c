/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_hold_write: the user's operations in one multi, after a check of every znode of
 * the hold. ZooKeeper executes all operations of a multi or none. So either all of the
 * user's operations are done and the hold's znodes existed at that moment, or nothing is
 * done.
 *
 * The operations are copied into the request, so the caller's memory is free when the
 * call returns. node_checks.c builds the checks and sends the multi. */
#include <string.h>

#include "base/outcome.h"
#include "base/path.h"
#include "base/refusal.h"
#include "claim/hold_calls.h"
#include "engine/acl.h"
#include "engine/req.h"
#include "engine/request_size.h"
#include "lock_requests/node_checks.h"
#include "locks/driver_claim.h"

#define OP_BYTES 40U /* at most, what an operation needs besides its path, data and ACL */

/* Copies of what one of the user's operations points to, until the reply. data: NULL if
 * there is none. */
struct copy {
    char *path;
    void *data;
    struct uvzk__acl acl;
};

/* One write under way: the request refers to it until the callback. */
struct guarded_write {
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    size_t count;
    struct copy copies[];
};

static void free_write(struct guarded_write *write)
{
    for (size_t i = 0; i < write->count; i++) {
        uvzk__free(write->copies[i].path);
        uvzk__free(write->copies[i].data);
    }
    uvzk__free(write);
}

/* -------------------------------------------------------------------- checking */

static bool has_data(const uvzk_write_op_t *op)
{
    return op->kind == UVZK_WRITE_CREATE || op->kind == UVZK_WRITE_SET;
}

static int check_op(const struct uvzk__session *session, const uvzk_write_op_t *op)
{
    if (op->kind > UVZK_WRITE_CHECK || op->path == NULL || op->version < -1 ||
        (has_data(op) && op->data == NULL && op->data_length > 0)) {
        return uvzk__refuse(UV_EINVAL, op->kind > UVZK_WRITE_CHECK ? "ops: unknown kind"
                                       : op->path == NULL          ? "ops: a path is NULL"
                                       : op->version < -1
                                           ? "ops: a version is below -1"
                                           : "ops: data is NULL, data_length is not 0");
    }
    return uvzk__path_validate_below(uvzk__namespace_of(session), op->path);
}

static int check_ops(const struct uvzk__session *session, const uvzk_write_op_t *ops,
                     size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        int status = check_op(session, &ops[i]);
        if (status != 0) {
            return status;
        }
        size_t data = has_data(&ops[i]) ? ops[i].data_length : 0;
        if (data > UVZK__DATA_MAX) {
            return uvzk__refuse(UV_EINVAL, "ops: a data_length is more than 1000000");
        }
        bytes += OP_BYTES + strlen(ops[i].path) + data;
        if (bytes > UVZK__DATA_MAX) {
            return uvzk__refuse(UV_EINVAL, "ops: more than 1000000 bytes in all");
        }
    }
    return 0;
}

/* Another client may delete and recreate a znode with a fixed name, and a check would not
 * notice that. So a hold with such a znode cannot guard a write. */
static bool can_be_checked(const struct uvzk__node_checks *node_checks)
{
    for (size_t i = 0; i < node_checks->count; i++) {
        const struct uvzk__contender *contender = node_checks->contenders[i];
        if (uvzk__claim_is_of(contender->claim, &uvzk__claim_of_driver) &&
            contender->kind->fixed_name) {
            return false;
        }
    }
    return true;
}

/* Checks that the whole request fits, with the checks and the ACLs. */
static int check_size(const struct uvzk__node_checks *node_checks, size_t behind)
{
    size_t size = UVZK__MULTI_SIZE;

    for (size_t i = 0; i < node_checks->count + behind; i++) {
        size += uvzk__op_size(node_checks->session, &node_checks->ops[i]);
    }
    return uvzk__refuse_size("ops with the hold's znodes", size);
}

/* --------------------------------------------------------------------- copying */

static int copy_op(struct uvzk__session *session, struct copy *copy, struct uvzk__op *to,
                   const uvzk_write_op_t *from)
{
    static const enum uvzk__op_kind kinds[] = {
        [UVZK_WRITE_CREATE] = UVZK__OP_CREATE,
        [UVZK_WRITE_SET] = UVZK__OP_SET,
        [UVZK_WRITE_DELETE] = UVZK__OP_DELETE,
        [UVZK_WRITE_CHECK] = UVZK__OP_CHECK,
    };

    copy->path = uvzk__path_join(uvzk__namespace_of(session), from->path);
    if (copy->path == NULL) {
        return UV_ENOMEM;
    }
    if (has_data(from) && from->data != NULL) {
        copy->data = uvzk__memdup(from->data, from->data_length);
        if (copy->data == NULL) {
            return UV_ENOMEM;
        }
        to->data = copy->data;
        to->data_length = from->data_length;
    }
    to->kind = kinds[from->kind];
    to->mode = UVZK__PERSISTENT;
    to->version = from->version;
    to->path = copy->path;
    if (from->kind == UVZK_WRITE_CREATE) {
        to->acl = uvzk__acl_of(session, copy->path, &copy->acl);
    }
    return 0;
}

static struct guarded_write *copy_ops(struct uvzk__node_checks *node_checks,
                                      const uvzk_write_op_t *ops, size_t count)
{
    struct guarded_write *write =
        uvzk__calloc(1, sizeof(*write) + count * sizeof(struct copy));

    if (write == NULL) {
        return NULL;
    }
    write->count = count;
    for (size_t i = 0; i < count; i++) {
        if (copy_op(node_checks->session, &write->copies[i],
                    &node_checks->ops[node_checks->count + i], &ops[i]) != 0) {
            free_write(write);
            return NULL;
        }
    }
    return write;
}

/* --------------------------------------------------------------------- sending */

static void guarded_write_written(struct uvzk__node_checks *node_checks,
                                  const struct uvzk__reply *reply, int status,
                                  size_t failed)
{
    struct guarded_write *write = node_checks->data;
    uvzk_req_t *handle = write->handle;
    uvzk_req_cb cb = write->cb;
    uvzk_result_t result = uvzk__result_of_nothing();

    (void)reply;
    result.failed_op = status == 0 ? SIZE_MAX : failed;
    /* Before the callback, which may use the request for the next write. */
    free_write(write);
    uvzk__req_end(handle, cb, uvzk__status_of_write(status), &result);
}

static void guarded_write_discard(struct uvzk__node_checks *node_checks,
                                  struct guarded_write *write)
{
    if (write != NULL) {
        free_write(write);
    }
    if (node_checks != NULL) {
        uvzk__node_checks_free(node_checks);
    }
}

static int guarded_write_submit(struct uvzk__claim *claim, uvzk_req_t *handle,
                                const uvzk_write_op_t *ops, size_t count, uvzk_req_cb cb)
{
    struct uvzk__node_checks *node_checks = uvzk__node_checks_new(claim, count);
    struct guarded_write *write = NULL;
    int status = node_checks == NULL ? UV_ENOMEM : 0;

    if (status == 0 && !can_be_checked(node_checks)) {
        status = uvzk__refuse(
            UV_ENOTSUP,
            "hold: its znode has a fixed name, so a check cannot tell that it is held");
    }
    if (status == 0) {
        write = copy_ops(node_checks, ops, count);
        status = write == NULL ? UV_ENOMEM : check_size(node_checks, count);
    }
    if (status != 0) {
        guarded_write_discard(node_checks, write);
        return status;
    }
    write->handle = handle;
    write->cb = cb;
    uvzk__req_begin(handle, write, NULL);
    uvzk__node_checks_send(node_checks, count, guarded_write_written, write);
    return 0;
}

static int guarded_write_begin(uvzk_hold_t *hold, uvzk_req_t *handle,
                               const uvzk_write_op_t *ops, size_t count, uvzk_req_cb cb)
{
    int status = uvzk__refuse_if(UV_EINVAL, hold == NULL  ? "hold is NULL"
                                            : ops == NULL ? "ops is NULL"
                                            : count == 0  ? "count is 0"
                                                          : NULL);
    if (status == 0) {
        status = uvzk__req_check(handle, cb);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__claim *claim = uvzk__hold_of(hold);
    if (claim == NULL) {
        return uvzk__refuse(UVZK_ENOTHELD, "hold is not held");
    }
    status = check_ops(claim->session, ops, count);
    if (status != 0) {
        return status;
    }
    return guarded_write_submit(claim, handle, ops, count, cb);
}

int uvzk_hold_write(uvzk_hold_t *hold, uvzk_req_t *req, const uvzk_write_op_t *ops,
                    size_t count, uvzk_req_cb cb)
{
    int status = guarded_write_begin(hold, req, ops, count, cb);

    return uvzk__req_begun(req, uvzk__hold_session(hold), status);
}
