/* Listings (getChildren) of a lock directory.
 *
 * Before every listing there is the reply to a barrier on the same connection
 * (barrier.h). So if a node's create was submitted before the listing and the listing
 * does not show the node, the node does not exist. If the create was sent on an earlier
 * connection, no server can carry it out after the barrier of this connection has been
 * carried out. If it was sent on this connection, it is carried out before the listing,
 * because a server executes the requests of a session in order. */
#ifndef UVZK_LISTING_H
#define UVZK_LISTING_H

struct uvzk__queue;

/* Sends a listing of the directory. Also arms a watch on the children if one is wanted.
 * The directory must be allowed to send a request (uvzk__queue_may_ask). Without memory
 * the session pauses, and the directory is settled again afterwards. */
void uvzk__listing_start(struct uvzk__queue *);

#endif
