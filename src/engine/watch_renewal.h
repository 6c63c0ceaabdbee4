/* Renewal of watches. The event of a watch may be lost: since the fix of CVE-2024-23944,
 * a server sends no event to a session that may not READ the znode at that moment, but
 * removes the watch. So code that waits for a watch renews it about once a session
 * timeout, for as long as it waits: it removes the watch and sets it again. The reply to
 * the request that sets the watch shows the same as the lost event. */
#ifndef UVZK_WATCH_RENEWAL_H
#define UVZK_WATCH_RENEWAL_H

#include "engine/session.h"

/* Arms the timer of a watch that has just been armed. due() runs after a random time
 * between 3/4 and 5/4 of the session timeout, so that watches that were armed at the same
 * time are not renewed at the same time. */
void uvzk__watch_renewal_schedule(struct uvzk__session *, struct uvzk__timer *);

#endif
