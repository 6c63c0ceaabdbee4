/* SPDX-License-Identifier: Apache-2.0 */
/* The acquires and holds of all connections. served_operations.c calls it with requests,
 * served_connection.c when a connection ends, daemon.c when the daemon ends, and the
 * library with the outcomes of a hold.
 *
 * A hold that is OVER is freed at once: the library's last callback has been called. A
 * pending verify of the hold knows only its number. */
#include "serve/served_hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/daemon.h"
#include "serve/expiring_holds.h"
#include "serve/served_answer.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"
#include "serve/served_lock.h"
#include "serve/served_multilock.h"
#include "serve/served_owner.h"
#include "serve/served_validity.h"

/* "members`, number 100, `path" fits. */
#define FIELD_SIZE 64
/* The end of a validity without limit, in lines. */
#define UNLIMITED ((uint64_t)SERVED_NUMBER_MAX)

static const struct uvzk__state table[] = {
    UVZK__STATE(SERVED_HOLD_, WAITING, HELD, OVER),
    UVZK__STATE(SERVED_HOLD_, HELD, EXPIRING, RELEASING, OVER),
    UVZK__STATE(SERVED_HOLD_, EXPIRING, RELEASING, OVER),
    UVZK__STATE(SERVED_HOLD_, RELEASING, OVER),
    UVZK__FINAL(SERVED_HOLD_, OVER),
};

/* The program knows nothing about a hold that it was not granted. */
static bool invariant_holds(const void *object)
{
    const struct served_hold *hold = object;

    return hold->state != SERVED_HOLD_WAITING || hold->told_until == 0;
}

const struct uvzk__machine served_hold_machine = UVZK__MACHINE(
    "a hold of uvzk serve", table, struct served_hold, state, invariant_holds);

static void leave_slot(struct served_hold *hold)
{
    served_slots_leave(&hold->connection->daemon->slots, hold->slot);
    hold->slot = SERVED_NO_SLOT;
}

/* Of several with one id, the earliest is found. */
static void begin_to_wait(struct served_hold *hold)
{
    struct served_connection *connection = hold->connection;
    struct served_hold *other = NULL;

    if (connection->waiting_besides == 0) {
        HASH_FIND(waiting, connection->waiting, &hold->request_id,
                  sizeof(hold->request_id), other);
        if (other == NULL) {
            HASH_ADD(waiting, connection->waiting, request_id, sizeof(hold->request_id),
                     hold);
        }
    }
    /* Or there is no memory for the table. */
    if (hold->waiting.tbl == NULL) {
        connection->waiting_besides++;
    }
}

static void wait_no_more(struct served_hold *hold)
{
    if (hold->waiting.tbl != NULL) {
        HASH_DELETE(waiting, hold->connection->waiting, hold);
    } else {
        hold->connection->waiting_besides--;
    }
}

static struct served_hold *find_waiting(const struct served_connection *connection,
                                        int64_t request_id)
{
    struct served_hold *hold, *next;

    HASH_FIND(waiting, connection->waiting, &request_id, sizeof(request_id), hold);
    if (hold != NULL || connection->waiting_besides == 0) {
        return hold;
    }
    HASH_ITER(hh, connection->holds, hold, next)
    {
        if (hold->state == SERVED_HOLD_WAITING && hold->request_id == request_id) {
            return hold;
        }
    }
    return NULL;
}

static void move_and_count(struct served_hold *hold, enum served_hold_state state)
{
    if (state >= SERVED_HOLD_RELEASING && hold->state < SERVED_HOLD_RELEASING) {
        hold->connection->daemon->hold_count--;
    }
    if (hold->state == SERVED_HOLD_WAITING) {
        wait_no_more(hold);
    }
    leave_slot(hold);
    uvzk__machine_move(&served_hold_machine, hold, state);
}

static void uncount(struct served_connection *connection, size_t counted)
{
    for (; counted > 0; counted--) {
        served_connection_done(connection);
    }
}

