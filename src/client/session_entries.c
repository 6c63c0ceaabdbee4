/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_client_each_session: the state, the server and the budgets of each session of a
 * client at this moment. The callback gets pointers that are valid until it returns.
 * uvzk_client_current_server: the server of the first session. */
#include <string.h>

#include "base/refusal.h"
#include "client/lifecycle.h"
#include "directory/directories.h"

static uvzk_client_error_t error_of(const struct uvzk__session *session)
{
    const struct uvzk__no_connection *no_connection = &session->lifecycle->no_connection;

    return (uvzk_client_error_t){.size = sizeof(uvzk_client_error_t),
                                 .code = no_connection->code,
                                 .address = no_connection->address,
                                 .text = no_connection->text,
                                 .at = no_connection->at_ms};
}

/* NULL if there is no connection. */
static const char *server_of(const struct uvzk__session *session)
{
    return uvzk__is_connected(session) ? session->lifecycle->server : NULL;
}

static uvzk_session_entry_t entry_of(const struct uvzk__session *session,
                                     const uvzk_client_error_t *error)
{
    return (uvzk_session_entry_t){
        .size = sizeof(uvzk_session_entry_t),
        .number = session->number,
        .state = (uint32_t)uvzk__connection_state(&session->connection),
        .session_id = session->connection.session_id,
        .session_timeout_ms = session->connection.timeout_ms,
        .contenders = session->directories->contender_count,
        .node_bytes = session->directories->node_bytes,
        .node_bytes_most = session->directories->node_bytes_max,
        .watches = uvzk__watch_count(&session->watches),
        .watch_bytes = uvzk__watch_bytes(&session->watches),
        .watch_bytes_most = UVZK__WATCH_BYTES_MAX,
        .error = error,
        .server = server_of(session),
    };
}

int uvzk_client_each_session(const uvzk_client_t *handle, uvzk_session_entry_cb cb,
                             void *context)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    if (handle == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "client is NULL" : "cb is NULL");
    }
    if (session == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk_client_error_t error = error_of(session->client->sessions[i]);
        uvzk_session_entry_t entry = entry_of(session->client->sessions[i], &error);
        cb(session->handle, &entry, context);
    }
    return 0;
}

const char *uvzk_client_current_server(const uvzk_client_t *handle)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    return session == NULL ? NULL : server_of(session);
}
