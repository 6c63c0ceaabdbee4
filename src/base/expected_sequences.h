/* SPDX-License-Identifier: Apache-2.0 */
/* Which sequence numbers a session expects in its directories: a set of numbers, in a
 * bounded amount of memory. */
#ifndef UVZK_EXPECTED_SEQUENCES_H
#define UVZK_EXPECTED_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

/* At least the last 16384 numbers are remembered, and at most twice as many. */
#define UVZK__EXPECTED_SEQUENCES_MIN 16384U

/* Which sequence number would come next in a directory if only this session created
 * contenders there: the number after each one that a contender of this session got.
 * Belongs to the session.
 *
 * Two sets of hashes, one bit for each hash. When the newer set is full, it becomes the
 * older one, and the older one is emptied and becomes the newer one. So the memory (16 KB
 * for each set) does not grow with the number of directories. When both sets are full,
 * about one in five numbers that were never added is found by chance. That only costs a
 * request. */
struct uvzk__expected_sequences {
    uint32_t *newer, *older; /* owned; NULL: not used yet, or out of memory */
    uint32_t count;          /* of numbers in the newer set */
};

/* directory: the hash of the directory's path (directories.h). The first function
 * remembers the number; without memory it does nothing. The second one returns whether
 * the number is remembered, and may return true by chance. */
void uvzk__expected_sequences_add(struct uvzk__expected_sequences *, uint32_t directory,
                                  int32_t number);
bool uvzk__expected_sequences_has(const struct uvzk__expected_sequences *,
                                  uint32_t directory, int32_t number);

/* Frees both sets. The struct may be used again. */
void uvzk__expected_sequences_free(struct uvzk__expected_sequences *);

#endif
