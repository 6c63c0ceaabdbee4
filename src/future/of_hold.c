/* The futures of calls on a hold: release, verify and write. */
#include <stdint.h>

#include "claim/hold_calls.h"
#include "future/future.h"

/* ------------------------------------------------------------------- release */

static void released(uvzk_hold_t *hold, int status)
{
    uvzk__future_over(hold->end_future, status);
}

int uvzk_hold_release_future(uvzk_hold_t *hold, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_hold_release(hold, released);
    if (status == 0) {
        /* No callback runs inside uvzk_hold_release, so this is early enough. */
        hold->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__hold_session(hold), status);
}

/* -------------------------------------------------------------------- verify */

struct verifying {
    struct uvzk__future future;
    uvzk_req_t request;
};

static void verified(uvzk_req_t *request, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(request, struct verifying, request)->future,
                      status);
}

int uvzk_hold_verify_future(uvzk_hold_t *hold, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status =
        uvzk__future_new(shell, &uvzk__future_plain, sizeof(struct verifying), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_hold_verify(
        hold, &UVZK__CONTAINER_OF(future, struct verifying, future)->request, verified);
    return uvzk__future_begun(future, uvzk__hold_session(hold), status);
}

/* ------------------------------------------------------------- guarded write */

struct writing {
    struct uvzk__future future;
    uvzk_req_t request;
    /* Index of the operation that failed; SIZE_MAX: none, or not known. */
    size_t refused;
};

/* All members are NULL. It is a kind of its own so that uvzk_future_refused recognizes
 * it. */
static const struct uvzk__future_kind writing = {0};

static void written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    struct writing *write = UVZK__CONTAINER_OF(request, struct writing, request);

    write->refused = status == 0 ? SIZE_MAX : failed;
    uvzk__future_over(&write->future, status);
}

int uvzk_hold_write_future(uvzk_hold_t *hold, uvzk_future_t *shell,
                           const uvzk_write_op_t *ops, size_t count)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &writing, sizeof(struct writing), &future);

    if (status != 0) {
        return status;
    }
    struct writing *write = UVZK__CONTAINER_OF(future, struct writing, future);
    write->refused = SIZE_MAX;
    status = uvzk_hold_write(hold, &write->request, ops, count, written);
    return uvzk__future_begun(future, uvzk__hold_session(hold), status);
}

size_t uvzk_future_refused(const uvzk_future_t *shell)
{
    struct uvzk__future *future = uvzk__future_of(shell);

    return future == NULL || future->kind != &writing
               ? SIZE_MAX
               : UVZK__CONTAINER_OF(future, struct writing, future)->refused;
}
