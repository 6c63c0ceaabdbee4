/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the caller (req.h). The functions that begin calls check a request and begin
 * it; whatever ends a call frees what belongs to it first, because the callback may use the
 * request for the next call. */
#include "engine/req.h"

#include <stdint.h>

#include "base/refusal.h"

static const struct {
    int status;
    const char *why;
} failures[] = {
    {UV_ENOMEM, NULL},
    {UV_EBUSY, "future is in use, or not zeroed"},
    {UV_EINVAL, "future is NULL"},
};
#define FAILURES (sizeof(failures) / sizeof(failures[0]))

/* One for each failure. Nothing writes to them. */
static uvzk_req_t failing[FAILURES];

uvzk_req_t *uvzk__req_that_fails(int status)
{
    size_t i = 0;

    while (i < FAILURES - 1 && failures[i].status != status) {
        i++;
    }
    return &failing[i];
}

static int check_failing(const uvzk_req_t *req)
{
    for (size_t i = 0; i < FAILURES; i++) {
        if (req == &failing[i]) {
            return failures[i].why == NULL
                       ? failures[i].status
                       : uvzk__refuse(failures[i].status, failures[i].why);
        }
    }
    return 0;
}

int uvzk__req_check(const uvzk_req_t *req, uvzk_req_cb cb)
{
    if (req == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, req == NULL ? "request is NULL" : "cb is NULL");
    }
    int status = check_failing(req);
    if (status != 0) {
        return status;
    }
    const struct uvzk__req_owner *owner = req->owner;
    if (owner != NULL && owner->cb != cb) {
        return uvzk__refuse(UV_EINVAL,
                            "cb is not uvzk_future_complete, as for a future's request");
    }
    return uvzk__refuse_if(UV_EBUSY,
                           req->impl != NULL ? "request is in use, or not zeroed" : NULL);
}

int uvzk__req_begun(uvzk_req_t *req, struct uvzk__session *session, int status)
{
    const struct uvzk__req_owner *owner = req == NULL ? NULL : req->owner;

    if (owner != NULL && status == 0) {
        owner->begun(req, session);
    } else if (owner != NULL) {
        owner->refused(req, status);
    }
    return status;
}

void uvzk__req_begin(uvzk_req_t *req, void *call, const struct uvzk__req_kind *kind)
{
    req->impl = call;
    req->kind = kind;
}

uvzk_result_t uvzk__result_of_nothing(void)
{
    return (uvzk_result_t){.size = sizeof(uvzk_result_t), .failed_op = SIZE_MAX};
}

void uvzk__req_end(uvzk_req_t *req, uvzk_req_cb cb, int status,
                   const uvzk_result_t *result)
{
    uvzk_result_t nothing = uvzk__result_of_nothing();

    req->impl = NULL;
    req->kind = NULL;
    req->result = result == NULL ? &nothing : result;
    cb(req, status);
}

int uvzk_req_cancel(uvzk_req_t *req)
{
    if (req == NULL) {
        return uvzk__refuse(UV_EINVAL, "request is NULL");
    }
    const struct uvzk__req_kind *kind = req->kind;
    if (req->impl == NULL || kind == NULL) {
        return uvzk__refuse(UVZK_ESTATE, req->impl == NULL
                                             ? "request is not in use"
                                             : "this call cannot be cancelled");
    }
    return kind->cancel(req);
}
