/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions on double barriers (double_barrier.h), and their reports to the
 * user. */
#include "barrier/double_barrier.h"

#include "barrier/member.h"
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "engine/req.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__DOUBLE_BARRIER_, OUTSIDE, ENTERING),
    UVZK__STATE(UVZK__DOUBLE_BARRIER_, ENTERING, INSIDE, OUTSIDE),
    UVZK__STATE(UVZK__DOUBLE_BARRIER_, INSIDE, LEAVING, LOST, OUTSIDE),
    UVZK__STATE(UVZK__DOUBLE_BARRIER_, LEAVING, OUTSIDE),
    UVZK__STATE(UVZK__DOUBLE_BARRIER_, LOST, LEAVING),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__double_barrier *barrier = object;

    return (barrier->state != UVZK__DOUBLE_BARRIER_OUTSIDE &&
            barrier->state != UVZK__DOUBLE_BARRIER_LOST) ||
           barrier->member == NULL;
}

const struct uvzk__machine uvzk__double_barrier_machine = UVZK__MACHINE(
    "double barrier", table, struct uvzk__double_barrier, state, invariant_holds);

/* ---------------------------------------------------------------------- the calls */

/* An enter or a leave. */
struct crossing {
    struct uvzk__barrier_call call;
    struct uvzk__double_barrier *barrier;
};

static void given_up(struct uvzk__barrier_call *call)
{
    struct uvzk__double_barrier *barrier =
        UVZK__CONTAINER_OF(call, struct crossing, call)->barrier;

    barrier->undone = barrier->state == UVZK__DOUBLE_BARRIER_INSIDE;
    /* Its end ends the call (member_told). */
    uvzk__barrier_member_withdraw(barrier->member, call->status);
}

/* An enter whose callback has not run yet. A leave is never INSIDE. */
static bool can_be_undone(const struct uvzk__barrier_call *call)
{
    return UVZK__CONTAINER_OF((uintptr_t)call, struct crossing, call)->barrier->state ==
           UVZK__DOUBLE_BARRIER_INSIDE;
}

static void double_barrier_over(struct uvzk__barrier_call *call)
{
    uvzk__free(UVZK__CONTAINER_OF(call, struct crossing, call));
}

static void tell_loss_or_close(struct uvzk__notification *notification)
{
    struct uvzk__double_barrier *barrier = UVZK__CONTAINER_OF(
        notification, struct uvzk__double_barrier, object.notification);

    if (barrier->object.closing) {
        uvzk__barrier_object_tell_closed(notification);
    } else if (barrier->state == UVZK__DOUBLE_BARRIER_LOST && barrier->lost_cb != NULL) {
        /* A leave that was called meanwhile reports the loss. */
        barrier->lost_cb(barrier->handle, barrier->lost);
    }
}

static void tell_later(struct uvzk__double_barrier *barrier)
{
    uvzk__notify_later(barrier->object.session, &barrier->object.notification);
}

/* The member is inside; or it has left, has been given up or has failed, and continues
 * without its user from now on. */
static void member_told(struct uvzk__barrier_member *member, int status)
{
    struct uvzk__double_barrier *barrier = uvzk__barrier_member_user(member);

    if (barrier->state == UVZK__DOUBLE_BARRIER_ENTERING && status == 0) {
        uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_INSIDE);
        uvzk__barrier_calls_end(&barrier->object.calls, 0);
        return;
    }
    barrier->member = NULL;
    if (barrier->state == UVZK__DOUBLE_BARRIER_INSIDE && !barrier->object.closing &&
        !barrier->undone) {
        barrier->lost = status;
        uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_LOST);
        tell_later(barrier);
        return;
    }
    uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
               UVZK__DOUBLE_BARRIER_OUTSIDE);
    barrier->undone = false;
    uvzk__barrier_calls_end(&barrier->object.calls, status);
    if (barrier->object.closing) {
        tell_later(barrier);
    }
}

static int check_call(const uvzk_double_barrier_t *handle, const uvzk_req_t *call_handle,
                      int64_t timeout_ms, uvzk_req_cb cb)
{
    const struct uvzk__double_barrier *barrier = handle == NULL ? NULL : handle->impl;
    int status = uvzk__barrier_object_check(
        handle, barrier == NULL ? NULL : &barrier->object, call_handle, cb, timeout_ms);

    if (status != 0) {
        return status;
    }
    return uvzk__refuse_if(UVZK_ESTATE,
                           uvzk__list_empty(&barrier->object.calls)
                               ? NULL
                               : "an enter or a leave of this barrier is under way");
}

static struct crossing *new_crossing(struct uvzk__double_barrier *barrier)
{
    struct crossing *crossing = uvzk__calloc(1, sizeof(*crossing));

    if (crossing != NULL) {
        crossing->barrier = barrier;
        crossing->call.given_up_cb = given_up;
        crossing->call.can_be_undone = can_be_undone;
        crossing->call.over_cb = double_barrier_over;
    }
    return crossing;
}

static int double_barrier_enter(uvzk_double_barrier_t *handle, uvzk_req_t *call_handle,
                                int64_t timeout_ms, uvzk_req_cb cb)
{
    int status = check_call(handle, call_handle, timeout_ms, cb);

    if (status != 0) {
        return status;
    }
    struct uvzk__double_barrier *barrier = handle->impl;
    if (barrier->state != UVZK__DOUBLE_BARRIER_OUTSIDE) {
        return uvzk__refuse(UVZK_ESTATE,
                            "the barrier is entered already; leave it first");
    }
    struct crossing *crossing = new_crossing(barrier);
    if (crossing == NULL) {
        return UV_ENOMEM;
    }
    bool refused = barrier->object.session->auth_failed;
    if (!refused) {
        status = uvzk__barrier_member_enter(barrier->object.session, barrier->object.path,
                                            barrier->quantity, barrier, member_told,
                                            &barrier->member);
    }
    if (status != 0) {
        uvzk__free(crossing);
        return status;
    }
    uvzk__barrier_call_begin(&crossing->call, barrier->object.session,
                             &barrier->object.calls, call_handle, timeout_ms, cb);
    if (refused) {
        uvzk__barrier_call_end(&crossing->call, UVZK_EAUTH);
    } else {
        uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_ENTERING);
    }
    return 0;
}

