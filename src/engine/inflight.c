/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates a request for a requester, and frees it after the reply (inflight.h). A pool
 * keeps a few finished requests for reuse. Without memory the session backs off. */
#include "engine/inflight.h"

#include "base/list.h"
#include "base/memory.h"
#include "engine/session.h"
#include "engine/submission.h"

/* How many finished requests the pool keeps: 64, as many as a batch has operations. The
 * memory of all others is freed. */
#define SPARE_MAX 64U

struct uvzk__inflight {
    struct uvzk__rpc rpc;
    struct uvzk__acl acl;
    union {
        void *requester;             /* in flight */
        struct uvzk__inflight *next; /* in the pool */
    };
};

static struct uvzk__inflight *inflight_of(struct uvzk__rpc *rpc)
{
    return UVZK__CONTAINER_OF(rpc, struct uvzk__inflight, rpc);
}

static struct uvzk__inflight *inflight_take(struct uvzk__inflight_pool *inflight_pool)
{
    struct uvzk__inflight *inflight = inflight_pool->spare;

    if (inflight == NULL) {
        return uvzk__malloc(sizeof(*inflight));
    }
    inflight_pool->spare = inflight->next;
    inflight_pool->spare_count--;
    return inflight;
}

struct uvzk__rpc *uvzk__inflight_new(struct uvzk__session *session, void *requester,
                                     enum uvzk__rpc_kind kind, const char *path,
                                     uvzk__reply_cb reply_cb)
{
    struct uvzk__inflight *inflight = inflight_take(&session->inflight_pool);

    if (inflight == NULL) {
        uvzk__back_off(session);
        return NULL;
    }
    inflight->requester = requester;
    uvzk__rpc_prepare(&inflight->rpc, kind, path, reply_cb);
    return &inflight->rpc;
}

struct uvzk__acl *uvzk__inflight_acl(struct uvzk__rpc *rpc)
{
    return &inflight_of(rpc)->acl;
}

void *uvzk__inflight_requester(struct uvzk__rpc *rpc)
{
    return inflight_of(rpc)->requester;
}

void uvzk__inflight_done(struct uvzk__session *session, struct uvzk__rpc *rpc, int status,
                         bool write)
{
    struct uvzk__inflight *inflight = inflight_of(rpc);

    uvzk__answered(session, rpc, status, write);
    if (session->inflight_pool.spare_count < SPARE_MAX) {
        inflight->next = session->inflight_pool.spare;
        session->inflight_pool.spare = inflight;
        session->inflight_pool.spare_count++;
    } else {
        uvzk__free(inflight);
    }
}

void uvzk__inflight_pool_free(struct uvzk__session *session)
{
    while (session->inflight_pool.spare != NULL) {
        uvzk__free(inflight_take(&session->inflight_pool));
    }
}
