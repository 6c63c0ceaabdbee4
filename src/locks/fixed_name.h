/* SPDX-License-Identifier: Apache-2.0 */
/* Contenders with a fixed name in a driver-defined directory (driver_lock.c).
 *
 *   CREATING, one local contender at a time --> created: GETS_LOCK
 *      ^    |
 *      |    `--> UVZK_ENODEEXISTS: WAITS until the znode is deleted; so do the others
 *      `------------------------------'
 *
 * uvzk lists nothing. The name does not show which client's znode it is. So after a
 * create or a delete whose outcome is not known, uvzk reads the znode's stat. The read is
 * sent after the barrier of a new connection (barrier.h), so no request of the earlier
 * connection is carried out after it.
 *
 * A server that has missed a delete may still show a znode of this session that was
 * deleted before the lost create was sent. The czxid of that znode is not greater than
 * that of the last znode that the lock is known to have had. The czxid of a znode that
 * the lost create has made is greater. So the old znode is not mistaken for the new one.
 *
 * Such a server may also answer a create with an error although the quorum has carried
 * the create out. Then a local contender WAITS for a znode of its own session. This is
 * noticed when the watch reads the znode's stat; the contender then goes on as after a
 * lost reply, and the znode is read again. */
#ifndef UVZK_FIXED_NAME_H
#define UVZK_FIXED_NAME_H

#include "claim/lock.h"

/* Returns true if a local contender has, may have or is creating the znode of this fixed
 * name, or a znode of this name is being watched. */
bool uvzk__fixed_name_taken(struct uvzk__queue *, const char *name);

/* may_delete of the claim_kind: whether the znode to be deleted is certainly the
 * contender's own. If a delete's reply was lost, this is not certain with a fixed name:
 * the znode is read, and the contender is pumped when the stat has arrived. A name with a
 * sequence number is always certain. */
bool uvzk__fixed_name_certain(struct uvzk__contender *);

/* The znode that this contender waits for has this stat. Returns whether the znode may be
 * its own, from a create that was answered with an error. The contender is then UNKNOWN,
 * and the caller must end its wait; settling reads the znode. */
bool uvzk__fixed_name_may_be_ours(struct uvzk__contender *, const struct uvzk__stat *);

/* Reads the znodes of contenders whose create was lost. For each name, lets one of the
 * contenders that have no node watch create the znode. */
void uvzk__fixed_names_settle(struct uvzk__queue *);

#endif
