/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the rpcs of engine/port.h into requests on the wire, and the answers of a
 * server into replies. Paths are given the chroot and lose it again. */
#ifndef UVZK_RPC_MESSAGE_H
#define UVZK_RPC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/port.h"
#include "native/chroot.h"
#include "native/jute.h"

/* A kind of rpc that only the native port submits: removes the watch at the server
 * (watch_table.h). */
#define UVZK__RPC_REMOVE_WATCH UVZK__RPC_KINDS

/* A longer list of names ends the connection. No program may have a directory with that
 * many znodes, and each name costs more memory and time than its bytes. */
#define UVZK__NAMES_MAX (2U << 20)

/* Memory for what a reply points to and a frame does not have as C strings. It is used
 * again for each reply. */
struct uvzk__reply_memory {
    void *bytes;
    size_t capacity;
};
void uvzk__reply_memory_end(struct uvzk__reply_memory *memory);
/* The last reply is no longer needed: frees memory that few replies need. */
void uvzk__reply_memory_trim(struct uvzk__reply_memory *memory);
/* The text as a C string; valid until the next reply is read. NULL: out of memory. */
const char *uvzk__reply_memory_text(struct uvzk__reply_memory *memory,
                                    struct uvzk__jute_bytes text);

/* Appends the request to `out` and sets its opcode. has_create2: the server knows CREATE2
 * (port/dialect.h). 0; UV_ENOMEM; UVZK_EREJECTED: a path
 * is malformed, a multi has an op that it must not have, or the request is longer than
 * any server takes. Then nothing has been written. */
int uvzk__rpc_message_write(struct uvzk__jute_writer *out, struct uvzk__chroot *chroot,
                            int32_t xid, const struct uvzk__rpc *rpc, bool has_create2,
                            int32_t *opcode);

/* The index of the first op of a multi that is refused here; SIZE_MAX: there is none. */
size_t uvzk__rpc_message_refused_op(const struct uvzk__rpc *rpc);

/* Reads the answer to a request with this opcode. *reply has views into the frame and
 * into the memory. A status of UV_ENOMEM is one of the reply. Returns 0, or UV_EPROTO if
 * the frame is malformed, or cannot be the answer to this request. */
int uvzk__rpc_message_read(struct uvzk__jute_bytes frame, int32_t opcode,
                           const struct uvzk__rpc *rpc, const struct uvzk__chroot *chroot,
                           struct uvzk__reply_memory *memory, struct uvzk__reply *reply);

#endif
