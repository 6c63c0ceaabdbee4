/* SPDX-License-Identifier: Apache-2.0 */
/* Passes requests to the barriers and double barriers of the library
 * (served_barrier.h). */
#include "serve/served_barrier.h"

#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_object.h"

/* libuv's text of a timeout is about connections, the library's about locks. */
static void answer_call(struct served_object *object, int status)
{
    int64_t id = object->id;

    if (id >= 0 && status == UV_ETIMEDOUT) {
        object->id = -1;
        served_connection_send(object->connection,
                               served_answer_error(id, uvzk_err_name(status),
                                                   "the time is over",
                                                   uvzk_err_is_retriable(status)));
    } else {
        served_object_answer(object, status, false);
    }
    served_object_heard(object, status);
}

/* The library has refused the call of an object that has no other use. */
static void refuse_call(struct served_object *object, int status)
{
    served_object_answer(object, status, true);
    served_object_close(object);
}

/* ------------------------------------------------------------------------- barriers */

static int init_barrier(uvzk_client_t *client, struct served_object *object,
                        const struct served_request *request)
{
    object->handle.barrier.data = object;
    return uvzk_barrier_init(client, &object->handle.barrier, request->path);
}

static void on_called(uvzk_req_t *call, int status)
{
    struct served_object *object = call->data;

    object->calling = false;
    answer_call(object, status);
    served_object_close(object);
}

void served_barrier_call(struct served_connection *connection,
                         const struct served_request *request)
{
    struct served_object *object =
        served_object_open(connection, request, SERVED_OBJECT_BARRIER, init_barrier);
    uvzk_barrier_t *barrier;
    int status;

    if (object == NULL) {
        return;
    }
    barrier = &object->handle.barrier;
    if (request->operation == SERVED_BARRIER_SET) {
        status = uvzk_barrier_set(barrier, &object->call, on_called);
    } else if (request->operation == SERVED_BARRIER_REMOVE) {
        status = uvzk_barrier_remove(barrier, &object->call, on_called);
    } else {
        status =
            uvzk_barrier_wait(barrier, &object->call, request->timeout_ms, on_called);
    }
    object->calling = status == 0;
    if (status < 0) {
        refuse_call(object, status);
    }
}

/* ------------------------------------------------------------------- double barriers */

/* No leave is under way. The member is outside already: nothing is left of it. */
static void on_lost(uvzk_double_barrier_t *barrier, int reason)
{
    struct served_object *object = barrier->data;

    if (!object->closing) {
        served_connection_send(object->connection,
                               served_answer_event_over("lost", uvzk_err_name(reason),
                                                        uvzk_strerror(reason), "object",
                                                        object->number));
        served_object_heard(object, reason);
        served_object_close(object);
    }
}

static int init_double_barrier(uvzk_client_t *client, struct served_object *object,
                               const struct served_request *request)
{
    object->handle.double_barrier.data = object;
    return uvzk_double_barrier_init(client, &object->handle.double_barrier, request->path,
                                    (uint32_t)request->member_quantity, on_lost);
}

static void on_entered(uvzk_req_t *call, int status)
{
    struct served_object *object = call->data;

    object->calling = false;
    answer_call(object, status);
    if (status < 0) {
        served_object_close(object);
    }
}

void served_barrier_enter(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_object *object = served_object_open(
        connection, request, SERVED_OBJECT_DOUBLE_BARRIER, init_double_barrier);

    if (object == NULL) {
        return;
    }
    int status = uvzk_double_barrier_enter(&object->handle.double_barrier, &object->call,
                                           request->timeout_ms, on_entered);
    object->calling = status == 0;
    if (status < 0) {
        refuse_call(object, status);
    }
}

/* Whatever the status is, the member is outside. */
static void on_left(uvzk_req_t *call, int status)
{
    struct served_object *object = call->data;

    object->calling = false;
    answer_call(object, status);
    served_object_close(object);
}

void served_barrier_leave(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_object *object = served_object_named(connection, request);

    if (object == NULL) {
        return;
    }
    if (object->kind != SERVED_OBJECT_DOUBLE_BARRIER) {
        served_connection_send(
            connection, served_answer_error(request->id, SERVED_EREQUEST,
                                            "`object`: it is no double barrier", 0));
        return;
    }
    if (object->id >= 0) {
        served_connection_send(connection,
                               served_answer_status(request->id, UVZK_ESTATE, 0));
        return;
    }
    object->id = request->id;
    int status = uvzk_double_barrier_leave(&object->handle.double_barrier, &object->call,
                                           request->timeout_ms, on_left);
    object->calling = status == 0;
    if (status < 0) {
        served_object_answer(object, status, true);
    }
}
