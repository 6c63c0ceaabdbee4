/* Each session of a client, as things stand. */
#include <string.h>

#include "base/refusal.h"
#include "client/lifecycle.h"
#include "directory/directories.h"

static uvzk_session_entry_t entry_of(const struct uvzk__client *session)
{
    const struct uvzk__unreached *unreached = &session->life->unreached;

    return (uvzk_session_entry_t){
        .size = sizeof(uvzk_session_entry_t),
        .number = session->number,
        .state = (uint32_t)uvzk__session_state(&session->session),
        .session_id = uvzk__session_id(&session->session),
        .session_timeout_ms = uvzk__session_timeout(&session->session),
        .contenders = session->directories->contender_count,
        .node_bytes = session->directories->node_bytes,
        .node_bytes_most = session->directories->node_bytes_most,
        .watches = uvzk__watch_count(&session->watches),
        .watch_bytes = uvzk__watch_bytes(&session->watches),
        .watch_bytes_most = UVZK__WATCH_BYTES_MAX,
        .error = {.size = sizeof(uvzk_client_error_t),
                  .code = unreached->code,
                  .address = unreached->address,
                  .text = unreached->text,
                  .at = unreached->at_ms},
    };
}

int uvzk_client_each_session(const uvzk_client_t *shell, uvzk_session_entry_cb cb,
                             void *context)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    if (shell == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, shell == NULL ? "client is NULL" : "cb is NULL");
    }
    if (client == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    for (uint32_t i = 0; i < client->sessions->count; i++) {
        uvzk_session_entry_t entry = entry_of(client->sessions->each[i]);
        cb(client->shell, &entry, context);
    }
    return 0;
}
