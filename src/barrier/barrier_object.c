/* SPDX-License-Identifier: Apache-2.0 */
/* Moves each call from PENDING to its callback, with its timer, makes the one change of a set
 * or a remove, and opens, checks, closes and frees what every kind of barrier has
 * (barrier_object.h). The barriers decide the outcome of a call; this file reports it once,
 * at the end of the turn. */
#include "barrier/barrier_object.h"

#include "barrier/znode_write.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/req.h"
#include "engine/turn.h"
#include "engine/znode_owner.h"

/* --------------------------------------------------------------------------- a call */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__BARRIER_CALL_, PENDING, GIVEN_UP, DECIDED),
    UVZK__STATE(UVZK__BARRIER_CALL_, GIVEN_UP, DECIDED),
    UVZK__STATE(UVZK__BARRIER_CALL_, DECIDED, GIVEN_UP),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__barrier_call *call = object;

    return call->status <= 0 && call->handle->impl == call;
}

const struct uvzk__machine uvzk__barrier_call_machine = UVZK__MACHINE(
    "call on a barrier", table, struct uvzk__barrier_call, state, invariant_holds);

int uvzk__barrier_call_check(const uvzk_req_t *handle, uvzk_req_cb cb, int64_t timeout_ms)
{
    int status = uvzk__refuse_if(
        UV_EINVAL, timeout_ms < UVZK_WAIT_FOREVER || timeout_ms == 0
                       ? "timeout_ms is neither UVZK_WAIT_FOREVER nor above 0"
                       : NULL);

    return status != 0 ? status : uvzk__req_check(handle, cb);
}

static void give_up(struct uvzk__barrier_call *call, int status)
{
    call->status = status;
    uvzk__timer_clear(call->session, &call->timeout);
    uvzk__move(call->session, &uvzk__barrier_call_machine, call,
               UVZK__BARRIER_CALL_GIVEN_UP);
    call->given_up_cb(call);
}

static void timed_out(struct uvzk__timer *timer)
{
    give_up(UVZK__CONTAINER_OF(timer, struct uvzk__barrier_call, timeout), UV_ETIMEDOUT);
}

static void barrier_call_tell(struct uvzk__notification *notification)
{
    struct uvzk__barrier_call *call =
        UVZK__CONTAINER_OF(notification, struct uvzk__barrier_call, notification);
    uvzk_req_t *handle = call->handle;
    uvzk_req_cb cb = call->cb;
    int status = call->status;

    uvzk__list_remove(&call->siblings);
    call->over_cb(call);
    uvzk__req_end(handle, cb, status, NULL);
}

static bool can_be_given_up(const struct uvzk__barrier_call *call)
{
    return call->state == UVZK__BARRIER_CALL_PENDING
               ? call->given_up_cb != NULL
               : call->state == UVZK__BARRIER_CALL_DECIDED && call->status == 0 &&
                     call->can_be_undone != NULL && call->can_be_undone(call);
}

static int barrier_call_cancel(uvzk_req_t *handle)
{
    struct uvzk__barrier_call *call = handle->impl;

    if (!can_be_given_up(call)) {
        return uvzk__refuse(UVZK_ESTATE, call->given_up_cb == NULL
                                             ? "a set or a remove cannot be cancelled"
                                             : "the call is cancelled or over");
    }
    uvzk__list_remove(&call->notification.link);
    give_up(call, UV_ECANCELED);
    return 0;
}

static const struct uvzk__req_kind req_kind = {.cancel = barrier_call_cancel};

void uvzk__barrier_call_begin(struct uvzk__barrier_call *call,
                              struct uvzk__session *session, struct uvzk__link *calls,
                              uvzk_req_t *handle, int64_t timeout_ms, uvzk_req_cb cb)
{
    call->session = session;
    call->handle = handle;
    call->cb = cb;
    call->notification.notify_cb = barrier_call_tell;
    call->timeout.due = timed_out;
    uvzk__list_init(&call->notification.link);
    uvzk__list_append(calls, &call->siblings);
    uvzk__req_begin(handle, call, &req_kind);
    if (timeout_ms != UVZK_WAIT_FOREVER) {
        uvzk__timer_set(session, &call->timeout,
                        uvzk__now(session) + (uint64_t)timeout_ms);
    }
}

