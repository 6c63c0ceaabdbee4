/* SPDX-License-Identifier: Apache-2.0 */
/* One member of a double barrier, from its enter until nothing of it is left: the znode
 * `P/<uuid>` below the barrier's path P, and what the member waits for. Each enter
 * makes a new one.
 *
 *   LISTING --> CREATING <--> CHECKING    is `ready` left over? its znode; is it ours?
 *     ^  |        |             |
 *     |  v        `---->--------+--> LOOKING --> COUNTING --> OPENING    enough are here
 *   CLEARING                            |        ^   |  ^        |
 *                                       |        |   v  |        |
 *                                       |      WAITING  `--------|
 *                                       |        |               |
 *                                       `--------+---> INSIDE <--'    there is a `ready`
 *                                                        |
 *                OUTLASTING <--> REMAINING <--------------'    who is still here?
 *                     ^           |    |
 *                     |           v    |   nobody
 *                     `---- DELETING --+----> TIDYING --> GONE
 *
 * From each state until TIDYING it may be given up: WITHDRAWING deletes its znode, if it
 * may exist, and goes on to TIDYING or GONE. From each state it is GONE when its session
 * ends, unless its znode was never created.
 *
 * What the user is told: told_cb runs once for the enter, once for the leave, and once
 * when the member is out for another reason. After a status below 0, and after the leave,
 * the member no longer has a user, and continues by itself.
 *
 * How a member enters a double barrier (Curator's DistributedDoubleBarrier.enter), from
 * LISTING to INSIDE.
 *
 * The requests, in the order in which they are sent:
 *   exists(P/ready, watch)   before the create, so that no `ready` that counts this
 *                            member comes unseen, even one that is deleted at once
 *   getChildren(P)           `ready` without any member is left over from a round that
 *                            has ended: it is removed before it lets any member through
 *   create P/<uuid>          ephemeral
 *   exists(P/ready)          it exists: enough members were here together with this one,
 *                            or the round is on and this one joins it
 *   getChildren(P)           enough members are here: it creates `ready`
 * Otherwise it waits until `ready` is created. The last member to enter counts all
 * members that came before, so the others need not count again. They nevertheless do,
 * about once a session timeout: the last one may have failed between its create and its
 * count.
 *
 * How fresh the readings are: they follow the reply to the create on the same connection,
 * or the barrier of a later one, so they show the tree at a moment when this member's
 * znode existed. All members that are counted existed together with it.
 *
 * How a member leaves a double barrier (Curator's DistributedDoubleBarrier.leave), from
 * REMAINING until it is out. Of the members that are still here, the lowest
 * name stays until it is alone, and waits for the highest to go; each of the others
 * deletes its znode at once and waits for the lowest to go. So one event wakes one
 * member, except the last.
 *
 *   alone           delete P/<uuid> and P/ready in one transaction: no `ready` is left
 *                   over without members
 *   the lowest      exists(P/<highest>, watch)
 *   another         delete P/<uuid>; exists(P/<lowest>, watch)
 * and after each event getChildren(P) again.
 *
 * It waits only for the members that the first getChildren has shown. All members of its
 * round are among them, because a member's znode exists until it leaves, and no member of
 * this library has left for good while this member's znode existed. A member that enters
 * later belongs to another round: if this one waited for it, a member that has left and
 * enters again would wait for this one, and this one for it.
 *
 * How fresh the reads are: the getChildren follows the replies to this session's own
 * writes. If its server lags, it shows members that have left since; then the exists or
 * its watch reports that. A member that it no longer shows has left for good, because
 * each enter has a new name. */
#ifndef UVZK_MEMBER_H
#define UVZK_MEMBER_H

#include "barrier/watched_znode.h"
#include "barrier/znode_write.h"
#include "base/machine.h"
#include "engine/session.h"

