/* The acquisitions of one claim: what is reported to them while the claim lasts, and
 * which of them know of the grant. claim.h declares the functions that grant or end the
 * claim with all of its acquisitions. */
#ifndef UVZK_CLAIM_ACQUISITIONS_H
#define UVZK_CLAIM_ACQUISITIONS_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__claim;

/* The place of the claim in its queue is known: `ahead` contenders are ahead of it. */
void uvzk__claim_queued(struct uvzk__claim *, uint64_t ahead);

/* Returns true if the acquire callback of one of its acquisitions has reported the
 * grant. */
bool uvzk__claim_grant_notified(const struct uvzk__claim *);

/* The claim has to wait: ends its acquisitions with UVZK_TRY_ONCE with UV_ETIMEDOUT, and
 * the claim if no other acquisition is left. */
void uvzk__claim_end_try_once(struct uvzk__claim *);

/* For a broken client (engine/invariant.h): ends the user's holds of the claim, but not
 * what waits. */
void uvzk__claim_end_holds(struct uvzk__claim *, int code);

/* The releases under way end with this code, because nothing more will be known of the
 * znodes. Does nothing for a persistent claim and UVZK_EEXPIRED: its znodes still exist,
 * and their deletes go on. */
void uvzk__claim_fail_releases(struct uvzk__claim *, int code);

/* ------------------------------------------------------------ for this room alone */

/* Its hold_limit: the time of the warning has come; and the end, which ends the claim. The
 * second function is called only where callbacks may run. */
void uvzk__claim_warn(struct uvzk__claim *);
void uvzk__claim_give_back(struct uvzk__claim *);

#endif
