/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers for property tests (splitmix64): the same seed, the
 * same run. UVZK_SEED in the environment asks for another one. */
#ifndef UVZK_TEST_SEEDED_H
#define UVZK_TEST_SEEDED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct seeded {
    uint64_t state;
};

/* Prints the seed: ctest shows it if the test fails. */
static inline struct seeded seeded_begin(void)
{
    const char *text = getenv("UVZK_SEED");
    struct seeded random = {text == NULL ? 20261121 : strtoull(text, NULL, 0)};
    printf("UVZK_SEED=%llu\n", (unsigned long long)random.state);
    return random;
}

static inline uint64_t seeded_next(struct seeded *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In [0, bound). */
static inline uint32_t seeded_below(struct seeded *random, uint32_t bound)
{
    return (uint32_t)((seeded_next(random) >> 32) * bound >> 32);
}

#endif
