/* SPDX-License-Identifier: Apache-2.0 */
/* Reads under a hold (served_read.h). served_operations.c calls it.
 *
 *   look() --> on_read --> check() --> on_checked --> the answer
 *     ^                                    |
 *     +-- the znode has changed meanwhile -+
 */
#include "serve/served_read.h"

#include <stdlib.h>
#include <string.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"

/* How often a znode is read that changes meanwhile. */
#define READS_MAX 8U

struct reading {
    struct served_call call;
    int64_t number; /* of the hold */
    unsigned reads;
    int32_t version;
    char *data; /* owned; NULL: not read yet */
    size_t length;
    const char *path; /* in `full_path`, without the namespace */
    char full_path[];
};

static void reading_end(struct reading *reading, json_t *object)
{
    served_connection_send(reading->call.connection, object);
    free(reading->data);
    served_call_end(&reading->call);
}

static void fail(struct reading *reading, int status, bool refused)
{
    json_t *object = refused ? served_answer_refused(reading->call.id, status, "path")
                             : served_answer_status(reading->call.id, status, 0);

    reading_end(reading, object);
}

static void look(struct reading *reading);

static void answer(struct reading *reading)
{
    int64_t id = reading->call.id;
    json_t *object = served_answer_ok(id);

    served_answer_add_number(object, "hold", reading->number);
    served_answer_add_number(object, "version", reading->version);
    if (!served_bytes_add(object, reading->data, reading->length)) {
        json_decref(object);
        fail(reading, UV_ENOMEM, false);
        return;
    }
    reading_end(reading,
                served_answer_fit(object, id,
                                  reading->call.connection->daemon->options->max_unsent));
}

static void on_checked(uvzk_req_t *request, int status)
{
    struct reading *reading = request->data;
    bool changed = request->result->failed_op == 0 &&
                   (status == UVZK_EBADVERSION || status == UVZK_ENONODE);

    if (changed && reading->reads < READS_MAX) {
        look(reading);
    } else if (status < 0) {
        fail(reading, status, false);
    } else {
        answer(reading);
    }
}

/* The hold may have been released or lost meanwhile. */
static void check(struct reading *reading)
{
    uvzk_write_op_t op = {
        .kind = UVZK_WRITE_CHECK, .version = reading->version, .path = reading->path};
    uvzk_hold_t *hold = served_hold_held(reading->call.connection, reading->number);
    int status = hold == NULL
                     ? UVZK_ENOTHELD
                     : uvzk_hold_write(hold, &reading->call.request, &op, 1, on_checked);

    if (status < 0) {
        fail(reading, status, hold != NULL);
    }
}

static void on_read(uvzk_req_t *request, int status)
{
    struct reading *reading = request->data;
    const uvzk_result_t *result = request->result;

    if (status == 0) {
        free(reading->data);
        reading->data = malloc(result->length + 1);
        status = reading->data == NULL ? UV_ENOMEM : 0;
    }
    if (status < 0) {
        fail(reading, status, false);
        return;
    }
    if (result->length > 0) {
        memcpy(reading->data, result->data, result->length);
    }
    reading->length = result->length;
    reading->version = result->stat->version;
    check(reading);
}

static void look(struct reading *reading)
{
    reading->reads++;
    int status = uvzk_client_read(&reading->call.connection->daemon->zookeeper.client,
                                  &reading->call.request, reading->full_path, on_read);
    if (status < 0) {
        fail(reading, status, true);
    }
}

/* The library reads below the chroot, and writes below the namespace. A path that does
 * not begin with '/' is left as it is, so that it is refused. */
static void set_path(struct reading *reading, const char *ns, const char *path)
{
    size_t length = ns[0] == '\0' || path[0] != '/' ? 0 : strlen(ns) + 1;

    if (length > 0) {
        reading->full_path[0] = '/';
        memcpy(reading->full_path + 1, ns, length - 1);
    }
    memcpy(reading->full_path + length, path, strlen(path) + 1);
    reading->path = reading->full_path + length;
}

void served_read_send(struct served_connection *connection,
                      const struct served_request *request)
{
    const char *ns = connection->daemon->options->connection.ns;

    if (served_hold_held(connection, request->number) == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UVZK_ENOTHELD, 0));
        return;
    }
    ns = ns == NULL ? "" : ns;
    struct reading *reading =
        served_call_new(connection, request->id,
                        sizeof(*reading) + strlen(ns) + strlen(request->path) + 2);
    if (reading == NULL) {
        return;
    }
    reading->number = request->number;
    set_path(reading, ns, request->path);
    look(reading);
}
