/* The `leases` directory of a semaphore, shared by all its local claims
 * (lease_request.h). The lease request whose ticket holds `locks` is the ticket holder.
 * One multi creates its leases and those of the local lease requests that follow it in
 * line, as long as no other client's contender is between them and there seems to be
 * room.
 *
 * A listing is sent after the multi, and the grant depends on both. Of two clients that
 * create leases at the same time, the one that lists later sees the leases of both. So
 * the number of holds depends neither on earlier knowledge nor on the ticket. If there
 * are too many leases, the last of the local lease requests withdraw theirs. (Curator
 * also creates first and lists afterwards. Curator may even create a lease without its
 * ticket, after its session has expired.)
 *
 *   ticket holder --> room for the next in line? --> multi --> listing --> granted, while
 *     ^                 | no                                               there is room
 *     |                 v                                                     |
 *     |        listed again if the view is old; children watched              |
 *     |        if other clients have leases                                   v
 *     `------------------------- the ticket is released ----------------------'
 *
 * How many leases other clients have (foreign_nodes.leases) is known from the last
 * listing only, so it is an estimate. It decides only whether to try. While `locks` is
 * held by local tickets without a break (since queue->held_stamp), it seldom becomes too
 * low. Leases that local claims release meanwhile are handed over (lease_offers.h). */
#ifndef UVZK_LEASES_H
#define UVZK_LEASES_H

#include "recipes/semaphore/lease_request.h"

/* The ticket of this lease request has begun to hold `locks`; it does not hold it any
 * more, because it was deleted, passed on or released. */
void uvzk__leases_ticket_held(struct uvzk__lease_request *);
void uvzk__leases_ticket_lost(struct uvzk__lease_request *);

/* The kind of a lease directory. */
extern const struct uvzk__directory_kind uvzk__lease_directory;

#endif
