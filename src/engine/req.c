/* Requests of the caller (req.h). The functions that begin calls check a request and begin
 * it; whatever ends a call frees what belongs to it first, because the callback may use the
 * request for the next call. */
#include "engine/req.h"

#include <stdint.h>

#include "base/refusal.h"

int uvzk__req_check(const uvzk_req_t *req, uvzk_req_cb cb)
{
    if (req == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, req == NULL ? "request is NULL" : "cb is NULL");
    }
    return uvzk__refuse_if(UV_EBUSY,
                           req->impl != NULL ? "request is in use, or not zeroed" : NULL);
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
