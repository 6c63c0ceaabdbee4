/* SPDX-License-Identifier: Apache-2.0 */
/* One of each recipe of a client, on any path: for tests of what goes together. */
#ifndef OWNER_THINGS_H
#define OWNER_THINGS_H

#include "owner_scene.h"

/* At most one of each. */
struct things {
    uvzk_client_t *client;
    uvzk_lock_t lock;
    uvzk_rwlock_t rwlock;
    uvzk_election_t election;
    uvzk_shared_value_t value;
    uvzk_shared_count_t count;
    uvzk_group_member_t member;
    uvzk_persistent_node_t node;
    uvzk_double_barrier_t gate;
    uvzk_barrier_t barrier;
    uvzk_atomic_long_t number;
    uvzk_req_t call;
    uvzk_req_t change;
};

/* open: returns the result of the init, or of the call that makes the znode: a barrier is set,
 * an atomic long is changed. A refused one is closed. close: of one that was opened; the time
 * that this takes passes. */
struct thing {
    int (*open)(struct things *, const char *path);
    void (*close)(struct things *);
};

/* Their znodes are children of the path; and the path is their znode. */
extern const struct thing things_with_children[], things_with_a_znode[];
extern const size_t things_with_children_count, things_with_a_znode_count;

extern const struct thing things_mutex, things_double_barrier, things_value, things_count,
    things_barrier, things_number;

/* What the client has sent so far. */
uint64_t things_requests(const struct owner_scene *scene);

#endif
