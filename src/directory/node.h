/* A contender's znode from the wish to have it to the certainty that it is gone:
 * Curator's protected create (withProtection), with the barrier before the search
 * that Curator lacks (barrier.h), and its guaranteed delete. A value: an event goes in, and
 * what to ask of the server next comes out of uvzk__node_needs().
 *
 *                     NONODE            parents made
 *          CREATING ----------> PARENTS ------------> CREATING
 *           |  |  ^
 *        ok |  |  +---- absent -----+---- not ours -----+  (a multi's ok: IDENTIFYING)
 *           |  | outcome unknown    |                   |
 *           |  +-------------> UNKNOWN --- found --> IDENTIFYING
 *           |                                           | ok, ours
 *           v                                           v
 *        STANDING <-------------------------------------+
 *           |                         somebody deleted it, a new one is allowed:
 *           |                         BACKING_OFF --- rested --> CREATING
 *           | no longer wanted
 *           v
 *        DELETING ------ deleted, or found gone ------> GONE
 *
 * "No longer wanted" (cancel, deadline, release, close are this one event) takes
 * STANDING and IDENTIFYING to DELETING at once, PARENTS and BACKING_OFF to GONE, and
 * CREATING to GONE if no create is on its way; a create that is on its way is
 * awaited, and an UNKNOWN one is searched for, before anything is deleted.
 * The session's end takes every state in which a node may exist to GONE.
 *
 * Waiting for an answer: CREATING and IDENTIFYING in flight, DELETING in flight.
 * Waiting for others: PARENTS and UNKNOWN (the queue makes parents and
 * lists), BACKING_OFF (a deadline), STANDING. */
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

/* What the state asks for when nothing is in flight. */
enum uvzk__node_needs {
    UVZK__NEEDS_NOTHING,
    UVZK__NEEDS_CREATE,
    UVZK__NEEDS_PARENTS,
    UVZK__NEEDS_SEARCH, /* a listing */
    UVZK__NEEDS_STAT,
    UVZK__NEEDS_DELETE
};

extern const struct uvzk__machine uvzk__node_machine;

struct uvzk__node {
    uint8_t state; /* enum uvzk__node_state */
    bool wanted : 1;
    bool in_flight : 1;       /* a create, exists or delete of ours is under way */
    bool delete_unknown : 1;  /* a delete was lost: NONODE may be our own doing */
    bool deleted : 1;         /* GONE: by our own delete, or with the session */
    int status;               /* GONE before it stood: why; else 0 */
    struct uvzk__place place; /* from IDENTIFYING on; czxid from STANDING on */
};

static inline enum uvzk__node_state uvzk__node_state(const struct uvzk__node *node)
{
    return (enum uvzk__node_state)node->state;
}

static inline bool uvzk__node_is_wanted(const struct uvzk__node *node)
{
    return node->wanted;
}

static inline bool uvzk__node_is_in_flight(const struct uvzk__node *node)
{
    return node->in_flight;
}

/* A delete of it was lost. */
static inline bool uvzk__node_delete_is_unknown(const struct uvzk__node *node)
{
    return node->delete_unknown;
}

/* GONE: by our own delete, or with the session; else why, if before it stood. */
static inline bool uvzk__node_is_deleted(const struct uvzk__node *node)
{
    return node->deleted;
}
static inline int uvzk__node_status(const struct uvzk__node *node)
{
    return node->status;
}

static inline struct uvzk__place uvzk__node_place(const struct uvzk__node *node)
{
    return node->place;
}

void uvzk__node_init(struct uvzk__node *);
enum uvzk__node_needs uvzk__node_needs(const struct uvzk__node *);

/* What needs() named was submitted. */
void uvzk__node_sent(struct uvzk__node *);

/* The create was replied. place: of the node made, at status 0; a multi does not tell
 * its czxid, which is then 0 and asked for (IDENTIFYING). A sequence that is worn out
 * dooms the node with UVZK_EEXHAUSTED. */
void uvzk__node_created(struct uvzk__node *, int status, struct uvzk__place place);

void uvzk__node_parents(struct uvzk__node *, int status);

/* A listing shows the node of an UNKNOWN create, or does not. */
void uvzk__node_found(struct uvzk__node *, int32_t sequence);
void uvzk__node_absent(struct uvzk__node *);

/* The exists of IDENTIFYING was replied. ours: ephemeralOwner is our session. */
void uvzk__node_identified(struct uvzk__node *, int status, int64_t czxid, bool ours);

void uvzk__node_unwanted(struct uvzk__node *);

/* The delete was replied, alone or in a multi. ECONNLOSS, ENOTSENT and other
 * passing troubles leave it DELETING, and so does ENOAUTH: who may not delete it now may
 * later. */
void uvzk__node_delete_replied(struct uvzk__node *, int status);

/* Somebody deleted it. again: rest, then make a new one. */
void uvzk__node_missing(struct uvzk__node *, bool again);
void uvzk__node_backoff_over(struct uvzk__node *);

/* The session ended; nothing is in flight any more. A node that was never asked
 * for stays CREATING: it is created in the next session. */
void uvzk__node_session_ended(struct uvzk__node *, int status);

/* Whether it has a place among the local contenders of the directory. */
static inline bool uvzk__node_has_place(const struct uvzk__node *node)
{
    return node->state == UVZK__NODE_IDENTIFYING || node->state == UVZK__NODE_STANDING ||
           node->state == UVZK__NODE_DELETING;
}

/* Whether a failed create certainly made nothing. */
bool uvzk__create_certainly_failed(int status);

#endif
