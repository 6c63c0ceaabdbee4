/* SPDX-License-Identifier: Apache-2.0 */
/* The pause before a refused request is repeated. A server is unlikely to accept the
 * request a moment later, so each pause is twice as long as the one before, up to a
 * limit. */
#ifndef UVZK_GROWING_PAUSE_H
#define UVZK_GROWING_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/turn.h"

#define UVZK__SHORT_PAUSE_MS 100U /* before what may soon succeed is repeated */

/* Part of the struct that needs it, which must end the pause before it is freed. due() of
 * the timer runs when a pause is over. */
struct uvzk__growing_pause {
    struct uvzk__timer timer;
    uint64_t
        last_ms; /* length of the last pause that has grown; 0: the next is the first */
};

/* Begins the next pause: from 100 ms up to one session timeout. */
void uvzk__growing_pause_begin(struct uvzk__session *, struct uvzk__growing_pause *);
/* With other limits: from first_ms up to longest_ms or one session timeout, whichever is
 * less. Each pause is made up to a quarter longer or shorter at random. */
void uvzk__growing_pause_begin_varied(struct uvzk__session *,
                                      struct uvzk__growing_pause *, uint64_t first_ms,
                                      uint64_t longest_ms);
/* Begins a pause of this length, which leaves the length of the next one as it is. */
void uvzk__growing_pause_begin_once(struct uvzk__session *, struct uvzk__growing_pause *,
                                    uint64_t ms);
/* Begins the pause after a reading that has failed: a short one if the status is transient,
 * a long one if there was no room for its watch (UVZK_ELIMIT), else one that grows. Returns
 * true if the status is not transient, so that the owner reports the refusal. */
bool uvzk__growing_pause_begin_after(struct uvzk__session *, struct uvzk__growing_pause *,
                                     int status);
/* The request was accepted: the next pause is as short as the first one. */
void uvzk__growing_pause_reset(struct uvzk__growing_pause *);

/* Returns true if a pause has begun and is not over. */
bool uvzk__growing_pause_runs(const struct uvzk__growing_pause *);
/* Ends the pause; due() does not run. */
void uvzk__growing_pause_end(struct uvzk__session *, struct uvzk__growing_pause *);

#endif
