/* What a user has opened on a client besides its locks: shared values, barriers, atomic
 * longs, elections, persistent nodes and group members. These functions notify all of
 * them of events of their session. */
#ifndef UVZK_SESSION_OBJECTS_H
#define UVZK_SESSION_OBJECTS_H

#include "engine/session.h"

/* The session has ended with this code, and its watches and ephemeral znodes are gone. */
void uvzk__session_objects_session_ended(struct uvzk__session *, int code);
/* The session must be assumed to have ended (LOST); it may turn out that it has not. */
void uvzk__session_objects_lapsed(struct uvzk__session *);
/* No connection will come, or not soon: what waits for one ends with this code. */
void uvzk__session_objects_unreachable(struct uvzk__session *, int code);
/* A connection is ready, or a pause of the whole session is over. */
void uvzk__session_objects_resume(struct uvzk__session *);

/* Returns true if one of them, or a lock, needs a znode below this path. It checks each
 * of them, so none needs memory for it. Atomic longs and barriers need none until a call
 * changes them: then they are owners (znode_owner.h). */
bool uvzk__session_objects_need_below(const struct uvzk__session *, const char *path);

#endif
