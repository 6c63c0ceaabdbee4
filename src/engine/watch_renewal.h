/* A watch may never fire: a server does not tell who may not READ the znode at that
 * moment, and the watch is used up all the same (CVE-2024-23944's mend). So whoever
 * waits on one looks again, about once a session timeout, for as long as he waits: the
 * watch is taken back and set anew, and what the request that sets it finds is as good
 * as the event that was lost. */
#ifndef UVZK_WATCH_RENEWAL_H
#define UVZK_WATCH_RENEWAL_H

#include "engine/session.h"

/* Now that a watch stands: due() in one session timeout, a quarter of it more or less
 * at random, so that those whose watches were set together do not look together. */
void uvzk__watch_renewal_schedule(struct uvzk__session *, struct uvzk__timer *);

#endif
