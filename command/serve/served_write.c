/* SPDX-License-Identifier: Apache-2.0 */
/* Writes under a hold (served_write.h). served_operations.c calls it. */
#include "serve/served_write.h"

#include <stdlib.h>
#include <string.h>

#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"

_Static_assert((int)SERVED_CREATE == (int)UVZK_WRITE_CREATE &&
                   (int)SERVED_SET == (int)UVZK_WRITE_SET &&
                   (int)SERVED_DELETE == (int)UVZK_WRITE_DELETE &&
                   (int)SERVED_CHECK == (int)UVZK_WRITE_CHECK,
               "the library's kinds");

struct writing {
    struct served_call call;
    int64_t number; /* of the hold */
};

static void on_written(uvzk_req_t *request, int status)
{
    struct writing *writing = request->data;
    size_t refused = request->result->failed_op;
    json_t *object;

    if (status == 0) {
        object = served_answer_ok(writing->call.id);
        served_answer_add_number(object, "hold", writing->number);
    } else {
        object = served_answer_status(writing->call.id, status, 0);
        json_object_set_new(object, "unknown",
                            json_boolean(uvzk_err_outcome_is_unknown(status)));
        if (refused != SIZE_MAX) {
            served_answer_add_number(object, "index", (int64_t)refused);
        }
    }
    served_connection_send(writing->call.connection, object);
    served_call_end(&writing->call);
}

/* How much room the decoded bytes of all need. */
static size_t decoded_room(const struct served_request *request)
{
    size_t sum = 0;

    for (size_t i = 0; i < json_array_size(request->writes); i++) {
        sum += json_string_length(
            json_object_get(json_array_get(request->writes, i), "base64"));
    }
    return sum;
}

/* Decoded bytes go to `decoded`. Returns how many operations there are. */
static size_t make_operations(const struct served_request *request, uvzk_write_op_t *ops,
                              unsigned char *decoded)
{
    size_t count = json_array_size(request->writes);

    for (size_t i = 0; i < count; i++) {
        struct served_request write;
        (void)served_request_read_write(request, i, &write);
        ops[i] =
            (uvzk_write_op_t){.kind = (uint32_t)write.write_kind,
                              .version = (int32_t)write.version,
                              .path = write.path,
                              .data = write.data,
                              .data_length = write.data == NULL ? 0 : strlen(write.data)};
        if (write.base64 != NULL) {
            unsigned char *end = served_bytes_decode(write.base64, decoded);
            ops[i].data = decoded;
            ops[i].data_length = (size_t)(end - decoded);
            decoded = end;
        }
    }
    return count;
}

/* The library copies the paths and the data. */
static int write_under(uvzk_hold_t *hold, struct writing *writing,
                       const struct served_request *request)
{
    uvzk_write_op_t ops[SERVED_LIST_MAX];
    unsigned char *decoded = malloc(decoded_room(request) + 1);

    if (decoded == NULL) {
        return UV_ENOMEM;
    }
    size_t count = make_operations(request, ops, decoded);
    int status = uvzk_hold_write(hold, &writing->call.request, ops, count, on_written);
    free(decoded);
    return status;
}

void served_write_send(struct served_connection *connection,
                       const struct served_request *request)
{
    uvzk_hold_t *hold = served_hold_held(connection, request->number);

    if (hold == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UVZK_ENOTHELD, 0));
        return;
    }
    struct writing *writing = served_call_new(connection, request->id, sizeof(*writing));
    if (writing == NULL) {
        return;
    }
    writing->number = request->number;
    int status = write_under(hold, writing, request);
    if (status < 0) {
        served_call_refused(&writing->call, status, "writes`, `path");
    }
}
