/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a member that has diverged, as servers of ZooKeeper do if leaders die at the
 * wrong moment (docs/operations.md): the member records transactions as executed that it
 * has never received. Later transactions do not repair its tree. */
#ifndef DIVERGE_H
#define DIVERGE_H

#include <stdbool.h>

#include "ensemble.h"

/* Returns true if the build has found a Java compiler, which this needs. */
bool diverge_is_possible(void);

/* The member must have been killed, and the other two must serve. All that has been
 * committed since the kill will be missing in the member's tree, because its data
 * directory claims the ensemble's last zxid. Then starts the member, and returns when it
 * serves. Returns false, with a message on stderr, if that fails. */
bool diverge(struct ensemble *e, int member);

#endif
