/* The kinds of lock directories, and which children of each are contenders, by the name
 * prefix (Curator's lock name). Pure functions. */
#ifndef UVZK_DIRECTORY_ORDER_H
#define UVZK_DIRECTORY_ORDER_H

#include "base/node_name.h"

enum uvzk__directory_order {
    UVZK__EXCLUSIVE,     /* "lock-": InterProcessMutex */
    UVZK__READ_WRITE,    /* "__READ__", "__WRIT__": InterProcessReadWriteLock */
    UVZK__COUNTED,       /* "lease-": InterProcessSemaphoreV2, without an order */
    UVZK__DRIVER_DEFINED /* the caller's lock driver decides: LockInternalsDriver */
};

#define UVZK__NAME_PREFIX_MUTEX "lock-"
#define UVZK__NAME_PREFIX_READ "__READ__"
#define UVZK__NAME_PREFIX_WRITE "__WRIT__"
#define UVZK__NAME_PREFIX_LEASE "lease-"

/* Parses the name of a child. out->is_contender: the name has a name prefix of this
 * directory order. *shared: the name is a reader's. In a driver-defined directory no name
 * is a contender's here, because only the lock driver can tell. */
void uvzk__parse_child_name(enum uvzk__directory_order, const char *name,
                            struct uvzk__node_name *out, bool *shared);

#endif
