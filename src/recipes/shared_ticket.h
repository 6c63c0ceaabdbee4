/* A ticket serves several claims of ours: the one that has it, which is the first in line,
 * and those that follow, in the order of arrival, without a ticket of their own.
 *
 *   follows --- the one before it is granted, or gives up ---> has the ticket
 *    |   ^                                                      |
 *    |   `--- the ticket is let go, and it has to wait on ------'
 *    `--- served in the same multi, or by leases that were let go meanwhile ---> granted
 *
 * Whoever is granted passes the ticket on, if one follows, or lets it go: it is never kept
 * idle. It is let go, too, when somebody else stands behind it, which a watch on the
 * directory tells, once what is under way has been granted; and in any case after a while,
 * lest a watch that is silent keeps somebody waiting. The first of those that still follow
 * then makes a ticket anew.
 *
 * The ticket's czxid is the token of all that it serves. So it serves none two of which
 * want more leases together than there are. */
#ifndef UVZK_SHARED_TICKET_H
#define UVZK_SHARED_TICKET_H

#include "recipes/lease_request.h"

/* A ticket serves so many at most, and begins to serve nobody after so long. */
#define UVZK__TICKET_GRANTS 256U
#define UVZK__TICKET_MS 500U

/* Whether a new one shall follow others of ours, of which there are some. */
bool uvzk__ticket_should_share(const struct uvzk__lease_request *);

/* One that follows has a ticket of its own, at once: its token is nobody's of those that
 * came before it. Nothing of any other; its claim may have ended afterwards. */
void uvzk__ticket_make_own(struct uvzk__lease_request *);

/* Who is served next by the ticket holder's ticket, behind this one; NULL: nobody, or
 * nobody may be. */
struct uvzk__lease_request *uvzk__ticket_next_sharer(const struct uvzk__lease_request *);

/* Whether it may serve this one that follows, or does. */
bool uvzk__ticket_may_share(const struct uvzk__lease_request *sharer);

/* Whether what is let go at this moment may be wanted by one that follows the ticket
 * holder. */
bool uvzk__ticket_has_next_sharer(const struct uvzk__queue *leases);

/* Whether it may not have leases by the ticket holder's ticket: somebody has, or is
 * about to have, from whom it must be told by its token. */
bool uvzk__ticket_is_used_up(const struct uvzk__lease_request *);

/* It has been granted its leases: passes its ticket on, or lets it go. */
void uvzk__ticket_granted(struct uvzk__lease_request *);

/* Its claim has ended: the next one has its ticket, and it follows nobody. True: the claim
 * is gone, for there is nothing else that it had. */
bool uvzk__ticket_claim_ended(struct uvzk__lease_request *);

/* The ticket holder's is used up: it follows, before all others. */
void uvzk__ticket_release(struct uvzk__lease_request *ticket_holder);

/* It has come to an end with this code, for whatever reason, and so do those that follow;
 * not those that can have another one. */
void uvzk__ticket_ended(struct uvzk__queue *leases, int code);

/* Some follow, and there is no ticket: the first one makes one. */
void uvzk__ticket_create_new(struct uvzk__queue *leases);

#endif