/* The library has called its last callback, or the request was refused. */
static void finish(struct served_hold *hold)
{
    struct served_connection *connection = hold->connection;

    expiring_holds_remove(&connection->daemon->expiring, hold);
    move_and_count(hold, SERVED_HOLD_OVER);
    HASH_DEL(connection->holds, hold);
    if (hold->lock != NULL) {
        served_lock_leave(&connection->daemon->locks, hold->lock);
    }
    if (hold->multilock != NULL) {
        served_multilock_leave(hold->multilock);
    }
    if (hold->owner != NULL) {
        served_owner_leave(&connection->owners, hold->owner);
    }
    size_t counted = hold->counted;
    free(hold);
    uncount(connection, counted);
}

static struct served_hold *find(const struct served_connection *connection,
                                int64_t number)
{
    struct served_hold *hold;

    HASH_FIND(hh, connection->holds, &number, sizeof(number), hold);
    return hold;
}

uvzk_hold_t *served_hold_held(const struct served_connection *connection, int64_t number)
{
    struct served_hold *hold = find(connection, number);

    return hold == NULL || hold->state != SERVED_HOLD_HELD ? NULL : &hold->hold;
}

static void send_status(struct served_connection *connection, int64_t id, int status,
                        bool refused)
{
    served_connection_send(connection, served_answer_status(id, status, refused));
}

/* ------------------------------------------------------------------------ validity */

/* Tells the program the end of the hold's validity: no later one while the hold is about to
 * end. Returns it. */
static uint64_t tell_validity(struct served_hold *hold)
{
    if (hold->state != SERVED_HOLD_HELD) {
        return 0;
    }
    uint64_t until = uvzk_hold_valid_until(&hold->hold);
    if (until > hold->told_until) {
        hold->told_until = until;
    }
    served_slots_tell(&hold->connection->daemon->slots, hold->slot, until);
    return until;
}

void served_holds_tell(struct served_connection *connection)
{
    struct served_hold *hold, *next;

    HASH_ITER(hh, connection->holds, hold, next)
    {
        tell_validity(hold);
    }
}

/* The answer to a request that was read at `received`. */
static json_t *answer(struct served_hold *hold, int64_t id, uint64_t received)
{
    uint64_t told = tell_validity(hold);
    uint64_t until = told < UNLIMITED ? told : UNLIMITED;
    struct served_now now = served_validity_now();
    json_t *object = served_answer_ok(id);

    served_answer_add_number(object, "hold", hold->number);
    served_answer_add_number(object, "token", uvzk_hold_token(&hold->hold));
    served_answer_add_number(object, "valid_until_ms", (int64_t)until);
    served_answer_add_number(object, "valid_for_ms",
                             (int64_t)served_validity_for(until, received, &now));
    return object;
}

/* ------------------------------------------------------------------------- releasing */

static void on_released(uvzk_hold_t *of, int status)
{
    struct served_hold *hold = of->data;

    if (hold->request_id >= 0 && status == 0) {
        json_t *object = served_answer_ok(hold->request_id);
        served_answer_add_number(object, "hold", hold->number);
        served_connection_send(hold->connection, object);
    } else if (hold->request_id >= 0) {
        send_status(hold->connection, hold->request_id, status, false);
    }
    finish(hold);
}

/* id: of the request to answer; -1: none. */
static void release(struct served_hold *hold, int64_t id)
{
    int status = uvzk_hold_release(&hold->hold, on_released);

    /* It is lost already, and on_lost is about to be called. */
    if (status < 0) {
        if (id >= 0) {
            send_status(hold->connection, id, status, false);
        }
        return;
    }
    expiring_holds_remove(&hold->connection->daemon->expiring, hold);
    move_and_count(hold, SERVED_HOLD_RELEASING);
    hold->request_id = id;
}

/* Releases the hold when the program can no longer believe in it. */
static void expire(struct served_hold *hold)
{
    if (uvzk_now() >= hold->told_until) {
        release(hold, -1);
    } else {
        move_and_count(hold, SERVED_HOLD_EXPIRING);
        expiring_holds_add(&hold->connection->daemon->expiring, hold);
    }
}

