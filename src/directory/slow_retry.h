/* Growing pauses before a request is repeated that an ACL refused. The ACL may change at
 * any time, and no event reports it. The pauses double from 500 ms up to 30 s or a
 * session timeout, whichever is less; each is made up to a quarter longer or shorter at
 * random. */
#ifndef UVZK_SLOW_RETRY_H
#define UVZK_SLOW_RETRY_H

#include "engine/session.h"

#define UVZK__SLOW_RETRY_FIRST_MS 500U

/* Sets the timer to run after *pause_ms, limited and varied as above, and doubles
 * *pause_ms. The first *pause_ms is UVZK__SLOW_RETRY_FIRST_MS. */
void uvzk__slow_retry(struct uvzk__session *, struct uvzk__timer *, uint64_t *pause_ms);

#endif