int uvzk_double_barrier_enter(uvzk_double_barrier_t *handle, uvzk_req_t *call_handle,
                              int64_t timeout_ms, uvzk_req_cb cb)
{
    int status = double_barrier_enter(handle, call_handle, timeout_ms, cb);

    return uvzk__req_begun(call_handle, uvzk__double_barrier_session(handle), status);
}

static int double_barrier_leave(uvzk_double_barrier_t *handle, uvzk_req_t *call_handle,
                                int64_t timeout_ms, uvzk_req_cb cb)
{
    int status = check_call(handle, call_handle, timeout_ms, cb);

    if (status != 0) {
        return status;
    }
    struct uvzk__double_barrier *barrier = handle->impl;
    if (barrier->state != UVZK__DOUBLE_BARRIER_INSIDE &&
        barrier->state != UVZK__DOUBLE_BARRIER_LOST) {
        return uvzk__refuse(UVZK_ESTATE, "the barrier is not entered");
    }
    struct crossing *crossing = new_crossing(barrier);
    if (crossing == NULL) {
        return UV_ENOMEM;
    }
    bool lost = barrier->state == UVZK__DOUBLE_BARRIER_LOST;
    uvzk__barrier_call_begin(&crossing->call, barrier->object.session,
                             &barrier->object.calls, call_handle, timeout_ms, cb);
    uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
               UVZK__DOUBLE_BARRIER_LEAVING);
    if (lost) {
        uvzk__move(barrier->object.session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_OUTSIDE);
        uvzk__barrier_call_end(&crossing->call, barrier->lost);
    } else {
        uvzk__barrier_member_leave(barrier->member);
    }
    return 0;
}

int uvzk_double_barrier_leave(uvzk_double_barrier_t *handle, uvzk_req_t *call_handle,
                              int64_t timeout_ms, uvzk_req_cb cb)
{
    int status = double_barrier_leave(handle, call_handle, timeout_ms, cb);

    return uvzk__req_begun(call_handle, uvzk__double_barrier_session(handle), status);
}

/* ----------------------------------------------------------------- init and close */

struct uvzk__session *uvzk__double_barrier_session(const uvzk_double_barrier_t *handle)
{
    const struct uvzk__double_barrier *barrier = handle == NULL ? NULL : handle->impl;

    return barrier == NULL ? NULL : barrier->object.session;
}

static struct uvzk__double_barrier *barrier_at(struct uvzk__session_object *of_session)
{
    return UVZK__CONTAINER_OF(of_session, struct uvzk__double_barrier, object.of_session);
}

/* The session ends with the client, or has ended, and the member's znode with it. */
static void double_barrier_unreachable(struct uvzk__session_object *of_session, int code)
{
    struct uvzk__double_barrier *barrier = barrier_at(of_session);

    uvzk__barrier_calls_end(&barrier->object.calls, code);
    if (barrier->member != NULL) {
        uvzk__barrier_member_abandon(barrier->member, code);
    }
}

static void tell_closed(struct uvzk__barrier_object *object)
{
    const struct uvzk__double_barrier *barrier =
        UVZK__CONTAINER_OF(object, struct uvzk__double_barrier, object);

    struct uvzk__end_listener *listener = uvzk__end_take(&barrier->handle->end);

    if (barrier->close_cb != NULL) {
        barrier->close_cb(barrier->handle);
    }
    uvzk__end_tell(listener, 0);
}

int uvzk_double_barrier_init(uvzk_client_t *client, uvzk_double_barrier_t *handle,
                             const char *path, uint32_t member_quantity,
                             uvzk_double_barrier_lost_cb lost_cb)
{
    static const struct uvzk__barrier_kind kind = {
        .size = sizeof(struct uvzk__double_barrier),
        .needs_children = true,
        .tell_closed = tell_closed,
        .told = {.unreachable = double_barrier_unreachable,
                 .client_ended = uvzk__barrier_object_client_ended}};
    int status =
        uvzk__refuse_if(UV_EINVAL, member_quantity == 0 ? "member_quantity is 0" : NULL);

    if (status == 0) {
        status = uvzk__barrier_object_open(client, &kind, handle,
                                           handle == NULL ? NULL : &handle->impl, path);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__double_barrier *barrier = handle->impl;
    barrier->object.notification.notify_cb = tell_loss_or_close;
    barrier->handle = handle;
    barrier->quantity = member_quantity;
    barrier->lost_cb = lost_cb;
    return 0;
}

int uvzk_double_barrier_close(uvzk_double_barrier_t *handle,
                              uvzk_double_barrier_close_cb close_cb)
{
    struct uvzk__double_barrier *barrier = handle == NULL ? NULL : handle->impl;
    int status =
        uvzk__barrier_object_close(handle, barrier == NULL ? NULL : &barrier->object);

    if (status != 0) {
        return status;
    }
    barrier->close_cb = close_cb;
    uvzk__end_begin(&handle->end, barrier->object.session);
    if (barrier->member == NULL) {
        tell_later(barrier);
    } else {
        uvzk__barrier_member_withdraw(barrier->member, UVZK_ECLOSED);
    }
    return 0;
}
