/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of `uvzk serve` has opened besides its locks: a shared value or count, a
 * persistent node, a membership of a group or of a double barrier. It lives as long as its
 * connection. A request about a barrier is an object too, which the program does not see:
 * it lives until the request is answered.
 *
 *     opened --- a call, events ---> closing ---> freed
 *                  `-- "close", the end of the connection or of the daemon,
 *                      the end of a barrier's call --^ */
#ifndef SERVED_OBJECT_H
#define SERVED_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <uvzk.h>

#include "serve/served_request.h"
#include "serve/table.h"

struct served_connection;

enum served_object_kind {
    SERVED_OBJECT_VALUE,
    SERVED_OBJECT_COUNT,
    SERVED_OBJECT_NODE,
    SERVED_OBJECT_MEMBER,
    SERVED_OBJECT_BARRIER,
    SERVED_OBJECT_DOUBLE_BARRIER
};

struct served_object {
    UT_hash_handle hh;
    enum served_object_kind kind;
    union {
        uvzk_shared_value_t value;
        uvzk_shared_count_t count;
        uvzk_persistent_node_t node;
        uvzk_group_member_t member;
        uvzk_barrier_t barrier;
        uvzk_double_barrier_t double_barrier;
    } handle;        /* its `data` is this object */
    uvzk_req_t call; /* of a barrier; its `data` is this object, too */
    struct served_connection *connection;
    int64_t number; /* by which the program names it */
    int64_t id;     /* of the request that its call or its close will answer; -1: none */
    bool calling;   /* `call` is under way */
    bool closing;
};

/* Initialises the handle. Returns as the library's init does. */
typedef int (*served_object_init)(uvzk_client_t *, struct served_object *,
                                  const struct served_request *);

/* Opens an object, whose `id` is the request's. NULL: it has been refused, and the program
 * has been told. */
struct served_object *served_object_open(struct served_connection *,
                                         const struct served_request *,
                                         enum served_object_kind, served_object_init);

/* Returns the object that the request names. NULL: there is none, and the program has been
 * told. */
struct served_object *served_object_named(struct served_connection *,
                                          const struct served_request *);

/* Answers the request `id`, after which the object has none: that it has succeeded, with
 * the object's number if the program knows it; or with a code of the library. refused:
 * right after a call that was refused. Does nothing if the object has no request. */
void served_object_answer(struct served_object *, int status, bool refused);

/* The library has completed a call with this status. If no later one could succeed, the
 * daemon ends. */
void served_object_heard(const struct served_object *, int status);

/* Sends the event, with an error if status is one. */
void served_object_send_event(struct served_object *, const char *event, int status);

/* Begins to close the object. A call that is under way still reports its outcome. */
void served_object_close(struct served_object *);

/* Carry out "get", "set" and "close". */
void served_objects_get(struct served_connection *, const struct served_request *);
void served_objects_set(struct served_connection *, const struct served_request *);
void served_objects_close(struct served_connection *, const struct served_request *);
/* Carries out "cancel" if an object waits for the request that is to be cancelled. Returns
 * false if none does. */
bool served_objects_cancel(struct served_connection *, const struct served_request *);

/* The connection has ended. */
void served_objects_end(struct served_connection *);
/* The daemon ends: tells the program what is over. */
void served_objects_expire(struct served_connection *);

#endif