void served_hold_expired(struct served_hold *hold)
{
    release(hold, -1);
}

void served_holds_end(struct served_connection *connection, bool believed)
{
    struct served_hold *hold, *next;

    /* No callback runs inside these calls. */
    HASH_ITER(hh, connection->holds, hold, next)
    {
        if (hold->state == SERVED_HOLD_WAITING) {
            uvzk_hold_cancel(&hold->hold);
        } else if (hold->state == SERVED_HOLD_HELD && believed) {
            expire(hold);
        } else if ((hold->state == SERVED_HOLD_HELD ||
                    hold->state == SERVED_HOLD_EXPIRING) &&
                   !believed) {
            release(hold, -1);
        }
    }
}

static void send_lost(struct served_hold *hold, const char *error, const char *message)
{
    served_connection_send(
        hold->connection,
        served_answer_event_over("lost", error, message, "hold", hold->number));
}

void served_holds_expire(struct served_connection *connection)
{
    struct served_hold *hold, *next;

    HASH_ITER(hh, connection->holds, hold, next)
    {
        if (hold->state == SERVED_HOLD_WAITING) {
            uvzk_hold_cancel(&hold->hold);
        } else if (hold->state == SERVED_HOLD_HELD) {
            expire(hold);
            send_lost(hold, SERVED_EENDING, SERVED_ENDING_TEXT);
        }
    }
}

/* ------------------------------------------------------------------------- acquiring */

static void on_lost(uvzk_hold_t *of, int reason)
{
    struct served_hold *hold = of->data;

    leave_slot(hold); /* before the program can read that the hold is lost */
    /* The program knows of the end of an EXPIRING hold. */
    if (hold->state == SERVED_HOLD_HELD) {
        send_lost(hold, uvzk_err_name(reason), uvzk_strerror(reason));
    }
    finish(hold);
}

static void send_refusal(const struct served_hold *hold, int status)
{
    /* The program did not ask for that: the daemon ends. */
    if (status == UV_ECANCELED && !hold->cancelled) {
        served_connection_send(hold->connection, served_answer_ending(hold->request_id));
        return;
    }
    /* libuv's text is about connections. */
    if (status == UV_ETIMEDOUT) {
        served_connection_send(
            hold->connection, served_answer_error(hold->request_id, uvzk_err_name(status),
                                                  "other contenders were ahead",
                                                  uvzk_err_is_retriable(status)));
    } else {
        send_status(hold->connection, hold->request_id, status, false);
    }
}

/* In the order of the locks' paths. */
static void add_nodes(json_t *object, const uvzk_hold_t *hold)
{
    const char *nodes[SERVED_LIST_MAX];
    uint32_t count = uvzk_hold_node_count(hold);

    for (uint32_t i = 0; i < count && i < SERVED_LIST_MAX; i++) {
        nodes[i] = uvzk_hold_node_path(hold, i);
    }
    served_answer_add_texts(object, "nodes", nodes, count);
}

static void add_slot(json_t *object, const struct served_hold *hold)
{
    if (hold->connection->daemon->slots.memory == NULL) {
        return;
    }
    if (hold->slot == SERVED_NO_SLOT) {
        served_answer_add_null(object, "slot");
    } else {
        served_answer_add_number(object, "slot", hold->slot);
    }
}

static void on_acquired(uvzk_hold_t *of, int status)
{
    struct served_hold *hold = of->data;
    struct served_connection *connection = hold->connection;
    struct daemon *daemon = connection->daemon;

    if (status < 0) {
        send_refusal(hold, status);
        finish(hold);
        /* No later acquire could succeed. */
        if (status == UVZK_EAUTH || status == UVZK_EINTERNAL) {
            daemon_fail(daemon, status);
        }
        return;
    }
    move_and_count(hold, SERVED_HOLD_HELD);
    hold->granted = served_validity_now().monotonic;
    hold->slot = served_slots_take(&daemon->slots, hold->number);
    json_t *object = answer(hold, hold->request_id, hold->received);
    add_slot(object, hold);
    if (hold->multilock == NULL) {
        served_answer_add_text(object, "node", uvzk_hold_path(&hold->hold));
    } else {
        add_nodes(object, &hold->hold);
    }
    hold->request_id = -1;
    /* May end the connection, and with it this hold. */
    served_connection_send(connection, object);
}

