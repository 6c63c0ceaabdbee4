/* Requests and watches for the participants of a lock (served_listing.h). A watch lists
 * again after each interval and sends an event only if the names differ from the last
 * ones. */
#include "serve/served_listing.h"

#include <stdlib.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_lock.h"

static void on_closed(uv_handle_t *timer)
{
    struct served_listing *listing = timer->data;
    struct served_connection *connection = listing->connection;

    json_decref(listing->seen);
    free(listing);
    served_connection_done(connection);
}

/* Ends it now, or when its request is done. */
static void end(struct served_listing *listing)
{
    listing->ending = true;
    if (!listing->listing && !uv_is_closing((uv_handle_t *)&listing->timer)) {
        HASH_DEL(listing->connection->listings, listing);
        served_lock_leave(&listing->connection->daemon->locks, listing->lock);
        uv_close((uv_handle_t *)&listing->timer, on_closed);
    }
}

void served_listings_end(struct served_connection *connection)
{
    struct served_listing *listing, *next;

    HASH_ITER(hh, connection->listings, listing, next)
    {
        end(listing);
    }
}

/* Sends that a watch is over. */
static void send_unwatched(struct served_listing *listing, const char *error,
                           const char *message)
{
    served_connection_send(
        listing->connection,
        served_answer_event_over("unwatched", error, message, "watch", listing->number));
}

void served_listings_expire(struct served_connection *connection)
{
    struct served_listing *listing, *next;

    HASH_ITER(hh, connection->listings, listing, next)
    {
        if (listing->ending) {
            continue;
        }
        if (listing->id >= 0) {
            served_connection_send(connection, served_answer_ending(listing->id));
        } else {
            send_unwatched(listing, SERVED_EENDING, SERVED_ENDING_TEXT);
        }
        end(listing);
    }
}

/* A watch is over when a listing fails for good. */
static void fail(struct served_listing *listing, int status, bool refused)
{
    if (listing->id >= 0) {
        served_connection_send(listing->connection,
                               served_answer_status(listing->id, status, refused));
    } else {
        send_unwatched(listing, uvzk_err_name(status), uvzk_strerror(status));
    }
    end(listing);
}

static int list(struct served_listing *listing);

static void on_again(uv_timer_t *timer)
{
    struct served_listing *listing = timer->data;
    int status = list(listing);

    if (status < 0) {
        fail(listing, status, true);
    }
}

/* The first listing is the answer to the request, a later one an event if it differs from
 * the one before. */
static void show(struct served_listing *listing, json_t *names)
{
    json_t *object;

    if (listing->id < 0 && json_equal(names, listing->seen)) {
        json_decref(names);
        return;
    }
    json_decref(listing->seen);
    listing->seen = names;
    object = listing->id >= 0 ? served_answer_ok(listing->id)
                              : served_answer_event("participants");
    listing->id = -1;
    if (listing->interval_ms > 0) {
        served_answer_add_number(object, "watch", listing->number);
    }
    json_object_update(object, names);
    served_connection_send(listing->connection, object);
}

static void on_participants(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct served_listing *listing = request->data;

    listing->listing = false;
    if (listing->ending) {
        end(listing);
        return;
    }
    /* The client connects again by itself. */
    if (listing->id < 0 && status < 0 && uvzk_err_is_retriable(status)) {
        uv_timer_start(&listing->timer, on_again, listing->interval_ms, 0);
        return;
    }
    if (status < 0) {
        fail(listing, status, false);
        return;
    }
    size_t holding = request->result->holding;
    json_t *names = json_object();
    served_answer_add_texts(names, "holders", paths, holding);
    served_answer_add_texts(names, "waiters", holding < count ? paths + holding : NULL,
                            count - holding);
    show(listing, names);
    /* The program may be gone: sending may end the connection, and with it this watch. */
    if (listing->interval_ms == 0 || listing->ending) {
        end(listing);
    } else {
        uv_timer_start(&listing->timer, on_again, listing->interval_ms, 0);
    }
}

static int list(struct served_listing *listing)
{
    int status = uvzk_lock_participants(served_lock_of(listing->lock, listing->kind),
                                        &listing->request, on_participants);

    listing->listing = status == 0;
    return status;
}

/* Returns NULL if there is no memory. */
static struct served_listing *listing_new(struct served_connection *connection,
                                          const struct served_request *request)
{
    struct served_listing *listing = calloc(1, sizeof(*listing));

    if (listing == NULL) {
        return NULL;
    }
    listing->connection = connection;
    listing->kind = request->kind;
    listing->number = ++connection->daemon->last_number;
    listing->id = request->id;
    listing->interval_ms =
        request->operation == SERVED_WATCH ? (uint64_t)request->interval_ms : 0;
    listing->request.data = listing;
    HASH_ADD(hh, connection->listings, number, sizeof(listing->number), listing);
    if (listing->hh.tbl == NULL) {
        free(listing);
        return NULL;
    }
    uv_timer_init(&connection->daemon->loop, &listing->timer);
    listing->timer.data = listing;
    return listing;
}

void served_listing_begin(struct served_connection *connection,
                          const struct served_request *request)
{
    struct served_locks *locks = &connection->daemon->locks;
    int status = 0;

    if (!served_connection_begin(connection, request->id)) {
        return;
    }
    struct served_lock *lock = served_lock_enter(locks, request, &status);
    struct served_listing *listing =
        lock == NULL ? NULL : listing_new(connection, request);
    if (listing == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id,
                                                    lock == NULL ? status : UV_ENOMEM,
                                                    lock == NULL));
        if (lock != NULL) {
            served_lock_leave(locks, lock);
        }
        served_connection_done(connection);
        return;
    }
    listing->lock = lock;
    status = list(listing);
    if (status < 0) {
        fail(listing, status, true);
    }
}

void served_listing_unwatch(struct served_connection *connection,
                            const struct served_request *request)
{
    struct served_listing *listing;

    HASH_FIND(hh, connection->listings, &request->number, sizeof(request->number),
              listing);
    if (listing == NULL || listing->ending || listing->interval_ms == 0) {
        served_connection_send(connection,
                               served_answer_error(request->id, SERVED_EREQUEST,
                                                   "there is no such watch", 0));
        return;
    }
    served_connection_send(connection, served_answer_ok(request->id));
    if (!connection->ended) {
        end(listing);
    }
}
