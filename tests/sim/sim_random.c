/* SPDX-License-Identifier: Apache-2.0 */
/* The only source of random numbers of a simulation: xoshiro256**, seeded by
 * splitmix64. */
#include "sim_internal.h"

static uint64_t splitmix(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void sim__random_seed(struct sim *sim, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        sim->random[i] = splitmix(&seed);
    }
}

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return (word << bits) | (word >> (64 - bits));
}

uint64_t sim__random_word(struct sim *sim)
{
    uint64_t *s = sim->random;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

/* The bias of the remainder is below n / 2^64, which does not matter here. */
uint64_t sim_random(struct sim *sim, uint64_t n)
{
    return n <= 1 ? 0 : sim__random_word(sim) % n;
}

/* A fault that is switched off (0) takes no random number, so a new kind of fault does
 * not change the histories of tests without it. */
bool sim__random_hit(struct sim *sim, uint32_t ppm)
{
    bool hit = ppm > 0 && sim_random(sim, 1000000) < ppm;
    sim->fault_count += hit;
    return hit;
}

uint64_t sim__random_between(struct sim *sim, uint64_t low, uint64_t high)
{
    return high <= low ? low : low + sim_random(sim, high - low + 1);
}
