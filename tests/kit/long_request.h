/* SPDX-License-Identifier: Apache-2.0 */
/* Acquires of the tests whose requests are as long as a test wants: by the data of their
 * znodes, which a multi lock's request has once for each member, and a semaphore's for each
 * lease. The same file serves both kits, as hold.h does. */
#ifndef UVZK_KIT_LONG_REQUEST_H
#define UVZK_KIT_LONG_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "hold.h"
#include "process.h"

#define LONG_REQUEST_PARTS 40 /* members, and leases */

struct long_requests {
    struct process *process; /* with a semaphore of so many leases */
    uvzk_mutex_t mutexes[LONG_REQUEST_PARTS];
    uvzk_multilock_t all; /* of the mutexes */
};

void long_requests_make(struct long_requests *requests, struct process *process);

/* Asks for the lock with so many bytes of data in each znode. Returns what the call
 * returns. */
int long_request_ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                     size_t bytes, uint32_t leases);

/* What no server accepts is refused at the call, with its size in the sentence. What is as
 * long as the longest request is granted. The lock has LONG_REQUEST_PARTS parts. */
void long_request_is_refused_at_the_call(struct hold *hold, struct process *process,
                                         uvzk_lock_t *lock, uint32_t leases);
/* A request that these servers do not accept, with `bytes` in all parts together, is refused
 * when it has been tried. One of the members, and half of the leases, are granted. */
void long_multilock_is_rejected(struct hold *hold, struct long_requests *requests,
                                size_t bytes);
void long_leases_are_rejected(struct hold *hold, struct long_requests *requests,
                              size_t bytes);

#endif
