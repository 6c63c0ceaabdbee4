/* SPDX-License-Identifier: Apache-2.0 */
/* Znodes that should not exist: orphans of this client, and znodes that the server of this
 * connection still shows although they do not exist according to the quorum.
 *
 * Orphans are znodes of this client's own sessions that belong to none of its contenders.
 * There should be none. But a server that has lost its place in history continues to show
 * deleted znodes, or brings them back; and a fault of uvzk might leave one. A contender
 * that waited for an orphan would wait until the session that owns it ends, and this
 * client keeps that session alive.
 *
 * A znode that a reading shows as a predecessor, as a name of this session, or as a node
 * that has blocked a contender for a session timeout, is an orphan if
 *
 *   - its ephemeralOwner is one of this client's sessions, and
 *   - its name has a UUID that no contender of this client has.
 *
 * uvzk deletes an orphan like a znode of its own that is no longer wanted.
 * docs/decisions/diverged-servers.md shows case by case that no living znode is deleted.
 *
 * A diverged server. Deletes and checks (in a multi) are agreed to by a quorum. The server
 * that returns their reply has carried out all transactions up to them. So a reading that
 * is sent after such a reply on the same connection shows at least that state. If it still
 * shows the znode, with the same czxid, the history of that server differs from the
 * quorum's: the server has diverged (diverged.h). A query finds that out:
 *
 *   an orphan's delete is answered, 0 or NONODE ---------> LOOKING --- gone, or another
 *                                                           ^   |      node: all is well
 *   a node has blocked a contender for long                 |   |
 *     ASKING, exists --- its stat ---> CHECKING --- NONODE -'   `--- the same node: the
 *       |                                 |                          server has diverged
 *       |                                 `--- it exists: all is well
 *       `--- it is an orphan: it is deleted
 *
 * All requests of a query are sent on one connection. If the connection is lost, the
 * query is dropped. */
#ifndef UVZK_DIRECTORY_DIVERGENCE_H
#define UVZK_DIRECTORY_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__contender;
struct uvzk__queue;

enum uvzk__divergence_step {
    UVZK__DIVERGENCE_ASKING,   /* next: CHECKING LOOKING */
    UVZK__DIVERGENCE_CHECKING, /* next: LOOKING */
    UVZK__DIVERGENCE_LOOKING   /* final */
};

extern const struct uvzk__machine uvzk__divergence_machine;

/* The child with this name has blocked a contender for a session timeout, or may be an
 * orphan. Checks whether the child exists according to the quorum, and whether it is an
 * orphan of this client. Does nothing if there is no memory or nothing may be sent: it is
 * called again when the child still blocks a contender. name is copied. */
void uvzk__divergence_ask(struct uvzk__queue *, const char *name);

/* The ten digits at the end of a name that a contender of uvzk can have, with any name
 * prefix: a pointer into name. NULL if the name has another format. */
const char *uvzk__orphan_number(const char *name);

/* ------------------------------------------------------------ for this room alone */

/* A reading shows this child of the directory, with this stat. If the child is an orphan,
 * it becomes a contender that is being deleted, and the result is true. False: it is not
 * an orphan, or there is no memory for the contender. */
bool uvzk__orphan_found(struct uvzk__queue *, const char *name,
                        const struct uvzk__stat *);

/* Returns true if a contender of any session of this client has, or may get, this
 * name. */
bool uvzk__orphan_is_known(const struct uvzk__queue *, const char *name);

/* The orphan's delete has been answered with 0 or UVZK_ENONODE: according to the quorum
 * the znode is gone. Counts the orphan, and checks whether this server has diverged. */
void uvzk__orphan_deleted(const struct uvzk__contender *);

#endif
