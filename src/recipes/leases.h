/* The `leases` directory of a semaphore, seen by all its local claims (lease_request.h). Whoever
 * holds `locks` is the ticket holder. It makes its leases, and in the same multi those of the
 * claims of ours that follow it in line, as long as nobody else stands between and there
 * seems to be room. A listing leaves behind the multi, and the grant rests on both: of two
 * that make leases at once the later one sees those of both, whoever it is, and whatever it
 * knew before. With too many the last of ours are withdrawn. (Curator makes first and
 * lists after, too; a lease of Curator's may even be made without its ticket, after its
 * session has expired.)
 *
 *   ticket holder --> room for the next in line? --> making --> listing --> granted, as many as
 *     ^         | no                                                there is room for
 *     |         v                                                          |
 *     |       listed anew if that is old; watched if others have leases    v
 *     `-------------------------- the ticket is let go --------------------'
 *
 * The last listing says how many leases others have (foreign nodes.leases): a guess, but
 * for as long as `locks` is ours without a break (queue->held_stamp) they seldom become
 * more. What lets go meanwhile is handed on (lease_offers.h). */
#ifndef UVZK_LEASES_H
#define UVZK_LEASES_H

#include "recipes/lease_request.h"

/* The ticket holds `locks`, or no longer. */
void uvzk__leases_ticket_held(struct uvzk__lease_request *);
void uvzk__leases_ticket_lost(struct uvzk__lease_request *);

/* What such a directory is. */
extern const struct uvzk__directory_kind uvzk__lease_directory;

#endif
