/* SPDX-License-Identifier: Apache-2.0 */
/* The creates of contenders: in which order they are sent, and which of them share a multi.
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
 * listed.
 *
 * Create batches: creates of several contenders that are sent in one multi, up to 64 in
 * each. They are creates in different directories, or creates of readers in one directory
 * that come in a row. A lone create is a separate request and is sent without delay.
 * Creates gather only while four multis are in flight. Any other contender that comes to a
 * directory in which this session has contenders is created alone, after them.
 *
 * All znodes of one multi have the same czxid. The reply to the multi does not contain
 * it, so an exists of one of the znodes returns it for all of them.
 *
 *   GATHERING -- full, or none is left --> UNDER_WAY -- created --> IDENTIFYING
 *                                              |                       |
 *                                refused, lost |                       | known, lost,
 *                                              v                       | or none is left
 *                                           SETTLED <------------------'
 *
 * In SETTLED each contender continues with the machine of its own znode (node.h), and the
 * batch is freed. If the multi was refused, the contender whose op failed gets the
 * reason. Of the other creates it is only known that they were not carried out: each is
 * sent again alone, as soon as no multi of its directory is in flight. But if a directory
 * was missing, the directories of the creates after the failed one may be missing too, for
 * example in a new place. These contenders create their directories first. If that is
 * refused, their creates are sent alone (parents.c).
 *
 * Fencing tokens: two holds that exclude one another must have different tokens, and the
 * later one a greater token. So a multi never contains two creates of one directory,
 * unless all creates of that directory in it are readers'. Equal tokens belong to readers
 * in a row, which hold together, or to locks that are not compared: locks on other paths,
 * or of other kinds on one path, which do not exclude one another. */
#ifndef UVZK_CREATES_H
#define UVZK_CREATES_H

#include "base/machine.h"
#include "directory/queue.h"

enum uvzk__create_batch_state {
    UVZK__CREATE_BATCH_GATHERING,   /* next: UNDER_WAY */
    UVZK__CREATE_BATCH_UNDER_WAY,   /* next: IDENTIFYING SETTLED */
    UVZK__CREATE_BATCH_IDENTIFYING, /* next: SETTLED */
    UVZK__CREATE_BATCH_SETTLED      /* final */
};

extern const struct uvzk__machine uvzk__create_batch_machine;

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

/* Returns true if a create can be sent now. */
bool uvzk__create_batches_due(const struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Sends the creates that are wanted in the directory, in the order in which they were
 * requested, or adds them to the next multis. Those that have to wait for others stay
 * wanted. Called at the beginning of a round for each directory that is settled in it. */
void uvzk__create_order_send(struct uvzk__queue *);

/* Something has changed in this directory, for which others wait (other_session_waits):
 * settles the directories of the client's other sessions at the same path that wait. */
void uvzk__create_order_changed(struct uvzk__queue *);

/* Sends the creates that have gathered, as long as fewer than four multis are in flight. The
 * second function does so only if one create has gathered. */
void uvzk__create_batches_send(struct uvzk__session *);
void uvzk__create_batches_send_lone(struct uvzk__session *);

#endif
