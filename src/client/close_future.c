/* uvzk_client_close_future. This future outlives its client: it is done when the client
 * has ended, and has no session from then on. */
#include "engine/session.h"
#include "future/future.h"

static const struct uvzk__future_kind closing = {.outlives = true};

static void closed(uvzk_client_t *client)
{
    uvzk__future_over(client->end_future, 0);
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
        client->end_future = future;
    }
    return uvzk__future_begun(future, client == NULL ? NULL : client->impl, status);
}
