/* SPDX-License-Identifier: Apache-2.0 */
/* Rpcs as messages (rpc_message.h): one table of opcodes, one function for each shape of
 * a request and of an answer. */
#include "native/rpc_message.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "base/path.h"
#include "native/watch_table.h"
#include "native/wire_reply.h"
#include "native/wire_request.h"
#include "platform/error_map.h"
#include "port/reply_check.h"

/* A server with a smaller jute.maxbuffer closes the connection. */
#define REQUEST_MAX (64U << 20)

/* The server's code of an op of a multi that was not tried, because another one has
 * failed. */
#define NOT_TRIED (-2)

/* The server's AddWatchMode: the watch reports changes of the znode and of everything
 * below it. */
#define PERSISTENT_RECURSIVE 1

/* --------------------------------------------------------------------------- requests */

/* Holds the lists of a request until the request itself has been written. */
struct lists {
    struct uvzk__jute_writer acl, ops;
};

/* The server's CreateMode. */
static int32_t mode_of(uint32_t mode)
{
    static const int32_t modes[] = {[UVZK__PERSISTENT] = 0,
                                    [UVZK__EPHEMERAL] = 1,
                                    [UVZK__EPHEMERAL_SEQUENTIAL] = 3,
                                    [UVZK__CONTAINER] = 4,
                                    [UVZK__PERSISTENT_SEQUENTIAL] = 2};

    return modes[mode];
}

/* ZooKeeper distinguishes no data from empty data, and so does uvzk. */
static struct uvzk__jute_bytes data_of(const void *data, size_t length)
{
    return uvzk__jute_bytes(data, data == NULL ? 0 : length);
}

/* An empty ACL is passed on; the server refuses it. */
static int put_acl(struct uvzk__jute_writer *writer, const struct uvzk__acl *acl,
                   struct uvzk__jute_list *list)
{
    size_t count = acl == NULL ? 0 : acl->count;

    uvzk__jute_writer_clear(writer);
    for (size_t i = 0; i < count; i++) {
        const uvzk_acl_t *entry = &acl->entries[i];
        uvzk__wire_acl_add(
            writer, &(struct uvzk__wire_acl){.permissions = (int32_t)entry->perms,
                                             .scheme = uvzk__jute_text(entry->scheme),
                                             .id = uvzk__jute_text(entry->id)});
    }
    return uvzk__jute_list_of(writer, count, list);
}

static bool mode_is_sound(const struct uvzk__op *op)
{
    return op->mode <= UVZK__PERSISTENT_SEQUENTIAL && op->mode != UVZK__CONTAINER;
}

