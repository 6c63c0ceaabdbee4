/* Moves one call from PENDING to its callback, with its timer (barrier_call.h). The
 * barriers decide the outcome; this file reports it once, at the end of the turn. */
#include "barrier/barrier_call.h"

#include "base/refusal.h"
#include "engine/req.h"
#include "engine/turn.h"

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
