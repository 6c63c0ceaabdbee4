/* The order in which several sessions of one client create their contenders at one path.
 * A path is used in several sessions when the first one has no room for all its
 * contenders. Contenders of different sessions are foreign nodes to one another, and a
 * handover between sessions costs requests that a handover within one session does not
 * cost. So the sessions create their contenders one session after the other, in the order
 * in which the acquires were requested. Then the contenders of each session are next to
 * one another in line, no matter how many acquires are requested in one turn.
 *
 * A session waits for another one if that session ranks before it for the path
 * (rendezvous.h), has a connection, and has a contender there that was requested no later
 * and is being created. So newcomers of the other session, however many, keep no
 * contender here waiting. Neither does a contender that pauses before it creates a new
 * node, nor one that is searched for where the directory may not be listed. */
#ifndef UVZK_CREATE_ORDER_H
#define UVZK_CREATE_ORDER_H

#include <stdbool.h>

struct uvzk__session;
struct uvzk__queue;

/* Whether this session may create its contenders in the directory now. If not, the
 * directory for which it waits is marked (other_session_waits). */
bool uvzk__create_order_allows(struct uvzk__queue *);

/* Something has changed in this directory: settles the directories of the client's other
 * sessions at the same path that wait for it. */
void uvzk__create_order_changed(struct uvzk__queue *);

/* The session has lost its connection: settles the directories of all other sessions,
 * because they no longer wait for this one. */
void uvzk__create_order_skip_session(struct uvzk__session *);

#endif