static void on_queued(uvzk_hold_t *of, uint64_t ahead)
{
    const struct served_hold *hold = of->data;
    json_t *object = served_answer_event("queued");

    served_answer_add_number(object, "id", hold->request_id);
    served_answer_add_number(object, "ahead", (int64_t)ahead);
    served_connection_send(hold->connection, object);
}

static void on_revoked(uvzk_hold_t *of)
{
    const struct served_hold *hold = of->data;
    json_t *object;

    if (hold->state != SERVED_HOLD_WAITING && hold->state != SERVED_HOLD_HELD) {
        return;
    }
    object = served_answer_event("revoke");
    if (hold->state == SERVED_HOLD_HELD) {
        served_answer_add_number(object, "hold", hold->number);
    } else {
        served_answer_add_number(object, "id", hold->request_id);
    }
    served_connection_send(hold->connection, object);
}

/* The hold has lasted almost its max_hold_ms. */
static void on_warning(uvzk_hold_t *of, uint64_t ends_at)
{
    const struct served_hold *hold = of->data;

    if (hold->state == SERVED_HOLD_HELD) {
        json_t *object = served_answer_event("max_hold");
        served_answer_add_number(object, "hold", hold->number);
        served_answer_add_number(object, "ends_at_ms", (int64_t)ends_at);
        served_connection_send(hold->connection, object);
    }
}

static int start(struct served_hold *hold, const struct served_request *request)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = hold->owner;
    options.timeout_ms = request->timeout_ms;
    options.node_data = request->data;
    options.node_data_length = request->data == NULL ? 0 : strlen(request->data);
    options.leases = (uint32_t)request->leases;
    options.queued_cb = request->queued ? on_queued : NULL;
    options.revoke_cb = request->revocable ? on_revoked : NULL;
    options.max_hold_ms = request->max_hold_ms;
    options.max_hold_warning_ms = (uint64_t)request->warning_ms;
    options.max_hold_cb = request->warning_ms > 0 ? on_warning : NULL;
    hold->hold.data = hold;
    return uvzk_lock_acquire(hold->multilock == NULL
                                 ? served_lock_of(hold->lock, request->kind)
                                 : &hold->multilock->lock,
                             &hold->hold, &options, on_acquired, on_lost);
}

/* Returns false if there are too many: then the program has been told. */
static bool count(struct served_connection *connection, int64_t id, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++) {
        if (!served_connection_begin(connection, id)) {
            uncount(connection, i);
            return false;
        }
    }
    return true;
}

/* Returns NULL if there is no memory. */
static struct served_hold *hold_new(struct served_connection *connection,
                                    const struct served_request *request)
{
    struct served_hold *hold = calloc(1, sizeof(*hold));

    if (hold == NULL) {
        return NULL;
    }
    hold->connection = connection;
    hold->number = ++connection->daemon->last_number;
    hold->request_id = request->id;
    hold->kind = request->kind;
    hold->received = connection->received;
    hold->slot = SERVED_NO_SLOT;
    if (request->owner != NULL) {
        hold->owner = served_owner_enter(&connection->owners, request->owner);
    }
    if (request->owner == NULL || hold->owner != NULL) {
        HASH_ADD(hh, connection->holds, number, sizeof(hold->number), hold);
    }
    if (hold->hh.tbl == NULL) {
        if (hold->owner != NULL) {
            served_owner_leave(&connection->owners, hold->owner);
        }
        free(hold);
        return NULL;
    }
    begin_to_wait(hold);
    connection->daemon->hold_count++;
    return hold;
}

