/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the objects of all connections (served_object.h): served_value.c,
 * served_node.c and served_barrier.c open them, and know what each kind does. */
#include "serve/served_object.h"

#include <stdlib.h>
#include <string.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_node.h"
#include "serve/served_value.h"

/* --------------------------------------------------------------------------- the end */

/* The library has called its last callback. */
static void finish(struct served_object *object, int status)
{
    struct served_connection *connection = object->connection;

    served_object_answer(object, status, false);
    HASH_DEL(connection->objects, object);
    free(object);
    served_connection_done(connection);
}

static void on_value_closed(uvzk_shared_value_t *value)
{
    finish(value->data, 0);
}

static void on_count_closed(uvzk_shared_count_t *count)
{
    finish(count->data, 0);
}

static void on_node_closed(uvzk_persistent_node_t *node, int status)
{
    finish(node->data, status);
}

static void on_member_closed(uvzk_group_member_t *member, int status)
{
    finish(member->data, status);
}

static void on_barrier_closed(uvzk_barrier_t *barrier)
{
    finish(barrier->data, 0);
}

static void on_double_barrier_closed(uvzk_double_barrier_t *barrier)
{
    finish(barrier->data, 0);
}

void served_object_close(struct served_object *object)
{
    if (object->closing) {
        return;
    }
    object->closing = true;
    switch (object->kind) {
    case SERVED_OBJECT_VALUE:
        uvzk_shared_value_close(&object->handle.value, on_value_closed);
        break;
    case SERVED_OBJECT_COUNT:
        uvzk_shared_count_close(&object->handle.count, on_count_closed);
        break;
    case SERVED_OBJECT_NODE:
        uvzk_persistent_node_close(&object->handle.node, on_node_closed);
        break;
    case SERVED_OBJECT_MEMBER:
        uvzk_group_member_close(&object->handle.member, on_member_closed);
        break;
    case SERVED_OBJECT_BARRIER:
        uvzk_barrier_close(&object->handle.barrier, on_barrier_closed);
        break;
    case SERVED_OBJECT_DOUBLE_BARRIER:
        uvzk_double_barrier_close(&object->handle.double_barrier,
                                  on_double_barrier_closed);
        break;
    }
}

void served_objects_end(struct served_connection *connection)
{
    struct served_object *object, *next;

    /* No callback runs inside these calls. */
    HASH_ITER(hh, connection->objects, object, next)
    {
        served_object_close(object);
    }
}

/* What the program does not know yet is answered, what it has is lost. */
static void send_ending(struct served_object *object)
{
    json_t *ending = object->id >= 0 ? served_answer_ending(object->id)
                                     : served_answer_event_over("lost", SERVED_EENDING,
                                                                SERVED_ENDING_TEXT,
                                                                "object", object->number);

    object->id = -1;
    served_connection_send(object->connection, ending);
}

void served_objects_expire(struct served_connection *connection)
{
    struct served_object *object, *next;

    HASH_ITER(hh, connection->objects, object, next)
    {
        if (!object->closing) {
            send_ending(object);
            served_object_close(object);
        }
    }
}

/* -------------------------------------------------------------------------- the begin */

/* Returns NULL if there is no memory. */
static struct served_object *object_new(struct served_connection *connection, int64_t id,
                                        enum served_object_kind kind)
{
    struct served_object *object = calloc(1, sizeof(*object));

    if (object == NULL) {
        return NULL;
    }
    object->connection = connection;
    object->kind = kind;
    object->number = ++connection->daemon->last_number;
    object->id = id;
    object->call.data = object;
    HASH_ADD(hh, connection->objects, number, sizeof(object->number), object);
    if (object->hh.tbl == NULL) {
        free(object);
        return NULL;
    }
    return object;
}

/* The field of the request of whose text the library complains. */
static const char *refused_field(int status)
{
    static const char of_member[] = "id: ";

    return strncmp(uvzk_refusal(status), of_member, strlen(of_member)) == 0 ? "member"
                                                                            : "path";
}

struct served_object *served_object_open(struct served_connection *connection,
                                         const struct served_request *request,
                                         enum served_object_kind kind,
                                         served_object_init init)
{
    if (!served_connection_begin(connection, request->id)) {
        return NULL;
    }
    struct served_object *object = object_new(connection, request->id, kind);
    if (object == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UV_ENOMEM, 0));
        served_connection_done(connection);
        return NULL;
    }
    int status = init(&connection->daemon->zookeeper.client, object, request);
    if (status == 0) {
        return object;
    }
    HASH_DEL(connection->objects, object);
    free(object);
    served_connection_send(
        connection, served_answer_refused(request->id, status, refused_field(status)));
    served_connection_done(connection);
    return NULL;
}

