/* SPDX-License-Identifier: Apache-2.0 */
/* The longest hold (options.max_hold_ms): the hold of a claim ends by itself a given time
 * after its first acquire callback. Some time before that, the warning callbacks run.
 *
 *   the claim's first acquire callback --- warning_ms before the end ---> warned
 *                                                                           |
 *   given back <--- the lost callbacks have run <--- lost <--- the end -----'
 *
 * The end of the limit is also the latest end of the hold's validity, so code that has
 * copied uvzk_hold_valid_until stops in time. */
#ifndef UVZK_HOLD_LIMIT_H
#define UVZK_HOLD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/turn.h"

struct uvzk__claim;

/* ------------------------------------------------------------ for this room alone */

/* In front of the memory of a claim whose hold is limited (claim.h). */
struct uvzk__hold_limit {
    struct uvzk__timer timer;               /* for the warning, then for the end */
    struct uvzk__notification notification; /* ends the claim */
    struct uvzk__claim *claim;
    struct uvzk__session *session;
    uint64_t max_ms;
    uint64_t warning_ms; /* how long before the end the warning is due */
    uint64_t ends_at;    /* in ms of uvzk__now; 0: no acquire callback has run yet */
    bool warned;
};

/* The limit in front of a claim; NULL: the claim is not limited. */
static inline struct uvzk__hold_limit *
uvzk__hold_limit_before(const struct uvzk__claim *claim, bool is_limited)
{
    return is_limited ? (struct uvzk__hold_limit *)(uintptr_t)claim - 1 : NULL;
}

/* The time of the limit: max_ms after the first acquire callback, with a warning warning_ms
 * before that. */
void uvzk__hold_limit_init(struct uvzk__hold_limit *, struct uvzk__claim *,
                           struct uvzk__session *, uint64_t max_ms, uint64_t warning_ms);

/* An acquire callback of the claim is about to report a grant. The first one starts the
 * time. Returns true if the warning has come before. */
bool uvzk__hold_limit_granted(struct uvzk__hold_limit *);

/* The functions below do nothing if the limit is NULL. */

/* The claim has ended, or is freed: no timer and no notification still refers to it. */
void uvzk__hold_limit_stop(struct uvzk__hold_limit *);
/* The end of the hold's time, in ms of uvzk__now; UINT64_MAX: it has none yet. */
uint64_t uvzk__hold_limit_end(const struct uvzk__hold_limit *);
/* If the hold's time is over, ends the claim. Called only where callbacks may run. */
void uvzk__hold_limit_check(struct uvzk__hold_limit *);

#endif
