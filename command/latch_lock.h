/* SPDX-License-Identifier: Apache-2.0 */
/* A lock whose contenders are the participants of an election: its znodes are those of
 * Curator's LeaderLatch, and of a uvzk_election_t of this kind. Leading is holding it. It
 * is used to list an election without standing in it, and by `uvzk serve`, where a
 * program leads in the same way as it holds a lock. */
#ifndef LATCH_LOCK_H
#define LATCH_LOCK_H

#include <uvzk.h>

/* As uvzk_mutex_init. */
int latch_lock_init(uvzk_client_t *, uvzk_lock_t *, const char *path);

#endif
