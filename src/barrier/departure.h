/* How a member leaves a double barrier (Curator's DistributedDoubleBarrier.leave), from
 * REMAINING until it is out (member.h). Of the members that are still here, the lowest
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
#ifndef UVZK_DEPARTURE_H
#define UVZK_DEPARTURE_H

#include "barrier/member.h"

/* The getChildren of REMAINING has been answered. */
void uvzk__member_remaining_listed(struct uvzk__barrier_member *,
                                   const struct uvzk__reply *);
/* The delete of DELETING is done. */
void uvzk__member_deleted(struct uvzk__barrier_member *, int status);

/* Frees the list of the other members. */
void uvzk__member_forget_others(struct uvzk__barrier_member *);

#endif
