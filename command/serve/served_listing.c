/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for the participants of a lock (served_listing.h). */
#include "serve/served_listing.h"

#include <stdlib.h>

#include <utlist.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_lock.h"

static void listing_end(struct served_listing *listing)
{
    struct served_connection *connection = listing->connection;

    DL_DELETE(connection->listings, listing);
    served_lock_leave(&connection->daemon->locks, listing->lock);
    free(listing);
    served_connection_done(connection);
}

void served_listings_expire(struct served_connection *connection)
{
    struct served_listing *listing, *next;

    DL_FOREACH_SAFE(connection->listings, listing, next)
    {
        if (listing->id >= 0) {
            served_connection_send(connection, served_answer_ending(listing->id));
            listing->id = -1;
        }
    }
}

static void on_participants(uvzk_req_t *request, int status)
{
    const uvzk_result_t *result = request->result;
    struct served_listing *listing = request->data;
    json_t *answer = status < 0 ? served_answer_status(listing->id, status, false)
                                : served_answer_ok(listing->id);

    if (status == 0) {
        served_answer_add_participants(answer, result->paths, result->count,
                                       result->holding);
    }
    if (listing->id >= 0) {
        served_connection_send(listing->connection, answer);
    } else {
        json_decref(answer);
    }
    listing_end(listing);
}

/* Returns NULL if there is no memory. */
static struct served_listing *listing_new(struct served_connection *connection,
                                          struct served_lock *lock, int64_t id)
{
    struct served_listing *listing = calloc(1, sizeof(*listing));

    if (listing != NULL) {
        listing->connection = connection;
        listing->lock = lock;
        listing->id = id;
        listing->request.data = listing;
        DL_APPEND(connection->listings, listing);
    }
    return listing;
}

void served_listing_begin(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_locks *locks = &connection->daemon->locks;
    struct served_listing *listing = NULL;
    int status = 0;

    if (!served_connection_begin(connection, request->id)) {
        return;
    }
    struct served_lock *lock = served_lock_enter(locks, request, &status);
    if (lock != NULL) {
        listing = listing_new(connection, lock, request->id);
        status = listing == NULL
                     ? UV_ENOMEM
                     : uvzk_lock_participants(served_lock_of(lock, request->kind),
                                              &listing->request, on_participants);
    }
    if (status == 0) {
        return;
    }
    served_connection_send(
        connection, served_answer_status(request->id, status, status != UV_ENOMEM));
    if (listing != NULL) {
        listing_end(listing);
        return;
    }
    if (lock != NULL) {
        served_lock_leave(locks, lock);
    }
    served_connection_done(connection);
}
