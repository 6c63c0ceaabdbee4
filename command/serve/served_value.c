/* SPDX-License-Identifier: Apache-2.0 */
/* Passes requests to the shared values and counts of the library (served_value.h), and
 * what they report to the programs. */
#include "serve/served_value.h"

#include <stdlib.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"
#include "serve/served_data.h"
#include "serve/served_object.h"

/* --------------------------------------------------------------------- what it is now */

/* Adds the last known value. Returns 0, or a code if there is none, or no memory. */
static int add_value(json_t *line, const struct served_object *object)
{
    uvzk_value_version_t version = {.mzxid = 0};
    const void *data = NULL;
    size_t length = 0;
    int32_t count = 0;
    bool is_count = object->kind == SERVED_OBJECT_COUNT;
    int status =
        is_count ? uvzk_shared_count_get(&object->handle.count, &count, &version)
                 : uvzk_shared_value_get(&object->handle.value, &data, &length, &version);

    if (status < 0) {
        return status;
    }
    served_answer_add_number(line, "mzxid", version.mzxid);
    served_answer_add_number(line, "version", version.version);
    if (is_count) {
        served_answer_add_number(line, "count", count);
    } else if (!served_bytes_add(line, data, length)) {
        return UV_ENOMEM;
    }
    return 0;
}

void served_value_get(struct served_object *object, const struct served_request *request)
{
    json_t *answer = served_answer_ok(request->id);
    int status = add_value(answer, object);

    if (status < 0) {
        json_decref(answer);
        answer = served_answer_status(request->id, status, 0);
    }
    served_connection_send(
        object->connection,
        served_answer_fit(answer, request->id,
                          object->connection->daemon->options->max_unsent));
}

static void send_change(struct served_object *object, int status)
{
    json_t *event;

    if (object->closing) {
        return;
    }
    if (status < 0) {
        served_object_send_event(object, "changed", status);
        served_object_heard(object, status);
        return;
    }
    event = served_answer_event("changed");
    served_answer_add_number(event, "object", object->number);
    status = add_value(event, object);
    if (status < 0) {
        json_decref(event);
        served_object_send_event(object, "changed", status);
    } else {
        served_connection_send(
            object->connection,
            served_answer_fit_event(event,
                                    object->connection->daemon->options->max_unsent));
    }
}

/* ------------------------------------------------------------------------------ opening */

static void on_value_changed(uvzk_shared_value_t *value, int status)
{
    send_change(value->data, status);
}

static int init_value(uvzk_client_t *client, struct served_object *object,
                      const struct served_request *request)
{
    struct served_data seed;

    if (!served_data_read(&seed, request)) {
        return UV_ENOMEM;
    }
    object->handle.value.data = object;
    int status = uvzk_shared_value_init(client, &object->handle.value, request->path,
                                        seed.bytes, seed.length, on_value_changed);
    free(seed.decoded);
    return status;
}

void served_value_open(struct served_connection *connection,
                       const struct served_request *request)
{
    struct served_object *object =
        served_object_open(connection, request, SERVED_OBJECT_VALUE, init_value);

    if (object != NULL) {
        served_object_answer(object, 0, false);
    }
}

/* The count is in `value`, or the last one. */
static void on_count_changed(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)value;
    send_change(count->data, status);
}

static int init_count(uvzk_client_t *client, struct served_object *object,
                      const struct served_request *request)
{
    int32_t seed = request->count == SERVED_NOT_GIVEN ? 0 : (int32_t)request->count;

    object->handle.count.data = object;
    return uvzk_shared_count_init(client, &object->handle.count, request->path, seed,
                                  on_count_changed);
}

void served_value_open_count(struct served_connection *connection,
                             const struct served_request *request)
{
    struct served_object *object =
        served_object_open(connection, request, SERVED_OBJECT_COUNT, init_count);

    if (object != NULL) {
        served_object_answer(object, 0, false);
    }
}

/* ------------------------------------------------------------------------------ setting */

/* The object may have been closed since the call, but is not freed before. */
struct setting {
    struct served_call call;
    struct served_object *object;
};

static void on_set(uvzk_req_t *request, int status)
{
    struct setting *setting = request->data;
    int64_t id = setting->call.id;

    served_connection_send(setting->call.connection, served_answer_change(id, status));
    served_object_heard(setting->object, status);
    served_call_end(&setting->call);
}

static int set_value(struct served_object *object, uvzk_req_t *call,
                     const struct served_request *request,
                     const uvzk_value_version_t *version)
{
    uvzk_shared_value_t *value = &object->handle.value;
    struct served_data data;

    if (!served_data_read(&data, request)) {
        return UV_ENOMEM;
    }
    int status = version == NULL
                     ? uvzk_shared_value_set(value, call, data.bytes, data.length, on_set)
                     : uvzk_shared_value_try_set(value, call, version, data.bytes,
                                                 data.length, on_set);
    free(data.decoded);
    return status;
}

static int set_count(struct served_object *object, uvzk_req_t *call,
                     const struct served_request *request,
                     const uvzk_value_version_t *version)
{
    uvzk_shared_count_t *count = &object->handle.count;
    int32_t wanted = (int32_t)request->count;

    return version == NULL
               ? uvzk_shared_count_set(count, call, wanted, on_set)
               : uvzk_shared_count_try_set(count, call, version, wanted, on_set);
}

void served_value_set(struct served_object *object, const struct served_request *request)
{
    uvzk_value_version_t version = {.mzxid = request->mzxid,
                                    .version = (int32_t)request->version};
    struct setting *setting =
        served_call_new(object->connection, request->id, sizeof(*setting));

    if (setting == NULL) {
        return;
    }
    setting->object = object;
    int status = (object->kind == SERVED_OBJECT_COUNT ? set_count : set_value)(
        object, &setting->call.request, request,
        request->mzxid == SERVED_NOT_GIVEN ? NULL : &version);
    if (status < 0) {
        served_call_refused(&setting->call, status, NULL);
    }
}