void uvzk__barrier_call_end(struct uvzk__barrier_call *call, int status)
{
    if (call->state == UVZK__BARRIER_CALL_DECIDED) {
        return;
    }
    call->status = status;
    uvzk__timer_clear(call->session, &call->timeout);
    uvzk__move(call->session, &uvzk__barrier_call_machine, call,
               UVZK__BARRIER_CALL_DECIDED);
    uvzk__notify_later(call->session, &call->notification);
}

bool uvzk__barrier_call_begin_to_send(struct uvzk__barrier_call *call,
                                      struct uvzk__session *session,
                                      struct uvzk__link *calls, uvzk_req_t *handle,
                                      int64_t timeout_ms, uvzk_req_cb cb)
{
    uvzk__barrier_call_begin(call, session, calls, handle, timeout_ms, cb);
    if (session->auth_failed) {
        uvzk__barrier_call_end(call, UVZK_EAUTH);
        return false;
    }
    return true;
}

static struct uvzk__barrier_call *call_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__barrier_call, siblings);
}

void uvzk__barrier_calls_end(struct uvzk__link *calls, int status)
{
    for (struct uvzk__link *link = calls->next; link != calls; link = link->next) {
        uvzk__barrier_call_end(call_at(link), status);
    }
}

void uvzk__barrier_calls_free(struct uvzk__link *calls)
{
    struct uvzk__link *link;

    while ((link = uvzk__list_take(calls)) != NULL) {
        struct uvzk__barrier_call *call = call_at(link);

        uvzk__list_remove(&call->notification.link);
        uvzk__req_begin(call->handle, NULL, NULL);
        call->over_cb(call);
    }
}

/* ----------------------------------------------------- a call that makes one change */

/* The request may outlive the call. */
struct change {
    struct uvzk__barrier_call call;
    struct uvzk__znode_write write;
    char *path;
    struct uvzk__node_create create;
    bool over; /* the callback runs: freed as soon as no request is under way */
};

static void free_change(struct change *change)
{
    uvzk__free(change->path);
    uvzk__node_create_free(&change->create);
    uvzk__free(change);
}

static void change_over(struct uvzk__barrier_call *call)
{
    struct change *change = UVZK__CONTAINER_OF(call, struct change, call);

    change->over = true;
    if (uvzk__znode_write_stop(&change->write)) {
        free_change(change);
    }
}

static void change_done(struct uvzk__znode_write *write, int status)
{
    struct change *change = UVZK__CONTAINER_OF(write, struct change, write);

    if (change->over) {
        free_change(change);
        return;
    }
    bool already = status == (write->create != NULL ? UVZK_ENODEEXISTS : UVZK_ENONODE);
    uvzk__barrier_call_end(&change->call, already ? 0 : status);
}

static struct change *new_change(struct uvzk__session *session, const char *path)
{
    struct change *change = uvzk__calloc(1, sizeof(*change));

    if (change == NULL) {
        return NULL;
    }
    change->path = uvzk__strdup(path);
    if (change->path == NULL ||
        !uvzk__node_create_init(&change->create, change->path, UVZK__PERSISTENT)) {
        free_change(change);
        return NULL;
    }
    change->call.over_cb = change_over;
    uvzk__znode_write_init(&change->write, session, change_done);
    return change;
}

static int change_call_begin(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, bool creates, uvzk_req_t *handle,
                             uvzk_req_cb cb)
{
    struct change *change = new_change(session, path);

    if (change == NULL) {
        return UV_ENOMEM;
    }
    if (!uvzk__barrier_call_begin_to_send(&change->call, session, calls, handle,
                                          UVZK_WAIT_FOREVER, cb)) {
        return 0;
    }
    if (creates) {
        uvzk__znode_write_create(&change->write, &change->create);
    } else {
        uvzk__znode_write_delete(&change->write, change->path, NULL);
    }
    return 0;
}

int uvzk__change_call_create(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *handle, uvzk_req_cb cb)
{
    return change_call_begin(session, calls, path, true, handle, cb);
}

int uvzk__change_call_delete(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *handle, uvzk_req_cb cb)
{
    return change_call_begin(session, calls, path, false, handle, cb);
}

static bool may_be_made(struct uvzk__barrier_call *call)
{
    return call->over_cb == change_over &&
           uvzk__znode_write_may_be_done(
               &UVZK__CONTAINER_OF(call, struct change, call)->write);
}

/* All calls of the list end with this code, whatever they are. With UVZK_ENOTSENT a change
 * that may have been made ends with UVZK_ECONNLOSS. */
