/* SPDX-License-Identifier: Apache-2.0 */
/* Listings (getChildren) of a lock directory.
 *
 * Before every listing there is the reply to a barrier on the same connection
 * (barrier.h). So if a node's create was submitted before the listing and the listing
 * does not show the node, the node does not exist. If the create was sent on an earlier
 * connection, no server can carry it out after the barrier of this connection has been
 * carried out. If it was sent on this connection, it is carried out before the listing,
 * because a server executes the requests of a session in order.
 *
 * So the listing that shows a contender's predecessors need not wait for the reply to its
 * create. It leaves right after the create, in the same round of the turn (settle.c), and
 * one listing serves all contenders whose creates left before it. It is answered after
 * them, whatever their outcomes are:
 *
 *   created          the listing shows the znode with all nodes before it; a znode that it
 *                    does not show has been deleted since (listing.c)
 *   refused          the contender has no place, and the listing only renews the view
 *   not sent         the create is sent again, with a greater stamp than the listing's: the
 *                    listing does not count for it, and another one follows
 *   lost             the connection is lost, and the listing of the next connection shows
 *                    whether the znode exists
 *   no longer wanted the delete is sent after the reply to the create, and the view is as
 *                    good without the contender
 *
 * If the listing itself is lost, refused or not sent, the predecessors are still not known,
 * and in_order.c sends another one. After a multi of creates a listing leaves only when the
 * multi has been answered: the exists that reads the czxid takes that round trip anyway
 * (creates.h). */
#ifndef UVZK_LISTING_H
#define UVZK_LISTING_H

struct uvzk__queue;

/* Sends a listing of the directory. Also arms a watch on the children if one is wanted.
 * The directory must be allowed to send a request (uvzk__queue_may_ask). Without memory
 * the session pauses, and the directory is settled again afterwards. */
void uvzk__listing_start(struct uvzk__queue *);

#endif
