/* The part of a driver-defined directory (driver_directory.h) that is about fixed names.
 *
 *   CREATING, one of ours at a time --> made: it GETS
 *      ^    |
 *      |    `--> taken: WAITS for the znode to go, and so do the others
 *      `------------------------------'
 *
 * There is nothing to list. Such a name does not tell whose znode it is: after a create or
 * a delete whose outcome is not known its stat is asked for, behind the barrier of a new
 * connection (barrier.h): what the one before had under way is over by then.
 *
 * A server that has missed a delete may show a znode of the same session that was deleted
 * before the lost create was sent. Its czxid is not greater than that of the last znode which
 * the lock is known to have had, and the lost create's is: so it is not taken for that one.
 *
 * Such a server also answers a create with an error that the quorum has carried out: then one
 * of ours WAITS for a znode of its own session. It is looked at again, as after a lost reply. */
#ifndef UVZK_FIXED_NAME_H
#define UVZK_FIXED_NAME_H

#include "claim/lock.h"

/* Whether one of ours may have the znode of this fixed name, or another's is known to
 * stand. */
bool uvzk__fixed_name_taken(struct uvzk__queue *, const char *name);

/* claim_kind's: whether the znode that is to be deleted is known to be the contender's;
 * always, if its name has a number. */
bool uvzk__fixed_name_certain(struct uvzk__contender *);

/* The child of that name, for which this one waits, is this: whether it may be its
 * own. Then it waits for it no longer, and it is looked at. */
bool uvzk__fixed_name_may_be_ours(struct uvzk__contender *, const struct uvzk__stat *);

/* Looks at those whose create has been lost, and lets one of those that wait for nobody
 * create. */
void uvzk__fixed_names_settle(struct uvzk__queue *);

#endif
