#include "directory/slow_retry.h"

#include "engine/turn.h"

#define LONGEST_PAUSE_MS 30000U

void uvzk__slow_retry(struct uvzk__client *client, struct uvzk__timed *timed,
                      uint64_t *pause_ms)
{
    uint64_t most = uvzk__session_timeout(&client->session), random = 0;

    if (most > LONGEST_PAUSE_MS || most < UVZK__SLOW_RETRY_FIRST_MS) {
        most = LONGEST_PAUSE_MS;
    }
    uint64_t pause = *pause_ms < most ? *pause_ms : most;
    (void)client->port->random(client->port, &random, sizeof(random));
    uvzk__timed_set(client, timed,
                    uvzk__now(client) + pause - pause / 4 + random % (pause / 2 + 1));
    *pause_ms = 2 * pause;
}
