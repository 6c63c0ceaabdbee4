/* SPDX-License-Identifier: Apache-2.0 */
/* One round of a turn, in this order: claims that have ended withdraw their contenders;
 * directories that have changed are settled; creates and deletes are sent. A hold that a
 * callback releases is settled before its znode's delete is sent. So the delete can carry
 * a check of the znode of the contender that was granted early. */
#ifndef UVZK_ROUND_H
#define UVZK_ROUND_H

#include "engine/turn.h"

/* The functions that the engine calls in the turns of each session. */
extern const struct uvzk__turn_hooks uvzk__round_hooks;

/* What a user has opened on a client besides its locks: shared values, barriers, atomic
 * longs, elections, persistent nodes and group members. These functions notify all of
 * them of events of their session. */

/* The session has ended with this code, and its watches and ephemeral znodes are gone. */
void uvzk__session_objects_session_ended(struct uvzk__session *, int code);
/* The session must be assumed to have ended (LOST); it may turn out that it has not. */
void uvzk__session_objects_lapsed(struct uvzk__session *);
/* No connection will come, or not soon: what waits for one ends with this code. */
void uvzk__session_objects_unreachable(struct uvzk__session *, int code);
#endif
