/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of a contender's znode, from the request to create it until the znode
 * is known to be gone. It is Curator's protected create (withProtection), with the
 * barrier before the search that Curator lacks (barrier.h), and Curator's guaranteed
 * delete. The machine is a value and sends nothing: each function below is an event, and
 * uvzk__node_needs() returns the request that the state needs next.
 *
 *                     NONODE          parents created
 *          CREATING ----------> PARENTS ------------> CREATING
 *           |  |  ^
 *        ok |  |  +---- absent -----+---- not ours -----+  (a multi's ok: IDENTIFYING)
 *           |  | outcome unknown    |                   |
 *           |  +-------------> UNKNOWN --- found --> IDENTIFYING
 *           |                                           | ok, ours
 *           v                                           v
 *        STANDING <-------------------------------------+
 *           |                  another client deleted it, and the contender may have
 *           |                  a new znode: BACKING_OFF --- pause over --> CREATING
 *           | no longer wanted
 *           v
 *        DELETING --- deleted, or found to be gone ---> GONE
 *
 * "No longer wanted" is one event for cancel, timeout, release and close. It takes
 * STANDING and IDENTIFYING to DELETING at once, PARENTS and BACKING_OFF to GONE, and
 * CREATING to GONE if no create is in flight. If a create is in flight, the machine waits
 * for its reply. If the outcome of the create is UNKNOWN, the znode is searched for
 * before it is deleted. The end of the session takes every state in which a znode may
 * exist to GONE.
 *
 * CREATING, IDENTIFYING and DELETING with a request in flight wait for its reply. PARENTS
 * and UNKNOWN wait for the directory, which creates the parents (parents.h) and lists
 * (listing.h). BACKING_OFF waits for a timer. STANDING waits for an event. */
#ifndef UVZK_NODE_H
#define UVZK_NODE_H

#include "base/machine.h"
#include "base/place.h"
#include "engine/port.h"

enum uvzk__node_state {
    UVZK__NODE_CREATING,    /* next: STANDING IDENTIFYING PARENTS UNKNOWN DELETING GONE */
    UVZK__NODE_PARENTS,     /* next: CREATING GONE */
    UVZK__NODE_UNKNOWN,     /* next: CREATING IDENTIFYING DELETING GONE */
    UVZK__NODE_IDENTIFYING, /* next: STANDING CREATING DELETING GONE */
    UVZK__NODE_STANDING,    /* next: DELETING BACKING_OFF GONE */
    UVZK__NODE_BACKING_OFF, /* next: CREATING GONE */
    UVZK__NODE_DELETING,    /* next: GONE */
    UVZK__NODE_GONE         /* final */
};

/* The request that the state needs when none is in flight. */
enum uvzk__node_needs {
    UVZK__NEEDS_NOTHING,
    UVZK__NEEDS_CREATE,
    UVZK__NEEDS_PARENTS,
    UVZK__NEEDS_SEARCH, /* a listing of the directory */
    UVZK__NEEDS_STAT,   /* an exists, for the czxid and the owner */
    UVZK__NEEDS_DELETE
};

extern const struct uvzk__machine uvzk__node_machine;

struct uvzk__node {
    uint8_t state;           /* enum uvzk__node_state */
    bool wanted : 1;         /* until "no longer wanted", or an error ends the node */
    bool in_flight : 1;      /* a create, exists or delete of this znode */
    bool delete_unknown : 1; /* a delete's reply was lost: NONODE may be its effect */
    bool deleted : 1;        /* GONE: by this client's delete, or with the session */
    bool not_shown : 1;      /* a reading in IDENTIFYING has not shown it */
    /* An illegal move, or an event that must not come in this state: the state in which it
     * was, + 1. 0: there was none. A node does not know its client, so its contender looks
     * at this (engine/invariant.h). */
    uint8_t illegal : 4;
    /* Why the znode could not be created, identified or kept: an error code. 0 if there
     * is no such error, for example after a release. */
    int status;
    /* The sequence number is set from IDENTIFYING on. The czxid is set from STANDING on,
     * and 0 until then. */
    struct uvzk__place place;
};

/* Returns true if the node has a place among the local contenders of the directory. */
static inline bool uvzk__node_has_place(const struct uvzk__node *node)
{
    return node->state == UVZK__NODE_IDENTIFYING || node->state == UVZK__NODE_STANDING ||
           node->state == UVZK__NODE_DELETING;
}

/* UVZK__NEEDS_NOTHING while a request is in flight. */
enum uvzk__node_needs uvzk__node_needs(const struct uvzk__node *);

/* The request that uvzk__node_needs() returned has been submitted. */
void uvzk__node_sent(struct uvzk__node *);

/* The reply to the create has arrived. place is read only at status 0. The reply to a
 * multi contains no czxid: place.czxid is then 0, and the machine goes to IDENTIFYING to
 * ask for it. If the sequence number is used up (place.h), the node gets UVZK_EEXHAUSTED
 * and is no longer wanted. */
void uvzk__node_created(struct uvzk__node *, int status, struct uvzk__place place);

/* A listing shows the node of an UNKNOWN create, or shows that it does not exist. */
void uvzk__node_found(struct uvzk__node *, int32_t sequence);
void uvzk__node_absent(struct uvzk__node *);

/* The reply to the exists of IDENTIFYING has arrived. ours: the znode is this
 * contender's, for example because its ephemeralOwner is this session. */
void uvzk__node_identified(struct uvzk__node *, int status, int64_t czxid, bool ours);

/* The reply to the delete has arrived, whether the delete was sent alone or in a multi.
 * Every status but 0 and UVZK_ENONODE leaves the node DELETING, to be deleted again. That
 * includes UVZK_ENOAUTH, because the ACL may allow the delete later. */
void uvzk__node_delete_replied(struct uvzk__node *, int status);

/* ------------------------------------------------------------ for this room alone */

/* The session's own server no longer shows the znode. This is remembered in IDENTIFYING,
 * because the exists of another znode of the same multi may return the czxid. The second
 * function returns true if the znode is STANDING by such a czxid. Then it is missing. */
void uvzk__node_not_shown(struct uvzk__node *);
static inline bool uvzk__node_stands_not_shown(const struct uvzk__node *node)
{
    return node->state == UVZK__NODE_STANDING && node->not_shown;
}

/* Starts in CREATING, wanted. */
void uvzk__node_init(struct uvzk__node *);

/* The parents exist (status 0), or could not be created. Does nothing except in
 * PARENTS. */
void uvzk__node_parents(struct uvzk__node *, int status);

/* The node is no longer wanted (see above). Does nothing the second time. */
void uvzk__node_unwanted(struct uvzk__node *);

/* Another client deleted the znode, which was STANDING. again: pause, then create a new
 * one. Otherwise the node ends with UVZK_EDELETED. */
void uvzk__node_missing(struct uvzk__node *, bool again);
void uvzk__node_backoff_over(struct uvzk__node *);

/* The session has ended, and no request is in flight. A node that is wanted and was never
 * created stays in CREATING or PARENTS: it is created in the next session. */
void uvzk__node_session_ended(struct uvzk__node *, int status);

/* Returns true if a create that failed with this status has certainly not created a
 * znode. */
bool uvzk__create_certainly_failed(int status);

#endif
