/* uvzk_client_revoke: asks a holder to release, by writing __REVOKE__ into the holder's
 * znode (Curator's Revoker). The holder may belong to any client; claim/revocation.c is
 * the other side. The write is sent once and not repeated. */
#include "claim/revocation.h"

#include "base/path.h"
#include "base/refusal.h"
#include "directory/directories.h"
#include "engine/submission.h"

struct revoke_request {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    uvzk_revoke_t *shell;
    uvzk_revoke_cb cb;
    /* A copy. */
    char *path;
};

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct revoke_request *request = UVZK__CONTAINER_OF(rpc, struct revoke_request, rpc);
    uvzk_revoke_t *shell = request->shell;
    uvzk_revoke_cb cb = request->cb;
    int status = reply->status;

    uvzk__answered(request->session, rpc, status, true);
    /* The shell is the caller's again before the callback runs. */
    shell->impl = NULL;
    uvzk__free(request->path);
    uvzk__free(request);
    cb(shell, status);
}

static int check(const uvzk_client_t *client_shell, const uvzk_revoke_t *shell,
                 const char *node_path)
{
    const struct uvzk__session *session = client_shell->impl;

    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
    }
    if (session == NULL || uvzk__session_is_closing(session)) {
        return uvzk__refuse(UVZK_ECLOSED, "client is closing, or not initialised");
    }
    return uvzk__path_validate_znode(node_path);
}

int uvzk_client_revoke(uvzk_client_t *client_shell, uvzk_revoke_t *shell,
                       const char *node_path, uvzk_revoke_cb cb)
{
    if (client_shell == NULL || shell == NULL || node_path == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, client_shell == NULL ? "client is NULL"
                                       : shell == NULL      ? "request is NULL"
                                       : node_path == NULL  ? "node_path is NULL"
                                                            : "cb is NULL");
    }
    int status = check(client_shell, shell, node_path);
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
    request->session = uvzk__session_of_node(client_shell->impl, request->path);
    request->shell = shell;
    request->cb = cb;
    shell->impl = request;
    uvzk__rpc_prepare(&request->rpc, UVZK__RPC_SET, request->path, replied);
    request->rpc.data = UVZK__REVOKE;
    request->rpc.data_length = UVZK__REVOKE_LENGTH;
    uvzk__submit(request->session, &request->rpc);
    return 0;
}
