/* SPDX-License-Identifier: Apache-2.0 */
/* A watch on a contender's own znode. A waiter has it while it is first in line. A
 * revocable contender has it for as long as its znode exists. The states are those of its
 * watcher (engine/watch.h), and REFUSED:
 *
 *   NONE --> ARMING --> ARMED --> NONE   the znode was deleted or changed, or the session
 *    ^         |                         ended
 *    `-------- REFUSED                   the contender holds, but may not read its znode, or
 *                                      there is no room for the watch
 *
 * Another client may delete a waiter's node by hand, and other contenders are then
 * granted past it. Curator's waiter notices this because it lists all children at each
 * wake. uvzk does not list, so before a grant the node must be known to exist
 * (check_grant in in_order.c). Three things show it:
 *
 *   - a listing or a proof that has just shown the node;
 *   - a local predecessor that is deleted only together with a check of the node
 *     (delete_batch.h);
 *   - this watch. Events arrive in the order in which things happened. So while the watch
 *     is silent, the node existed when the predecessor went.
 *
 * A server sends no event to a client that may not READ the node at that moment, but the
 * watch is used up (watch.h). So silence counts for one session timeout only, and
 * a revocable contender reads its node again about once a session timeout. When room for
 * watches gets scarce (watch.h), a waiter that is not revocable has no own watch,
 * and a proof shows its node instead.
 *
 * The watch stays armed while the contender holds and reports a deletion at once. The
 * contender's own delete uses it up. claim/acquisition.h uses the data that the watch's
 * get returns. */
#ifndef UVZK_OWN_WATCH_H
#define UVZK_OWN_WATCH_H

#include "engine/port.h"

struct uvzk__contender;

enum uvzk__own_watch_state {
    UVZK__OWN_WATCH_NONE,
    UVZK__OWN_WATCH_ARMING,
    UVZK__OWN_WATCH_ARMED,
    UVZK__OWN_WATCH_REFUSED
};

/* The part of a contender that own_watch.c keeps. Most contenders have no own watch, so
 * its memory is allocated only when it is armed. */
struct uvzk__own_watch {
    struct uvzk__own_watch_data *data; /* NULL: no watch, and no request for one */
};

enum uvzk__own_watch_state uvzk__own_watch_state(const struct uvzk__contender *);

/* Sends the get that arms the watch. Does nothing if the watch is not in NONE, if the
 * node is not STANDING, or if the watch is not allowed or nothing may be sent. If the
 * budget of watches has no room, the contender ends with UVZK_ELIMIT, unless the user has
 * been told of its hold. */
void uvzk__own_watch_arm(struct uvzk__contender *);

/* The session has ended, and the port has dropped its watches. */
void uvzk__own_watch_lost(struct uvzk__contender *);

/* ------------------------------------------------------------ for this room alone */

/* Frees the memory, when the contender is freed. No request for the watch is in
 * flight. */
void uvzk__own_watch_free(struct uvzk__contender *);

/* Returns true if the contender may have an own watch: it is revocable, or there is ample
 * room for watches. */
bool uvzk__own_watch_is_allowed(const struct uvzk__contender *);

/* Returns true if the get that arms the watch is in flight. The contender sends no create
 * and no exists for its node meanwhile. */
bool uvzk__own_watch_is_arming(const struct uvzk__contender *);
bool uvzk__own_watch_is_armed(const struct uvzk__contender *);

/* Only in ARMED: returns true if the silence of the watch shows that the node exists.
 * That is so if the watch was armed on this connection, less than a session timeout
 * ago. */
bool uvzk__own_watch_shows_node(const struct uvzk__contender *);

/* Removes the watch: the contender has ended, or the watch is set again. */
void uvzk__own_watch_end(struct uvzk__contender *);

/* The node is gone, or is being deleted. The event may never arrive, and the contender's
 * next node has another path, so the watch is removed. In ARMING this happens when the
 * reply arrives. */
void uvzk__own_watch_node_gone(struct uvzk__contender *);

#endif
