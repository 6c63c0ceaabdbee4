/* What the children of a lock directory are, by the tokens in their names. Pure. */
#ifndef UVZK_DIRECTORY_ORDER_H
#define UVZK_DIRECTORY_ORDER_H

#include "base/node_name.h"

enum uvzk__directory_order {
    UVZK__EXCLUSIVE,  /* "lock-": InterProcessMutex */
    UVZK__READ_WRITE, /* "__READ__", "__WRIT__": InterProcessReadWriteLock */
    UVZK__COUNTED,    /* "lease-": InterProcessSemaphoreV2; order plays no part */
    UVZK__DRIVER_DEFINED /* as each lock driver says: LockInternalsDriver, driver_directory.h */
};

#define UVZK__NAME_PREFIX_MUTEX "lock-"
#define UVZK__NAME_PREFIX_READ "__READ__"
#define UVZK__NAME_PREFIX_WRITE "__WRIT__"
#define UVZK__NAME_PREFIX_LEASE "lease-"

/* A child's name taken apart by the grammar of the discipline. shared: it is a
 * reader's. */
void uvzk__parse_child_name(enum uvzk__directory_order, const char *name,
                            struct uvzk__node_name *out, bool *shared);

#endif
