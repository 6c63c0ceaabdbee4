/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the length of a request on the wire before it is sent (request_size.h). Pure,
 * except for the client's ACL. */
#include "engine/request_size.h"

#include <string.h>

#include "base/refusal.h"
#include "engine/acl.h"

#define HEADER 8U    /* of a request: its xid and its opcode */
#define OP_HEADER 9U /* of an op, and the end of a multi: opcode, done, error */
#define NUMBER 4U    /* a version, a mode, and the length before bytes */
#define BOOLEAN 1U   /* whether a watch is set */

_Static_assert(UVZK__MULTI_SIZE == HEADER + OP_HEADER, "the ops stand between them");

static size_t path_size(const struct uvzk__session *session, const char *path)
{
    return NUMBER + session->port->chroot_length + strlen(path);
}

static size_t create_size(size_t path, size_t data_length, const struct uvzk__acl *acl)
{
    return path + NUMBER + data_length + NUMBER +
           (acl == NULL ? 0 : uvzk__acl_bytes(acl)) + NUMBER;
}

size_t uvzk__op_size(const struct uvzk__session *session, const struct uvzk__op *op)
{
    size_t path = OP_HEADER + path_size(session, op->path);

    switch (op->kind) {
    case UVZK__OP_CREATE:
        return create_size(path, op->data_length, op->acl);
    case UVZK__OP_SET:
        return path + NUMBER + op->data_length + NUMBER;
    default:
        return path + NUMBER;
    }
}

static size_t multi_size(const struct uvzk__session *session, const struct uvzk__rpc *rpc)
{
    size_t size = UVZK__MULTI_SIZE;

    for (size_t i = 0; i < rpc->op_count; i++) {
        size += uvzk__op_size(session, &rpc->ops[i]);
    }
    return size;
}

size_t uvzk__request_size(const struct uvzk__session *session,
                          const struct uvzk__rpc *rpc)
{
    if (rpc->kind == UVZK__RPC_MULTI) {
        return multi_size(session, rpc);
    }
    size_t path = HEADER + path_size(session, rpc->path);

    switch (rpc->kind) {
    case UVZK__RPC_CREATE:
        return create_size(path, rpc->data_length, rpc->acl);
    case UVZK__RPC_SET:
        return path + NUMBER + rpc->data_length + NUMBER;
    case UVZK__RPC_DELETE:
    case UVZK__RPC_ADD_WATCH:
        return path + NUMBER;
    case UVZK__RPC_SYNC:
        return path;
    default:
        return path + BOOLEAN;
    }
}

int uvzk__refuse_size(const char *what, size_t size)
{
    return size <= UVZK__REQUEST_MAX
               ? 0
               : uvzk__refuse_with(UV_EINVAL,
                                   "%s: one request of %zu bytes, and servers accept at "
                                   "most %u (jute.maxbuffer)",
                                   what, size, UVZK__REQUEST_MAX);
}
