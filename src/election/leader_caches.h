/* The leader caches of one session, by the paths of their elections (leader_cache.h). */
#ifndef UVZK_LEADER_CACHES_H
#define UVZK_LEADER_CACHES_H

#include <stdbool.h>

struct uvzk__leader_cache;
struct uvzk__leader_report;
struct uvzk__participant_directory;
struct uvzk__session;

/* Requests may be sent again. */
void uvzk__leader_caches_resume(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Adds the report to the leader cache of this directory, which is made if it is missing.
 * Returns 0; UV_EINVAL: there is one, of another kind; UV_ENOMEM. */
int uvzk__leader_cache_join(struct uvzk__leader_report *, struct uvzk__session *,
                            const struct uvzk__participant_directory *);

/* Ends the cache if it has no reports left. */
void uvzk__leader_cache_end_unused(struct uvzk__leader_cache *);

#endif
