/* SPDX-License-Identifier: Apache-2.0 */
/* The lengths of pauses between tries: random, growing and bounded (pause.h). */
#include "discovery/pause.h"

#include "platform/entropy.h"

/* The first pause, in ms: a sixteenth of the session timeout, within these limits. */
#define FIRST_MIN_MS 50U
#define FIRST_MAX_MS 1000U

/* How long a connection may take to be accepted, in ms: not less than a round trip around
 * the world, and in the end long enough for every network. */
#define ACCEPT_FIRST_MS 500U
#define ACCEPT_LAST_MS 4000U

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

static void connect_tries_set(struct uvzk__connect_tries *tries, uint64_t now,
                              uint32_t ms)
{
    tries->ms = ms;
    tries->again_at = now + uvzk__pause_jittered(ms);
}

void uvzk__connect_tries_begin(struct uvzk__connect_tries *tries, uint64_t now)
{
    connect_tries_set(tries, now, ACCEPT_FIRST_MS);
}

void uvzk__connect_tries_next(struct uvzk__connect_tries *tries, uint64_t now)
{
    connect_tries_set(tries, now, uvzk__pause_doubled(tries->ms, ACCEPT_LAST_MS));
}

void uvzk__connect_tries_end(struct uvzk__connect_tries *tries)
{
    tries->again_at = UINT64_MAX;
}
