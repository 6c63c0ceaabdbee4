/* InterProcessMutex, as a multi lock knows it. */
#ifndef UVZK_MUTEX_H
#define UVZK_MUTEX_H

#include "claim/lock.h"

extern const struct uvzk__lock_kind uvzk__mutex;

#endif
