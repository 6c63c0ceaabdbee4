/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of a directory: on a foreign predecessor of the first in line, the nearest or
 * the second nearest, or on the directory's children. A directory has at most one of
 * these. The watch is that of a watcher, which is renewed (engine/watch.h). */
#ifndef UVZK_PREDECESSOR_H
#define UVZK_PREDECESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/port.h"

struct uvzk__foreign_node;
struct uvzk__queue;

/* The part of a directory that predecessor.c keeps. */
struct uvzk__predecessor {
    char *path;       /* the watched path, in the watch's memory; NULL: none is watched */
    int32_t sequence; /* of the last predecessor that was requested */
    bool shared;      /* that predecessor is a reader's node */
    bool on_children; /* path is the directory itself, watched for its children */
    bool missing;     /* the get for the last predecessor found no node */
};

/* Removes an armed watch. Does nothing while it is being armed: the request still needs
 * the path, and its reply settles the directory again. */
void uvzk__predecessor_unwatch(struct uvzk__queue *);

/* The traceparent in the data of the foreign node with this name, as it was when the watch
 * on it was armed. NULL: it has none, or another node is watched. Borrowed from the watch. */
const char *uvzk__predecessor_traceparent(const struct uvzk__queue *, const char *name);

/* ------------------------------------------------------------ for this room alone */

/* Returns true if the watch is set, and not only being set. */
bool uvzk__predecessor_is_armed(const struct uvzk__queue *);

/* Sends the get that arms a watch on this foreign node. Nothing may be watched, and
 * the directory must be allowed to send a request (uvzk__queue_may_ask). If the watch
 * budget has no room, all waiters of the directory end with UVZK_ELIMIT. */
void uvzk__predecessor_watch(struct uvzk__queue *, const struct uvzk__foreign_node *);

/* Makes this listing, which is not submitted yet, arm a watch on the directory's
 * children. Nothing may be watched. Returns 0, UV_ENOMEM or UVZK_ELIMIT; after an
 * error the listing has no watch. */
int uvzk__predecessor_watch_children(struct uvzk__queue *, struct uvzk__rpc *listing);
/* The request that arms the watch has been answered with 0. */
void uvzk__predecessor_armed(struct uvzk__queue *);

/* Returns true if the watched path is the directory itself, watched for its children. */
static inline bool
uvzk__predecessor_is_on_children(const struct uvzk__predecessor *predecessor)
{
    return predecessor->path != NULL && predecessor->on_children;
}

/* According to the quorum the foreign node of this path does not exist, whatever this
 * server shows (divergence.h). Removes it from the view; where a later listing would show
 * it again, listings leave it out while the connection lasts. */
void uvzk__predecessor_is_gone(struct uvzk__queue *, const char *path);

/* The port has dropped the watch already, or has not armed it: frees its memory. Does
 * nothing if there is no watch. */
void uvzk__predecessor_watch_gone(struct uvzk__queue *);

/* The first in line has been blocked for long. If it is a ticket, it waits for leases too.
 * A lease that is an orphan of this client may block the ticket holder, which is another
 * client and cannot know that it is an orphan. So the lease directory is listed, and its
 * oldest leases are asked about. */
void uvzk__predecessor_check_leases(struct uvzk__queue *);

#endif
