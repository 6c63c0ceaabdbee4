/* Passes each event of a session on to all rooms whose objects a user has opened on it
 * (session_objects.h). lifecycle.c and round.c call it, so they need not know these
 * rooms. */
#include "client/session_objects.h"

#include "barrier/barriers.h"
#include "claim/lock.h"
#include "election/leader_cache.h"
#include "engine/session_object.h"
#include "engine/watched_children.h"
#include "value/node_cache.h"
#include "value/shared_value.h"

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

void uvzk__session_objects_resume(struct uvzk__session *session)
{
    uvzk__node_caches_resume(session);
    uvzk__barriers_resume(session);
    uvzk__objects_resume(session);
    uvzk__leader_caches_resume(session);
    uvzk__watched_children_resume(session);
}

bool uvzk__session_objects_need_below(const struct uvzk__session *session,
                                      const char *path)
{
    return uvzk__locks_need_below(session, path) ||
           uvzk__shared_values_need_below(session, path) ||
           uvzk__objects_need_below(session, path);
}
