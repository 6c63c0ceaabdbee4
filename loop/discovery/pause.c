#include "discovery/pause.h"

#include <sys/random.h>

uint64_t uvzk__pause_jittered(uint32_t ms)
{
    uint32_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0) {
        /* Early in the boot, without random numbers, clients may act at the same time. */
        random = 0;
    }
    return ms - ms / 4 + random % (ms / 2 + 1);
}

uint32_t uvzk__pause_doubled(uint32_t ms, uint32_t most)
{
    return ms < most / 2 ? 2 * ms : most;
}
