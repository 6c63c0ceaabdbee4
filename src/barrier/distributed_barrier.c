/* The public functions on distributed barriers (distributed_barrier.h), and the parts of
 * their calls that differ from other barrier calls. */
#include "barrier/distributed_barrier.h"

#include "barrier/change_call.h"
#include "barrier/watched_znode.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/turn.h"

/* -------------------------------------------------------------------------- wait */

struct wait {
    struct uvzk__barrier_call call;
    struct uvzk__znode_waiter waiter;
};

static struct wait *wait_of(struct uvzk__barrier_call *call)
{
    return UVZK__CONTAINER_OF(call, struct wait, call);
}

static void wait_given_up(struct uvzk__barrier_call *call)
{
    uvzk__barrier_call_end(call, call->status);
    uvzk__znode_waiter_end(&wait_of(call)->waiter);
}

static void wait_over(struct uvzk__barrier_call *call)
{
    uvzk__znode_waiter_end(&wait_of(call)->waiter);
    uvzk__free(wait_of(call));
}

/* [barrier] The absence is confirmed: a quorum has accepted a request of this session
 * after the wait began, and the read followed it. */
static void told(struct uvzk__znode_waiter *waiter, int status)
{
    struct wait *wait = UVZK__CONTAINER_OF(waiter, struct wait, waiter);

    if (status != 0) {
        uvzk__barrier_call_end(&wait->call, status == UVZK_ENONODE ? 0 : status);
        uvzk__znode_waiter_end(waiter);
    }
}

/* ----------------------------------------------------------------- the barrier */

struct uvzk__session *uvzk__distributed_barrier_session(const uvzk_barrier_t *shell)
{
    const struct uvzk__distributed_barrier *barrier = shell == NULL ? NULL : shell->impl;

    return barrier == NULL ? NULL : barrier->session;
}

static void free_barrier(struct uvzk__distributed_barrier *barrier)
{
    barrier->shell->impl = NULL;
    uvzk__znode_owner_end(barrier->session, &barrier->owner);
    uvzk__barrier_calls_free(&barrier->calls);
    uvzk__list_remove(&barrier->notification.link);
    uvzk__session_object_end(&barrier->object);
    uvzk__free(barrier->path);
    uvzk__free(barrier);
}

static void tell_closed(struct uvzk__notification *notification)
{
    struct uvzk__distributed_barrier *barrier =
        UVZK__CONTAINER_OF(notification, struct uvzk__distributed_barrier, notification);
    uvzk_barrier_close_cb close_cb = barrier->close_cb;
    uvzk_barrier_t *shell = barrier->shell;

    /* The callbacks of its calls have run, because they were queued earlier. */
    free_barrier(barrier);
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

static struct uvzk__distributed_barrier *barrier_at(struct uvzk__session_object *object)
{
    return UVZK__CONTAINER_OF(object, struct uvzk__distributed_barrier, object);
}

static void unreachable(struct uvzk__session_object *object, int code)
{
    uvzk__change_calls_unreachable(&barrier_at(object)->calls, code);
}

static void free_object(struct uvzk__session_object *object)
{
    free_barrier(barrier_at(object));
}

static const struct uvzk__session_object_kind object_kind = {.unreachable = unreachable,
                                                             .client_ended = free_object};

int uvzk_barrier_init(uvzk_client_t *client, uvzk_barrier_t *shell, const char *path)
{
    int status = uvzk__check_init(client, "barrier", shell,
                                  shell == NULL ? NULL : shell->impl, path);

    if (status != 0) {
        return status;
    }
    struct uvzk__session *session = client->impl;
    struct uvzk__distributed_barrier *barrier = uvzk__calloc(1, sizeof(*barrier));
    char *full = uvzk__path_join(uvzk__namespace_of(session), path);
    if (barrier == NULL || full == NULL) {
        uvzk__free(barrier);
        uvzk__free(full);
        return UV_ENOMEM;
    }
    barrier->shell = shell;
    barrier->path = full;
    barrier->session = uvzk__home_of(session, full);
    barrier->notification.notify_cb = tell_closed;
    uvzk__list_init(&barrier->notification.link);
    uvzk__list_init(&barrier->calls);
    uvzk__session_object_begin(barrier->session, &barrier->object, &object_kind, NULL);
    shell->impl = barrier;
    return 0;
}

int uvzk_barrier_close(uvzk_barrier_t *shell, uvzk_barrier_close_cb close_cb)
{
    struct uvzk__distributed_barrier *barrier = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "barrier is NULL");
    }
    if (barrier == NULL || barrier->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the barrier is closing, or not initialised");
    }
    barrier->closing = true;
    barrier->close_cb = close_cb;
    uvzk__barrier_calls_end(&barrier->calls, UVZK_ECLOSED);
    uvzk__notify_later(barrier->session, &barrier->notification);
    return 0;
}

