/* Finds out whether the server of this connection still shows a znode that does not exist
 * according to the quorum.
 *
 * Deletes and checks (in a multi) are agreed to by a quorum. The server that returns
 * their reply has carried out all transactions up to them. So a reading that is sent
 * after such a reply on the same connection shows at least that state. If it still shows
 * the znode, with the same czxid, the history of that server differs from the quorum's:
 * the server has diverged (diverged.h).
 *
 *   an orphan's delete is answered, 0 or NONODE ---------> LOOKING --- gone, or another
 *                                                           ^   |      node: all is well
 *   a node has blocked a contender for long                 |   |
 *     ASKING, exists --- its stat ---> CHECKING --- NONODE -'   `--- the same node: the
 *       |                                 |                          server has diverged
 *       |                                 `--- it exists: all is well
 *       `--- it is an orphan: it is deleted (orphans.h)
 *
 * All requests of a query are sent on one connection. If the connection is lost, the
 * query is dropped. */
#ifndef UVZK_DIRECTORY_DIVERGENCE_H
#define UVZK_DIRECTORY_DIVERGENCE_H

#include <stdint.h>

#include "base/machine.h"

struct uvzk__queue;

enum uvzk__divergence_step {
    UVZK__DIVERGENCE_ASKING,   /* next: CHECKING LOOKING */
    UVZK__DIVERGENCE_CHECKING, /* next: LOOKING */
    UVZK__DIVERGENCE_LOOKING   /* final */
};

extern const struct uvzk__machine uvzk__divergence_machine;

/* Call it in the reply that says, according to the quorum, that this znode of the
 * directory does not exist. Checks whether this server still shows it. Does nothing if there is no memory or
 * nothing may be sent. path is copied. */
void uvzk__divergence_look(struct uvzk__queue *, const char *path, int64_t czxid);

/* The child with this name has blocked a contender for a session timeout, or may be an
 * orphan. Checks whether the child exists according to the quorum, and whether it is an
 * orphan of this client. Does nothing if there is no memory or nothing may be sent: it is
 * called again when the child still blocks a contender. name is copied. */
void uvzk__divergence_ask(struct uvzk__queue *, const char *name);

#endif
