/* The public functions on double barriers (double_barrier.h), and their reports to the
 * user. */
#include "barrier/double_barrier.h"

#include "barrier/barrier_call.h"
#include "barrier/member.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/turn.h"
#include "engine/znode_owner.h"

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

static void over(struct uvzk__barrier_call *call)
{
    uvzk__free(UVZK__CONTAINER_OF(call, struct crossing, call));
}

static void free_barrier(struct uvzk__double_barrier *barrier)
{
    barrier->shell->impl = NULL;
    uvzk__barrier_calls_free(&barrier->calls);
    uvzk__list_remove(&barrier->notification.link);
    uvzk__session_object_end(&barrier->object);
    uvzk__free(barrier->path);
    uvzk__free(barrier);
}

static void tell_loss_or_close(struct uvzk__notification *notification)
{
    struct uvzk__double_barrier *barrier =
        UVZK__CONTAINER_OF(notification, struct uvzk__double_barrier, notification);
    uvzk_double_barrier_t *shell = barrier->shell;
    uvzk_double_barrier_close_cb close_cb = barrier->close_cb;

    if (!barrier->closing) {
        /* A leave that was called meanwhile reports the loss. */
        if (barrier->state == UVZK__DOUBLE_BARRIER_LOST && barrier->lost_cb != NULL) {
            barrier->lost_cb(shell, barrier->lost);
        }
        return;
    }
    free_barrier(barrier);
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

static void tell_later(struct uvzk__double_barrier *barrier)
{
    uvzk__notify_later(barrier->session, &barrier->notification);
}

/* The member is inside; or it has left, has been given up or has failed, and continues
 * without its user from now on. */
static void member_told(struct uvzk__barrier_member *member, int status)
{
    struct uvzk__double_barrier *barrier = uvzk__barrier_member_user(member);

    if (barrier->state == UVZK__DOUBLE_BARRIER_ENTERING && status == 0) {
        uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_INSIDE);
        uvzk__barrier_calls_end(&barrier->calls, 0);
        return;
    }
    barrier->member = NULL;
    if (barrier->state == UVZK__DOUBLE_BARRIER_INSIDE && !barrier->closing &&
        !barrier->undone) {
        barrier->lost = status;
        uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_LOST);
        tell_later(barrier);
        return;
    }
    uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
               UVZK__DOUBLE_BARRIER_OUTSIDE);
    barrier->undone = false;
    uvzk__barrier_calls_end(&barrier->calls, status);
    if (barrier->closing) {
        tell_later(barrier);
    }
}

static int check_call(const uvzk_double_barrier_t *shell,
                      const uvzk_barrier_call_t *call_shell, int64_t timeout_ms,
                      uvzk_barrier_call_cb cb)
{
    int status = uvzk__refuse_if(UV_EINVAL, shell == NULL ? "barrier is NULL" : NULL);

    if (status == 0) {
        status = uvzk__barrier_call_check(call_shell, cb, timeout_ms);
    }
    if (status != 0) {
        return status;
    }
    const struct uvzk__double_barrier *barrier = shell->impl;
    if (barrier == NULL || barrier->closing ||
        uvzk__session_is_closing(barrier->session)) {
        return uvzk__refuse(UVZK_ECLOSED,
                            "the barrier or its client is closing, or it is "
                            "not initialised");
    }
    return uvzk__refuse_if(UVZK_ESTATE,
                           uvzk__list_empty(&barrier->calls)
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
        crossing->call.over_cb = over;
    }
    return crossing;
}

int uvzk_double_barrier_enter(uvzk_double_barrier_t *shell,
                              uvzk_barrier_call_t *call_shell, int64_t timeout_ms,
                              uvzk_barrier_call_cb cb)
{
    int status = check_call(shell, call_shell, timeout_ms, cb);

    if (status != 0) {
        return status;
    }
    struct uvzk__double_barrier *barrier = shell->impl;
    if (barrier->state != UVZK__DOUBLE_BARRIER_OUTSIDE) {
        return uvzk__refuse(UVZK_ESTATE,
                            "the barrier is entered already; leave it first");
    }
    struct crossing *crossing = new_crossing(barrier);
    if (crossing == NULL) {
        return UV_ENOMEM;
    }
    bool refused = uvzk__auth_has_failed(barrier->session);
    if (!refused) {
        status =
            uvzk__barrier_member_enter(barrier->session, barrier->path, barrier->quantity,
                                       barrier, member_told, &barrier->member);
    }
    if (status != 0) {
        uvzk__free(crossing);
        return status;
    }
    uvzk__barrier_call_begin(&crossing->call, barrier->session, &barrier->calls,
                             call_shell, timeout_ms, cb);
    if (refused) {
        uvzk__barrier_call_end(&crossing->call, UVZK_EAUTH);
    } else {
        uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_ENTERING);
    }
    return 0;
}

