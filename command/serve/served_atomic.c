/* SPDX-License-Identifier: Apache-2.0 */
/* Opens an atomic long for the first request about its path, and closes it after the last
 * one (served_atomic.h). */
#include "serve/served_atomic.h"

#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"
#include "serve/served_request.h"
#include "serve/table.h"

struct served_atomic {
    UT_hash_handle hh; /* until it is being closed */
    uvzk_atomic_long_t atomic;
    size_t calls; /* under way */
    char path[];
};

struct atomic_call {
    struct served_call call;
    struct served_atomic *atomic;
};

/* ---------------------------------------------------------------------- atomic longs */

static void on_closed(uvzk_atomic_long_t *atomic)
{
    free(atomic->data);
}

static void leave(struct served_atomics *atomics, struct served_atomic *atomic)
{
    if (--atomic->calls == 0) {
        HASH_DEL(atomics->open, atomic);
        uvzk_atomic_long_close(&atomic->atomic, on_closed);
    }
}

/* Returns NULL, and sets *status to the library's code. */
static struct served_atomic *open_atomic(struct daemon *daemon, const char *path,
                                         int *status)
{
    size_t length = strlen(path);
    struct served_atomic *atomic = calloc(1, sizeof(*atomic) + length + 1);

    *status = UV_ENOMEM;
    if (atomic == NULL) {
        return NULL;
    }
    memcpy(atomic->path, path, length);
    atomic->atomic.data = atomic;
    HASH_ADD_KEYPTR(hh, daemon->atomics.open, atomic->path, length, atomic);
    if (atomic->hh.tbl == NULL) {
        free(atomic);
        return NULL;
    }
    *status =
        uvzk_atomic_long_init(&daemon->zookeeper.client, &atomic->atomic, path, NULL);
    if (*status < 0) {
        HASH_DEL(daemon->atomics.open, atomic);
        free(atomic);
        return NULL;
    }
    return atomic;
}

static struct served_atomic *enter(struct daemon *daemon, const char *path, int *status)
{
    struct served_atomic *atomic;

    HASH_FIND(hh, daemon->atomics.open, path, strlen(path), atomic);
    if (atomic == NULL) {
        atomic = open_atomic(daemon, path, status);
    }
    if (atomic != NULL) {
        atomic->calls++;
    }
    return atomic;
}

/* ------------------------------------------------------------------------- the calls */

static json_t *answer(int64_t id, int status, const uvzk_atomic_value_t *value)
{
    json_t *line = served_answer_change(id, status);

    if (status == 0) {
        served_answer_add_number(line, "value", value->post_value);
        served_answer_add_number(line, "previous", value->pre_value);
    } else if (status == UVZK_EBADVERSION) {
        /* The value that was there instead. */
        served_answer_add_number(line, "value", value->pre_value);
    }
    return line;
}

static void on_called(uvzk_req_t *request, int status)
{
    struct atomic_call *call = request->data;
    struct served_connection *connection = call->call.connection;
    struct daemon *daemon = connection->daemon;

    if (connection->ended) {
        daemon->atomics.left_behind--;
    } else {
        connection->atomic_calls--;
    }
    served_connection_send(connection,
                           answer(call->call.id, status, request->result->value));
    leave(&daemon->atomics, call->atomic);
    served_call_end(&call->call);
    if (status == UVZK_EAUTH || status == UVZK_EINTERNAL) {
        daemon_fail(daemon, status);
    }
}

static int start(struct atomic_call *call, const struct served_request *request)
{
    uvzk_atomic_long_t *atomic = &call->atomic->atomic;
    uvzk_req_t *req = &call->call.request;

    switch (request->operation) {
    case SERVED_ATOMIC_ADD:
        return uvzk_atomic_long_add(atomic, req, request->value, on_called);
    case SERVED_ATOMIC_COMPARE_AND_SET:
        return uvzk_atomic_long_compare_and_set(atomic, req, request->expected,
                                                request->value, on_called);
    case SERVED_ATOMIC_SET:
        return uvzk_atomic_long_try_set(atomic, req, request->value, on_called);
    case SERVED_ATOMIC_FORCE_SET:
        return uvzk_atomic_long_force_set(atomic, req, request->value, on_called);
    case SERVED_ATOMIC_CREATE:
        return uvzk_atomic_long_create(atomic, req, request->value, on_called);
    default:
        return uvzk_atomic_long_get(atomic, req, on_called);
    }
}

/* Programs that begin requests and end, again and again, must not take all memory. */
static bool has_room(struct served_connection *connection, int64_t id)
{
    if (connection->daemon->atomics.left_behind <
        connection->daemon->options->max_pending) {
        return true;
    }
    served_connection_send(
        connection,
        served_answer_error(id, SERVED_EPENDING,
                            "too many requests of programs that have ended", 1));
    return false;
}

void served_atomic_call(struct served_connection *connection,
                        const struct served_request *request)
{
    struct daemon *daemon = connection->daemon;

    if (!has_room(connection, request->id)) {
        return;
    }
    struct atomic_call *call = served_call_new(connection, request->id, sizeof(*call));
    if (call == NULL) {
        return;
    }
    int status = 0;
    call->atomic = enter(daemon, request->path, &status);
    if (call->atomic == NULL) {
        served_call_refused(&call->call, status, "path");
        return;
    }
    status = start(call, request);
    if (status < 0) {
        leave(&daemon->atomics, call->atomic);
        served_call_refused(&call->call, status, "path");
        return;
    }
    connection->atomic_calls++;
}

void served_atomics_end(struct served_connection *connection)
{
    connection->daemon->atomics.left_behind += connection->atomic_calls;
    connection->atomic_calls = 0;
}
