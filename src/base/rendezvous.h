/* Rendezvous hashing: of several that could have a key, each draws a number for it, and the
 * greatest has it. One more, or one less, moves only the keys that it draws the greatest
 * number for; whoever comes next in rank is where a key goes when the first has no room.
 * The same numbers in every process. */
#ifndef UVZK_RENDEZVOUS_H
#define UVZK_RENDEZVOUS_H

#include <stdint.h>

/* A key, to be drawn for. */
uint64_t uvzk__rendezvous_key(const char *text);
/* What the one with this number draws for it. */
uint64_t uvzk__rendezvous_weight(uint64_t key, uint32_t number);

#endif
