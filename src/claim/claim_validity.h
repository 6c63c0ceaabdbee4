/* Until when the hold of a claim is valid. A hold with ephemeral znodes is valid as long
 * as its session is proved. A hold with persistent znodes is valid without limit. A hold
 * that consists of other claims (a multi lock in turn) is valid as long as each of these.
 * If the hold is limited (hold_limit.h), it is valid at most until its time is over. */
#ifndef UVZK_CLAIM_VALIDITY_H
#define UVZK_CLAIM_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__claim;

/* Returns true if the claim holds as a whole, and the hold is still valid by the
 * clock. */
bool uvzk__claim_holds(const struct uvzk__claim *);

/* ------------------------------------------------------------ for this room alone */

/* Until when the hold is proved, in ms of uvzk__now; UINT64_MAX: without limit. */
uint64_t uvzk__claim_valid_until(const struct uvzk__claim *);

#endif