size_t uvzk__rpc_message_refused_op(const struct uvzk__rpc *rpc)
{
    for (size_t i = 0; i < rpc->op_count; i++) {
        const struct uvzk__op *op = &rpc->ops[i];
        if (uvzk__path_validate_znode(op->path) != 0 ||
            (op->kind == UVZK__OP_CREATE && !mode_is_sound(op))) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* A create2 in a multi is answered with a stat by some servers and without by others, so
 * it is a create. */
static int32_t opcode_of_op(const struct uvzk__op *op)
{
    static const int32_t opcodes[] = {[UVZK__OP_CREATE] = UVZK__OPCODE_CREATE,
                                      [UVZK__OP_DELETE] = UVZK__OPCODE_DELETE,
                                      [UVZK__OP_SET] = UVZK__OPCODE_SET_DATA,
                                      [UVZK__OP_CHECK] = UVZK__OPCODE_CHECK};

    return opcodes[op->kind];
}

static int put_op(struct lists *lists, struct uvzk__chroot *chroot,
                  const struct uvzk__op *op)
{
    struct uvzk__wire_request wire = {.opcode = opcode_of_op(op),
                                      .version = op->version,
                                      .data = data_of(op->data, op->data_length)};
    int status = uvzk__chroot_add(chroot, op->path, &wire.path);

    if (status == 0 && op->kind == UVZK__OP_CREATE) {
        wire.mode = mode_of(op->mode);
        status = put_acl(&lists->acl, op->acl, &wire.acl);
    }
    if (status == 0) {
        uvzk__wire_op_add(&lists->ops, UVZK__OPCODE_MULTI, &wire);
    }
    return status;
}

static int put_ops(struct lists *lists, struct uvzk__chroot *chroot,
                   const struct uvzk__rpc *rpc, struct uvzk__jute_list *list)
{
    int status = uvzk__rpc_message_refused_op(rpc) == SIZE_MAX ? 0 : UVZK_EREJECTED;

    for (size_t i = 0; i < rpc->op_count && status == 0; i++) {
        status = put_op(lists, chroot, &rpc->ops[i]);
    }
    return status < 0 ? status : uvzk__jute_list_of(&lists->ops, rpc->op_count, list);
}

/* A server without CREATE2 answers a create without a stat. */
static int32_t opcode_of(const struct uvzk__rpc *rpc, bool has_create2)
{
    static const int32_t opcodes[] = {
        [UVZK__RPC_CREATE] = UVZK__OPCODE_CREATE2,
        [UVZK__RPC_DELETE] = UVZK__OPCODE_DELETE,
        [UVZK__RPC_SET] = UVZK__OPCODE_SET_DATA,
        [UVZK__RPC_GET] = UVZK__OPCODE_GET_DATA,
        [UVZK__RPC_EXISTS] = UVZK__OPCODE_EXISTS,
        [UVZK__RPC_CHILDREN] = UVZK__OPCODE_GET_CHILDREN,
        [UVZK__RPC_SYNC] = UVZK__OPCODE_SYNC,
        [UVZK__RPC_MULTI] = UVZK__OPCODE_MULTI,
        [UVZK__RPC_ADD_WATCH] = UVZK__OPCODE_ADD_WATCH,
        [UVZK__RPC_REMOVE_WATCH] = UVZK__OPCODE_REMOVE_WATCHES,
    };
    bool creates = rpc->kind == UVZK__RPC_CREATE;

    if (creates && rpc->mode == UVZK__CONTAINER) {
        return UVZK__OPCODE_CREATE_CONTAINER;
    }
    return creates && !has_create2 ? UVZK__OPCODE_CREATE : opcodes[rpc->kind];
}

/* Everything but the path. */
static int rpc_message_fill(struct uvzk__wire_request *wire, struct lists *lists,
                            struct uvzk__chroot *chroot, const struct uvzk__rpc *rpc)
{
    if (rpc->kind == UVZK__RPC_MULTI) {
        return put_ops(lists, chroot, rpc, &wire->ops);
    }
    if (rpc->kind == UVZK__RPC_REMOVE_WATCH) {
        wire->mode = uvzk__native_watch_kind(
            uvzk__native_watch_of((struct uvzk__rpc *)(uintptr_t)rpc));
        return 0;
    }
    /* The C client would put the chroot before any text, so that "a" became a sibling of
     * the chroot. */
    if (uvzk__path_validate_znode(rpc->path) != 0) {
        return UVZK_EREJECTED;
    }
    if (rpc->kind == UVZK__RPC_ADD_WATCH) {
        wire->mode = PERSISTENT_RECURSIVE;
        return 0;
    }
    wire->watch = rpc->watch != NULL;
    wire->version = rpc->version;
    wire->data = data_of(rpc->data, rpc->data_length);
    if (rpc->kind == UVZK__RPC_CREATE) {
        wire->mode = mode_of(rpc->mode);
        return put_acl(&lists->acl, rpc->acl, &wire->acl);
    }
    return 0;
}

static int write_with(struct lists *lists, struct uvzk__jute_writer *out,
                      struct uvzk__chroot *chroot, struct uvzk__wire_request *wire,
                      const struct uvzk__rpc *rpc)
{
    int status = rpc_message_fill(wire, lists, chroot, rpc);

    /* After the ops of a multi, because their paths use the memory of the chroot, too. */
    if (status == 0 && rpc->kind != UVZK__RPC_MULTI) {
        status = uvzk__chroot_add(chroot, rpc->path, &wire->path);
    }
    if (status == 0) {
        status = uvzk__wire_request_write(out, REQUEST_MAX, wire);
    }
    return status == UV_EMSGSIZE ? UVZK_EREJECTED : status;
}

int uvzk__rpc_message_write(struct uvzk__jute_writer *out, struct uvzk__chroot *chroot,
                            int32_t xid, const struct uvzk__rpc *rpc, bool has_create2,
                            int32_t *opcode)
{
    struct uvzk__wire_request wire = {.xid = xid, .opcode = opcode_of(rpc, has_create2)};
    struct lists lists;

    uvzk__jute_writer_init(&lists.acl);
    uvzk__jute_writer_init(&lists.ops);
    *opcode = wire.opcode;
    int status = write_with(&lists, out, chroot, &wire, rpc);
    uvzk__jute_writer_end(&lists.acl);
    uvzk__jute_writer_end(&lists.ops);
    return status;
}

/* ---------------------------------------------------------------------------- answers */

void uvzk__reply_memory_end(struct uvzk__reply_memory *memory)
{
    uvzk__free(memory->bytes);
    *memory = (struct uvzk__reply_memory){NULL, 0};
}

/* A reply with more is rare. */
#define KEPT (1U << 20)

void uvzk__reply_memory_trim(struct uvzk__reply_memory *memory)
{
    if (memory->capacity > KEPT) {
        uvzk__reply_memory_end(memory);
    }
}

/* NULL: out of memory. */
static void *rpc_message_take(struct uvzk__reply_memory *memory, size_t size)
{
    if (size > memory->capacity) {
        uvzk__reply_memory_end(memory);
        memory->bytes = uvzk__malloc(size);
        memory->capacity = memory->bytes == NULL ? 0 : size;
    }
    return memory->bytes;
}

const char *uvzk__reply_memory_text(struct uvzk__reply_memory *memory,
                                    struct uvzk__jute_bytes text)
{
    char *copy = rpc_message_take(memory, text.length + 1);

    if (copy != NULL) {
        memcpy(copy, text.at, text.length);
        copy[text.length] = '\0';
    }
    return copy;
}

/* The strings of a reply: pointers, then texts. */
struct texts {
    const char **pointers;
    size_t count;
    char *at;
};

/* There is room for `count` pointers and `bytes` of text, the NULs not counted. */
static bool begin_texts(struct texts *texts, struct uvzk__reply_memory *memory,
                        size_t count, size_t bytes)
{
    texts->pointers = rpc_message_take(memory, count * (sizeof(char *) + 1) + bytes + 1);
    texts->count = 0;
    texts->at = texts->pointers == NULL ? NULL : (char *)(texts->pointers + count);
    return texts->pointers != NULL;
}

static void add_text(struct texts *texts, struct uvzk__jute_bytes text)
{
    texts->pointers[texts->count++] = texts->at;
    if (text.length > 0) {
        memcpy(texts->at, text.at, text.length);
    }
    texts->at[text.length] = '\0';
    texts->at += text.length + 1;
}

static void read_stat(const struct uvzk__wire_stat *wire, struct uvzk__stat *stat)
{
    stat->czxid = wire->czxid;
    stat->mzxid = wire->mzxid;
    stat->ephemeral_owner = wire->ephemeral_owner;
    stat->created_ms = wire->ctime_ms;
    stat->version = wire->version;
    stat->child_count = wire->child_count;
}

/* Checks that the text is not null and has no NUL inside. */
static bool is_text(struct uvzk__jute_bytes text)
{
    return text.at != NULL && memchr(text.at, 0, text.length) == NULL;
}

/* The path of a create or a sync. 0, UV_ENOMEM or UV_EPROTO. */
static int read_path(const struct uvzk__wire_reply *wire,
                     const struct uvzk__chroot *chroot, struct uvzk__reply_memory *memory,
                     struct uvzk__reply *reply)
{
    struct uvzk__jute_bytes path;
    struct texts texts;

    if (!is_text(wire->path) || !uvzk__chroot_strip(chroot, wire->path, &path)) {
        return UV_EPROTO;
    }
    if (!begin_texts(&texts, memory, 1, path.length)) {
        return UV_ENOMEM;
    }
    add_text(&texts, path);
    reply->name = texts.pointers[0];
    return 0;
}

static int read_names(const struct uvzk__wire_reply *wire,
                      struct uvzk__reply_memory *memory, struct uvzk__reply *reply)
{
    struct uvzk__jute_list left = wire->children;
    struct uvzk__jute_bytes name;
    struct texts texts;

    if (left.count < 0 || (size_t)left.count > UVZK__NAMES_MAX) {
        return UV_EPROTO;
    }
    /* The list has 4 bytes more for each name. */
    if (!begin_texts(&texts, memory, (size_t)left.count, left.length)) {
        return UV_ENOMEM;
    }
    while (uvzk__jute_strings_next(&left, &name)) {
        if (!is_text(name)) {
            return UV_EPROTO;
        }
        add_text(&texts, name);
    }
    reply->names = texts.pointers;
    reply->name_count = texts.count;
    return 0;
}

static bool answers_op(const struct uvzk__wire_reply *result, const struct uvzk__op *op)
{
    int32_t asked = opcode_of_op(op);

    return result->opcode == asked || result->opcode == UVZK__OPCODE_ERROR ||
           (asked == UVZK__OPCODE_CREATE && result->opcode == UVZK__OPCODE_CREATE2);
}

/* There is one result for each op, of the op's kind or an error. Sets *code to that of the
 * first op that failed, and *failed to its index. 0: none has failed. */
static bool results_fit(const struct uvzk__wire_reply *wire, const struct uvzk__rpc *rpc,
                        int32_t *code, size_t *failed)
{
    struct uvzk__jute_list left = wire->results;
    struct uvzk__wire_reply result;

    *code = 0;
    if (wire->results.count < 0 || (size_t)wire->results.count != rpc->op_count) {
        return false;
    }
    for (size_t i = 0; uvzk__wire_result_next(&left, UVZK__OPCODE_MULTI, &result); i++) {
        if (!answers_op(&result, &rpc->ops[i])) {
            return false;
        }
        if (*code == 0 && result.body_err != 0 && result.body_err != NOT_TRIED) {
            *code = result.body_err;
            *failed = i;
        }
    }
    return true;
}

/* The results of a multi that was executed. */
static int read_made(const struct uvzk__wire_reply *wire,
                     const struct uvzk__chroot *chroot, size_t count,
                     struct uvzk__reply_memory *memory, struct uvzk__reply *reply)
{
    struct uvzk__jute_list left = wire->results;
    struct uvzk__wire_reply result;
    struct uvzk__jute_bytes path;
    struct texts texts;

    if (!begin_texts(&texts, memory, count, left.length)) {
        return UV_ENOMEM;
    }
    while (uvzk__wire_result_next(&left, UVZK__OPCODE_MULTI, &result)) {
        if (result.opcode == UVZK__OPCODE_ERROR) {
            return UV_EPROTO;
        }
        if (result.path.at == NULL) {
            texts.pointers[texts.count++] = NULL;
        } else if (is_text(result.path) &&
                   uvzk__chroot_strip(chroot, result.path, &path)) {
            add_text(&texts, path);
        } else {
            return UV_EPROTO;
        }
    }
    reply->made = texts.pointers;
    return 0;
}

static int read_multi(const struct uvzk__wire_reply *wire, const struct uvzk__rpc *rpc,
                      const struct uvzk__chroot *chroot,
                      struct uvzk__reply_memory *memory, struct uvzk__reply *reply)
{
    int32_t code;

    if (!results_fit(wire, rpc, &code, &reply->failed_op)) {
        return UV_EPROTO;
    }
    if (code == 0) {
        return read_made(wire, chroot, rpc->op_count, memory, reply);
    }
    reply->status = uvzk__error_of_reply(code);
    if (reply->status == UVZK_ECONNLOSS) {
        reply->failed_op = SIZE_MAX;
    }
    return 0;
}

/* The parts of the answer besides the stat. */
static int read_body(const struct uvzk__wire_reply *wire, const struct uvzk__rpc *rpc,
                     const struct uvzk__chroot *chroot, struct uvzk__reply_memory *memory,
                     struct uvzk__reply *reply)
{
    switch (rpc->kind) {
    case UVZK__RPC_CREATE:
    case UVZK__RPC_SYNC:
        return read_path(wire, chroot, memory, reply);
    case UVZK__RPC_CHILDREN:
        return read_names(wire, memory, reply);
    case UVZK__RPC_MULTI:
        return read_multi(wire, rpc, chroot, memory, reply);
    case UVZK__RPC_GET:
        /* A znode that was created without data has null. */
        reply->data = wire->data.at == NULL ? "" : (const void *)wire->data.at;
        reply->data_length = wire->data.length;
        return 0;
    default:
        return 0;
    }
}

int uvzk__rpc_message_read(struct uvzk__jute_bytes frame, int32_t opcode,
                           const struct uvzk__rpc *rpc, const struct uvzk__chroot *chroot,
                           struct uvzk__reply_memory *memory, struct uvzk__reply *reply)
{
    struct uvzk__wire_reply wire;
    int status = uvzk__wire_reply_read(frame, opcode, &wire);

    *reply = (struct uvzk__reply){.failed_op = SIZE_MAX};
    if (status < 0) {
        return status;
    }
    reply->status = uvzk__error_of_reply(wire.err);
    if (wire.err != 0) {
        return 0;
    }
    read_stat(&wire.stat, &reply->stat);
    status = read_body(&wire, rpc, chroot, memory, reply);
    if (status == UV_ENOMEM) {
        reply->status = UV_ENOMEM;
        return 0;
    }
    return status < 0 || uvzk__reply_answers(rpc, reply) ? status : UV_EPROTO;
}
