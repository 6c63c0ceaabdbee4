/* SPDX-License-Identifier: Apache-2.0 */
/* What a client sends: the connect request, then requests. Both are read and written
 * here, so that a simulated server has the same code.
 *
 * Reading. The frame is one without its length (uvzk__jute_frame). Its strings, buffers
 * and lists are views into it. Bytes after the last field are ignored, as servers ignore
 * them: a newer version of the protocol may append a field. UV_EPROTO: the frame ends
 * before the last field, or a value is malformed; then everything read is 0.
 *
 * Writing. A whole frame is appended to the writer, or nothing: UV_ENOMEM; UV_EMSGSIZE,
 * longer than `limit` (for example UVZK__JUTE_MAXBUFFER); UV_EINVAL, no such request. */
#ifndef UVZK_WIRE_REQUEST_H
#define UVZK_WIRE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "native/jute.h"
#include "native/opcode.h"

/* The first frame of a connection. */
struct uvzk__connect_request {
    int32_t protocol_version; /* 0 */
    int64_t last_zxid;        /* the last one that the client has seen */
    int32_t timeout_ms;
    int64_t session_id; /* 0: a new session */
    struct uvzk__jute_bytes password;
    bool has_read_only; /* false: the frame ends here; an old client */
    bool read_only;     /* a server without a quorum will do */
};

int uvzk__connect_request_read(struct uvzk__jute_bytes frame,
                               struct uvzk__connect_request *request);
int uvzk__connect_request_write(struct uvzk__jute_writer *writer, size_t limit,
                                const struct uvzk__connect_request *request);

/* An entry of an ACL. */
struct uvzk__wire_acl {
    int32_t permissions;
    struct uvzk__jute_bytes scheme;
    struct uvzk__jute_bytes id;
};

/* The lists of watches of SET_WATCHES (the first three) and SET_WATCHES2. */
enum uvzk__watch_list {
    UVZK__WATCHES_DATA,
    UVZK__WATCHES_EXIST,
    UVZK__WATCHES_CHILD,
    UVZK__WATCHES_PERSISTENT,
    UVZK__WATCHES_PERSISTENT_RECURSIVE,
    UVZK__WATCH_LISTS
};

/* For each opcode: the fields that it has, all others are 0.
 *
 *   CREATE CREATE2 CREATE_CONTAINER        path data acl mode
 *   CREATE_TTL                             path data acl mode ttl_ms
 *   DELETE CHECK                           path version
 *   SET_DATA                               path data version
 *   EXISTS GET_DATA GET_CHILDREN(2)        path watch
 *   SYNC                                   path
 *   ADD_WATCH REMOVE_WATCHES CHECK_WATCHES path mode
 *   SET_WATCHES SET_WATCHES2               zxid watches
 *   AUTH                                   mode (0), scheme, data
 *   SASL                                   data (a token; not null)
 *   MULTI MULTI_READ                       ops
 *   PING CLOSE_SESSION                     - */
struct uvzk__wire_request {
    int32_t xid;    /* enum uvzk__fixed_xid, or counted up; of an operation 0 */
    int32_t opcode; /* enum uvzk__opcode */
    struct uvzk__jute_bytes path;
    struct uvzk__jute_bytes data;
    struct uvzk__jute_list acl; /* uvzk__wire_acl_next */
    int32_t mode;               /* of the new znode, of the watch; the kind of watches */
    int32_t version;
    bool watch;
    int64_t ttl_ms;
    int64_t zxid; /* the last one that the client has seen */
    struct uvzk__jute_list watches[UVZK__WATCH_LISTS]; /* uvzk__jute_strings_next */
    struct uvzk__jute_bytes scheme;
    struct uvzk__jute_list ops; /* uvzk__wire_op_next */
};

/* UV_ENOTSUP: an opcode that is not in the list above, or CHECK outside a multi; xid and
 * opcode are set, so that a server can answer. */
int uvzk__wire_request_read(struct uvzk__jute_bytes frame,
                            struct uvzk__wire_request *request);
int uvzk__wire_request_write(struct uvzk__jute_writer *writer, size_t limit,
                             const struct uvzk__wire_request *request);

/* Lists are read from a copy, which gets shorter. */
bool uvzk__wire_acl_next(struct uvzk__jute_list *left, struct uvzk__wire_acl *acl);
/* multi: the opcode of the request that the list is of. */
bool uvzk__wire_op_next(struct uvzk__jute_list *left, int32_t multi,
                        struct uvzk__wire_request *op);

/* Lists are written into a writer that has only the list's elements, and then taken from
 * it with uvzk__jute_list_of, which returns what went wrong: UV_ENOMEM, UV_EMSGSIZE,
 * UV_EINVAL (an operation that this kind of multi cannot have). A list of strings is
 * written with uvzk__jute_put_bytes. */
void uvzk__wire_acl_add(struct uvzk__jute_writer *writer,
                        const struct uvzk__wire_acl *acl);
void uvzk__wire_op_add(struct uvzk__jute_writer *writer, int32_t multi,
                       const struct uvzk__wire_request *op);

#endif
