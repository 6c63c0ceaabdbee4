/* SPDX-License-Identifier: Apache-2.0 */
/* The lock kind of an election of the kind LeaderLatch: a mutex whose contenders have
 * another name. An election of the kind LeaderSelector is a mutex on the wire
 * (locks/mutex.h). */
#ifndef UVZK_LEADER_LATCH_H
#define UVZK_LEADER_LATCH_H

#include "uvzk.h"

struct uvzk__directory_kind;

/* The directory of its contenders. */
extern const struct uvzk__directory_kind uvzk__latches;

/* Initializes a lock of this kind. Errors as uvzk_mutex_init. */
int uvzk__leader_latch_init(uvzk_client_t *, uvzk_lock_t *, const char *path);

#endif
