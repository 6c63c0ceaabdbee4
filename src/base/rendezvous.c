#include "base/rendezvous.h"

/* FNV-1a. */
uint64_t uvzk__rendezvous_key(const char *text)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);

    for (const char *at = text; *at != '\0'; at++) {
        key = (key ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return key;
}

/* The last steps of splitmix64: keys that differ in one bit draw unlike numbers. */
uint64_t uvzk__rendezvous_draw(uint64_t key, uint32_t number)
{
    uint64_t drawn = key ^ ((number + 1) * UINT64_C(0x9e3779b97f4a7c15));

    drawn = (drawn ^ (drawn >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    drawn = (drawn ^ (drawn >> 27)) * UINT64_C(0x94d049bb133111eb);
    return drawn ^ (drawn >> 31);
}
