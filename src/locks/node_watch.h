/* SPDX-License-Identifier: Apache-2.0 */
/* A watch on one child of a driver-defined directory. All local contenders that need it
 * share it: those that wait for the child, and the one whose own znode the child is.
 *
 * A get arms the watch, which is that of a watcher (engine/watch.h). On a missing znode it
 * leaves no watch behind, as an exists would (CURATOR-107). Where the watch is due for
 * renewal, the directory arms it again. It is freed when it has fired; when the get failed,
 * or found that the child has changed since the last one; and when the last claim has left.
 */
#ifndef UVZK_NODE_WATCH_H
#define UVZK_NODE_WATCH_H

#include "claim/lock.h"

struct uvzk__driver_claim;
struct uvzk__node_watch;

/* The claim joins the watch on the child of this name in its directory; a missing watch
 * is made. The claim must not be in a node watch already. What happens to the child is
 * reported once, by uvzk__driver_claim_node_changed, and the claim has left the watch
 * then. False: out of memory. */
bool uvzk__node_watch_join(struct uvzk__driver_claim *, const char *name);
/* The claim leaves its watch, if it is in one. The last one to leave ends the watch. */
void uvzk__node_watch_leave(struct uvzk__driver_claim *);

/* Returns true if there is a watch on the child of this name, armed or not. */
bool uvzk__node_watch_exists(const struct uvzk__queue *, const char *name);

/* The child's name, owned by the watch. */
const char *uvzk__node_watch_name(const struct uvzk__node_watch *);

/* Returns true if the directory has any node watch. */
bool uvzk__node_watches_any(const struct uvzk__queue *);

/* Sends the gets that arm the directory's idle watches, if requests may be sent and the
 * directory does not pause. */
void uvzk__node_watches_arm(struct uvzk__queue *);

/* The port has dropped all watches, because the session has ended or continues with a new
 * handle. Ends the directory's node watches; their claims join again. */
void uvzk__node_watches_lost(struct uvzk__queue *);

#endif
