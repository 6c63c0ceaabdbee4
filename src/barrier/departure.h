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
 * It waits for those members alone that the first getChildren has shown. Everybody of
 * its round is among them, because a member's znode exists until it leaves, and nobody
 * of this library has left for good while this member's znode existed. Whoever comes
 * later belongs to another round: a member that has left and enters again would wait
 * for this one, and this one for it.
 *
 * How fresh the readings are: the getChildren comes after the replies to this session's
 * own writes. If it lags, it shows members that have gone since; then the exists or its
 * watch tells. A member that it does not show any more has gone for good: the name of
 * each enter is new. */
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
