/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses before something is tried again. */
#ifndef UVZK_PAUSE_H
#define UVZK_PAUSE_H

#include <stdint.h>

/* Returns the first pause of a session with this timeout: long enough for one server to
 * answer, short beside the timeout. */
uint32_t uvzk__pause_first(uint32_t timeout_ms);
/* Returns the next pause after one of ms: twice as long, at most `most`. */
uint32_t uvzk__pause_doubled(uint32_t ms, uint32_t most);

/* A connection that is not accepted is begun anew, again and again: a server whose queue is
 * full has dropped it, and the kernel would ask again after 1, 3, 7, ... s, at the same
 * moments as for all the other clients. */
struct uvzk__connect_tries {
    uint64_t again_at; /* UINT64_MAX: there is nothing to wait for */
    uint32_t ms;       /* until again_at, before it is made random; it grows */
};
/* The first connection begins. */
void uvzk__connect_tries_begin(struct uvzk__connect_tries *tries, uint64_t now);
/* It is time: the next one begins. */
void uvzk__connect_tries_next(struct uvzk__connect_tries *tries, uint64_t now);

/* ------------------------------------------------------------ for this room alone */

/* Returns a random time from three quarters to five quarters of ms, so that clients do
 * not act at the same time. */
uint64_t uvzk__pause_jittered(uint32_t ms);

/* A connection is accepted: no other one is begun. */
void uvzk__connect_tries_end(struct uvzk__connect_tries *tries);

#endif
