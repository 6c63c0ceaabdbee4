#include "directory/slow_retry.h"

#include "engine/turn.h"

#define LONGEST_PAUSE_MS 30000U

void uvzk__slow_retry(struct uvzk__session *session, struct uvzk__timer *timer,
                      uint64_t *pause_ms)
{
    uint64_t most = uvzk__connection_session_timeout(&session->connection), random = 0;

    /* The session timeout is 0 while none has been negotiated. */
    if (most > LONGEST_PAUSE_MS || most < UVZK__SLOW_RETRY_FIRST_MS) {
        most = LONGEST_PAUSE_MS;
    }
    uint64_t pause = *pause_ms < most ? *pause_ms : most;
    (void)session->port->random(session->port, &random, sizeof(random));
    uvzk__timer_set(session, timer,
                    uvzk__now(session) + pause - pause / 4 + random % (pause / 2 + 1));
    *pause_ms = 2 * pause;
}
