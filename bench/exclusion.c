/* SPDX-License-Identifier: Apache-2.0 */
#include "exclusion.h"

void exclusion_enter(struct exclusion *lock, bool alone, int64_t token)
{
    /* How many others may hold at this moment. */
    size_t most = alone ? 0 : lock->together - 1;

    if (lock->alone || lock->holders > most) {
        ++*lock->overlaps;
    }
    if (token <= lock->last_alone || (alone && token <= lock->last_together)) {
        ++*lock->out_of_order;
    }
    int64_t *last = alone ? &lock->last_alone : &lock->last_together;
    *last = token > *last ? token : *last;
    lock->holders++;
    lock->alone = alone;
}

void exclusion_leave(struct exclusion *lock)
{
    lock->holders--;
    lock->alone = lock->alone && lock->holders > 0;
}
