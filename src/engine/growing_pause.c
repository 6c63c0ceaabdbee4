/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses that grow from one refusal to the next (growing_pause.h). The readings of all rooms
 * use them, and directory/acl_retry.c. */
#include "engine/growing_pause.h"

#include "base/outcome.h"
#include "engine/session.h"

#define NO_ROOM_PAUSE_MS 1000U /* no room for a watch: others must be removed first */

static void growing_pause_grow(struct uvzk__growing_pause *pause, uint64_t first_ms,
                               uint64_t most_ms)
{
    pause->last_ms = pause->last_ms == 0 ? first_ms : 2 * pause->last_ms;
    if (pause->last_ms > most_ms) {
        pause->last_ms = most_ms;
    }
}

void uvzk__growing_pause_begin_once(struct uvzk__session *session,
                                    struct uvzk__growing_pause *pause, uint64_t ms)
{
    uvzk__timer_set(session, &pause->timer, uvzk__now(session) + ms);
}

void uvzk__growing_pause_begin(struct uvzk__session *session,
                               struct uvzk__growing_pause *pause)
{
    growing_pause_grow(pause, UVZK__SHORT_PAUSE_MS, session->connection.timeout_ms);
    uvzk__growing_pause_begin_once(session, pause, pause->last_ms);
}

void uvzk__growing_pause_begin_varied(struct uvzk__session *session,
                                      struct uvzk__growing_pause *pause,
                                      uint64_t first_ms, uint64_t longest_ms)
{
    uint64_t most = session->connection.timeout_ms, random = 0;

    /* The session timeout is 0 while none has been negotiated. */
    if (most > longest_ms || most < first_ms) {
        most = longest_ms;
    }
    growing_pause_grow(pause, first_ms, most);
    (void)uvzk__random(session, &random, sizeof(random));
    uvzk__growing_pause_begin_once(session, pause,
                                   pause->last_ms - pause->last_ms / 4 +
                                       random % (pause->last_ms / 2 + 1));
}

bool uvzk__growing_pause_begin_after(struct uvzk__session *session,
                                     struct uvzk__growing_pause *pause, int status)
{
    if (uvzk__is_transient(status)) {
        uvzk__growing_pause_begin_once(session, pause, UVZK__SHORT_PAUSE_MS);
        return false;
    }
    if (status == UVZK_ELIMIT) {
        uvzk__growing_pause_begin_once(session, pause, NO_ROOM_PAUSE_MS);
    } else {
        uvzk__growing_pause_begin(session, pause);
    }
    return true;
}

void uvzk__growing_pause_reset(struct uvzk__growing_pause *pause)
{
    pause->last_ms = 0;
}

bool uvzk__growing_pause_runs(const struct uvzk__growing_pause *pause)
{
    return uvzk__deadline_is_armed(&pause->timer.deadline);
}

void uvzk__growing_pause_end(struct uvzk__session *session,
                             struct uvzk__growing_pause *pause)
{
    uvzk__timer_clear(session, &pause->timer);
}
