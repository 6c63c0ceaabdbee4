/* SPDX-License-Identifier: Apache-2.0 */
/* The hash and the weights of rendezvous hashing (rendezvous.h). client.c chooses the
 * session with the greatest weight. */
#include "base/rendezvous.h"

/* The hash is FNV-1a with 64 bits. */
uint64_t uvzk__rendezvous_key(const char *text)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);

    for (const char *at = text; *at != '\0'; at++) {
        key = (key ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return key;
}

/* The last steps of splitmix64: keys that differ in one bit have very different
 * weights. */
uint64_t uvzk__rendezvous_weight(uint64_t key, uint32_t number)
{
    uint64_t weight = key ^ ((number + 1) * UINT64_C(0x9e3779b97f4a7c15));

    weight = (weight ^ (weight >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    weight = (weight ^ (weight >> 27)) * UINT64_C(0x94d049bb133111eb);
    return weight ^ (weight >> 31);
}
