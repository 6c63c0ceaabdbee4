/* A member that has lost its place in history, as ZooKeeper's servers do when leaders die
 * at the wrong moment (docs/operations.md): it believes to have carried out transactions
 * that it has never seen. Nothing that follows mends that. */
#ifndef DIVERGE_H
#define DIVERGE_H

#include <stdbool.h>

#include "ensemble.h"

/* Whether it can be done here: it takes a Java compiler. */
bool diverge_is_possible(void);

/* Of a killed member, while the other two serve: all that has been committed since it was
 * killed will be missing in its tree, and is not told it again. Then it is revived.
 * Returns when it serves. false: told on stderr. */
bool diverge(struct ensemble *e, int member);

#endif
