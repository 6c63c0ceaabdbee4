/* A distributed barrier (Curator's DistributedBarrier): it is closed while the persistent
 * znode at its path exists. A set creates the znode, a remove deletes it (znode_write.h),
 * a wait ends when the znode is known to be absent at a moment after the call
 * (watched_znode.h). */
#ifndef UVZK_DISTRIBUTED_BARRIER_H
#define UVZK_DISTRIBUTED_BARRIER_H

#include "engine/session.h"
#include "engine/session_object.h"
#include "engine/znode_owner.h"

struct uvzk__distributed_barrier {
    /* The user's struct. It refers to this barrier until the close callback. */
    uvzk_barrier_t *shell;
    struct uvzk__session *session; /* of the path */
    struct uvzk__session_object object;
    struct uvzk__link calls;                /* struct uvzk__barrier_call */
    struct uvzk__notification notification; /* of the close */
    uvzk_barrier_close_cb close_cb;         /* may be NULL */
    char *path;                             /* namespace included */
    struct uvzk__znode_owner owner;         /* from the first set */
    bool closing;
};

/* The session of an initialised barrier, else NULL. */
struct uvzk__session *uvzk__distributed_barrier_session(const uvzk_barrier_t *);

#endif