enum uvzk__barrier_member_state {
    UVZK__MEMBER_LISTING,     /* next: CREATING CLEARING WITHDRAWING GONE */
    UVZK__MEMBER_CLEARING,    /* next: LISTING CREATING WITHDRAWING GONE */
    UVZK__MEMBER_CREATING,    /* next: CHECKING LOOKING WITHDRAWING GONE */
    UVZK__MEMBER_CHECKING,    /* next: CREATING LOOKING WITHDRAWING GONE */
    UVZK__MEMBER_LOOKING,     /* next: COUNTING INSIDE WITHDRAWING GONE */
    UVZK__MEMBER_COUNTING,    /* next: WAITING OPENING INSIDE WITHDRAWING GONE */
    UVZK__MEMBER_WAITING,     /* next: COUNTING INSIDE WITHDRAWING GONE */
    UVZK__MEMBER_OPENING,     /* next: COUNTING INSIDE WITHDRAWING GONE */
    UVZK__MEMBER_INSIDE,      /* next: REMAINING WITHDRAWING GONE */
    UVZK__MEMBER_REMAINING,   /* next: DELETING OUTLASTING TIDYING WITHDRAWING GONE */
    UVZK__MEMBER_DELETING,    /* next: REMAINING OUTLASTING WITHDRAWING GONE */
    UVZK__MEMBER_OUTLASTING,  /* next: REMAINING WITHDRAWING GONE */
    UVZK__MEMBER_WITHDRAWING, /* next: TIDYING GONE */
    UVZK__MEMBER_TIDYING,     /* next: GONE */
    UVZK__MEMBER_GONE         /* final */
};

extern const struct uvzk__machine uvzk__barrier_member_machine;

#define UVZK__READY_NAME "ready" /* a child of the barrier's znode */

struct uvzk__other_member {
    char *name;
    bool listed; /* by the getChildren that is being read */
};

struct uvzk__barrier_member {
    struct uvzk__session *session;
    struct uvzk__link of_session; /* in barriers->members, until it is freed */
    /* The double barrier; NULL: it has no user. */
    void *user;
    void (*told_cb)(struct uvzk__barrier_member *, int status);
    struct uvzk__rpc rpc; /* a getChildren, or the exists of CHECKING */
    struct uvzk__znode_write write;
    struct uvzk__znode_waiter waiter; /* for `ready`, or for another member to go */
    char
        *directory; /* the barrier's path P, namespace included; owned, as the next two */
    char *path;     /* P/<uuid> */
    char *ready;    /* P/ready */
    struct uvzk__node_create create;       /* of `path` */
    struct uvzk__node_create create_ready; /* of `ready`; P exists */
    /* The other members that were here when it began to leave and that the last
     * getChildren has shown; sorted. */
    struct uvzk__other_member *others;
    size_t other_count;
    uint32_t quantity; /* how many members the barrier waits for */
    int outcome;       /* from WITHDRAWING on: what the user will be told */
    uint8_t state;     /* enum uvzk__barrier_member_state */
    uint8_t asked_in;  /* the state in which `rpc` was sent */
    bool asking;       /* `rpc` is under way */
    bool stands;       /* its znode exists, unless another client has deleted it */
    bool may_be_last;  /* when it is out, a `ready` without members may be left over */
    bool knows_others; /* `others` is set */
};

/* Makes a member that begins to enter. user: passed on. Returns 0, UV_ENOMEM or
 * UV_EIO. */
int uvzk__barrier_member_enter(struct uvzk__session *, const char *directory,
                               uint32_t quantity, void *user,
                               void (*told_cb)(struct uvzk__barrier_member *, int status),
                               struct uvzk__barrier_member **);
/* What was passed on; NULL: the member no longer has a user. */
static inline void *uvzk__barrier_member_user(const struct uvzk__barrier_member *member)
{
    return member->user;
}
/* A member that is INSIDE begins to leave. */
void uvzk__barrier_member_leave(struct uvzk__barrier_member *);
/* Gives the member up. told_cb runs with this status, at once or later: when its znode
 * is known to be gone, or when there is no connection by which that could be known. The
 * znode is deleted in any case, as soon as there is a connection. Does nothing if the
 * member has been given up already. */
void uvzk__barrier_member_withdraw(struct uvzk__barrier_member *, int status);

/* Its session is about to end, or no session will come soon: tells its user at once. */
void uvzk__barrier_member_abandon(struct uvzk__barrier_member *, int code);

/* Events of the session (barriers.h). */
void uvzk__barrier_member_pump(struct uvzk__barrier_member *);
void uvzk__barrier_member_suspended(struct uvzk__barrier_member *);
void uvzk__barrier_member_session_ended(struct uvzk__barrier_member *, int code);
/* The client ends: frees the member. */
void uvzk__barrier_member_free(struct uvzk__barrier_member *);

#endif
