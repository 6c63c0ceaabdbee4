/* What the children of a lock directory are, by the tokens in their names. Pure. */
#ifndef UVZK_DISCIPLINE_H
#define UVZK_DISCIPLINE_H

#include "base/node_name.h"

enum uvzk__discipline {
    UVZK__EXCLUSIVE,  /* "lock-": InterProcessMutex */
    UVZK__READ_WRITE, /* "__READ__", "__WRIT__": InterProcessReadWriteLock */
    UVZK__COUNTED,    /* "lease-": InterProcessSemaphoreV2; order plays no part */
    UVZK__DRIVEN      /* as each lock driver says: LockInternalsDriver, driven.h */
};

#define UVZK__TOKEN_MUTEX "lock-"
#define UVZK__TOKEN_READ "__READ__"
#define UVZK__TOKEN_WRITE "__WRIT__"
#define UVZK__TOKEN_LEASE "lease-"

/* A child's name taken apart by the grammar of the discipline. shared: it is a
 * reader's. */
void uvzk__discipline_parse(enum uvzk__discipline, const char *name,
                            struct uvzk__node_name *out, bool *shared);

#endif
