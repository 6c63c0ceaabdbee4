/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the message of a revocation into a contender's znode (served_revoke.h).
 * served_operations.c calls it. */
#include "serve/served_revoke.h"

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_call.h"
#include "serve/served_connection.h"

static void on_revoked(uvzk_req_t *request, int status)
{
    struct served_call *call = request->data;

    served_connection_send(call->connection,
                           status < 0 ? served_answer_status(call->id, status, 0)
                                      : served_answer_ok(call->id));
    served_call_end(call);
}

void served_revoke_send(struct served_connection *connection,
                        const struct served_request *request)
{
    struct served_call *call = served_call_new(connection, request->id, sizeof(*call));

    if (call == NULL) {
        return;
    }
    int status = uvzk_client_revoke(&connection->daemon->zookeeper.client, &call->request,
                                    request->node, on_revoked);
    if (status < 0) {
        served_call_refused(call, status, "node");
    }
}
