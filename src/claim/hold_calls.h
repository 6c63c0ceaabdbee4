/* SPDX-License-Identifier: Apache-2.0 */
/* From a user's uvzk_hold_t to its session and its claim. */
#ifndef UVZK_HOLD_CALLS_H
#define UVZK_HOLD_CALLS_H

#include "claim/claim.h"

/* The session of a hold that is pending or held; NULL for any other. */
struct uvzk__session *uvzk__hold_session(const uvzk_hold_t *);

/* Replaces the callback of a release that the user has begun and whose callback has not
 * run yet. Returns the user's callback, or NULL, with nothing changed, if there is no
 * such release. */
uvzk_hold_release_cb uvzk__hold_intercept_release(const uvzk_hold_t *,
                                                  uvzk_hold_release_cb cb);

/* May be called from the acquire callback that reports the grant. `losing` is called as
 * soon as the hold is lost, before the end of the turn. The lost callback still runs at
 * the end of the turn. */
void uvzk__hold_intercept_loss(const uvzk_hold_t *, uvzk_hold_lost_cb losing);

/* The claim of a hold whose grant has been reported and which has neither been released
 * nor lost, whatever the clock says; else NULL. */
struct uvzk__claim *uvzk__hold_of(const uvzk_hold_t *);

#endif
