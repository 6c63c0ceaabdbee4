/* The watch of a directory: on a foreign predecessor of the first in line, the nearest or
 * the second nearest, or on the directory's children. A directory has at most one of
 * these.
 *
 *   NONE --- requested ---> ARMING --- armed ---> ARMED
 *    ^ ^                      |                     |
 *    | `-- the request fails -'                     |
 *    `-- fired, lost, removed, or due for renewal --' */
#ifndef UVZK_PREDECESSOR_H
#define UVZK_PREDECESSOR_H

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__foreign_node;
struct uvzk__queue;

enum uvzk__predecessor_state {
    UVZK__PREDECESSOR_NONE,   /* next: ARMING */
    UVZK__PREDECESSOR_ARMING, /* next: ARMED NONE */
    UVZK__PREDECESSOR_ARMED   /* next: NONE */
};

extern const struct uvzk__machine uvzk__predecessor_machine;

/* The part of a directory that predecessor.c keeps. */
struct uvzk__predecessor {
    char *path;       /* the watched path, in the watch's memory; NULL in NONE */
    int32_t sequence; /* of the last predecessor that was requested */
    uint8_t state;    /* enum uvzk__predecessor_state */
    bool shared;      /* that predecessor is a reader's node */
    bool on_children; /* path is the directory itself, watched for its children */
    bool missing;     /* the get for the last predecessor found no node */
};

/* Removes an armed watch. Does nothing in ARMING: the request still needs the path, and
 * its reply settles the directory again. */
void uvzk__predecessor_unwatch(struct uvzk__queue *);

/* The traceparent in the data of the foreign node with this name, as it was when the watch
 * on it was armed. NULL: it has none, or another node is watched. Borrowed from the watch. */
const char *uvzk__predecessor_traceparent(const struct uvzk__queue *, const char *name);

/* ------------------------------------------------------------ for this room alone */

/* Sends the get that arms a watch on this foreign node. The watch must be in NONE, and
 * the directory must be allowed to send a request (uvzk__queue_may_ask). If the watch
 * budget has no room, all waiters of the directory end with UVZK_ELIMIT. */
void uvzk__predecessor_watch(struct uvzk__queue *, const struct uvzk__foreign_node *);

/* Makes this listing, which is not submitted yet, arm a watch on the directory's
 * children. The watch must be in NONE. Returns 0, UV_ENOMEM or UVZK_ELIMIT; after an
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
 * nothing in NONE. */
void uvzk__predecessor_watch_gone(struct uvzk__queue *);

/* The first in line has been blocked for long. If it is a ticket, it waits for leases too.
 * A lease that is an orphan of this client may block the ticket holder, which is another
 * client and cannot know that it is an orphan. So the lease directory is listed, and its
 * oldest leases are asked about. */
void uvzk__predecessor_check_leases(struct uvzk__queue *);

#endif
