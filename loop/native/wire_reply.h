/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends: the connect response, then replies and events. Both are read and
 * written here, so that a simulated server has the same code.
 *
 * Reading. The frame is one without its length (uvzk__jute_frame). Its strings, buffers
 * and lists are views into it. Bytes after the last field are ignored: a newer server may
 * append a field. UV_EPROTO: the frame ends before the last field, or a value is
 * malformed; then everything read is 0.
 *
 * Writing. A whole frame is appended to the writer, or nothing: UV_ENOMEM; UV_EMSGSIZE,
 * longer than `limit`; UV_EINVAL, no such reply. */
#ifndef UVZK_WIRE_REPLY_H
#define UVZK_WIRE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "native/jute.h"
#include "native/opcode.h"

/* The answer to a connect request. */
struct uvzk__connect_response {
    int32_t protocol_version; /* 0 */
    int32_t timeout_ms;       /* granted; 0: the session that was asked for has ended */
    int64_t session_id;
    struct uvzk__jute_bytes password;
    bool has_read_only; /* false: the frame ends here, as the request did */
    bool read_only;     /* the server has no quorum */
};

int uvzk__connect_response_read(struct uvzk__jute_bytes frame,
                                struct uvzk__connect_response *response);
int uvzk__connect_response_write(struct uvzk__jute_writer *writer, size_t limit,
                                 const struct uvzk__connect_response *response);

struct uvzk__wire_stat {
    int64_t czxid;
    int64_t mzxid;
    int64_t ctime_ms;
    int64_t mtime_ms;
    int32_t version;
    int32_t cversion;
    int32_t aversion;
    int64_t ephemeral_owner;
    int32_t data_length;
    int32_t child_count;
    int64_t pzxid;
};

/* For the opcode of each request: the fields that its reply has if `err` is 0, all others
 * are 0. If err is not 0, there is no more than xid, zxid and err.
 *
 *   CREATE SYNC                       path
 *   CREATE2 CREATE_CONTAINER          path stat
 *   CREATE_TTL                        path stat
 *   SET_DATA EXISTS                   stat
 *   GET_DATA                          data stat
 *   GET_CHILDREN                      children
 *   GET_CHILDREN2                     children stat
 *   MULTI MULTI_READ                  results; err is 0 also if an operation has failed
 *   ADD_WATCH                         body_err (0)
 *   SASL                              data (a token; null: there is none)
 *   EVENT (of no request)             event state path
 *   DELETE CHECK_WATCHES REMOVE_WATCHES SET_WATCHES SET_WATCHES2 AUTH PING CLOSE_SESSION
 *                                     -
 *
 * A result has the fields of the reply of its opcode; CHECK has none, and ERROR has
 * body_err. A server takes the kind of a create in a multi from its mode. It answers
 * CREATE_CONTAINER and CREATE_TTL with CREATE2, and CREATE2 with CREATE, so without a stat
 * (ZooKeeper 3.8), or with CREATE2 (newer versions). */
struct uvzk__wire_reply {
    int32_t xid;    /* the request's; EVENT: UVZK__XID_EVENT; of a result 0 */
    int64_t zxid;   /* the last transaction that the server has seen; of a result 0 */
    int32_t err;    /* ZooKeeper's code; of a result 0 */
    int32_t opcode; /* enum uvzk__opcode; a frame does not have it */
    struct uvzk__jute_bytes path;
    struct uvzk__jute_bytes data;
    struct uvzk__jute_list children; /* uvzk__jute_strings_next */
    struct uvzk__wire_stat stat;
    struct uvzk__jute_list results; /* uvzk__wire_result_next */
    int32_t body_err;
    int32_t event; /* 1 created, 2 deleted, 3 data changed, 4 children changed */
    int32_t state; /* of the session, as the server sees it; 3: connected */
};

/* Reads xid, zxid and err, from which the caller knows the request, and so the opcode. */
int uvzk__wire_reply_read_header(struct uvzk__jute_bytes frame,
                                 struct uvzk__wire_reply *reply);
/* Reads the whole reply. UV_ENOTSUP: an opcode that is not in the list above. */
int uvzk__wire_reply_read(struct uvzk__jute_bytes frame, int32_t opcode,
                          struct uvzk__wire_reply *reply);
int uvzk__wire_reply_write(struct uvzk__jute_writer *writer, size_t limit,
                           const struct uvzk__wire_reply *reply);

/* Results are read from a copy of the list, which gets shorter. multi: the opcode of the
 * reply that the list is of. */
bool uvzk__wire_result_next(struct uvzk__jute_list *left, int32_t multi,
                            struct uvzk__wire_reply *result);
/* Results are written into a writer that has only results, and then taken from it with
 * uvzk__jute_list_of, which returns what went wrong: UV_ENOMEM, UV_EMSGSIZE, UV_EINVAL (a
 * result that this kind of multi cannot have). A server writes ERROR for each operation
 * of a transaction of which one has failed: 0 for those before it. */
void uvzk__wire_result_add(struct uvzk__jute_writer *writer, int32_t multi,
                           const struct uvzk__wire_reply *result);

#endif
