/* SPDX-License-Identifier: Apache-2.0 */
/* Checks replies against their requests (reply_check.h). Pure functions of an rpc and its
 * reply; native_port's rpc_message.c and send_window.c call them on the loop's thread. */
#include "port/reply_check.h"

#include <string.h>

/* The server appends its counter, an int of 32 bits, as %010d. */
#define NUMBER_DIGITS 10U

static bool is_sequential(uint32_t mode)
{
    return mode == UVZK__EPHEMERAL_SEQUENTIAL || mode == UVZK__PERSISTENT_SEQUENTIAL;
}

/* The counter of a directory may have overflowed: then it has a sign. */
static bool is_number(const char *text)
{
    size_t length = strlen(text);
    size_t digits = length - (text[0] == '-');

    return length >= NUMBER_DIGITS && digits <= NUMBER_DIGITS &&
           strspn(text + (length - digits), "0123456789") == digits;
}

static bool is_made(const char *name, const char *path, uint32_t mode)
{
    size_t length = strlen(path);

    if (name == NULL || strncmp(name, path, length) != 0) {
        return false;
    }
    return is_sequential(mode) ? is_number(name + length) : name[length] == '\0';
}

static bool are_names(const struct uvzk__reply *reply)
{
    for (size_t i = 0; i < reply->name_count; i++) {
        if (reply->names[i][0] == '\0' || strchr(reply->names[i], '/') != NULL) {
            return false;
        }
    }
    return true;
}

static bool are_made(const struct uvzk__rpc *rpc, const char *const *made)
{
    for (size_t i = 0; i < rpc->op_count; i++) {
        const struct uvzk__op *op = &rpc->ops[i];
        if (op->kind == UVZK__OP_CREATE ? !is_made(made[i], op->path, op->mode)
                                        : made[i] != NULL) {
            return false;
        }
    }
    return true;
}

bool uvzk__reply_answers(const struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    if (reply->status != 0) {
        return reply->failed_op == SIZE_MAX || reply->failed_op < rpc->op_count;
    }
    switch (rpc->kind) {
    case UVZK__RPC_CREATE:
        return is_made(reply->name, rpc->path, rpc->mode);
    case UVZK__RPC_SYNC:
        return reply->name != NULL && strcmp(reply->name, rpc->path) == 0;
    case UVZK__RPC_CHILDREN:
        return are_names(reply);
    case UVZK__RPC_MULTI:
        return are_made(rpc, reply->made);
    default:
        return true;
    }
}
