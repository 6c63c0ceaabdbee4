/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for the participants of a path (served_status.h). served_operations.c calls it.
 *
 *   served_status_begin() --> on_participants: the answer --> on_closed
 *
 * The list's locks are part of the struct. So the struct lives until they are closed, or,
 * if the client has closed them, until the client is gone. */
#include "serve/served_status.h"

#include <stdlib.h>

#include <utlist.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_connection.h"

/* Of participants of a status, longer data are left out. */
#define DATA_MAX 1000U

/* ------------------------------------------------------------------------- the end */

static void free_status(struct daemon *daemon, struct served_status *status)
{
    DL_DELETE(daemon->statuses, status);
    participant_list_free(&status->list);
    free(status);
}

void served_statuses_free(struct daemon *daemon)
{
    struct served_status *status, *next;

    DL_FOREACH_SAFE(daemon->statuses, status, next)
    {
        free_status(daemon, status);
    }
}

static void on_closed(struct participant_list *list)
{
    struct served_status *status = list->data;
    struct served_connection *connection = status->connection;

    if (status->in_close) {
        status->nothing_to_close = true;
        return;
    }
    free_status(connection->daemon, status);
    served_connection_done(connection);
}

/* Answers, and closes the list. */
static void served_status_end(struct served_status *status, json_t *object)
{
    struct served_connection *connection = status->connection;

    served_connection_send(connection, object);
    status->in_close = true;
    participant_list_close(&status->list, on_closed);
    status->in_close = false;
    if (!status->nothing_to_close) {
        return;
    }
    /* Either no lock was opened, or the client is closing them. */
    if (!status->opened) {
        free_status(connection->daemon, status);
    }
    served_connection_done(connection);
}

/* ----------------------------------------------------------------------- the answer */

static const char *lock_of(enum recipe recipe)
{
    static const enum served_kind kinds[PARTICIPANT_RECIPES] = {
        [RECIPE_WRITE] = SERVED_WRITE,
        [RECIPE_READ] = SERVED_READ,
        [RECIPE_MUTEX] = SERVED_MUTEX,
        [RECIPE_LEASES] = SERVED_SEMAPHORE,
        [RECIPE_LATCH] = SERVED_LATCH};

    return served_kind_name(kinds[recipe]);
}

/* A lease's znode does not show the token of its hold. Returns NULL if there is no
 * memory. */
static json_t *participant_json(const struct participant *participant, size_t data_max)
{
    json_t *object = json_object();
    bool added = true;

    served_answer_add_text(object, "node", participant->node);
    if (participant->recipe != RECIPE_LEASES) {
        served_answer_add_number(object, "token", participant->token);
    }
    served_answer_add_session(object, participant->session);
    served_answer_add_number(object, "created_ms", participant->since_ms);
    if (participant->data_length > data_max) {
        served_answer_add_number(object, "data_length",
                                 (int64_t)participant->data_length);
    } else {
        added = served_bytes_add(object, participant->data, participant->data_length);
    }
    if (!added) {
        json_decref(object);
    }
    return added ? object : NULL;
}

/* Returns false if there is no memory. */
static bool add_participants(const struct served_status *status, json_t *answer)
{
    json_t *rows = json_array();
    int64_t left_out = 0;

    for (size_t i = 0; i < status->list.count; i++) {
        const struct participant *participant = &status->list.participants[i];
        if (participant->data == NULL ||
            (int64_t)json_array_size(rows) == status->limit) {
            left_out++;
            continue;
        }
        json_t *row = participant_json(participant, DATA_MAX);
        if (row == NULL || json_array_append_new(rows, row) < 0) {
            json_decref(rows);
            return false;
        }
        served_answer_add_text(row, "lock", lock_of(participant->recipe));
        json_object_set_new(row, "holds", json_boolean(participant->holds));
    }
    served_answer_add_number(answer, "left_out", left_out);
    return json_object_set_new(answer, "participants", rows) == 0;
}

/* The first holder leads. Returns false if there is no memory. */
static bool add_leader(const struct served_status *status, json_t *answer)
{
    const struct participant *leader = NULL;
    int64_t waiters = 0;

    for (size_t i = 0; i < status->list.count; i++) {
        const struct participant *participant = &status->list.participants[i];
        waiters += !participant->holds;
        if (participant->holds && leader == NULL) {
            leader = participant;
        }
    }
    json_t *row = leader == NULL ? json_null() : participant_json(leader, SIZE_MAX);
    served_answer_add_number(answer, "waiters", waiters);
    return json_object_set_new(answer, "leader", row) == 0;
}

static json_t *answer_of(const struct served_status *status)
{
    json_t *answer = served_answer_ok(status->id);
    bool added = status->operation == SERVED_STATUS ? add_participants(status, answer)
                                                    : add_leader(status, answer);

    if (!added) {
        json_decref(answer);
        return served_answer_status(status->id, UV_ENOMEM, 0);
    }
    return served_answer_fit(answer, status->id,
                             status->connection->daemon->options->max_unsent);
}

static void on_participants(struct participant_list *list, int status)
{
    struct served_status *of = list->data;

    if (status == 0 && list->inconsistent) {
        served_status_end(
            of, served_answer_error(of->id, uvzk_err_name(UV_EAGAIN),
                                    "the holders changed while they were read", 1));
    } else {
        served_status_end(of, status < 0 ? served_answer_status(of->id, status, 0)
                                         : answer_of(of));
    }
}

/* ----------------------------------------------------------------------- the request */

/* Returns NULL if there is no memory. */
static struct served_status *status_new(struct served_connection *connection,
                                        const struct served_request *request)
{
    struct served_status *status = calloc(1, sizeof(*status));

    if (status != NULL) {
        status->list.data = status;
        status->connection = connection;
        status->id = request->id;
        status->operation = request->operation;
        status->limit = request->limit;
        status->list.reads_of_each = (size_t)request->limit;
        if (request->operation == SERVED_LEADER) {
            status->list.reads_of_each = 1;
            status->list.recipes =
                1U << (request->kind == SERVED_MUTEX ? RECIPE_MUTEX : RECIPE_LATCH);
        }
        DL_APPEND(connection->daemon->statuses, status);
    }
    return status;
}

void served_status_begin(struct served_connection *connection,
                         const struct served_request *request)
{
    if (!served_connection_begin(connection, request->id)) {
        return;
    }
    struct served_status *of = status_new(connection, request);
    if (of == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UV_ENOMEM, 0));
        served_connection_done(connection);
        return;
    }
    int status = participant_list_init(&of->list, &connection->daemon->zookeeper.client,
                                       request->path);
    of->opened = status == 0;
    if (status == 0) {
        status = participant_list_read(&of->list, true, on_participants);
    }
    if (status < 0) {
        served_status_end(of, served_answer_refused(request->id, status, "path"));
    }
}
