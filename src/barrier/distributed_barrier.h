/* A distributed barrier (Curator's DistributedBarrier): it is closed while the persistent
 * znode at its path exists. A set creates the znode, a remove deletes it (znode_write.h),
 * a wait ends when the znode is known to be absent at a moment after the call
 * (watched_znode.h). */
#ifndef UVZK_DISTRIBUTED_BARRIER_H
#define UVZK_DISTRIBUTED_BARRIER_H

#include "barrier/barrier_object.h"
#include "engine/znode_owner.h"

struct uvzk__distributed_barrier {
    struct uvzk__barrier_object object;
    uvzk_barrier_t *handle;
    uvzk_barrier_close_cb close_cb; /* may be NULL */
    struct uvzk__znode_owner owner; /* from the first set */
};

/* The session of an initialised barrier, else NULL. */
struct uvzk__session *uvzk__distributed_barrier_session(const uvzk_barrier_t *);

#endif
