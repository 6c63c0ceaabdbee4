/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_client_revoke: asks a holder to release, by writing __REVOKE__ into the holder's
 * znode (Curator's Revoker). The holder may belong to any client; claim/acquisition.c is
 * the other side. The write is sent once and not repeated. */
#include "claim/acquisition.h"

#include "base/path.h"
#include "base/refusal.h"
#include "directory/directories.h"
#include "engine/req.h"
#include "engine/submission.h"

struct revoke_request {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    /* A copy. */
    char *path;
};

static void revoke_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct revoke_request *request = UVZK__CONTAINER_OF(rpc, struct revoke_request, rpc);
    uvzk_req_t *handle = request->handle;
    uvzk_req_cb cb = request->cb;
    int status = reply->status;

    uvzk__answered(request->session, rpc, status, true);
    uvzk__free(request->path);
    uvzk__free(request);
    uvzk__req_end(handle, cb, status, NULL);
}

static int revoke_check(const uvzk_client_t *client_handle, const char *node_path)
{
    const struct uvzk__session *session = client_handle->impl;

    if (session == NULL || uvzk__session_is_closing(session)) {
        return uvzk__refuse(UVZK_ECLOSED, "client is closing, or not initialised");
    }
    return uvzk__path_validate_znode(node_path);
}

static int send_revoke(uvzk_client_t *client_handle, uvzk_req_t *handle,
                       const char *node_path, uvzk_req_cb cb)
{
    int status = uvzk__refuse_if(UV_EINVAL, client_handle == NULL ? "client is NULL"
                                            : node_path == NULL   ? "node_path is NULL"
                                                                  : NULL);
    if (status == 0) {
        status = uvzk__req_check(handle, cb);
    }
    if (status == 0) {
        status = revoke_check(client_handle, node_path);
    }
    if (status != 0) {
        return status;
    }
    struct revoke_request *request = uvzk__calloc(1, sizeof(*request));
    if (request == NULL) {
        return UV_ENOMEM;
    }
    request->path = uvzk__strdup(node_path);
    if (request->path == NULL) {
        uvzk__free(request);
        return UV_ENOMEM;
    }
    /* A znode of this client is written through the session that created it, whose server
     * has seen it. */
    request->session = uvzk__session_of_node(client_handle->impl, request->path);
    request->handle = handle;
    request->cb = cb;
    uvzk__req_begin(handle, request, NULL);
    uvzk__rpc_prepare(&request->rpc, UVZK__RPC_SET, request->path, revoke_replied);
    request->rpc.data = UVZK__REVOKE;
    request->rpc.data_length = UVZK__REVOKE_LENGTH;
    uvzk__submit(request->session, &request->rpc);
    return 0;
}

int uvzk_client_revoke(uvzk_client_t *client, uvzk_req_t *req, const char *node_path,
                       uvzk_req_cb cb)
{
    int status = send_revoke(client, req, node_path, cb);

    return uvzk__req_begun(req, client == NULL ? NULL : client->impl, status);
}
