/* Create batches: creates of several contenders that are sent in one multi, up to 64 in
 * each. They are creates in different directories, or creates of readers in one directory
 * that come in a row. A lone create is a request of its own and is sent without delay.
 * Creates gather only while four multis are in flight. Any other contender that comes to
 * a directory in which this session has contenders is created alone, behind them.
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
 * In SETTLED each contender goes on with the machine of its own znode (node.h), and the
 * batch is freed. If the multi was refused, the contender whose op failed gets the
 * reason. Of the other creates it is only known that they were not carried out: each is
 * sent again alone, at once. But if a directory was missing, the directories of the
 * creates behind the failed one may be missing too, for example in a new place. These
 * contenders create their directories first. If that is refused, their creates are sent
 * alone (parents.c).
 *
 * A contender that comes behind contenders of its directory whose multi is in flight
 * waits for the reply. Otherwise it would be created before them if the multi failed. For
 * the same reason a writer waits behind readers that are about to share a multi, and
 * every contender behind that writer waits too. Meanwhile these contenders gather, so the
 * next batch of readers is large.
 *
 * Fencing tokens: two holds that exclude one another must have different tokens, and the
 * later one a greater token. So a multi never contains two creates of one directory,
 * unless all creates of that directory in it are readers'. Equal tokens belong to readers
 * in a row, which hold together, or to locks that are not compared: locks on other paths,
 * or of other kinds on one path, which do not exclude one another. */
#ifndef UVZK_CREATE_BATCH_H
#define UVZK_CREATE_BATCH_H

#include "base/machine.h"
#include "directory/queue.h"

enum uvzk__create_batch_state {
    UVZK__CREATE_BATCH_GATHERING,   /* next: UNDER_WAY */
    UVZK__CREATE_BATCH_UNDER_WAY,   /* next: IDENTIFYING SETTLED */
    UVZK__CREATE_BATCH_IDENTIFYING, /* next: SETTLED */
    UVZK__CREATE_BATCH_SETTLED      /* final */
};

extern const struct uvzk__machine uvzk__create_batch_machine;

/* The contender's node needs a create. Sends it now in a request of its own, or puts the
 * contender on directories->to_create for the next multi, or lets it wait until the
 * contenders before it have been created. Does nothing if it is on that list already. */
void uvzk__create_batch_add(struct uvzk__contender *);

/* The contender's create is sent in a request of its own, so no other znode has its
 * czxid. This has no effect on a create that has been sent already. */
void uvzk__create_alone(struct uvzk__contender *);

/* Sends the creates that were postponed in the directory, if no contender that must be
 * created before them is left. Called when the directory is settled. */
void uvzk__create_batch_resume(struct uvzk__queue *);

/* Sends the creates on directories->to_create, as long as fewer than four multis are in
 * flight. The second function: whether there is anything to send now. */
void uvzk__create_batches_send(struct uvzk__session *);
bool uvzk__create_batches_due(const struct uvzk__session *);

#endif
