/* The kinds of directories whose contenders are granted in the order of their sequence
 * numbers: those of mutexes (uvzk__exclusive) and of read-write locks
 * (uvzk__read_write). */
#ifndef UVZK_IN_ORDER_H
#define UVZK_IN_ORDER_H

#include "directory/queue.h"

extern const struct uvzk__directory_kind uvzk__exclusive, uvzk__read_write;

#endif