/* ------------------------------------------------------------------- the calls */

static int check(const uvzk_barrier_t *shell, const uvzk_barrier_call_t *call_shell,
                 uvzk_barrier_call_cb cb, int64_t timeout_ms)
{
    int status = uvzk__refuse_if(UV_EINVAL, shell == NULL ? "barrier is NULL" : NULL);

    if (status == 0) {
        status = uvzk__barrier_call_check(call_shell, cb, timeout_ms);
    }
    if (status != 0) {
        return status;
    }
    const struct uvzk__distributed_barrier *barrier = shell->impl;
    bool closed =
        barrier == NULL || barrier->closing || uvzk__session_is_closing(barrier->session);
    return uvzk__refuse_if(UVZK_ECLOSED,
                           closed ? "the barrier or its client is closing, or it is not "
                                    "initialised"
                                  : NULL);
}

int uvzk_barrier_set(uvzk_barrier_t *shell, uvzk_barrier_call_t *call_shell,
                     uvzk_barrier_call_cb cb)
{
    int status = check(shell, call_shell, cb, UVZK_WAIT_FOREVER);

    if (status != 0) {
        return status;
    }
    struct uvzk__distributed_barrier *barrier = shell->impl;
    status = uvzk__znode_owner_begin(barrier->session, &barrier->owner, barrier->path,
                                     UVZK__OWNED_BY_BARRIER, false);
    return status != 0 ? status
                       : uvzk__change_call_create(barrier->session, &barrier->calls,
                                                  barrier->path, call_shell, cb);
}

int uvzk_barrier_remove(uvzk_barrier_t *shell, uvzk_barrier_call_t *call_shell,
                        uvzk_barrier_call_cb cb)
{
    int status = check(shell, call_shell, cb, UVZK_WAIT_FOREVER);

    if (status != 0) {
        return status;
    }
    struct uvzk__distributed_barrier *barrier = shell->impl;
    status = uvzk__znode_owner_check_delete(barrier->session, barrier->path);
    return status != 0 ? status
                       : uvzk__change_call_delete(barrier->session, &barrier->calls,
                                                  barrier->path, call_shell, cb);
}

int uvzk_barrier_wait(uvzk_barrier_t *shell, uvzk_barrier_call_t *call_shell,
                      int64_t timeout_ms, uvzk_barrier_call_cb cb)
{
    int status = check(shell, call_shell, cb, timeout_ms);

    if (status != 0) {
        return status;
    }
    struct uvzk__distributed_barrier *barrier = shell->impl;
    struct wait *wait = uvzk__calloc(1, sizeof(*wait));
    if (wait == NULL) {
        return UV_ENOMEM;
    }
    wait->waiter.told_cb = told;
    wait->waiter.confirmed = true;
    if (uvzk__znode_waiter_begin(barrier->session, &wait->waiter, barrier->path) != 0) {
        uvzk__free(wait);
        return UV_ENOMEM;
    }
    wait->call.given_up_cb = wait_given_up;
    wait->call.over_cb = wait_over;
    uvzk__barrier_call_begin(&wait->call, barrier->session, &barrier->calls, call_shell,
                             timeout_ms, cb);
    if (uvzk__auth_has_failed(barrier->session)) {
        uvzk__barrier_call_end(&wait->call, UVZK_EAUTH);
    }
    return 0;
}
