/* The order in which contenders are created, and which of their creates may share a multi.
 *
 * In one directory, contenders are created in the order in which they were requested, even
 * if a multi fails; only the order of readers in a row does not matter. So a contender
 * that comes after contenders of its directory whose multi is in flight waits for the
 * reply. Otherwise it would be created before them if the multi failed. For the same
 * reason a writer waits behind readers that are about to share a multi, and every
 * contender behind that writer waits too. Meanwhile these contenders gather, so the next
 * batch of readers is large.
 *
 * Several sessions of one client may create contenders at one path: the path is used in
 * several sessions when the first one has no room for all its contenders. Contenders of
 * different sessions are foreign nodes to one another, and a handover between sessions
 * costs requests that a handover within one session does not cost. So the sessions create
 * their contenders one session after the other, in the order in which the acquires were
 * requested. Then the contenders of each session are next to one another in line, no
 * matter how many acquires are requested in one turn.
 *
 * A session waits for another one if that session ranks before it for the path
 * (rendezvous.h), has a connection, and has a contender there that was requested no later
 * and is being created. So newcomers of the other session do not delay a contender here,
 * no matter how many come. A contender that pauses before it creates a new node does not
 * delay others either, nor does one that is searched for in a directory that may not be
 * listed. */
#ifndef UVZK_CREATE_ORDER_H
#define UVZK_CREATE_ORDER_H

#include <stdbool.h>

/* Two readers of one directory need two requests either way: two creates, or a multi and
 * its exists, which takes one more round trip. */
#define UVZK__READERS_PER_BATCH_MIN 3U

struct uvzk__contender;
struct uvzk__session;
struct uvzk__queue;

/* For a directory that is being settled, and a contender that is on no list: sends its
 * create now in a request of its own, or puts it on directories->to_create for the next
 * multi, or lets it wait until the contenders before it have been created. */
void uvzk__create_order_add(struct uvzk__contender *);

/* The contender's create is sent in a request of its own, so no other znode has its
 * czxid. This has no effect on a create that has been sent already. */
void uvzk__create_alone(struct uvzk__contender *);

/* Returns true if this session may create its contenders in the directory now. If not,
 * the directory for which it waits is marked (other_session_waits). */
bool uvzk__create_order_allows(struct uvzk__queue *);

/* The session has lost its connection: settles the directories of all other sessions,
 * because they no longer wait for this one. */
void uvzk__create_order_skip_session(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* The contender's node needs a create, which is sent when its directory is settled
 * (uvzk__create_order_send). */
void uvzk__create_order_want(struct uvzk__contender *);

/* Sends the creates that are wanted in the directory, in the order in which they were
 * requested, or adds them to the next multis. Those that have to wait for others stay
 * wanted. Called at the beginning of a round for each directory that is settled in it. */
void uvzk__create_order_send(struct uvzk__queue *);

/* For create_batch.c. Sends the create of a contender that may be on
 * directories->to_create, in a request of its own. */
void uvzk__create_order_send_alone(struct uvzk__contender *);
/* Returns true if the contender may have the same czxid as others of its directory: only
 * readers may. */
bool uvzk__create_order_shares_czxid(const struct uvzk__contender *);

/* Something has changed in this directory: settles the directories of the client's other
 * sessions at the same path that wait for it. */
void uvzk__create_order_changed(struct uvzk__queue *);

#endif
