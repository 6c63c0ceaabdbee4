/* Acquires of any lock of a process of the scene, where the scene's own claims are for
 * its one mutex. As there, everything that is told is written down, and asserted to come
 * once and in a legal order. At each grant the znodes must stand, in a session that
 * is alive and is the process's own. */
#ifndef UVZK_ACQUIRE_H
#define UVZK_ACQUIRE_H

#include "scene.h"

struct acquire {
    uvzk_hold_t request;
    struct process *process;
    uvzk_lock_t *lock;
    uint32_t leases;
    int acquired, queued, lost, released, revoked; /* callbacks */
    int status, reason, release_status;
    uint64_t acquired_ms;
    int64_t token;  /* at the grant */
    char path[256]; /* of its first znode, at the grant */
    void (*hook)(
        struct acquire *); /* run inside the acquire, lost and revoke callbacks */
};

/* options may be NULL; data and queued_cb are replaced. What uvzk_lock_acquire says. */
int acquire_ask(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                const uvzk_acquire_options_t *options);
/* So many leases, within so many ms, which must be accepted. */
void acquire_begin(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                   uint32_t leases, int64_t timeout_ms);
/* Of this owner, without a timeout. */
void acquire_begin_for(struct acquire *acquire, struct process *process,
                       uvzk_lock_t *lock, void *owner);
/* Begins, waits for the grant and asserts it. */
void acquire_take(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                  uint32_t leases);
/* Waits for the grant and asserts it. */
void acquire_await(struct acquire *acquire, uint64_t ms);
/* Releases, waits for the outcome, which must be 0. */
void acquire_give_back(struct acquire *acquire);
void acquire_release(struct acquire *acquire);

bool acquire_holds(const struct acquire *acquire); /* granted, and not over since */
/* Whatever has become of it: waits for the answer, and gives back what was granted. */
void acquire_finish(struct acquire *acquire, uint64_t ms);

#endif
