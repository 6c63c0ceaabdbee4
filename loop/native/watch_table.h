/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of a native port, by path. A path may have several (engine/port.h, 5). The
 * server has one of each kind on a path, whatever the number here.
 *
 *   new --> ARMING --the reply says that it is armed--> ARMED --its event--> freed
 *             |  `--the reply says that it is not------------------------> freed
 *             |                                           |
 *             |<-------------the user gives it up---------'
 *             |
 *             |--it was the last of its kind on the path--> REMOVING --> freed
 *             |                                                ^
 *             `--it was not--> IDLE --the last one goes--------'
 *                                `----the event of its kind, or the connection--> freed
 *
 * REMOVING lasts until the server has forgotten it, or the connection is lost. A
 * persistent watch stays ARMED when it fires, and is freed when the connection is lost.
 * The server sends one event for a znode, for which watches on the znode and a persistent
 * one on its parent may be waiting.
 *
 * The server executes requests in their order. So a removal that is sent after the
 * requests that arm the watches of its kind ends them, and a later watch on the same path
 * is armed after it. An event that comes meanwhile finds no watch that is ARMED. */
#ifndef UVZK_WATCH_TABLE_H
#define UVZK_WATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/port.h"
#include "native/chroot.h"
#include "native/rpc_message.h"
#include "native/wire_request.h"
#include "platform/watched_paths.h"

enum uvzk__native_watch_state {
    UVZK__WATCH_ARMING,
    UVZK__WATCH_ARMED,
    UVZK__WATCH_IDLE,    /* given up, but another one of its kind is on the path */
    UVZK__WATCH_REMOVING /* no longer among those of the path */
};

struct uvzk__native_watch {
    struct uvzk__link link; /* on path->watches */
    struct uvzk__watched_path *path;
    struct uvzk__watch *watch; /* NULL: IDLE, REMOVING */
    struct uvzk__rpc *arming;  /* its port.answer is this; NULL: it has been answered */
    uint8_t state;             /* enum uvzk__native_watch_state */
    uint8_t list;              /* enum uvzk__watch_list: of which list it is re-armed */
    /* The request that removes it at the server; it needs no further memory. */
    struct uvzk__rpc removal;
};

struct uvzk__watch_table {
    struct uvzk__watched_paths paths; /* without the chroot */
    size_t count;                     /* of the watches that the user has not given up */
    size_t rearm_bytes; /* see uvzk__watch_table_rearm; 0: UVZK__REARM_BYTES */
};

/* The rpc arms a watch; it is outstanding, so that rpc->port.answer belongs to the
 * port. The path is copied. 0 or UV_ENOMEM. */
int uvzk__watch_table_add(struct uvzk__watch_table *table, struct uvzk__rpc *rpc);
/* The rpc that arms a watch has been answered with this status. Returns a watch to be
 * removed, REMOVING: the last one of its kind on the path is not armed, and others had been
 * given up for it. NULL: there is none. */
struct uvzk__native_watch *uvzk__watch_table_answered(struct uvzk__watch_table *table,
                                                      struct uvzk__rpc *rpc, int status);
/* The user gives up its watch, which is in the table. Returns the watch, REMOVING, if it was
 * the last one of its kind on the path; otherwise NULL. The caller submits the removal, or
 * frees it with uvzk__native_watch_free if there is no connection. */
struct uvzk__native_watch *uvzk__watch_table_remove(struct uvzk__watch_table *table,
                                                    struct uvzk__watch *watch);
void uvzk__native_watch_free(struct uvzk__watch_table *table,
                             struct uvzk__native_watch *native);
/* Returns the kind of this watch, as the server's number, for its removal. */
int32_t uvzk__native_watch_kind(const struct uvzk__native_watch *native);
/* The watch that a removal removes. */
struct uvzk__native_watch *uvzk__native_watch_of(struct uvzk__rpc *removal);

/* An event of the server, with its number. Removes the watches on the znode itself from
 * the table and calls them in the order in which they were armed, and calls the
 * persistent watch on the znode or on its parent. 0; UV_ENOMEM: the connection must end,
 * because a persistent watch must receive every event. */
int uvzk__watch_table_tell(struct uvzk__watch_table *table, struct uvzk__jute_bytes path,
                           int32_t number, struct uvzk__reply_memory *memory);

/* The connection is lost. Watches that are not yet ARMED, and persistent ones, are dropped
 * without firing. */
void uvzk__watch_table_lose_connection(struct uvzk__watch_table *table);
/* Drops all watches without firing. */
void uvzk__watch_table_clear(struct uvzk__watch_table *table);

/* Writes the requests that arm all watches again on a new connection, each of about
 * `rearm_bytes`. zxid: no watch can have missed a change up to it. Returns the number of
 * requests, or a code < 0. */
#define UVZK__REARM_BYTES (128U << 10)
int uvzk__watch_table_rearm(const struct uvzk__watch_table *table,
                            struct uvzk__chroot *chroot, int64_t zxid,
                            struct uvzk__jute_writer *out);

#endif
