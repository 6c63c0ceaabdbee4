/* Directories whose contenders are granted in the order of their numbers: of mutexes,
 * and of read-write locks. */
#ifndef UVZK_IN_ORDER_H
#define UVZK_IN_ORDER_H

#include "directory/queue.h"

extern const struct uvzk__directory_kind uvzk__exclusive, uvzk__read_write;

#endif