static void change_calls_unreachable(struct uvzk__link *calls, int code)
{
    for (struct uvzk__link *link = calls->next; link != calls; link = link->next) {
        struct uvzk__barrier_call *call =
            UVZK__CONTAINER_OF(link, struct uvzk__barrier_call, siblings);
        bool unknown = code == UVZK_ENOTSENT && may_be_made(call);
        uvzk__barrier_call_end(call, unknown ? UVZK_ECONNLOSS : code);
    }
}

/* ----------------------------------------------------------------------- the object */

static struct uvzk__barrier_object *object_at(struct uvzk__session_object *of_session)
{
    return UVZK__CONTAINER_OF(of_session, struct uvzk__barrier_object, of_session);
}

void uvzk__barrier_object_unreachable(struct uvzk__session_object *of_session, int code)
{
    change_calls_unreachable(&object_at(of_session)->calls, code);
}

/* The user's struct belongs to the user again. Calls that have not been told end without a
 * callback. */
static void barrier_object_leave(struct uvzk__barrier_object *object)
{
    *object->impl = NULL;
    if (object->kind->end != NULL) {
        object->kind->end(object);
    }
    uvzk__barrier_calls_free(&object->calls);
    uvzk__list_remove(&object->notification.link);
    uvzk__session_object_end(&object->of_session);
}

static void free_object(struct uvzk__barrier_object *object)
{
    uvzk__free(object->path);
    uvzk__free(object);
}

void uvzk__barrier_object_client_ended(struct uvzk__session_object *of_session)
{
    barrier_object_leave(object_at(of_session));
    free_object(object_at(of_session));
}

/* The callbacks of its calls have run, because they were queued earlier. */
void uvzk__barrier_object_tell_closed(struct uvzk__notification *notification)
{
    struct uvzk__barrier_object *object =
        UVZK__CONTAINER_OF(notification, struct uvzk__barrier_object, notification);

    barrier_object_leave(object);
    object->kind->tell_closed(object);
    free_object(object);
}

int uvzk__barrier_object_open(uvzk_client_t *client,
                              const struct uvzk__barrier_kind *kind, const void *handle,
                              void **impl, const char *path)
{
    int status =
        uvzk__check_init(client, "barrier", handle, impl == NULL ? NULL : *impl, path);

    if (status == 0 && kind->needs_children) {
        status = uvzk__znode_owner_check_open(client->impl, path, UVZK__NEEDS_CHILDREN);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__barrier_object *object = uvzk__calloc(1, kind->size);
    char *full = uvzk__path_join(uvzk__namespace_of(client->impl), path);
    if (object == NULL || full == NULL) {
        uvzk__free(object);
        uvzk__free(full);
        return UV_ENOMEM;
    }
    object->impl = impl;
    object->kind = kind;
    object->notification.notify_cb = uvzk__barrier_object_tell_closed;
    object->path = full;
    object->session = uvzk__home_of(client->impl, full);
    uvzk__list_init(&object->notification.link);
    uvzk__list_init(&object->calls);
    uvzk__session_object_begin(object->session, &object->of_session, &kind->told,
                               kind->needs_children ? full : NULL);
    *impl = object;
    return 0;
}

int uvzk__barrier_object_check(const void *handle,
                               const struct uvzk__barrier_object *object,
                               const uvzk_req_t *call, uvzk_req_cb cb, int64_t timeout_ms)
{
    int status = uvzk__refuse_if(UV_EINVAL, handle == NULL ? "barrier is NULL" : NULL);

    if (status == 0) {
        status = uvzk__barrier_call_check(call, cb, timeout_ms);
    }
    if (status != 0) {
        return status;
    }
    bool closed =
        object == NULL || object->closing || uvzk__session_is_closing(object->session);
    return uvzk__refuse_if(UVZK_ECLOSED,
                           closed ? "the barrier or its client is closing, or it is not "
                                    "initialised"
                                  : NULL);
}

int uvzk__barrier_object_close(const void *handle, struct uvzk__barrier_object *object)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "barrier is NULL");
    }
    if (object == NULL || object->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the barrier is closing, or not initialised");
    }
    object->closing = true;
    /* What has not been reported yet is dropped. The notification comes behind those of the
     * calls. */
    uvzk__list_remove(&object->notification.link);
    uvzk__barrier_calls_end(&object->calls, UVZK_ECLOSED);
    return 0;
}
