/* Asks for somebody's hold: writes __REVOKE__ into its znode (Curator's Revoker). */
#include "claim/revocation.h"

#include "base/path.h"
#include "base/refusal.h"
#include "directory/whose.h"
#include "engine/submission.h"

struct plea {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    uvzk_revoke_t *shell;
    uvzk_revoke_cb cb;
    char *path;
};

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct plea *plea = UVZK__CONTAINER_OF(rpc, struct plea, rpc);
    uvzk_revoke_t *shell = plea->shell;
    uvzk_revoke_cb cb = plea->cb;
    int status = reply->status;

    uvzk__answered(plea->client, rpc, status, true);
    shell->impl = NULL;
    uvzk__free(plea->path);
    uvzk__free(plea);
    cb(shell, status);
}

static int check(const uvzk_client_t *client_shell, const uvzk_revoke_t *shell,
                 const char *node_path)
{
    const struct uvzk__client *client = client_shell->impl;

    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
    }
    if (client == NULL || client->closing) {
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
    struct plea *plea = uvzk__calloc(1, sizeof(*plea));
    if (plea == NULL) {
        return UV_ENOMEM;
    }
    plea->path = uvzk__strdup(node_path);
    if (plea->path == NULL) {
        uvzk__free(plea);
        return UV_ENOMEM;
    }
    plea->client = uvzk__whose_node(client_shell->impl, plea->path);
    plea->shell = shell;
    plea->cb = cb;
    shell->impl = plea;
    uvzk__rpc_prepare(&plea->rpc, UVZK__RPC_SET, plea->path, replied);
    plea->rpc.data = UVZK__REVOKE;
    plea->rpc.data_length = UVZK__REVOKE_LENGTH;
    uvzk__submit(plea->client, &plea->rpc);
    return 0;
}
