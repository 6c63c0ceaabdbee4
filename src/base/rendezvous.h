/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous hashing: it assigns each key (a path) to one of several candidates (the
 * sessions of a client). Each candidate has a weight for the key, and the candidate with
 * the greatest weight gets the key. Adding or removing a candidate moves only the keys
 * for which that candidate has the greatest weight. A key for which the first candidate
 * has no room goes to the candidate with the next smaller weight. The weights are the
 * same in every process. */
#ifndef UVZK_RENDEZVOUS_H
#define UVZK_RENDEZVOUS_H

#include <stdint.h>

/* Returns the hash of the text, as the key. */
uint64_t uvzk__rendezvous_key(const char *text);
/* Returns the weight of the candidate with this number (from 0) for the key. */
uint64_t uvzk__rendezvous_weight(uint64_t key, uint32_t number);

#endif
