/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that are answered by the server: uvzk_hold_verify asks whether a hold is
 * really held, uvzk_client_read reads a znode. Verify sends a multi with checks
 * (node_checks.c), a read sends one get. The user's callback runs as soon
 * as the reply arrives, not at the end of the turn. Nothing is repeated. */
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/hold_calls.h"
#include "directory/contender.h"
#include "directory/directories.h"
#include "engine/req.h"
#include "engine/submission.h"
#include "lock_requests/node_checks.h"

/* ------------------------------------------------------------------- verify */

struct verify_request {
    uvzk_req_t *handle;
    uvzk_req_cb cb;
};

/* A contender may have lost its grant while the request was under way. */
static bool all_held(const struct uvzk__node_checks *node_checks)
{
    for (size_t i = 0; i < node_checks->count; i++) {
        if (!uvzk__contender_holds(node_checks->contenders[i])) {
            return false;
        }
    }
    return true;
}

static void hold_query_verified(struct uvzk__node_checks *node_checks,
                                const struct uvzk__reply *reply, int status,
                                size_t failed)
{
    /* Copied, because the memory is freed before the callback, which may use the handle
     * again. */
    struct verify_request verify_request = *(struct verify_request *)node_checks->data;

    (void)reply;
    (void)failed;
    if (status == 0 && !all_held(node_checks)) {
        status = UVZK_ELOST;
    }
    uvzk__free(node_checks->data);
    uvzk__req_end(verify_request.handle, verify_request.cb, status, NULL);
}

static int hold_query_verify(uvzk_hold_t *hold, uvzk_req_t *handle, uvzk_req_cb cb)
{
    int status = hold == NULL ? uvzk__refuse(UV_EINVAL, "hold is NULL")
                              : uvzk__req_check(handle, cb);
    if (status != 0) {
        return status;
    }
    struct uvzk__claim *claim = uvzk__hold_of(hold);
    if (claim == NULL) {
        return uvzk__refuse(UVZK_ENOTHELD, "hold is not held");
    }
    struct verify_request *verify_request = uvzk__calloc(1, sizeof(*verify_request));
    struct uvzk__node_checks *node_checks =
        verify_request == NULL ? NULL : uvzk__node_checks_new(claim, 0);
    if (node_checks == NULL) {
        uvzk__free(verify_request);
        return UV_ENOMEM;
    }
    verify_request->handle = handle;
    verify_request->cb = cb;
    uvzk__req_begin(handle, verify_request, NULL);
    uvzk__node_checks_send(node_checks, 0, hold_query_verified, verify_request);
    return 0;
}

int uvzk_hold_verify(uvzk_hold_t *hold, uvzk_req_t *req, uvzk_req_cb cb)
{
    int status = hold_query_verify(hold, req, cb);

    return uvzk__req_begun(req, uvzk__hold_session(hold), status);
}

/* ---------------------------------------------------------------------- read */

struct read_query {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    char path[]; /* a copy of the caller's */
};

static uvzk_stat_t public_stat(const struct uvzk__stat *stat)
{
    return (uvzk_stat_t){.size = sizeof(uvzk_stat_t),
                         .czxid = stat->czxid,
                         .session_id = stat->ephemeral_owner,
                         .created_ms = stat->created_ms,
                         .version = stat->version};
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct read_query *query = UVZK__CONTAINER_OF(rpc, struct read_query, rpc);
    uvzk_req_t *handle = query->handle;
    uvzk_req_cb cb = query->cb;
    uvzk_stat_t stat = public_stat(&reply->stat);
    uvzk_result_t result = uvzk__result_of_nothing();
    int status = reply->status;

    if (status == 0) {
        result.stat = &stat;
        result.data = reply->data;
        result.length = reply->data_length;
    }
    /* Before the user's callback, because the reply may prove the session. */
    uvzk__answered(query->session, rpc, reply->status, false);
    uvzk__free(query);
    uvzk__req_end(handle, cb, status, &result);
}

static int read_znode(uvzk_client_t *client_handle, uvzk_req_t *handle,
                      const char *node_path, uvzk_req_cb cb)
{
    int status = uvzk__refuse_if(UV_EINVAL, client_handle == NULL ? "client is NULL"
                                            : node_path == NULL   ? "node_path is NULL"
                                                                  : NULL);
    if (status == 0) {
        status = uvzk__req_check(handle, cb);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__session *session = client_handle->impl;
    if (session == NULL || uvzk__session_is_closing(session)) {
        return uvzk__refuse(UVZK_ECLOSED, "client is closing, or not initialised");
    }
    status = uvzk__path_validate_znode(node_path);
    if (status != 0) {
        return status;
    }
    size_t length = strlen(node_path);
    struct read_query *query = uvzk__calloc(1, sizeof(*query) + length + 1);
    if (query == NULL) {
        return UV_ENOMEM;
    }
    memcpy(query->path, node_path, length);
    /* The server of another session may not have seen the newest znodes of this client
     * yet. */
    query->session = uvzk__session_of_node(session, query->path);
    query->handle = handle;
    query->cb = cb;
    uvzk__req_begin(handle, query, NULL);
    uvzk__rpc_prepare(&query->rpc, UVZK__RPC_GET, query->path, read_replied);
    uvzk__submit(query->session, &query->rpc);
    return 0;
}

int uvzk_client_read(uvzk_client_t *client, uvzk_req_t *req, const char *node_path,
                     uvzk_req_cb cb)
{
    int status = read_znode(client, req, node_path, cb);

    return uvzk__req_begun(req, client == NULL ? NULL : client->impl, status);
}
