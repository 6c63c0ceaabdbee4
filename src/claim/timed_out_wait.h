/* SPDX-License-Identifier: Apache-2.0 */
/* What a pending acquire waits for (uvzk_hold_wait_info), and what an acquire waited for whose
 * time ran out. The latter is recorded when the time runs out, because the claim has
 * ended by the time its callback runs. */
#ifndef UVZK_TIMED_OUT_WAIT_H
#define UVZK_TIMED_OUT_WAIT_H

#include "claim/claim.h"
#include "claim/wait_reason.h"

/* The record of what a timed-out acquire waited for, until its callback has run. */
struct uvzk__timed_out_wait;

/* Translates a wait reason into the public struct. text: a buffer of as many bytes as
 * uvzk__wait_reason_text_size returns, which may be 0; the result refers to it. */
size_t uvzk__wait_reason_text_size(const struct uvzk__wait_reason *);
uvzk_wait_info_t uvzk__wait_reason_to_public(const struct uvzk__wait_reason *,
                                             char *text);

/* What the claim waits for. most: how many local contenders are counted at most. */
void uvzk__claim_wait_reason(const struct uvzk__claim *, size_t most,
                             struct uvzk__wait_reason *);

/* ------------------------------------------------------------ for this room alone */

/* The same from the contenders of the claim that do not hold: of the first one that has
 * contenders ahead of it, else of the first one. */
void uvzk__claim_plain_wait_reason(const struct uvzk__claim *, size_t most,
                                   struct uvzk__wait_reason *);

/* The time of the claim's acquire has run out. Or the claim is NULL: UVZK_TRY_ONCE was
 * refused without a claim, because a local contender is ahead. Returns the code for the
 * acquire callback, and a record of what the acquire waited for, NULL if there is no
 * memory for that. The caller owns the record until uvzk__timed_out_wait_notify. */
int uvzk__wait_timed_out(const struct uvzk__claim *, struct uvzk__timed_out_wait **);

/* Runs the acquire callback, inside which uvzk__timed_out_wait_of answers for this hold,
 * and then frees the record. The record may be NULL: nothing is known. */
void uvzk__timed_out_wait_notify(struct uvzk__timed_out_wait *, uvzk_hold_t *,
                                 uvzk_hold_acquire_cb, int status);

/* What the acquire of this hold waited for, if its callback is running on this thread
 * after a timeout; else NULL. */
const uvzk_wait_info_t *uvzk__timed_out_wait_of(const uvzk_hold_t *);

#endif
