/* The futures of calls on a shared value or a shared count: set, try_set and close. */
#include "future/future.h"
#include "value/shared_value.h"

/* ------------------------------------------------------------------------ set */

struct setting {
    struct uvzk__future future;
    uvzk_req_t request;
};

/* The set's callback ends the future. */
static void was_set(uvzk_req_t *request, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(request, struct setting, request)->future,
                      status);
}

/* Makes a future of a set, and returns its request too. */
static int new_setting(uvzk_future_t *shell, struct uvzk__future **future,
                       uvzk_req_t **request)
{
    int status =
        uvzk__future_new(shell, &uvzk__future_plain, sizeof(struct setting), future);

    if (status == 0) {
        *request = &UVZK__CONTAINER_OF(*future, struct setting, future)->request;
    }
    return status;
}

int uvzk_shared_value_set_future(uvzk_shared_value_t *value, uvzk_future_t *shell,
                                 const void *data, size_t length)
{
    struct uvzk__future *future;
    uvzk_req_t *request;
    int status = new_setting(shell, &future, &request);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_value_set(value, request, data, length, was_set);
    /* If the call has failed, this frees the future and returns the code. */
    return uvzk__future_begun(future, uvzk__shared_value_session(value), status);
}

int uvzk_shared_value_try_set_future(uvzk_shared_value_t *value, uvzk_future_t *shell,
                                     const uvzk_value_version_t *version,
                                     const void *data, size_t length)
{
    struct uvzk__future *future;
    uvzk_req_t *request;
    int status = new_setting(shell, &future, &request);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_value_try_set(value, request, version, data, length, was_set);
    return uvzk__future_begun(future, uvzk__shared_value_session(value), status);
}

static struct uvzk__session *session_of_count(const uvzk_shared_count_t *count)
{
    return count == NULL ? NULL : uvzk__shared_value_session(&count->value);
}

int uvzk_shared_count_set_future(uvzk_shared_count_t *count, uvzk_future_t *shell,
                                 int32_t value)
{
    struct uvzk__future *future;
    uvzk_req_t *request;
    int status = new_setting(shell, &future, &request);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_count_set(count, request, value, was_set);
    return uvzk__future_begun(future, session_of_count(count), status);
}

int uvzk_shared_count_try_set_future(uvzk_shared_count_t *count, uvzk_future_t *shell,
                                     const uvzk_value_version_t *version, int32_t value)
{
    struct uvzk__future *future;
    uvzk_req_t *request;
    int status = new_setting(shell, &future, &request);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_count_try_set(count, request, version, value, was_set);
    return uvzk__future_begun(future, session_of_count(count), status);
}

/* ---------------------------------------------------------------------- close */

static void value_closed(uvzk_shared_value_t *value)
{
    uvzk__future_over(value->end_future, 0);
}

static void count_closed(uvzk_shared_count_t *count)
{
    uvzk__future_over(count->end_future, 0);
}

int uvzk_shared_value_close_future(uvzk_shared_value_t *value, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_value_close(value, value_closed);
    if (status == 0) {
        value->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__shared_value_session(value), status);
}

int uvzk_shared_count_close_future(uvzk_shared_count_t *count, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_shared_count_close(count, count_closed);
    if (status == 0) {
        count->end_future = future;
    }
    return uvzk__future_begun(future, session_of_count(count), status);
}
