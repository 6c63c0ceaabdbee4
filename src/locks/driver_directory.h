/* A directory whose contenders are ordered by the caller's lock drivers
 * (LockInternalsDriver). It uses Curator's plain algorithm, each contender for itself,
 * because only the driver knows which contender waits for which. driver_claim.h draws
 * what the drivers decide.
 *
 * A contender is granted only if its znode has just been shown to exist: by a listing
 * after the last event, by a proof that names it, or, with a fixed name, by the reply to
 * its create. A holder is then checked by the proofs, with two exceptions. A proof's
 * check cannot tell one znode of a fixed name from the next one, and a persistent hold
 * needs no proof. Such contenders have a node watch on their own znode instead.
 *
 * The end of a session changes nothing for a contender with a persistent znode: its znode
 * still exists. In the next session, uvzk searches for a znode whose create was lost, and
 * deletes a znode that it still has to delete. */
#ifndef UVZK_DRIVER_DIRECTORY_H
#define UVZK_DRIVER_DIRECTORY_H

#include "directory/contender.h"
#include "directory/queue.h"

/* The kinds of its contenders: with the names that the driver's prefix begins, and with the
 * driver's fixed name. */
extern const struct uvzk__contender_kind uvzk__driver_contender;
extern const struct uvzk__contender_kind uvzk__fixed_contender;

/* The kind of a driver-defined directory. */
extern const struct uvzk__directory_kind uvzk__driver_directory;

#endif
