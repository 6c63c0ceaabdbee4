/* SPDX-License-Identifier: Apache-2.0 */
/* The timer of a claim's longest hold (hold_limit.h). acquire.c makes limits, and
 * acquisition.c acts when they are reached.
 *
 * The limit belongs to the claim and not to an acquisition: it limits how long the owner
 * has the lock. A re-entry therefore neither sets nor moves it.
 *
 * The end comes in the notifications of a turn, where callbacks may run, and not in the
 * timer: the lost callbacks must run before the delete is sent. */
#include "claim/hold_limit.h"

#include "claim/acquisition.h"
#include "engine/session.h"

/* Without a warning_ms, the warning comes when this part of the time is left. */
#define WARNING_PART 4U

static void notify_end(struct uvzk__notification *notification)
{
    struct uvzk__hold_limit *limit =
        UVZK__CONTAINER_OF(notification, struct uvzk__hold_limit, notification);

    uvzk__claim_give_back(limit->claim);
}

static void hold_limit_due(struct uvzk__timer *timer)
{
    struct uvzk__hold_limit *limit =
        UVZK__CONTAINER_OF(timer, struct uvzk__hold_limit, timer);

    if (limit->warned) {
        uvzk__notify_later(limit->session, &limit->notification);
        return;
    }
    limit->warned = true;
    uvzk__claim_warn(limit->claim);
    uvzk__timer_set(limit->session, timer, limit->ends_at);
}

void uvzk__hold_limit_init(struct uvzk__hold_limit *limit, struct uvzk__claim *claim,
                           struct uvzk__session *session, uint64_t max_ms,
                           uint64_t warning_ms)
{
    limit->timer.due = hold_limit_due;
    limit->notification.notify_cb = notify_end;
    uvzk__list_init(&limit->notification.link);
    limit->claim = claim;
    limit->session = session;
    limit->max_ms = max_ms;
    limit->warning_ms = warning_ms != 0 ? warning_ms : max_ms / WARNING_PART;
}

bool uvzk__hold_limit_granted(struct uvzk__hold_limit *limit)
{
    if (limit->ends_at == 0) {
        uint64_t now = uvzk__now(limit->session);
        limit->ends_at = now + limit->max_ms;
        uvzk__timer_set(
            limit->session, &limit->timer,
            limit->warning_ms < limit->max_ms ? limit->ends_at - limit->warning_ms : now);
    }
    return limit->warned;
}

void uvzk__hold_limit_stop(struct uvzk__hold_limit *limit)
{
    if (limit != NULL) {
        uvzk__timer_clear(limit->session, &limit->timer);
        uvzk__list_remove(&limit->notification.link);
    }
}

uint64_t uvzk__hold_limit_end(const struct uvzk__hold_limit *limit)
{
    return limit == NULL || limit->ends_at == 0 ? UINT64_MAX : limit->ends_at;
}

void uvzk__hold_limit_check(struct uvzk__hold_limit *limit)
{
    if (limit != NULL && uvzk__hold_limit_end(limit) <= uvzk__now(limit->session)) {
        uvzk__claim_give_back(limit->claim);
    }
}
