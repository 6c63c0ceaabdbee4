/* How a member enters a double barrier (Curator's DistributedDoubleBarrier.enter), from
 * LISTING to INSIDE (member.h).
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
 * znode existed. All members that are counted existed together with it. */
#ifndef UVZK_ENTRY_H
#define UVZK_ENTRY_H

#include "barrier/member.h"

/* Begins to watch `ready`. Returns 0 or UV_ENOMEM. */
int uvzk__member_wait_for_ready(struct uvzk__barrier_member *);
/* The request of LISTING, COUNTING or CHECKING has been answered. */
void uvzk__member_entry_answered(struct uvzk__barrier_member *,
                                 const struct uvzk__reply *);
/* The write of CLEARING, CREATING or OPENING is done. */
void uvzk__member_entry_written(struct uvzk__barrier_member *, int status);

#endif
