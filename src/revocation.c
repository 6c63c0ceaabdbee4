#include "revocation.h"

#include <string.h>

#include "acquisition.h"
#include "driver.h"
#include "guard.h"
#include "path.h"

static const char message[] = {'_', '_', 'R', 'E', 'V', 'O', 'K', 'E', '_', '_'};

/* ----------------------------------------------------------------- being asked */

void uvzk__revocation_wanted(struct uvzk__claim *claim)
{
    for (struct uvzk__link *link = claim->contenders.next; link != &claim->contenders;
         link = link->next) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        contender->revocable = true;
        uvzk__guard(contender); /* if it stands already */
    }
}

void uvzk__revocation_read(struct uvzk__contender *contender,
                           const struct uvzk__reply *reply)
{
    struct uvzk__claim *claim = contender->claim;

    if (!contender->revocable || reply->stat.mzxid == contender->revoked_mzxid ||
        reply->data_length != sizeof(message) ||
        memcmp(reply->data, message, sizeof(message)) != 0) {
        return;
    }
    contender->revoked_mzxid = reply->stat.mzxid;
    for (struct uvzk__link *link = claim->acquisitions.next; link != &claim->acquisitions;
         link = link->next) {
        uvzk__acquisition_revoked(
            UVZK__CONTAINER_OF(link, struct uvzk__acquisition, siblings));
    }
}

/* ---------------------------------------------------------------------- asking */

struct plea {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    uvzk_revoke_t *shell;
    uvzk_revoked_cb cb;
    char *path;
};

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct plea *plea = UVZK__CONTAINER_OF(rpc, struct plea, rpc);
    uvzk_revoke_t *shell = plea->shell;
    uvzk_revoked_cb cb = plea->cb;
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
        return UV_EBUSY;
    }
    if (client == NULL || client->closing) {
        return UVZK_ECLOSED;
    }
    return uvzk__path_validate_znode(node_path);
}

int uvzk_revoke(uvzk_client_t *client_shell, uvzk_revoke_t *shell, const char *node_path,
                uvzk_revoked_cb cb)
{
    if (client_shell == NULL || shell == NULL || node_path == NULL || cb == NULL) {
        return UV_EINVAL;
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
    plea->client = client_shell->impl;
    plea->shell = shell;
    plea->cb = cb;
    shell->impl = plea;
    uvzk__rpc_prepare(&plea->rpc, UVZK__RPC_SET, plea->path, replied);
    plea->rpc.data = message;
    plea->rpc.data_length = sizeof(message);
    uvzk__submit(plea->client, &plea->rpc);
    return 0;
}
