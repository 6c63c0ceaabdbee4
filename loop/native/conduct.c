/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does with the requests of a native session (conduct.h). */
#include "native/conduct.h"

#include <uv.h>

#include "discovery/pause.h"
#include "uvzk.h"

/* In ms. */
#define PAUSE_SOON_MS 20U
#define PAUSE_LAST_MS 4000U

/* An answer counts as coming only after this many more bytes: a server that sends a byte
 * now and then does not answer. */
#define PART_BYTES 4096U

void uvzk__conduct_begin(struct uvzk__conduct *conduct, uint64_t at)
{
    conduct->began_at = at;
    conduct->owed_at = UINT64_MAX;
    conduct->part = 0;
    conduct->answered = false;
}

/* The next answer has all of its time. */
static void conduct_restart(struct uvzk__conduct *conduct, uint64_t at)
{
    if (conduct->owed_at != UINT64_MAX) {
        conduct->owed_at = at;
    }
}

void uvzk__conduct_answered(struct uvzk__conduct *conduct, uint64_t at)
{
    conduct->answered = true;
    conduct_restart(conduct, at);
}

void uvzk__conduct_receives(struct uvzk__conduct *conduct, size_t length, uint64_t at)
{
    if (length < conduct->part) {
        conduct->part = length;
    } else if (length - conduct->part >= PART_BYTES) {
        conduct->part = length;
        conduct_restart(conduct, at);
    }
}

void uvzk__conduct_owes(struct uvzk__conduct *conduct, bool owes, uint64_t at)
{
    if (!owes) {
        conduct->owed_at = UINT64_MAX;
    } else if (conduct->owed_at == UINT64_MAX) {
        conduct->owed_at = at;
    }
}

bool uvzk__conduct_is_breach(int code)
{
    return code == UV_EPROTO || code == UV_EMSGSIZE;
}

/* With the quarter that uvzk__pause_jittered may add, it is a tenth of the timeout. */
static uint32_t longest_pause(uint32_t timeout_ms)
{
    uint32_t pause = timeout_ms / 25 * 2;

    return pause < PAUSE_LAST_MS ? pause : PAUSE_LAST_MS;
}

uint32_t uvzk__conduct_lost(struct uvzk__conduct *conduct, int code, uint32_t timeout_ms)
{
    bool useless = uvzk_now() - conduct->began_at < timeout_ms &&
                   (uvzk__conduct_is_breach(code) || !conduct->answered);
    uint32_t pause =
        useless && conduct->next_pause_ms > 0 ? conduct->next_pause_ms : PAUSE_SOON_MS;

    conduct->next_pause_ms =
        useless ? uvzk__pause_doubled(pause, longest_pause(timeout_ms)) : 0;
    return pause;
}
