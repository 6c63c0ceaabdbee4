/* SPDX-License-Identifier: Apache-2.0 */
/* Delete batches: deletes of several contenders' znodes that are sent in one multi, up to
 * 64 in each, with at most four requests in flight. So a lone delete is sent at once, and
 * many deletes share requests. A delete is repeated until the znode or its session is
 * known to be gone (Curator's guaranteed delete).
 *
 * If a lock was handed over to another local contender early, the multi also checks that
 * contender's node. So the released node is deleted only if the new holder's node exists.
 * Without the check another client could be granted past a new holder whose node was
 * deleted by hand. One op that fails makes the whole multi fail. Then the contender of
 * that op is dealt with, and the other deletes are sent again.
 *
 * Readers that have been granted early are often released inside their acquire callbacks.
 * So the delete of the writer before them is postponed for one round of the turn, and
 * then shares a multi with their deletes. Meanwhile the writer's node blocks only these
 * readers.
 *
 *   GATHERING --- full, or none is left ---> UNDER_WAY --- answered ---> SETTLED
 *
 * In SETTLED the result of each op has been passed to the machine of its znode (node.h),
 * and the batch is freed. */
#ifndef UVZK_DELETE_BATCH_H
#define UVZK_DELETE_BATCH_H

#include "base/machine.h"
#include "directory/queue.h"

enum uvzk__delete_batch_state {
    UVZK__DELETE_BATCH_GATHERING, /* next: UNDER_WAY */
    UVZK__DELETE_BATCH_UNDER_WAY, /* next: SETTLED */
    UVZK__DELETE_BATCH_SETTLED    /* final */
};

extern const struct uvzk__machine uvzk__delete_batch_machine;

/* Sends the deletes on directories->to_delete, as long as fewer than four requests of
 * deletes are in flight. Call it after the directories have been settled, so that the
 * checks of early grants are known. */
void uvzk__delete_batches_send(struct uvzk__session *);
/* Returns true if deletes have been postponed until the next round of the turn. */
bool uvzk__delete_batches_due(const struct uvzk__session *);

#endif
