/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of programs (served_watch.h), by the library's views of participants. The first
 * thing that a view shows is the answer to the request, everything later an event. A watch
 * is over when its participants cannot be listed for a reason that does not pass by itself. */
#include "serve/served_watch.h"

#include <stdlib.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_connection.h"
#include "serve/served_lock.h"

/* ----------------------------------------------------------------------- the end */

static void watch_free(struct served_watch *watch)
{
    struct served_connection *connection = watch->connection;

    HASH_DEL(connection->watches, watch);
    if (watch->lock != NULL) {
        served_lock_leave(&connection->daemon->locks, watch->lock);
    }
    free(watch);
    served_connection_done(connection);
}

static void on_closed(uvzk_participants_view_t *view)
{
    watch_free(view->data);
}

static void watch_end(struct served_watch *watch)
{
    if (!watch->ending) {
        watch->ending = true;
        uvzk_participants_view_close(&watch->view, on_closed);
    }
}

void served_watches_end(struct served_connection *connection)
{
    struct served_watch *watch, *next;

    HASH_ITER(hh, connection->watches, watch, next)
    {
        watch_end(watch);
    }
}

static void send_unwatched(struct served_watch *watch, const char *error,
                           const char *message)
{
    served_connection_send(
        watch->connection,
        served_answer_event_over("unwatched", error, message, "watch", watch->number));
}

void served_watches_expire(struct served_connection *connection)
{
    struct served_watch *watch, *next;

    HASH_ITER(hh, connection->watches, watch, next)
    {
        if (watch->ending) {
            continue;
        }
        if (watch->id >= 0) {
            served_connection_send(connection, served_answer_ending(watch->id));
        } else {
            send_unwatched(watch, SERVED_EENDING, SERVED_ENDING_TEXT);
        }
        watch_end(watch);
    }
}

/* ------------------------------------------------------------------- what is shown */

/* Adds who leads, or null. Returns false if there is no memory. */
static bool add_leader(json_t *object, const uvzk_election_participant_t *leader)
{
    json_t *row = leader == NULL ? json_null() : json_object();

    if (leader != NULL) {
        served_answer_add_text(row, "node", leader->path);
        served_answer_add_number(row, "token", leader->token);
        served_answer_add_session(row, leader->session_id);
        if (!served_bytes_add(row, leader->id, leader->id_length)) {
            json_decref(row);
            return false;
        }
    }
    return json_object_set_new(object, "leader", row) == 0;
}

/* Of an election, the first leads and holds. Returns false if there is no memory. */
static bool add_election(json_t *object, const uvzk_result_t *result)
{
    const char **paths = calloc(result->count + 1, sizeof(paths[0]));
    size_t holding = result->count > 0;

    if (paths == NULL) {
        return false;
    }
    for (size_t i = 0; i < result->count; i++) {
        paths[i] = result->participants[i]->path;
    }
    served_answer_add_participants(object, paths, result->count, holding);
    free(paths);
    return add_leader(object, holding > 0 ? result->participants[0] : NULL);
}

static void watch_show(struct served_watch *watch, const uvzk_result_t *result)
{
    json_t *object = watch->id >= 0 ? served_answer_ok(watch->id)
                                    : served_answer_event("participants");

    watch->id = -1;
    served_answer_add_number(object, "watch", watch->number);
    if (watch->lock != NULL) {
        served_answer_add_participants(object, result->paths, result->count,
                                       result->holding);
    } else if (!add_election(object, result)) {
        json_decref(object);
        object = NULL;
    }
    served_connection_send(watch->connection, object);
}

static void watch_fail(struct served_watch *watch, int status, bool refused)
{
    if (watch->id >= 0) {
        served_connection_send(watch->connection,
                               served_answer_status(watch->id, status, refused));
    } else {
        send_unwatched(watch, uvzk_err_name(status), uvzk_strerror(status));
    }
}

/* Sending may end the connection, and with it this watch. */
static void on_shown(uvzk_participants_view_t *view, int status,
                     const uvzk_result_t *result)
{
    struct served_watch *watch = view->data;

    if (status == 0) {
        watch_show(watch, result);
    } else if (!uvzk_err_is_retriable(status)) {
        watch_fail(watch, status, false);
        watch_end(watch);
    }
}

/* --------------------------------------------------------------------- the requests */

/* Returns NULL if there is no memory. */
static struct served_watch *watch_new(struct served_connection *connection,
                                      const struct served_request *request)
{
    struct served_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL) {
        return NULL;
    }
    watch->connection = connection;
    watch->number = ++connection->daemon->last_number;
    watch->id = request->id;
    watch->view.data = watch;
    HASH_ADD(hh, connection->watches, number, sizeof(watch->number), watch);
    if (watch->hh.tbl == NULL) {
        free(watch);
        return NULL;
    }
    return watch;
}

static int watch_open(struct served_watch *watch, const struct served_request *request)
{
    struct served_locks *locks = &watch->connection->daemon->locks;
    uint64_t interval_ms = (uint64_t)request->interval_ms;
    int status = 0;

    if (request->kind == SERVED_LATCH) {
        return uvzk_participants_view_init_election(locks->client, &watch->view,
                                                    request->path, UVZK_ELECTION_LATCH,
                                                    interval_ms, on_shown);
    }
    watch->lock = served_lock_enter(locks, request, &status);
    return watch->lock == NULL
               ? status
               : uvzk_participants_view_init(served_lock_of(watch->lock, request->kind),
                                             &watch->view, interval_ms, on_shown);
}

void served_watch_begin(struct served_connection *connection,
                        const struct served_request *request)
{
    if (!served_connection_begin(connection, request->id)) {
        return;
    }
    struct served_watch *watch = watch_new(connection, request);
    if (watch == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UV_ENOMEM, false));
        served_connection_done(connection);
        return;
    }
    int status = watch_open(watch, request);
    if (status < 0) {
        watch->ending = true;
        watch_fail(watch, status, true);
        watch_free(watch);
    }
}

void served_watch_unwatch(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_watch *watch;

    HASH_FIND(hh, connection->watches, &request->number, sizeof(request->number), watch);
    if (watch == NULL || watch->ending) {
        served_connection_send(connection,
                               served_answer_error(request->id, SERVED_EREQUEST,
                                                   "there is no such watch", 0));
        return;
    }
    served_connection_send(connection, served_answer_ok(request->id));
    if (!connection->ended) {
        watch_end(watch);
    }
}
