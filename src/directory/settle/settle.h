/* SPDX-License-Identifier: Apache-2.0 */
/* What is done for all directories of a session: they are settled in a turn, lose their
 * watches with a connection, and end with the session. */
#ifndef UVZK_SETTLE_H
#define UVZK_SETTLE_H

#include "directory/queue.h"

/* Settles each directory in which something has changed: decides which request to send
 * and which contenders to grant, and frees the directory if nothing is left in it. */
void uvzk__directories_settle(struct uvzk__session *);

/* A lock on this path, namespace included, has been closed. A directory may be kept for
 * its watermark although no contender is in it. This ends the watermark in each session
 * of the client, so that the directory is freed. Another lock on the path only loses the
 * watermark. */
void uvzk__directory_lock_closed(struct uvzk__session *,
                                 const struct uvzk__directory_kind *, const char *path);

/* The session continues, but the port has dropped its watches. */
void uvzk__directories_watches_lost(struct uvzk__session *);
/* The session has ended: no request of its directories is in flight, its watches are
 * gone, and the views are no longer valid. */
void uvzk__directories_session_ended(struct uvzk__session *);
/* Frees all directories. The session has ended, and has no contenders left. */
void uvzk__directories_free(struct uvzk__session *);

#endif
