/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_future_end: the future of a close or a release that is under way, of any handle. Its
 * end tells the future after its own callback (engine/handle_end.h). */
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "future/future.h"

/* What all handles begin with. */
struct handle {
    UVZK_HANDLE_FIELDS;
};

struct ending {
    struct uvzk__future future;
    struct uvzk__end_listener listener;
};

/* The end of the client itself, which the future outlives. */
static const struct uvzk__future_kind of_client = {.outlives = true};

static void of_end_ended(struct uvzk__end_listener *listener, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(listener, struct ending, listener)->future,
                      status);
}

/* Returns 0 if the end is under way and nobody listens to it. */
static int of_end_check(const struct handle *handle)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "handle is NULL");
    }
    const struct uvzk__end_listener *listener = handle->end;
    if (listener == NULL) {
        return uvzk__refuse(UVZK_ESTATE,
                            "handle: no close and no release of it is under way");
    }
    return uvzk__refuse_if(
        UV_EBUSY, listener->ended != NULL ? "handle: it has a future already" : NULL);
}

int uvzk_future_end(uvzk_future_t *future, void *handle)
{
    struct handle *of = handle;
    struct uvzk__future *impl;
    int status = of_end_check(of);

    if (status != 0) {
        return status;
    }
    struct uvzk__session *session = ((struct uvzk__end_listener *)of->end)->session;
    status = uvzk__future_new(
        future, handle == session->handle ? &of_client : &uvzk__future_plain,
        sizeof(struct ending), &impl);
    if (status != 0) {
        return status;
    }
    struct ending *ending = UVZK__CONTAINER_OF(impl, struct ending, future);
    uvzk__end_listener_init(&ending->listener, session, of_end_ended);
    of->end = &ending->listener;
    return uvzk__future_begun(impl, session, 0);
}
