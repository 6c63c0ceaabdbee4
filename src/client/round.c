/* SPDX-License-Identifier: Apache-2.0 */
/* What the rooms do in a turn and are told of their session (round.h): connects the engine's
 * turn hooks with the other rooms. lifecycle.c passes on what happens to the session, so it
 * need not know these rooms. */
#include "client/round.h"

#include "barrier/barriers.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "client/lifecycle.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "directory/settle/creates.h"
#include "directory/settle/delete_batch.h"
#include "directory/settle/settle.h"
#include "directory/watermark.h"
#include "election/leader_cache.h"
#include "engine/session_object.h"
#include "engine/watched_children.h"
#include "proof/prover.h"
#include "value/node_cache.h"
#include "value/shared_value.h"

/* ------------------------------------------------------------ events of the session */

void uvzk__session_objects_session_ended(struct uvzk__session *session, int code)
{
    uvzk__objects_session_ended(session, code);
    uvzk__node_caches_session_ended(session, false);
    uvzk__barriers_session_ended(session, code);
}

void uvzk__session_objects_lapsed(struct uvzk__session *session)
{
    uvzk__node_caches_session_ended(session, true);
}

void uvzk__session_objects_unreachable(struct uvzk__session *session, int code)
{
    uvzk__node_caches_unreachable(session, code);
    uvzk__objects_unreachable(session, code);
}

/* A connection is ready, or a pause of the whole session is over. */
static void session_objects_resume(struct uvzk__session *session)
{
    uvzk__node_caches_resume(session);
    uvzk__barriers_resume(session);
    uvzk__objects_resume(session);
    uvzk__leader_caches_resume(session);
    uvzk__watched_children_resume(session);
}

/* Returns true if one of them, or a lock, needs a znode below this path. It checks each
 * of them, so none needs memory for it. Atomic longs and barriers need none until a call
 * changes them: then they are owners (znode_owner.h). */
static bool session_objects_need_below(const struct uvzk__session *session,
                                       const char *path)
{
    return uvzk__locks_need_below(session, path) ||
           uvzk__shared_values_need_below(session, path) ||
           uvzk__objects_need_below(session, path);
}

/* --------------------------------------------------------------------------- a turn */

/* Requests may be sent again: each room sends what had to wait. */
static void round_resume(struct uvzk__session *session)
{
    uvzk__contenders_pump(session);
    uvzk__queues_settle_later(session);
    session_objects_resume(session);
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
    .needs_below = session_objects_need_below,
    .values_at = uvzk__shared_values_at,
    .turn_ended = round_turned,
};
