/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a session may leave its server now, and leaves it (diverged.h).
 * divergence.c calls it when a quorum has contradicted the server. */
#include "engine/diverged.h"

#include "engine/session.h"

#define LAST_PAUSE_MS 300000U
#define RESET_AFTER_MS 3600000U

/* Returns true if a server may be left now, and sets the next pause. Without a pause, a
 * session whose only server has diverged would reconnect again and again. While the
 * session stays, the caller uses what the quorum says about a znode, not what the server
 * shows. */
static bool allow_leaving(struct uvzk__divergence *divergence, uint64_t now,
                          uint32_t timeout_ms)
{
    if (divergence->found_ms == 0 || now - divergence->found_ms >= RESET_AFTER_MS) {
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

bool uvzk__diverged(struct uvzk__session *session, const char *path, bool shows)
{
    uint64_t now = uvzk__now(session);

    if (!allow_leaving(&session->divergence, now, session->connection.timeout_ms)) {
        return false;
    }
    session->divergence.found_ms = now;
    uvzk__log(session, UVZK_LOG_WARN, "session",
              "the server %s, so it has diverged from the others; the client leaves it "
              "for another one (%s)",
              shows ? "shows a znode that was deleted"
                    : "does not show a znode that exists",
              path);
    if (session->observer != NULL) {
        uvzk__count_diverged(session->observer);
    }
    session->port->leave_server(session->port);
    return true;
}
