/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the sets of numbers that are expected (expected_sequences.h), as sets of hashes. */
#include "base/expected_sequences.h"

#include <string.h>

#include "base/memory.h"

/* In each set of numbers that are expected. At most an eighth of them are set when the
 * set is full. */
#define BITS (8U * UVZK__EXPECTED_SEQUENCES_MIN)
#define BITS_A_WORD 32U
#define WORDS (BITS / BITS_A_WORD)

/* The bit for a number in a directory: a multiplicative hash of both. */
static uint32_t bit_of(uint32_t directory, int32_t number)
{
    uint64_t mixed = ((uint64_t)directory << 32 | (uint32_t)number) + 1;

    mixed *= UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(mixed >> 40) % BITS;
}

static bool is_set(const uint32_t *set, uint32_t bit)
{
    return set != NULL && (set[bit / BITS_A_WORD] >> bit % BITS_A_WORD & 1U) != 0;
}

bool uvzk__expected_sequences_has(const struct uvzk__expected_sequences *expected,
                                  uint32_t directory, int32_t number)
{
    uint32_t bit = bit_of(directory, number);

    return is_set(expected->newer, bit) || is_set(expected->older, bit);
}

/* The newer set becomes the older one, and an empty set becomes the newer one. Without
 * memory for it, nothing is remembered until the next attempt. */
static void new_set(struct uvzk__expected_sequences *expected)
{
    uint32_t *set = expected->older;

    if (set == NULL) {
        set = uvzk__calloc(WORDS, sizeof(*set));
    } else {
        memset(set, 0, WORDS * sizeof(*set));
    }
    expected->older = expected->newer;
    expected->newer = set;
    expected->count = 0;
}

void uvzk__expected_sequences_add(struct uvzk__expected_sequences *expected,
                                  uint32_t directory, int32_t number)
{
    uint32_t bit = bit_of(directory, number);

    if (expected->newer == NULL || expected->count == UVZK__EXPECTED_SEQUENCES_MIN) {
        new_set(expected);
    }
    if (expected->newer != NULL) {
        expected->newer[bit / BITS_A_WORD] |= 1U << bit % BITS_A_WORD;
        expected->count++;
    }
}

void uvzk__expected_sequences_free(struct uvzk__expected_sequences *expected)
{
    uvzk__free(expected->newer);
    uvzk__free(expected->older);
    memset(expected, 0, sizeof(*expected));
}