/* Opens what is acquired. Returns false if it was refused, and the program told. */
static bool enter(struct served_hold *hold, const struct served_request *request)
{
    struct served_locks *locks = &hold->connection->daemon->locks;
    char field[FIELD_SIZE] = "path";
    size_t member = 0;
    int status = 0;

    if (request->members == NULL) {
        hold->lock = served_lock_enter(locks, request, &status);
    } else {
        hold->multilock = served_multilock_enter(locks, request, &status, &member);
        snprintf(field, sizeof(field), "members`, number %zu, `path", member + 1);
    }
    if (hold->lock == NULL && hold->multilock == NULL) {
        served_connection_send(hold->connection,
                               served_answer_refused(request->id, status, field));
        return false;
    }
    return true;
}

void served_hold_acquire(struct served_connection *connection,
                         const struct served_request *request)
{
    size_t counted = request->members == NULL ? 1 : json_array_size(request->members);

    if (!count(connection, request->id, counted)) {
        return;
    }
    struct served_hold *hold = hold_new(connection, request);
    if (hold == NULL) {
        send_status(connection, request->id, UV_ENOMEM, false);
        uncount(connection, counted);
        return;
    }
    hold->counted = counted;
    if (!enter(hold, request)) {
        finish(hold);
        return;
    }
    int status = start(hold, request);
    if (status < 0) {
        send_status(connection, request->id, status, true);
        finish(hold);
    }
}

/* ------------------------------------------------------------- the other requests */

void served_hold_cancel(struct served_connection *connection,
                        const struct served_request *request)
{
    struct served_hold *hold = find_waiting(connection, request->number);
    int status = UVZK_ESTATE;

    if (hold != NULL) {
        status = uvzk_hold_cancel(&hold->hold);
        hold->cancelled = status == 0;
    }
    if (status < 0) {
        send_status(connection, request->id, status, false);
    } else {
        served_connection_send(connection, served_answer_ok(request->id));
    }
}

void served_hold_release(struct served_connection *connection,
                         const struct served_request *request)
{
    struct served_hold *hold = find(connection, request->number);

    if (hold == NULL ||
        (hold->state != SERVED_HOLD_HELD && hold->state != SERVED_HOLD_EXPIRING)) {
        send_status(connection, request->id, UVZK_ENOTHELD, false);
    } else {
        release(hold, request->id);
    }
}

void served_hold_valid(struct served_connection *connection,
                       const struct served_request *request)
{
    struct served_hold *hold = find(connection, request->number);

    if (hold == NULL || hold->state != SERVED_HOLD_HELD) {
        send_status(connection, request->id, UVZK_ENOTHELD, false);
    } else {
        served_connection_send(connection,
                               answer(hold, request->id, connection->received));
    }
}

struct verifying {
    struct served_call call;
    int64_t number;
    uint64_t received;
};

static void on_verified(uvzk_req_t *request, int status)
{
    struct verifying *verifying = request->data;
    struct served_connection *connection = verifying->call.connection;
    struct served_hold *hold = find(connection, verifying->number);

    /* It may have been released or lost meanwhile. */
    if (status == 0 && (hold == NULL || hold->state != SERVED_HOLD_HELD)) {
        status = UVZK_ENOTHELD;
    }
    if (status < 0) {
        send_status(connection, verifying->call.id, status, false);
    } else {
        served_connection_send(connection,
                               answer(hold, verifying->call.id, verifying->received));
    }
    served_call_end(&verifying->call);
}

void served_hold_verify(struct served_connection *connection,
                        const struct served_request *request)
{
    struct served_hold *hold = find(connection, request->number);

    if (hold == NULL || hold->state != SERVED_HOLD_HELD) {
        send_status(connection, request->id, UVZK_ENOTHELD, false);
        return;
    }
    struct verifying *verifying =
        served_call_new(connection, request->id, sizeof(*verifying));
    if (verifying == NULL) {
        return;
    }
    verifying->number = hold->number;
    verifying->received = connection->received;
    int status = uvzk_hold_verify(&hold->hold, &verifying->call.request, on_verified);
    if (status < 0) {
        served_call_refused(&verifying->call, status, NULL);
    }
}
