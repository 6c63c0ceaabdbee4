/* Computes when a watch is renewed (watch_renewal.h). */
#include "engine/watch_renewal.h"

#include "engine/turn.h"

void uvzk__watch_renewal_schedule(struct uvzk__session *session,
                                  struct uvzk__timer *timer)
{
    uint64_t period = session->connection.timeout_ms, random = 0;

    /* If random() fails, random is 0: the renewal comes early, which does no harm. */
    (void)uvzk__random(session, &random, sizeof(random));
    uvzk__timer_set(session, timer,
                    uvzk__now(session) + period - period / 4 + random % (period / 2 + 1));
}
