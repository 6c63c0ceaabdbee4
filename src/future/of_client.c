/* The futures of calls on a client: read and revoke. Closing is in
 * client/close_future.c. */
#include "base/memory.h"
#include "base/refusal.h"
#include "base/struct_size.h"
#include "future/future.h"

/* The client's first session. NULL if the client is not initialized; then the call fails,
 * and the session is not used. */
static struct uvzk__session *session_of(const uvzk_client_t *shell)
{
    return shell == NULL ? NULL : shell->impl;
}

/* ----------------------------------------------------------------------- read */

/* The data are copied, because the callback only borrows them. */
struct reading {
    struct uvzk__future future;
    uvzk_req_t request;
    void *data;
    size_t length;
    uvzk_stat_t stat;
};

static struct reading *reading_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct reading, future);
}

static void free_data(struct uvzk__future *future)
{
    uvzk__free(reading_of(future)->data);
}

static const struct uvzk__future_kind reading = {.freed = free_data};

static void was_read(uvzk_req_t *request, int status)
{
    const uvzk_stat_t *stat = request->result->stat;
    const void *data = request->result->data;
    size_t length = request->result->length;
    struct reading *read = UVZK__CONTAINER_OF(request, struct reading, request);

    if (status == 0) {
        read->stat = *stat;
        read->data = uvzk__memdup(data, length);
        read->length = length;
        status = read->data == NULL ? UV_ENOMEM : 0;
    }
    uvzk__future_over(&read->future, status);
}

int uvzk_client_read_future(uvzk_client_t *client, uvzk_future_t *shell,
                            const char *node_path)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &reading, sizeof(struct reading), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_client_read(client, &reading_of(future)->request, node_path, was_read);
    return uvzk__future_begun(future, session_of(client), status);
}

int uvzk_future_data(const uvzk_future_t *shell, const void **data, size_t *length)
{
    struct uvzk__future *future = uvzk__future_done(shell, &reading);

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    if (future == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "future: not of a read that has succeeded");
    }
    if (data != NULL) {
        *data = reading_of(future)->data;
    }
    if (length != NULL) {
        *length = reading_of(future)->length;
    }
    return 0;
}

int uvzk_future_stat(const uvzk_future_t *shell, uvzk_stat_t *stat)
{
    struct uvzk__future *future = uvzk__future_done(shell, &reading);

    if (shell == NULL || stat == NULL ||
        stat->size < UVZK__SIZE_UP_TO(uvzk_stat_t, created_ms)) {
        return uvzk__refuse(UV_EINVAL, shell == NULL ? "future is NULL"
                                                     : "stat is NULL, or its size not "
                                                       "set by uvzk_stat_init");
    }
    if (future == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "future: not of a read that has succeeded");
    }
    uvzk__answer_into(stat, &reading_of(future)->stat, sizeof(*stat));
    return 0;
}

/* --------------------------------------------------------------------- revoke */

struct revoking {
    struct uvzk__future future;
    uvzk_req_t request;
};

static void revoked(uvzk_req_t *request, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(request, struct revoking, request)->future,
                      status);
}

int uvzk_client_revoke_future(uvzk_client_t *client, uvzk_future_t *shell,
                              const char *node_path)
{
    struct uvzk__future *future;
    int status =
        uvzk__future_new(shell, &uvzk__future_plain, sizeof(struct revoking), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_client_revoke(
        client, &UVZK__CONTAINER_OF(future, struct revoking, future)->request, node_path,
        revoked);
    return uvzk__future_begun(future, session_of(client), status);
}
