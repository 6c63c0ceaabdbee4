/* The futures of calls on an atomic long, and of its close. */
#include "atomic/atomic_long.h"
#include "base/refusal.h"
#include "base/struct_size.h"
#include "future/future.h"

/* The value is copied, because the callback only borrows it. */
struct calling {
    struct uvzk__future future;
    uvzk_req_t call;
    uvzk_atomic_value_t value; /* size is 0 until the callback */
};

static const struct uvzk__future_kind calling = {.withdraw = NULL};

static struct calling *calling_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct calling, future);
}

static void was_called(uvzk_req_t *call, int status)
{
    const uvzk_atomic_value_t *value = call->result->value;
    struct calling *called = UVZK__CONTAINER_OF(call, struct calling, call);

    /* A cancelled future does not show the call's result; the call continues. */
    if (called->future.status == UV_EAGAIN) {
        called->value = *value;
    }
    uvzk__future_over(&called->future, status);
}

/* Makes a future of a call, and returns its request too. */
static int new_calling(uvzk_future_t *shell, struct uvzk__future **future,
                       uvzk_req_t **call)
{
    int status = uvzk__future_new(shell, &calling, sizeof(struct calling), future);

    if (status == 0) {
        *call = &calling_of(*future)->call;
    }
    return status;
}

int uvzk_atomic_long_get_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_calling(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_atomic_long_get(atomic, call, was_called);
    /* If the call has failed, this frees the future and returns the code. */
    return uvzk__future_begun(future, uvzk__atomic_long_session(atomic), status);
}

/* The functions that take one number. */
static int begin(uvzk_atomic_long_t *atomic, uvzk_future_t *shell, int64_t number,
                 int (*function)(uvzk_atomic_long_t *, uvzk_req_t *, int64_t,
                                 uvzk_req_cb))
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_calling(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = function(atomic, call, number, was_called);
    return uvzk__future_begun(future, uvzk__atomic_long_session(atomic), status);
}

int uvzk_atomic_long_add_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell,
                                int64_t delta)
{
    return begin(atomic, shell, delta, uvzk_atomic_long_add);
}

int uvzk_atomic_long_try_set_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell,
                                    int64_t value)
{
    return begin(atomic, shell, value, uvzk_atomic_long_try_set);
}

int uvzk_atomic_long_force_set_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell,
                                      int64_t value)
{
    return begin(atomic, shell, value, uvzk_atomic_long_force_set);
}

int uvzk_atomic_long_create_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell,
                                   int64_t value)
{
    return begin(atomic, shell, value, uvzk_atomic_long_create);
}

int uvzk_atomic_long_compare_and_set_future(uvzk_atomic_long_t *atomic,
                                            uvzk_future_t *shell, int64_t expected,
                                            int64_t value)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_calling(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_atomic_long_compare_and_set(atomic, call, expected, value, was_called);
    return uvzk__future_begun(future, uvzk__atomic_long_session(atomic), status);
}

int uvzk_future_atomic_value(const uvzk_future_t *shell, uvzk_atomic_value_t *value)
{
    struct uvzk__future *future = shell == NULL ? NULL : uvzk__future_of(shell);

    if (shell == NULL || value == NULL ||
        value->size < UVZK__SIZE_UP_TO(uvzk_atomic_value_t, promoted_ms)) {
        return uvzk__refuse(UV_EINVAL, shell == NULL   ? "future is NULL"
                                       : value == NULL ? "value is NULL"
                                                       : "value.size: begin with "
                                                         "uvzk_atomic_value_init");
    }
    if (future == NULL || future->kind != &calling ||
        calling_of(future)->value.size == 0) {
        return uvzk__refuse(UVZK_ESTATE,
                            "future: not of a call on an atomic long that has ended");
    }
    uvzk__answer_into(value, &calling_of(future)->value, sizeof(*value));
    return 0;
}

/* ---------------------------------------------------------------------- close */

static void atomic_closed(uvzk_atomic_long_t *atomic)
{
    uvzk__future_over(atomic->end_future, 0);
}

int uvzk_atomic_long_close_future(uvzk_atomic_long_t *atomic, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_atomic_long_close(atomic, atomic_closed);
    if (status == 0) {
        atomic->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__atomic_long_session(atomic), status);
}
