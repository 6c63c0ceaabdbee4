/* The futures of calls on a barrier or a double barrier. */
#include "barrier/distributed_barrier.h"
#include "barrier/double_barrier.h"
#include "future/future.h"

/* ------------------------------------------------------------------- the calls */

struct crossing {
    struct uvzk__future future;
    uvzk_req_t call;
};

/* The call's callback ends the future. */
static void over(uvzk_req_t *call, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(call, struct crossing, call)->future, status);
}

/* Its callback runs in any case, and ends the future. A call that has been given up, or
 * that is a set or a remove, continues by itself. */
static bool withdraw(struct uvzk__future *future)
{
    (void)uvzk_req_cancel(&UVZK__CONTAINER_OF(future, struct crossing, future)->call);
    return false;
}

static const struct uvzk__future_kind kind = {.withdraw = withdraw};

/* Makes a future of a call, and returns the call too. */
static int new_crossing(uvzk_future_t *shell, struct uvzk__future **future,
                        uvzk_req_t **call)
{
    int status = uvzk__future_new(shell, &kind, sizeof(struct crossing), future);

    if (status == 0) {
        *call = &UVZK__CONTAINER_OF(*future, struct crossing, future)->call;
    }
    return status;
}

int uvzk_barrier_set_future(uvzk_barrier_t *barrier, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_crossing(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_barrier_set(barrier, call, over);
    /* If the call has failed, this frees the future and returns the code. */
    return uvzk__future_begun(future, uvzk__distributed_barrier_session(barrier), status);
}

int uvzk_barrier_remove_future(uvzk_barrier_t *barrier, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_crossing(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_barrier_remove(barrier, call, over);
    return uvzk__future_begun(future, uvzk__distributed_barrier_session(barrier), status);
}

int uvzk_barrier_wait_future(uvzk_barrier_t *barrier, uvzk_future_t *shell,
                             int64_t timeout_ms)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_crossing(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_barrier_wait(barrier, call, timeout_ms, over);
    return uvzk__future_begun(future, uvzk__distributed_barrier_session(barrier), status);
}

int uvzk_double_barrier_enter_future(uvzk_double_barrier_t *barrier, uvzk_future_t *shell,
                                     int64_t timeout_ms)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_crossing(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_double_barrier_enter(barrier, call, timeout_ms, over);
    return uvzk__future_begun(future, uvzk__double_barrier_session(barrier), status);
}

int uvzk_double_barrier_leave_future(uvzk_double_barrier_t *barrier, uvzk_future_t *shell,
                                     int64_t timeout_ms)
{
    struct uvzk__future *future;
    uvzk_req_t *call;
    int status = new_crossing(shell, &future, &call);

    if (status != 0) {
        return status;
    }
    status = uvzk_double_barrier_leave(barrier, call, timeout_ms, over);
    return uvzk__future_begun(future, uvzk__double_barrier_session(barrier), status);
}

/* ---------------------------------------------------------------------- close */

static void barrier_closed(uvzk_barrier_t *barrier)
{
    uvzk__future_over(barrier->end_future, 0);
}

static void double_barrier_closed(uvzk_double_barrier_t *barrier)
{
    uvzk__future_over(barrier->end_future, 0);
}

int uvzk_barrier_close_future(uvzk_barrier_t *barrier, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_barrier_close(barrier, barrier_closed);
    if (status == 0) {
        barrier->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__distributed_barrier_session(barrier), status);
}

int uvzk_double_barrier_close_future(uvzk_double_barrier_t *barrier, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_double_barrier_close(barrier, double_barrier_closed);
    if (status == 0) {
        barrier->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__double_barrier_session(barrier), status);
}
