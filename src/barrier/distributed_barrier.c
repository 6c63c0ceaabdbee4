/* SPDX-License-Identifier: Apache-2.0 */
/* A distributed barrier (Curator's DistributedBarrier): it is closed while the persistent
 * znode at its path exists. A set creates the znode, a remove deletes it (znode_write.h),
 * a wait ends when the znode is known to be absent at a moment after the call
 * (watched_znode.h). */
#include "barrier/barrier_object.h"
#include "barrier/watched_znode.h"
#include "base/memory.h"
#include "engine/handle_end.h"
#include "engine/req.h"
#include "engine/turn.h"
#include "engine/znode_owner.h"

struct distributed_barrier {
    struct uvzk__barrier_object object;
    uvzk_barrier_t *handle;
    uvzk_barrier_close_cb close_cb; /* may be NULL */
    struct uvzk__znode_owner owner; /* from the first set */
};

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
static void distributed_barrier_told(struct uvzk__znode_waiter *waiter, int status)
{
    struct wait *wait = UVZK__CONTAINER_OF(waiter, struct wait, waiter);

    if (status != 0) {
        uvzk__barrier_call_end(&wait->call, status == UVZK_ENONODE ? 0 : status);
        uvzk__znode_waiter_end(waiter);
    }
}

/* ----------------------------------------------------------------- the barrier */

static struct distributed_barrier *barrier_with(struct uvzk__barrier_object *object)
{
    return UVZK__CONTAINER_OF(object, struct distributed_barrier, object);
}

static struct uvzk__barrier_object *object_of(const uvzk_barrier_t *handle)
{
    return handle == NULL ? NULL : handle->impl;
}

/* The session of an initialised barrier, else NULL. */
static struct uvzk__session *distributed_barrier_session(const uvzk_barrier_t *handle)
{
    const struct uvzk__barrier_object *object = object_of(handle);

    return object == NULL ? NULL : object->session;
}

static void tell_closed(struct uvzk__barrier_object *object)
{
    const struct distributed_barrier *barrier = barrier_with(object);

    struct uvzk__end_listener *listener = uvzk__end_take(&barrier->handle->end);

    if (barrier->close_cb != NULL) {
        barrier->close_cb(barrier->handle);
    }
    uvzk__end_tell(listener, 0);
}

static void distributed_barrier_end(struct uvzk__barrier_object *object)
{
    uvzk__znode_owner_end(object->session, &barrier_with(object)->owner);
}

int uvzk_barrier_init(uvzk_client_t *client, uvzk_barrier_t *handle, const char *path)
{
    static const struct uvzk__barrier_kind kind = {.size =
                                                       sizeof(struct distributed_barrier),
                                                   .told = UVZK__BARRIER_OBJECT_TOLD,
                                                   .tell_closed = tell_closed,
                                                   .end = distributed_barrier_end};
    int status = uvzk__barrier_object_open(client, &kind, handle,
                                           handle == NULL ? NULL : &handle->impl, path);

    if (status == 0) {
        barrier_with(handle->impl)->handle = handle;
    }
    return status;
}

int uvzk_barrier_close(uvzk_barrier_t *handle, uvzk_barrier_close_cb close_cb)
{
    struct uvzk__barrier_object *object = object_of(handle);
    int status = uvzk__barrier_object_close(handle, object);

    if (status == 0) {
        barrier_with(object)->close_cb = close_cb;
        uvzk__end_begin(&handle->end, object->session);
        uvzk__notify_later(object->session, &object->notification);
    }
    return status;
}

/* ------------------------------------------------------------------- the calls */

static int distributed_barrier_set(uvzk_barrier_t *handle, uvzk_req_t *call_handle,
                                   uvzk_req_cb cb)
{
    int status = uvzk__barrier_object_check(handle, object_of(handle), call_handle, cb,
                                            UVZK_WAIT_FOREVER);

    if (status != 0) {
        return status;
    }
    struct uvzk__barrier_object *object = handle->impl;
    status = uvzk__znode_owner_begin(object->session, &barrier_with(object)->owner,
                                     object->path, UVZK__OWNED_BY_BARRIER, false);
    return status != 0 ? status
                       : uvzk__change_call_create(object->session, &object->calls,
                                                  object->path, call_handle, cb);
}

int uvzk_barrier_set(uvzk_barrier_t *handle, uvzk_req_t *call_handle, uvzk_req_cb cb)
{
    int status = distributed_barrier_set(handle, call_handle, cb);

    return uvzk__req_begun(call_handle, distributed_barrier_session(handle), status);
}

static int remove_znode(uvzk_barrier_t *handle, uvzk_req_t *call_handle, uvzk_req_cb cb)
{
    int status = uvzk__barrier_object_check(handle, object_of(handle), call_handle, cb,
                                            UVZK_WAIT_FOREVER);

    if (status != 0) {
        return status;
    }
    struct uvzk__barrier_object *object = handle->impl;
    status = uvzk__znode_owner_check_delete(object->session, object->path);
    return status != 0 ? status
                       : uvzk__change_call_delete(object->session, &object->calls,
                                                  object->path, call_handle, cb);
}

int uvzk_barrier_remove(uvzk_barrier_t *handle, uvzk_req_t *call_handle, uvzk_req_cb cb)
{
    int status = remove_znode(handle, call_handle, cb);

    return uvzk__req_begun(call_handle, distributed_barrier_session(handle), status);
}

static int wait_for_end(uvzk_barrier_t *handle, uvzk_req_t *call_handle,
                        int64_t timeout_ms, uvzk_req_cb cb)
{
    int status = uvzk__barrier_object_check(handle, object_of(handle), call_handle, cb,
                                            timeout_ms);

    if (status != 0) {
        return status;
    }
    struct uvzk__barrier_object *object = handle->impl;
    struct wait *wait = uvzk__calloc(1, sizeof(*wait));
    if (wait == NULL) {
        return UV_ENOMEM;
    }
    wait->waiter.told_cb = distributed_barrier_told;
    wait->waiter.confirmed = true;
    if (uvzk__znode_waiter_begin(object->session, &wait->waiter, object->path) != 0) {
        uvzk__free(wait);
        return UV_ENOMEM;
    }
    wait->call.given_up_cb = wait_given_up;
    wait->call.over_cb = wait_over;
    (void)uvzk__barrier_call_begin_to_send(&wait->call, object->session, &object->calls,
                                           call_handle, timeout_ms, cb);
    return 0;
}

int uvzk_barrier_wait(uvzk_barrier_t *handle, uvzk_req_t *call_handle, int64_t timeout_ms,
                      uvzk_req_cb cb)
{
    int status = wait_for_end(handle, call_handle, timeout_ms, cb);

    return uvzk__req_begun(call_handle, distributed_barrier_session(handle), status);
}
