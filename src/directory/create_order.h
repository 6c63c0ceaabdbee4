/* Contenders of one path in several sessions of the client, because the first had no room
 * for all of them. They are foreign nodes to one another, and each change from one
 * session's to another's costs requests that a handover within one does not. So they are
 * made in the order in which they were asked for, one session's after the other's: then
 * they stand in line session by session, whatever number of them is asked for in one
 * turn.
 *
 * A session waits for one that comes before it in the path's rank, as long as that one
 * has a connection and somebody who was asked for earlier and is being made: newcomers
 * there, however many, keep nobody here waiting, nor does one that rests before it is
 * made anew, or that is searched for where nothing may be listed. */
#ifndef UVZK_CREATE_ORDER_H
#define UVZK_CREATE_ORDER_H

#include <stdbool.h>

struct uvzk__session;
struct uvzk__queue;

/* Whether those who are not made yet may be. */
bool uvzk__create_order_allows(struct uvzk__queue *);

/* Something has changed there: whoever waits for it looks again. */
void uvzk__create_order_changed(struct uvzk__queue *);

/* The session has lost its connection: nobody waits for it. */
void uvzk__create_order_skip_session(struct uvzk__session *);

#endif
