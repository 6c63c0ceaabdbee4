/* SPDX-License-Identifier: Apache-2.0 */
/* Directories whose contenders are granted in the order of their sequence numbers: those
 * of mutexes and of read-write locks. Which contender is next, and may it be granted? The
 * checks are made in this order:
 *
 *   the next in line                          what uvzk does
 *   ----------------------------------------  -------------------------------------------
 *   waits for a local contender that holds    nothing; the directory is settled again
 *                                             when that hold ends
 *   does not know its predecessors yet        sends a listing
 *   waits for one foreign node                watches it, and arms the own watch
 *   waits for several                         watches the second nearest; when that one
 *                                             goes, it watches the nearest, arms the own
 *                                             watch and lists, all in one turn; where
 *                                             there are readers, watches the nearest
 *   is in a session that is not proved        requests a proof
 *   is behind a local writer that held,       grants it early (delete_batch.h)
 *   whose delete is not sent yet, and whose
 *   node keeps others out (freshness.h)
 *   is behind another local node that is      nothing; the reply to the delete settles
 *   being deleted                             the directory again
 *   has a node that is known to exist         grants it (freshness.h)
 *   has a node of which this is not known     arms the own watch, or requests a proof */
#ifndef UVZK_IN_ORDER_H
#define UVZK_IN_ORDER_H

#include "directory/queue.h"

/* The settle function of the directories whose contenders are granted in order: of mutexes
 * and of read-write locks. */
void uvzk__settle_in_order(struct uvzk__queue *);

/* The first waiter of the directory, or NULL if no local contender waits. */
struct uvzk__contender *uvzk__next_in_line(const struct uvzk__queue *);

/* Returns true if a local contender waits in the directory of this path and no foreign
 * node is before it. False if this session has no such directory. */
bool uvzk__next_is_ours(struct uvzk__session *, const struct uvzk__directory_kind *,
                        const char *path);

/* ------------------------------------------------------------ for this room alone */

/* The contender that can be granted as soon as the pending deletes of local nodes before
 * it have been carried out: it waits for no holder and for no foreign node. NULL if there
 * is none, and in driver-defined directories. delete_batch.c checks its node in the multi
 * that deletes them. */
struct uvzk__contender *uvzk__next_holder(struct uvzk__queue *);

/* Returns true if a local node is being deleted before the contender that the contender
 * has to wait for. False where the contenders are counted and have no order. */
bool uvzk__is_behind_deletes(const struct uvzk__contender *);

#endif
