/* Who leads at one path: the client's copy of the first znode in an election's queue. All
 * elections of this client on the path that have a changed_cb share it. It has at most
 * one request under way:
 *
 *   IDLE --> LISTING --> IDLE         the first in the queue is known; none is in it
 *               |------> READING --> IDLE   the data of the first, by a get
 *               `------> LOOKING --> IDLE   the path does not exist: by an exists
 *
 * The get sets a watch on the znode of the first, so only the end of that znode wakes the
 * followers, not every change in the queue. If the queue is empty, the listing watches
 * the children; if the path does not exist, the exists watches it.
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

#include "base/machine.h"
#include "base/table.h"
#include "claim/participant.h"
#include "election/known_participant.h"
#include "engine/growing_pause.h"
#include "engine/session.h"
#include "engine/watch.h"

struct uvzk__leader_report;

enum uvzk__leader_cache_state {
    UVZK__LEADER_CACHE_IDLE, /* no request is under way */
    UVZK__LEADER_CACHE_LISTING,
    UVZK__LEADER_CACHE_READING,
    UVZK__LEADER_CACHE_LOOKING
};

extern const struct uvzk__machine uvzk__leader_cache_machine;

struct uvzk__leader_cache {
    struct uvzk__session *session;
    UT_hash_handle hh; /* in session->elections->leader_caches, by the path */
    const struct uvzk__directory_kind *kind; /* whose names the participants have */
    struct uvzk__link reports;               /* struct uvzk__leader_report */
    struct uvzk__rpc rpc;                    /* the request under way */
    struct uvzk__renewed_watcher renewed;
    struct uvzk__growing_pause pause; /* before a failed request is repeated */
    char *path;                       /* of the election, namespace included */
    char *first; /* full path of the first in the last listing; NULL: none yet */
    struct uvzk__known_participant *leader; /* NULL: none */
    uint64_t read_stamp;                    /* of the last listing (submission.h) */
    uint32_t refs;    /* requests under way, and callbacks that use it */
    uint8_t state;    /* enum uvzk__leader_cache_state */
    bool read_again;  /* a listing is due */
    bool on_children; /* the next listing watches the children */
    bool missing;     /* the last get did not find `first` */
    bool ended;       /* it has no reports left, and is freed when refs is 0 */
};

/* ------------------------------------------------------------ for this room alone */

/* Sets the callbacks of a new cache. */
void uvzk__leader_cache_init(struct uvzk__leader_cache *);

/* Ends a cache that has no reports and is no longer in the table: removes its watch, and
 * frees it when it is not pinned. free: of one that was never used. */
void uvzk__leader_cache_end(struct uvzk__leader_cache *);
void uvzk__leader_cache_free(struct uvzk__leader_cache *);

/* The last known leader, valid while the cache is pinned; NULL: none. */
const uvzk_election_participant_t *
uvzk__leader_cache_leader(const struct uvzk__leader_cache *);

/* Sends the request that is due, if anything may be sent. */
void uvzk__leader_cache_pump(struct uvzk__leader_cache *);

/* What happens to the session, see leader_caches.h. */
void uvzk__leader_cache_resume(struct uvzk__leader_cache *);

/* A report failed because memory ran out: all reports are made again after a pause. */
void uvzk__leader_cache_tell_later(struct uvzk__leader_cache *);

/* The struct is not freed between pin and unpin. */
void uvzk__leader_cache_pin(struct uvzk__leader_cache *);
void uvzk__leader_cache_unpin(struct uvzk__leader_cache *);

#endif
