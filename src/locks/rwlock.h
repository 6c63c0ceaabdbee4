/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of read-write locks, and the prefix of their readers' names. */
#ifndef UVZK_RWLOCK_H
#define UVZK_RWLOCK_H

#include "directory/queue.h"

extern const struct uvzk__directory_kind uvzk__read_write;

#endif
