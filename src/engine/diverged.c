#include "engine/diverged.h"

#include "engine/client.h"

#define LAST_PAUSE_MS 300000U
#define FORGIVEN_MS 3600000U

/* Who has come back to it for want of others asks about it again after a session timeout, and
 * has to be content with the quorum's word then. */
static bool may_leave(struct uvzk__divergence *divergence, uint64_t now,
                      uint32_t timeout_ms)
{
    if (divergence->found_ms == 0 || now - divergence->found_ms >= FORGIVEN_MS) {
        divergence->pause_ms = 2 * timeout_ms;
        return true;
    }
    if (now - divergence->found_ms < divergence->pause_ms) {
        return false;
    }
    divergence->pause_ms = divergence->pause_ms < LAST_PAUSE_MS / 2
                               ? 2 * divergence->pause_ms
                               : LAST_PAUSE_MS;
    return true;
}

bool uvzk__diverged(struct uvzk__client *client, const char *path, bool shows)
{
    uint64_t now = uvzk__now(client);

    if (!may_leave(&client->divergence, now, uvzk__session_timeout(&client->session))) {
        return false;
    }
    client->divergence.found_ms = now;
    uvzk__log(
        client, UVZK_LOG_WARN, "session",
        "the server %s: it has diverged from the others, and is left for another one "
        "(%s)",
        shows ? "shows a znode that was deleted" : "does not show one that stands", path);
    if (client->observer != NULL) {
        uvzk__count_diverged(client->observer);
    }
    client->port->leave(client->port);
    return true;
}