int uvzk_double_barrier_leave(uvzk_double_barrier_t *shell,
                              uvzk_barrier_call_t *call_shell, int64_t timeout_ms,
                              uvzk_barrier_call_cb cb)
{
    int status = check_call(shell, call_shell, timeout_ms, cb);

    if (status != 0) {
        return status;
    }
    struct uvzk__double_barrier *barrier = shell->impl;
    if (barrier->state != UVZK__DOUBLE_BARRIER_INSIDE &&
        barrier->state != UVZK__DOUBLE_BARRIER_LOST) {
        return uvzk__refuse(UVZK_ESTATE, "the barrier is not entered");
    }
    struct crossing *crossing = new_crossing(barrier);
    if (crossing == NULL) {
        return UV_ENOMEM;
    }
    bool lost = barrier->state == UVZK__DOUBLE_BARRIER_LOST;
    uvzk__barrier_call_begin(&crossing->call, barrier->session, &barrier->calls,
                             call_shell, timeout_ms, cb);
    uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
               UVZK__DOUBLE_BARRIER_LEAVING);
    if (lost) {
        uvzk__move(barrier->session, &uvzk__double_barrier_machine, barrier,
                   UVZK__DOUBLE_BARRIER_OUTSIDE);
        uvzk__barrier_call_end(&crossing->call, barrier->lost);
    } else {
        uvzk__barrier_member_leave(barrier->member);
    }
    return 0;
}

/* ----------------------------------------------------------------- init and close */

struct uvzk__session *uvzk__double_barrier_session(const uvzk_double_barrier_t *shell)
{
    const struct uvzk__double_barrier *barrier = shell == NULL ? NULL : shell->impl;

    return barrier == NULL ? NULL : barrier->session;
}

static struct uvzk__double_barrier *barrier_at(struct uvzk__session_object *object)
{
    return UVZK__CONTAINER_OF(object, struct uvzk__double_barrier, object);
}

/* The session ends with the client, or has ended, and the member's znode with it. */
static void unreachable(struct uvzk__session_object *object, int code)
{
    struct uvzk__double_barrier *barrier = barrier_at(object);

    uvzk__barrier_calls_end(&barrier->calls, code);
    if (barrier->member != NULL) {
        uvzk__barrier_member_abandon(barrier->member, code);
    }
}

static void free_object(struct uvzk__session_object *object)
{
    free_barrier(barrier_at(object));
}

static const struct uvzk__session_object_kind object_kind = {.unreachable = unreachable,
                                                             .client_ended = free_object};

static int check_init(const uvzk_client_t *client, const uvzk_double_barrier_t *shell,
                      const char *path, uint32_t member_quantity)
{
    int status =
        uvzk__refuse_if(UV_EINVAL, member_quantity == 0 ? "member_quantity is 0" : NULL);

    if (status == 0) {
        status = uvzk__check_init(client, "barrier", shell,
                                  shell == NULL ? NULL : shell->impl, path);
    }
    return status != 0
               ? status
               : uvzk__znode_owner_check_open(client->impl, path, UVZK__NEEDS_CHILDREN);
}

int uvzk_double_barrier_init(uvzk_client_t *client, uvzk_double_barrier_t *shell,
                             const char *path, uint32_t member_quantity,
                             uvzk_double_barrier_lost_cb lost_cb)
{
    int status = check_init(client, shell, path, member_quantity);

    if (status != 0) {
        return status;
    }
    struct uvzk__session *session = client->impl;
    struct uvzk__double_barrier *barrier = uvzk__calloc(1, sizeof(*barrier));
    char *full = uvzk__path_join(uvzk__namespace_of(session), path);
    if (barrier == NULL || full == NULL) {
        uvzk__free(barrier);
        uvzk__free(full);
        return UV_ENOMEM;
    }
    barrier->shell = shell;
    barrier->path = full;
    barrier->quantity = member_quantity;
    barrier->lost_cb = lost_cb;
    barrier->session = uvzk__home_of(session, full);
    barrier->notification.notify_cb = tell_loss_or_close;
    uvzk__list_init(&barrier->notification.link);
    uvzk__list_init(&barrier->calls);
    uvzk__session_object_begin(barrier->session, &barrier->object, &object_kind, full);
    shell->impl = barrier;
    return 0;
}

int uvzk_double_barrier_close(uvzk_double_barrier_t *shell,
                              uvzk_double_barrier_close_cb close_cb)
{
    struct uvzk__double_barrier *barrier = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "barrier is NULL");
    }
    if (barrier == NULL || barrier->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the barrier is closing, or not initialised");
    }
    barrier->closing = true;
    barrier->close_cb = close_cb;
    /* A loss that has not been reported is dropped: the notification is queued again
     * after that of the call. */
    uvzk__list_remove(&barrier->notification.link);
    uvzk__barrier_calls_end(&barrier->calls, UVZK_ECLOSED);
    if (barrier->member == NULL) {
        tell_later(barrier);
    } else {
        uvzk__barrier_member_withdraw(barrier->member, UVZK_ECLOSED);
    }
    return 0;
}
