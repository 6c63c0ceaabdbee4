/* What the rooms do in a turn (round.h): connects the engine's turn hooks with the other
 * rooms. */
#include "client/round.h"

#include "claim/claim.h"
#include "client/lifecycle.h"
#include "client/session_objects.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "directory/settle/creates.h"
#include "directory/settle/delete_batch.h"
#include "directory/settle/settle.h"
#include "directory/watermark.h"
#include "election/leader_cache.h"
#include "engine/watched_children.h"
#include "proof/prover.h"
#include "value/shared_value.h"

/* Requests may be sent again: each room sends what had to wait. */
static void round_resume(struct uvzk__session *session)
{
    uvzk__contenders_pump(session);
    uvzk__queues_settle_later(session);
    uvzk__session_objects_resume(session);
}

/* There is a connection, and its barrier is open. */
static void round_reached(struct uvzk__session *session)
{
    uvzk__prover_refresh(session);
    round_resume(session);
    uvzk__wake(session);
}

/* The order matters: settling may grant the next local contender early, and the delete of
 * the released znode then carries a check of that contender's znode. Settling also sends
 * the creates, before the requests that are to follow them (settle.c). */
static void round_work(struct uvzk__session *session)
{
    uvzk__claims_withdraw(session);
    uvzk__directories_settle(session);
    uvzk__delete_batches_send(session);
}

/* A znode that is no longer wanted also marks its directory as changed, so nothing else
 * has to be checked. */
static bool has_work(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->directories->to_settle) ||
           !uvzk__list_empty(&session->claims->to_withdraw) ||
           uvzk__create_batches_due(session) || uvzk__delete_batches_due(session);
}

/* Another connection may have been established and lost without an event, and its server
 * may have granted a shorter session timeout (port.h, 12). So the moment when holds end
 * is computed again after each turn without a connection. */
static void round_turned(struct uvzk__session *session)
{
    if (!uvzk__is_connected(session)) {
        uvzk__prover_schedule(session);
    }
    uvzk__close_when_done(session);
}

const struct uvzk__turn_hooks uvzk__round_hooks = {
    .answered = uvzk__prover_answered,
    .connected = round_reached,
    .resume = round_resume,
    .broken = uvzk__close_broken,
    .work = round_work,
    .has_work = has_work,
    .needs_below = uvzk__session_objects_need_below,
    .values_at = uvzk__shared_values_at,
    .turn_ended = round_turned,
};
