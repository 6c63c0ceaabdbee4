/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the library answers (served_call.h). The files of the requests call it. */
#include "serve/served_call.h"

#include <stdlib.h>

#include "serve/served_answer.h"
#include "serve/served_connection.h"

void *served_call_new(struct served_connection *connection, int64_t id, size_t size)
{
    if (!served_connection_begin(connection, id)) {
        return NULL;
    }
    struct served_call *call = calloc(1, size);
    if (call == NULL) {
        served_connection_send(connection, served_answer_status(id, UV_ENOMEM, 0));
        served_connection_done(connection);
        return NULL;
    }
    call->request.data = call;
    call->connection = connection;
    call->id = id;
    return call;
}

void served_call_refused(struct served_call *call, int status, const char *field)
{
    served_connection_send(call->connection,
                           served_answer_refused(call->id, status, field));
    served_call_end(call);
}

void served_call_end(struct served_call *call)
{
    struct served_connection *connection = call->connection;

    free(call);
    served_connection_done(connection);
}
