/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of ZooKeeper's client protocol (ZooDefs.OpCode), and the xids that are not
 * counted up. */
#ifndef UVZK_OPCODE_H
#define UVZK_OPCODE_H

/* What a request asks for. */
enum uvzk__opcode {
    UVZK__OPCODE_CLOSE_SESSION = -11,
    UVZK__OPCODE_ERROR = -1, /* only as the result of an operation of a multi */
    UVZK__OPCODE_EVENT = 0,  /* only from a server: a watch has fired */
    UVZK__OPCODE_CREATE = 1,
    UVZK__OPCODE_DELETE = 2,
    UVZK__OPCODE_EXISTS = 3,
    UVZK__OPCODE_GET_DATA = 4,
    UVZK__OPCODE_SET_DATA = 5,
    UVZK__OPCODE_GET_CHILDREN = 8,
    UVZK__OPCODE_SYNC = 9,
    UVZK__OPCODE_PING = 11,
    UVZK__OPCODE_GET_CHILDREN2 = 12,
    UVZK__OPCODE_CHECK = 13, /* only in a multi */
    UVZK__OPCODE_MULTI = 14,
    UVZK__OPCODE_CREATE2 = 15,
    UVZK__OPCODE_CHECK_WATCHES = 17,
    UVZK__OPCODE_REMOVE_WATCHES = 18,
    UVZK__OPCODE_CREATE_CONTAINER = 19,
    UVZK__OPCODE_CREATE_TTL = 21,
    UVZK__OPCODE_MULTI_READ = 22,
    UVZK__OPCODE_AUTH = 100,
    UVZK__OPCODE_SET_WATCHES = 101,
    UVZK__OPCODE_SASL = 102,
    UVZK__OPCODE_SET_WATCHES2 = 105,
    UVZK__OPCODE_ADD_WATCH = 106
};

/* The xid of a message that is not in the order of the requests. */
enum uvzk__fixed_xid {
    UVZK__XID_EVENT = -1,
    UVZK__XID_PING = -2,
    UVZK__XID_AUTH = -4,
    UVZK__XID_SET_WATCHES = -8,
    UVZK__XID_SASL = -16
};

#endif
