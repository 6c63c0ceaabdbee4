/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from foreign error codes to those of uvzk and libuv (error_map.h). An unknown
 * code never becomes a success. */
#include "platform/error_map.h"

#include <ares.h>
#include <stddef.h>

#include "uvzk.h"

/* The protocol's codes, and those of the C client alone (-1 to -15). This build may have no
 * C client, whose header names them too. */
enum {
    OK = 0,
    SYSTEM_ERROR = -1,
    RUNTIME_INCONSISTENCY = -2,
    CONNECTION_LOSS = -4,
    MARSHALLING_ERROR = -5,
    UNIMPLEMENTED = -6,
    OPERATION_TIMEOUT = -7,
    BAD_ARGUMENTS = -8,
    INVALID_STATE = -9,
    SSL_CONNECTION_ERROR = -15,
    NO_NODE = -101,
    NO_AUTH = -102,
    BAD_VERSION = -103,
    NO_CHILDREN_FOR_EPHEMERALS = -108,
    NODE_EXISTS = -110,
    NOT_EMPTY = -111,
    SESSION_EXPIRED = -112,
    INVALID_ACL = -114,
    AUTH_FAILED = -115,
    CLOSING = -116,
    SESSION_MOVED = -118,
    NOT_READ_ONLY = -119,
    EPHEMERAL_ON_LOCAL_SESSION = -120,
    REQUEST_TIMEOUT = -122,
    SESSION_CLOSED_REQUIRES_SASL_AUTH = -124,
    QUOTA_EXCEEDED = -125,
    THROTTLED = -127
};

/* A code that is not listed becomes UVZK_EZOOKEEPER. A code becomes UVZK_ECONNLOSS
 * wherever the request may have been executed and the outcome is unknown. */
static const struct {
    int zookeeper;
    int uvzk;
} replies[] = {
    {OK, 0},
    {SYSTEM_ERROR, UVZK_ECONNLOSS},
    {RUNTIME_INCONSISTENCY, UVZK_ECONNLOSS},
    {CONNECTION_LOSS, UVZK_ECONNLOSS},
    {MARSHALLING_ERROR, UVZK_ECONNLOSS},
    {UNIMPLEMENTED, UVZK_EUNIMPLEMENTED},
    {OPERATION_TIMEOUT, UVZK_ECONNLOSS},
    {BAD_ARGUMENTS, UVZK_EREJECTED},
    {INVALID_STATE, UVZK_ECONNLOSS},
    {SSL_CONNECTION_ERROR, UVZK_ECONNLOSS},
    {NO_NODE, UVZK_ENONODE},
    {NO_AUTH, UVZK_ENOAUTH},
    {BAD_VERSION, UVZK_EBADVERSION},
    {NO_CHILDREN_FOR_EPHEMERALS, UVZK_ENOCHILDREN},
    {NODE_EXISTS, UVZK_ENODEEXISTS},
    {NOT_EMPTY, UVZK_ENOTEMPTY},
    {SESSION_EXPIRED, UVZK_EEXPIRED},
    {INVALID_ACL, UVZK_EINVALIDACL},
    {AUTH_FAILED, UVZK_EAUTH},
    {CLOSING, UVZK_ECLOSED},
    {SESSION_MOVED, UVZK_ECONNLOSS},
    {NOT_READ_ONLY, UVZK_EREJECTED},
    {EPHEMERAL_ON_LOCAL_SESSION, UVZK_EREJECTED},
    {REQUEST_TIMEOUT, UVZK_ECONNLOSS},
    {SESSION_CLOSED_REQUIRES_SASL_AUTH, UVZK_EAUTH},
    {QUOTA_EXCEEDED, UVZK_EREJECTED},
    {THROTTLED, UVZK_ETHROTTLED},
};

int uvzk__error_of_reply(int zookeeper_code)
{
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        if (replies[i].zookeeper == zookeeper_code) {
            return replies[i].uvzk;
        }
    }
    return UVZK_EZOOKEEPER;
}

/* INVALID_STATE: the C client already knows that the session has ended. The event that
 * reports the end is on its way to the loop. MARSHALLING_ERROR and SYSTEM_ERROR mean here
 * that the C client had no memory. */
int uvzk__error_of_submit(int zookeeper_code)
{
    if (zookeeper_code == MARSHALLING_ERROR || zookeeper_code == SYSTEM_ERROR) {
        return UV_ENOMEM;
    }
    if (zookeeper_code == INVALID_STATE) {
        return UVZK_ENOTSENT;
    }
    return uvzk__error_of_reply(zookeeper_code);
}

int uvzk__error_of_resolver(int ares_status)
{
    switch (ares_status) {
    case ARES_SUCCESS:
        return 0;
    case ARES_ENODATA:
        return UV_EAI_NODATA;
    case ARES_ENOTFOUND:
    case ARES_ENONAME:
    case ARES_EBADNAME:
        return UV_EAI_NONAME;
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT:
        return UV_EAI_AGAIN;
    case ARES_ENOMEM:
        return UV_ENOMEM;
    default:
        return UV_EAI_FAIL;
    }
}
