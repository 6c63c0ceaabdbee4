/* The lengths of pauses between tries: random, growing and bounded (pause.h). */
#include "discovery/pause.h"

#include "platform/entropy.h"

/* The first pause, in ms: a sixteenth of the session timeout, within these limits. */
#define FIRST_MIN_MS 50U
#define FIRST_MAX_MS 1000U

uint64_t uvzk__pause_jittered(uint32_t ms)
{
    uint32_t random;
    if (uvzk__entropy(&random, sizeof(random)) < 0) {
        /* Early in the boot, without random numbers, clients may act at the same time. */
        random = 0;
    }
    return ms - ms / 4 + random % (ms / 2 + 1);
}

uint32_t uvzk__pause_first(uint32_t timeout_ms)
{
    uint32_t pause = timeout_ms / 16;
    pause = pause > FIRST_MIN_MS ? pause : FIRST_MIN_MS;
    return pause < FIRST_MAX_MS ? pause : FIRST_MAX_MS;
}

uint32_t uvzk__pause_doubled(uint32_t ms, uint32_t most)
{
    return ms < most / 2 ? 2 * ms : most;
}
