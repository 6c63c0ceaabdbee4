/* Opens, checks, closes and frees what every kind of barrier has (barrier_object.h). */
#include "barrier/barrier_object.h"

#include "barrier/change_call.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/znode_owner.h"

static struct uvzk__barrier_object *object_at(struct uvzk__session_object *of_session)
{
    return UVZK__CONTAINER_OF(of_session, struct uvzk__barrier_object, of_session);
}

void uvzk__barrier_object_unreachable(struct uvzk__session_object *of_session, int code)
{
    uvzk__change_calls_unreachable(&object_at(of_session)->calls, code);
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
