/* The future of a client's end, which outlives the client. */
#include "engine/session.h"
#include "future/future.h"

static const struct uvzk__future_kind closing = {.outlives = true};

/* A client that is closing knows the future of that. */
static void closed(uvzk_client_t *client)
{
    uvzk__future_over(client->reserved[0], 0);
}

int uvzk_client_close_future(uvzk_client_t *client, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &closing, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_client_close(client, closed);
    if (status == 0) {
        client->reserved[0] = future;
    }
    return uvzk__future_begun(future, client == NULL ? NULL : client->impl, status);
}
