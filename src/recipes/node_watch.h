/* A watch on one child of a lock directory, for all local contenders of lock drivers
 * that want to know when it goes: those that wait for it, and the one whose own it is.
 *
 *   joined --> ARMING --> ARMED --> fired --.
 *                 |         |                > dissolved: each of them is told
 *                 |         |               |
 *                 +-- not there, refused ---'
 *                           `--> left by the last of them: unwatched
 *
 * It is set by a get: on a missing znode that leaves no watch behind (CURATOR-107). */
#ifndef UVZK_NODE_WATCH_H
#define UVZK_NODE_WATCH_H

#include "claim/lock.h"

struct uvzk__driver_claim;
struct uvzk__node_watch;

extern const struct uvzk__machine uvzk__node_watch_machine;

/* Wants to know of the child of this name. false: out of memory. */
bool uvzk__node_watch_join(struct uvzk__driver_claim *, const char *name);
/* Wants to know no longer, if it did. */
void uvzk__node_watch_leave(struct uvzk__driver_claim *);

/* Whether the child is under watch, or about to be. */
bool uvzk__node_watch_exists(const struct uvzk__queue *, const char *name);

/* The child's name; lent for as long as it is under watch. */
const char *uvzk__node_watch_name(const struct uvzk__node_watch *);

/* Whether any child of a driver-defined directory is. */
bool uvzk__node_watches_any(const struct uvzk__queue *);

/* Sets those that are not set yet. */
void uvzk__node_watches_arm(struct uvzk__queue *);

/* The session has ended, and its watches with it. */
void uvzk__node_watches_lost(struct uvzk__queue *);

#endif