struct served_object *served_object_named(struct served_connection *connection,
                                          const struct served_request *request)
{
    struct served_object *object;

    HASH_FIND(hh, connection->objects, &request->number, sizeof(request->number), object);
    if (object == NULL || object->closing || object->kind == SERVED_OBJECT_BARRIER) {
        served_connection_send(
            connection, served_answer_error(request->id, SERVED_EREQUEST,
                                            "`object`: there is no such object", 0));
        return NULL;
    }
    return object;
}

/* ------------------------------------------------------------------- what is told */

void served_object_answer(struct served_object *object, int status, bool refused)
{
    int64_t id = object->id;

    if (id < 0) {
        return;
    }
    object->id = -1;
    if (status < 0 && refused) {
        served_connection_send(object->connection,
                               served_answer_refused(id, status, "path"));
        return;
    }
    json_t *answer =
        status < 0 ? served_answer_status(id, status, 0) : served_answer_ok(id);
    if (status == 0 && object->kind != SERVED_OBJECT_BARRIER) {
        served_answer_add_number(answer, "object", object->number);
    }
    /* May end the connection, and begin to close the object. */
    served_connection_send(object->connection, answer);
}

void served_object_heard(const struct served_object *object, int status)
{
    if (status == UVZK_EAUTH || status == UVZK_EINTERNAL) {
        daemon_fail(object->connection->daemon, status);
    }
}

void served_object_send_event(struct served_object *object, const char *event, int status)
{
    json_t *line = served_answer_event(event);

    served_answer_add_number(line, "object", object->number);
    if (status < 0) {
        served_answer_add_text(line, "error", uvzk_err_name(status));
        served_answer_add_text(line, "message", uvzk_strerror(status));
    }
    served_connection_send(object->connection, line);
}

/* ------------------------------------------------------------------------ the requests */

void served_objects_get(struct served_connection *connection,
                        const struct served_request *request)
{
    struct served_object *object = served_object_named(connection, request);

    if (object == NULL) {
        return;
    }
    switch (object->kind) {
    case SERVED_OBJECT_VALUE:
    case SERVED_OBJECT_COUNT:
        served_value_get(object, request);
        break;
    case SERVED_OBJECT_MEMBER:
        served_node_get_members(object, request);
        break;
    default:
        served_connection_send(connection,
                               served_answer_error(request->id, SERVED_EREQUEST,
                                                   "`object`: it has nothing to get", 0));
    }
}

/* Returns what is wrong with the fields, or NULL. */
static const char *wrong_fields(const struct served_object *object,
                                const struct served_request *request)
{
    bool is_count = object->kind == SERVED_OBJECT_COUNT;
    bool is_value = object->kind == SERVED_OBJECT_VALUE;

    if (object->kind == SERVED_OBJECT_DOUBLE_BARRIER) {
        return "`object`: it has nothing to set";
    }
    if (is_count && (request->data != NULL || request->base64 != NULL)) {
        return request->data != NULL ? "`data`: a shared count has a `count`"
                                     : "`base64`: a shared count has a `count`";
    }
    if (!is_count && request->count != SERVED_NOT_GIVEN) {
        return "`count`: only of a shared count";
    }
    if (is_count && request->count == SERVED_NOT_GIVEN) {
        return "`count`: missing";
    }
    if (!is_count && request->data == NULL && request->base64 == NULL) {
        return "`data`: missing, and `base64`";
    }
    if (!is_count && !is_value && request->mzxid != SERVED_NOT_GIVEN) {
        return "`mzxid`: only of a shared value or a shared count";
    }
    return NULL;
}

void served_objects_set(struct served_connection *connection,
                        const struct served_request *request)
{
    struct served_object *object = served_object_named(connection, request);

    if (object == NULL) {
        return;
    }
    const char *wrong = wrong_fields(object, request);
    if (wrong != NULL) {
        served_connection_send(
            connection, served_answer_error(request->id, SERVED_EREQUEST, wrong, 0));
    } else if (object->kind == SERVED_OBJECT_VALUE ||
               object->kind == SERVED_OBJECT_COUNT) {
        served_value_set(object, request);
    } else {
        served_node_set(object, request);
    }
}

void served_objects_close(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_object *object = served_object_named(connection, request);

    if (object == NULL) {
        return;
    }
    if (object->id >= 0) {
        served_connection_send(connection,
                               served_answer_status(request->id, UVZK_ESTATE, 0));
        return;
    }
    object->id = request->id;
    served_object_close(object);
}

bool served_objects_cancel(struct served_connection *connection,
                           const struct served_request *request)
{
    struct served_object *object, *next;

    HASH_ITER(hh, connection->objects, object, next)
    {
        if (object->calling && !object->closing && object->id == request->number) {
            int status = uvzk_req_cancel(&object->call);
            served_connection_send(
                connection, status == 0 ? served_answer_ok(request->id)
                                        : served_answer_status(request->id, status, 1));
            return true;
        }
    }
    return false;
}
