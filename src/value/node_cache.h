/* The client's copy of one znode's data (Curator's NodeCache). All shared values of this
 * client on the same path share it. It has at most one request under way, besides the
 * sets of the values:
 *
 *   IDLE --> READING --> IDLE         read; or no answer: repeated after a pause, or when
 *               |                     connected again
 *               |------> SEEDING --> IDLE   the znode is missing, and there is a seed to
 *               |           |               write; missing ancestors are created first
 *               |           `------> LOOKING   the seed was refused
 *               `------> LOOKING --> IDLE   missing or unreadable: get sets no watch in
 *                                           this case, but exists does
 *
 * A znode that can neither be read nor be watched is read at growing intervals, up to one
 * session timeout.
 *
 * A read is due while no watch is set, which is the case after each watch event; when no
 * read has been sent on this connection; and when a set has found another version. Data
 * that are read replace the known data only if their mzxid is larger. The version number
 * cannot decide that: it starts again when the znode is created again, and it wraps
 * around (ZOOKEEPER-4743). A smaller mzxid means that the server lags and shows older
 * data. */
#ifndef UVZK_NODE_CACHE_H
#define UVZK_NODE_CACHE_H

#include "base/machine.h"
#include "base/table.h"
#include "engine/growing_pause.h"
#include "engine/session.h"
#include "engine/watch.h"
#include "value/seed_value.h"

enum uvzk__node_cache_state {
    /* No request is under way. */
    UVZK__NODE_CACHE_IDLE,
    UVZK__NODE_CACHE_READING,
    UVZK__NODE_CACHE_SEEDING,
    UVZK__NODE_CACHE_LOOKING
};

extern const struct uvzk__machine uvzk__node_cache_machine;

struct uvzk__node_cache {
    struct uvzk__session *session;
    UT_hash_handle hh;        /* in session->node_caches, by the full path */
    struct uvzk__link values; /* the shared values on this path */
    /* Of the request under way. */
    struct uvzk__rpc rpc;
    struct uvzk__renewed_watcher renewed;
    struct uvzk__growing_pause pause; /* before a failed request is repeated */
    /* Namespace included. */
    char *path;
    struct uvzk__seed_value seed;
    void *data; /* the newest known data */
    size_t length;
    uvzk_value_version_t version; /* of `data`; its mzxid is 0 before the first read */
    int64_t owner; /* of the znode with `data`: its session; 0: it is not ephemeral */
    uint64_t read_stamp; /* the stamp of the last read (submission.h) */
    int status;          /* why the znode cannot be read now; 0: it can */
    /* Requests under way that refer to this struct, those of sets included. */
    uint32_t refs;
    uint8_t state; /* enum uvzk__node_cache_state */
    bool answered; /* the outcome of the first read is known: sets may be sent */
    /* A read is due although a watch is set. */
    bool read_again;
    bool ended; /* it has no values left, and is freed when refs is 0 */
};

/* For all node caches of the session: the session has ended. assumed: it must be assumed
 * to have ended, although it may live. */
void uvzk__node_caches_session_ended(struct uvzk__session *, bool assumed);
/* resume: a connection is ready, or a pause of the whole session is over. */
void uvzk__node_caches_resume(struct uvzk__session *);
/* unreachable: no connection will come, or not soon. The undecided sets end with this
 * code, and the values report it. */
void uvzk__node_caches_unreachable(struct uvzk__session *, int code);

/* ------------------------------------------------------------ for this room alone */

/* The node cache of this full path. NULL: there is none. */
struct uvzk__node_cache *uvzk__node_cache_find(const struct uvzk__session *,
                                               const char *path);

/* Returns the node cache of this full path, and makes a missing one. A new one must get a
 * value, or be ended. NULL: out of memory. */
struct uvzk__node_cache *uvzk__node_cache_of(struct uvzk__session *, const char *path);

/* Sends the sets and the read that are due, if anything may be sent. */
void uvzk__node_cache_pump(struct uvzk__node_cache *);

/* A set found another version on the server: the znode is read again. */
void uvzk__node_cache_read_again(struct uvzk__node_cache *);

/* Returns true if the last read was sent on the present connection, and no other one is
 * due. */
bool uvzk__node_cache_is_read(const struct uvzk__node_cache *);

/* A request on the znode failed for a temporary reason: pumps again after 100 ms, and
 * sends no read before that. */
void uvzk__node_cache_retry_later(struct uvzk__node_cache *);

/* The znode had these data after the transaction in the stat. Takes ownership of the
 * data, and frees them if they are not newer than the known ones. Notifies the values of
 * a change. */
void uvzk__node_cache_update(struct uvzk__node_cache *, const struct uvzk__stat *,
                             void *data, size_t length);

/* A request that uses the path is under way: the struct is not freed before unpin. */
void uvzk__node_cache_pin(struct uvzk__node_cache *);
void uvzk__node_cache_unpin(struct uvzk__node_cache *);

/* Ends the node cache if it has no values left. Its watch is removed. */
void uvzk__node_cache_end_unused(struct uvzk__node_cache *);

#endif
