/* Create batches: creates of several contenders that are sent in one multi, up to 64 in
 * each. They are creates in different directories, or creates of readers in one directory
 * that come in a row (create_order.h). A lone create is a separate request and is sent
 * without delay. Creates gather only while four multis are in flight. Any other contender
 * that comes to a directory in which this session has contenders is created alone, after
 * them.
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
 * sent again alone, at once. But if a directory was missing, the directories of the
 * creates after the failed one may be missing too, for example in a new place. These
 * contenders create their directories first. If that is refused, their creates are sent
 * alone (parents.c).
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

/* Sends the creates on directories->to_create, as long as fewer than four multis are in
 * flight. The second function does so only if one create is on the list. The third one:
 * whether there is anything to send now. */
void uvzk__create_batches_send(struct uvzk__session *);
void uvzk__create_batches_send_lone(struct uvzk__session *);
bool uvzk__create_batches_due(const struct uvzk__session *);

#endif
