/* What an ACL refuses may be allowed again at any time, and nothing tells of that: it is
 * tried again after pauses that double from half a second to 30 s or a session timeout,
 * whichever is less, a quarter more or less at random. */
#ifndef UVZK_SLOW_RETRY_H
#define UVZK_SLOW_RETRY_H

#include "engine/session.h"

#define UVZK__SLOW_RETRY_FIRST_MS 500U

/* due() comes after this pause, and the next one is to be twice as long. */
void uvzk__slow_retry(struct uvzk__session *, struct uvzk__timer *, uint64_t *pause_ms);

#endif
