/* Who leads at one path: the client's copy of the first znode in an election's queue, as a
 * reading (reading.h). All elections of this client on the path that have a changed_cb
 * share it. The requests of a reading:
 *
 *   getChildren   shows the first in the queue
 *   get           its data; it sets a watch on its znode
 *   exists        instead of the get, if the path does not exist: it watches the path
 *
 * So only the end of the first znode wakes the followers, not every change in the queue. If
 * the queue is empty, the getChildren watches the children. Each reading begins without a
 * watch, so that the path of a watch never changes under it.
 *
 * The results are only information for the user: a participant's own hold decides whether
 * it leads. The server that answers is not known, and it may lag. But each request is
 * sent after the barrier of its connection (barrier.h), so the server has carried out
 * everything that was committed before that, and this includes everything that this cache
 * has read on earlier connections. A later change reaches the same server together with
 * the event of the watch. Only a diverged server shows something older; the cache ignores
 * it, because the token of a later leader is greater.
 *
 * The cache reads nothing while all elections that share it lead. */
#ifndef UVZK_LEADER_CACHE_H
#define UVZK_LEADER_CACHE_H

#include "claim/participant.h"
#include "election/known_participant.h"
#include "engine/reading.h"

struct uvzk__leader_report;

struct uvzk__leader_cache {
    struct uvzk__reading reading;
    const struct uvzk__directory_kind *kind; /* whose names the participants have */
    struct uvzk__link reports;               /* struct uvzk__leader_report */
    struct uvzk__timer no_memory; /* makes the reports again, one of which failed */
    char *first; /* full path of the first in the last listing; NULL: none yet */
    struct uvzk__known_participant *leader; /* NULL: none */
    bool on_children;                       /* the next listing watches the children */
    bool missing;                           /* the last get did not find `first` */
};

/* Requests may be sent again. */
void uvzk__leader_caches_resume(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Adds the report to the leader cache of this directory, which is made if it is missing.
 * Returns 0; UV_EINVAL: there is one, of another kind; UV_ENOMEM. */
int uvzk__leader_cache_join(struct uvzk__leader_report *, struct uvzk__session *,
                            const struct uvzk__participant_directory *);

/* Ends the cache if it has no reports left. */
void uvzk__leader_cache_end_unused(struct uvzk__leader_cache *);

/* The last known leader, valid while the reading is pinned; NULL: none. */
const uvzk_election_participant_t *
uvzk__leader_cache_leader(const struct uvzk__leader_cache *);

/* A report failed because memory ran out: all reports are made again after a pause. */
void uvzk__leader_cache_tell_later(struct uvzk__leader_cache *);

#endif
