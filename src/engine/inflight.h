/* SPDX-License-Identifier: Apache-2.0 */
/* A request in flight, for contenders and other structs that send requests seldom. The
 * memory of the request exists only while the request is in flight, so that ten thousand
 * waiting contenders keep no memory for requests that they do not send.
 *
 * When memory runs out, the requester gets no reply. Instead the session sends nothing
 * for 100 ms (uvzk__back_off). Afterwards the turn hook `resume` asks every contender,
 * directory and value what it needs. */
#ifndef UVZK_INFLIGHT_H
#define UVZK_INFLIGHT_H

#include "engine/port.h"

struct uvzk__session;
struct uvzk__inflight;

/* One for each session: the memory of finished requests, kept for the next ones. */
struct uvzk__inflight_pool {
    struct uvzk__inflight *spare; /* a linked list; NULL: none */
    uint32_t spare_count;
};

/* Frees the memory in the pool. Called when the session is freed. */
void uvzk__inflight_pool_free(struct uvzk__session *);

/* Returns a request with its kind and path filled in (uvzk__rpc_prepare). The caller must
 * submit it. requester: any pointer, which uvzk__inflight_requester returns in the reply.
 * NULL: out of memory, and the session backs off. */
struct uvzk__rpc *uvzk__inflight_new(struct uvzk__session *, void *requester,
                                     enum uvzk__rpc_kind, const char *path,
                                     uvzk__reply_cb);

/* Returns room for the ACL of the znode that the request creates (uvzk__acl_of). */
struct uvzk__acl *uvzk__inflight_acl(struct uvzk__rpc *);

/* For the reply callback, in this order: the first function returns the requester. The
 * second calls uvzk__answered with this status and frees the request, so the callback
 * must not use the rpc afterwards. write: the request was a write. */
void *uvzk__inflight_requester(struct uvzk__rpc *);
void uvzk__inflight_done(struct uvzk__session *, struct uvzk__rpc *, int status,
                         bool write);

#endif
