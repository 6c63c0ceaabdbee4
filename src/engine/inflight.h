/* A request in flight, for those who ask seldom: its memory is there for as long as it is
 * under way, so that ten thousand who wait, and ask nothing, keep none for it.
 *
 * Out of memory is no answer: nothing is sent for a while then (uvzk__back_off), after
 * which everybody is asked anew what is needed. */
#ifndef UVZK_INFLIGHT_H
#define UVZK_INFLIGHT_H

#include "engine/port.h"

struct uvzk__session;
struct uvzk__inflight;

/* Of a client: memory of those that have landed, for the next ones. */
struct uvzk__inflight_pool {
    struct uvzk__inflight *spare;
    uint32_t spare_count;
};

void uvzk__inflight_pool_free(struct uvzk__session *);

/* One for who asks, its kind and path filled in (uvzk__rpc_prepare); NULL when out of
 * memory. It has to be submitted. */
struct uvzk__rpc *uvzk__inflight_new(struct uvzk__session *, void *requester,
                                     enum uvzk__rpc_kind, const char *path,
                                     uvzk__reply_cb);

/* Room for the ACL of what it creates. */
struct uvzk__acl *uvzk__inflight_acl(struct uvzk__rpc *);

/* In its reply: who has asked; then, with the status, uvzk__answered, after which the rpc
 * is no more. write: it was one. */
void *uvzk__inflight_requester(struct uvzk__rpc *);
void uvzk__inflight_done(struct uvzk__session *, struct uvzk__rpc *, int status,
                         bool write);

#endif
