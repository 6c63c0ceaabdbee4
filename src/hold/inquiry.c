/* Questions to the server on behalf of the user: whether a hold is really held, and
 * what a znode's data are. One request each; the answer goes straight to the user. */
#include <string.h>

#include "base/path.h"
#include "claim/acquisition.h"
#include "directory/contender.h"
#include "engine/submission.h"
#include "hold/rollcall.h"

/* ------------------------------------------------------------------- verify */

struct question {
    uvzk_verify_t *shell;
    uvzk_verify_cb cb;
};

static bool all_held(const struct uvzk__rollcall *rollcall)
{
    for (size_t i = 0; i < rollcall->count; i++) {
        if (!rollcall->contenders[i]->held) {
            return false;
        }
    }
    return true;
}

static void verified(struct uvzk__rollcall *rollcall, const struct uvzk__reply *reply,
                     int status, size_t failed)
{
    struct question question = *(struct question *)rollcall->data;

    (void)reply;
    (void)failed;
    if (status == 0 && !all_held(rollcall)) {
        status = UVZK_ELOST;
    }
    uvzk__free(rollcall->data);
    question.shell->impl = NULL;
    question.cb(question.shell, status);
}

int uvzk_hold_verify(uvzk_hold_t *hold, uvzk_verify_t *shell, uvzk_verify_cb cb)
{
    if (hold == NULL || shell == NULL || cb == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__claim *claim = uvzk__hold_of(hold);
    if (claim == NULL) {
        return UVZK_ENOTHELD;
    }
    if (shell->impl != NULL) {
        return UV_EBUSY;
    }
    struct question *question = uvzk__calloc(1, sizeof(*question));
    struct uvzk__rollcall *rollcall =
        question == NULL ? NULL : uvzk__rollcall_new(claim, 0);
    if (rollcall == NULL) {
        uvzk__free(question);
        return UV_ENOMEM;
    }
    question->shell = shell;
    question->cb = cb;
    shell->impl = question;
    uvzk__rollcall_send(rollcall, 0, verified, question);
    return 0;
}

/* ---------------------------------------------------------------------- read */

struct reading {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    uvzk_read_t *shell;
    uvzk_read_cb cb;
    char path[];
};

static void have_read(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct reading *reading = UVZK__CONTAINER_OF(rpc, struct reading, rpc);
    uvzk_read_t *shell = reading->shell;
    uvzk_read_cb cb = reading->cb;

    uvzk__answered(reading->client, rpc, reply->status, false);
    uvzk__free(reading);
    shell->impl = NULL;
    if (reply->status == 0) {
        cb(shell, 0, reply->data, reply->data_length);
    } else {
        cb(shell, reply->status, NULL, 0);
    }
}

int uvzk_client_read(uvzk_client_t *client_shell, uvzk_read_t *shell,
                     const char *node_path, uvzk_read_cb cb)
{
    if (client_shell == NULL || shell == NULL || node_path == NULL || cb == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__client *client = client_shell->impl;
    if (shell->impl != NULL) {
        return UV_EBUSY;
    }
    if (client == NULL || client->closing) {
        return UVZK_ECLOSED;
    }
    int status = uvzk__path_validate_znode(node_path);
    if (status != 0) {
        return status;
    }
    size_t length = strlen(node_path);
    struct reading *reading = uvzk__calloc(1, sizeof(*reading) + length + 1);
    if (reading == NULL) {
        return UV_ENOMEM;
    }
    memcpy(reading->path, node_path, length);
    reading->client = client;
    reading->shell = shell;
    reading->cb = cb;
    shell->impl = reading;
    uvzk__rpc_prepare(&reading->rpc, UVZK__RPC_GET, reading->path, have_read);
    uvzk__submit(client, &reading->rpc);
    return 0;
}
