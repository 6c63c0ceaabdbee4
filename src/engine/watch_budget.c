/* Counts the bytes of the watched paths of a session against a limit (watch_budget.h).
 * Code that sets a watch takes its share first and gives it back when the watch is
 * gone. */
#include "engine/watch_budget.h"

#include <string.h>

#include "engine/log.h"
#include "engine/session.h"
#include "engine/size_limit.h"

#define NAME_BYTES 64 /* more than a contender's name in Curator's recipes, with '/' */

/* A path in the request: 4 bytes for its length, and the text without the NUL. */
static uint64_t cost_of(size_t path_length)
{
    return path_length + 4;
}

static uint64_t watch_budget_cost(const char *path)
{
    return cost_of(strlen(path));
}

static bool watch_budget_fits(const struct uvzk__session *session, uint64_t bytes)
{
    return session->watches.bytes + bytes <= UVZK__WATCH_BYTES_MAX;
}

bool uvzk__watch_budget_has_room(const struct uvzk__session *session, const char *path)
{
    return watch_budget_fits(session, watch_budget_cost(path) + NAME_BYTES);
}

/* Warns once. Renewed watches repeatedly take the last room, so the next warning comes
 * only after a tenth has been free. */
static void warn_spent(struct uvzk__session *session)
{
    if (!session->watches.warned) {
        session->watches.warned = true;
        uvzk__log(session, UVZK_LOG_WARN, "session",
                  "the budget of watches, %u bytes of their paths, is spent: set "
                  "options.sessions, or increase it",
                  UVZK__WATCH_BYTES_MAX);
    }
}

bool uvzk__watch_budget_take(struct uvzk__session *session, const char *path)
{
    if (!watch_budget_fits(session, watch_budget_cost(path))) {
        warn_spent(session);
        return false;
    }
    session->watches.bytes += watch_budget_cost(path);
    session->watches.count++;
    return true;
}

/* The other two thirds are for watches that are essential. */
bool uvzk__watch_budget_is_ample(const struct uvzk__session *session)
{
    return session->watches.bytes < UVZK__WATCH_BYTES_MAX / 3;
}

void uvzk__watch_budget_give(struct uvzk__session *session, const char *path)
{
    session->watches.bytes -= watch_budget_cost(path);
    session->watches.count--;
    if (session->watches.bytes <= UVZK__WATCH_BYTES_MAX / 10 * 9) {
        session->watches.warned = false;
    }
}

bool uvzk__watch_budget_take_share(struct uvzk__session *session, size_t path_length)
{
    uint64_t bytes = session->watches.shared_bytes + cost_of(path_length);

    if (bytes > UVZK__WATCH_BYTES_SHARE_MAX) {
        return false;
    }
    session->watches.shared_bytes = bytes;
    return true;
}

void uvzk__watch_budget_give_share(struct uvzk__session *session, size_t path_length)
{
    session->watches.shared_bytes -= cost_of(path_length);
}

void uvzk__unwatch(struct uvzk__session *session, struct uvzk__watch *watch)
{
    if (!uvzk__session_port_is_closing(session)) {
        uvzk__size_limit_unwatch(session, watch);
        session->port->unwatch(session->port, watch);
    }
}
