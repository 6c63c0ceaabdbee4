/* Questions to the server on behalf of the user: whether a hold is really held, and
 * what a znode's data are. One request each; the answer goes straight to the user. */
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/acquisition.h"
#include "directory/contender.h"
#include "directory/whose.h"
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
        return uvzk__refuse(UV_EINVAL, hold == NULL    ? "hold is NULL"
                                       : shell == NULL ? "request is NULL"
                                                       : "cb is NULL");
    }
    struct uvzk__claim *claim = uvzk__hold_of(hold);
    if (claim == NULL) {
        return uvzk__refuse(UVZK_ENOTHELD, "hold is not held");
    }
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
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
    uvzk_read_cb read_cb; /* one of the two */
    uvzk_look_cb look_cb;
    char path[];
};

static uvzk_stat_t public_stat(const struct uvzk__stat *stat)
{
    return (uvzk_stat_t){.czxid = stat->czxid,
                         .session_id = stat->ephemeral_owner,
                         .created_ms = stat->created_ms};
}

static void have_read(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct reading *reading = UVZK__CONTAINER_OF(rpc, struct reading, rpc);
    uvzk_read_t *shell = reading->shell;
    uvzk_read_cb read_cb = reading->read_cb;
    uvzk_look_cb look_cb = reading->look_cb;
    bool seen = reply->status == 0;
    const void *data = seen ? reply->data : NULL;
    size_t length = seen ? reply->data_length : 0;

    uvzk__answered(reading->client, rpc, reply->status, false);
    uvzk__free(reading);
    shell->impl = NULL;
    if (read_cb != NULL) {
        read_cb(shell, reply->status, data, length);
    } else {
        uvzk_stat_t stat = public_stat(&reply->stat);
        look_cb(shell, reply->status, seen ? &stat : NULL, data, length);
    }
}

/* One of the callbacks is NULL; if both are, the caller gave none. */
static int begin_reading(uvzk_client_t *client_shell, uvzk_read_t *shell,
                         const char *node_path, uvzk_read_cb read_cb,
                         uvzk_look_cb look_cb)
{
    if (client_shell == NULL || shell == NULL || node_path == NULL ||
        (read_cb == NULL && look_cb == NULL)) {
        return uvzk__refuse(UV_EINVAL, client_shell == NULL ? "client is NULL"
                                       : shell == NULL      ? "request is NULL"
                                       : node_path == NULL  ? "node_path is NULL"
                                                            : "cb is NULL");
    }
    struct uvzk__client *client = client_shell->impl;
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
    }
    if (client == NULL || client->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "client is closing, or not initialised");
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
    reading->client = uvzk__whose_node(client, reading->path);
    reading->shell = shell;
    reading->read_cb = read_cb;
    reading->look_cb = look_cb;
    shell->impl = reading;
    uvzk__rpc_prepare(&reading->rpc, UVZK__RPC_GET, reading->path, have_read);
    uvzk__submit(reading->client, &reading->rpc);
    return 0;
}

int uvzk_client_read(uvzk_client_t *client, uvzk_read_t *request, const char *node_path,
                     uvzk_read_cb cb)
{
    return begin_reading(client, request, node_path, cb, NULL);
}

int uvzk_client_look(uvzk_client_t *client, uvzk_read_t *request, const char *node_path,
                     uvzk_look_cb cb)
{
    return begin_reading(client, request, node_path, NULL, cb);
}
