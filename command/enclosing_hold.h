/* SPDX-License-Identifier: Apache-2.0 */
/* The holds of the `uvzk lock` commands that this command runs inside. If it asked for the
 * lock of one of them, it would wait for itself, because that command waits for its CMD.
 * A leader's `uvzk elect` counts as one of them.
 *
 * Each of them adds a line to the environment variable UVZK_HELD of its CMD. A line
 * counts only while the supervisor that it names is an ancestor of this process: a
 * process that outlives CMD keeps the variable, but the lock is no longer held. */
#ifndef ENCLOSING_HOLD_H
#define ENCLOSING_HOLD_H

#include <stdbool.h>

#include "lock.h"

/* Returns the description of a lock and its kind, for enclosing_hold_add. The caller frees
 * it. NULL: no memory. */
char *enclosing_hold_describe(const struct lock_request *);

/* Returns the value of UVZK_HELD for CMD: the value in the environment of this process, and
 * a line that this process, the supervisor, holds the lock. The caller frees it. NULL: no
 * memory. */
char *enclosing_hold_add(const char *description);

/* Returns true if the lock cannot be granted before this command has ended. */
bool enclosing_hold_blocks(const struct lock_request *);

#endif
