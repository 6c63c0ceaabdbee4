/* Guaranteed deletes, in multis: up to 64 nodes in one request, at most a few
 * requests under way, so that a lone delete leaves at once and many go together.
 * Where the lock was handed over to a local neighbour, the multi also checks that
 * the neighbour's node stands: the released node goes only together with that
 * certainty, so that nobody behind can be granted past a node that was deleted
 * by hand. One failing operation fails a multi as a whole; what it was about is
 * settled, and the rest is sent again.
 *
 * Readers that have just been granted early may let go as soon as they are told: the
 * delete of the writer before them is put off for that one round, and theirs go with it.
 * Meanwhile it blocks nobody but them.
 *
 *   GATHERING --- full, or none is left ---> UNDER_WAY --- answered ---> SETTLED
 *
 * SETTLED: each op has gone its way, by its znode's machine (node.h); freed. */
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

/* Sends what is on session->directories->to_delete, as far as it may be sent. */
void uvzk__delete_batches_send(struct uvzk__session *);
/* Whether some of it has been put off until the next round. */
bool uvzk__delete_batches_due(const struct uvzk__session *);

#endif
