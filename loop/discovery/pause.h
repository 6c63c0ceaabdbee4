/* Pauses before something is tried again. */
#ifndef UVZK_PAUSE_H
#define UVZK_PAUSE_H

#include <stdint.h>

/* Returns the first pause of a session with this timeout: long enough for one server to
 * answer, short beside the timeout. */
uint32_t uvzk__pause_first(uint32_t timeout_ms);
/* Returns the next pause after one of ms: twice as long, at most `most`. */
uint32_t uvzk__pause_doubled(uint32_t ms, uint32_t most);

/* ------------------------------------------------------------ for this room alone */

/* Returns a random time from three quarters to five quarters of ms, so that clients do
 * not act at the same time. */
uint64_t uvzk__pause_jittered(uint32_t ms);

#endif
