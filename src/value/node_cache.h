/* SPDX-License-Identifier: Apache-2.0 */
/* The client's copy of one znode's data (Curator's NodeCache): a reading (reading.h). All
 * shared values of this client on the same path share it. The requests of a reading, besides
 * the sets of the values:
 *
 *   get       sets the watch, if none is set
 *   create    the znode is missing, and there is a seed to write; missing ancestors are
 *             created first, each by a request of its own
 *   exists    the znode is missing or unreadable, or the seed was refused: get sets no watch
 *             in this case, but exists does
 *
 * A znode that can neither be read nor be watched is read at growing intervals, up to one
 * session timeout. A set that has found another version wants a reading too.
 *
 * Data that are read replace the known data only if their mzxid is larger. The version number
 * cannot decide that: it starts again when the znode is created again, and it wraps
 * around (ZOOKEEPER-4743). A smaller mzxid means that the server lags and shows older
 * data. So what is known never goes back, and a later change fires the watch. */
#ifndef UVZK_NODE_CACHE_H
#define UVZK_NODE_CACHE_H

#include "engine/node_create.h"
#include "engine/reading.h"
#include "engine/session.h"

/* The value with which a node cache creates its znode if the znode is missing (Curator's
 * seedValue). The creates are requests of the reading. */
struct uvzk__seed_value {
    void *data; /* the data for a missing znode; NULL: nothing is left to write */
    size_t length;
    struct uvzk__node_create create; /* of the znode */
    int refusal;                     /* why the seed could not be written; 0 */
};

struct uvzk__node_cache {
    struct uvzk__reading reading;
    struct uvzk__link values; /* the shared values on this path */
    struct uvzk__seed_value seed;
    void *data; /* the newest known data */
    size_t length;
    uvzk_value_version_t version; /* of `data`; its mzxid is 0 before the first read */
    int64_t owner; /* of the znode with `data`: its session; 0: it is not ephemeral */
    int status;    /* why the znode cannot be read now; 0: it can */
    bool answered; /* the outcome of the first read is known: sets may be sent */
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

/* The node cache that has this reading. */
static inline struct uvzk__node_cache *uvzk__node_cache_at(struct uvzk__reading *reading)
{
    return UVZK__CONTAINER_OF(reading, struct uvzk__node_cache, reading);
}

/* The node cache of this full path. NULL: there is none. */
struct uvzk__node_cache *uvzk__node_cache_find(const struct uvzk__session *,
                                               const char *path);

/* Returns the node cache of this full path, and makes a missing one. A new one must get a
 * value, or be ended. NULL: out of memory. */
struct uvzk__node_cache *uvzk__node_cache_of(struct uvzk__session *, const char *path);

/* Takes ownership of a seed, which is written if the znode is found to be missing. While
 * one seed is waiting to be written, further ones are freed. */
void uvzk__seed_value_set(struct uvzk__node_cache *, void *data, size_t length);

/* Sends the sets and the read that are due, if anything may be sent. */
void uvzk__node_cache_pump(struct uvzk__node_cache *);

/* A set found another version on the server: the znode is read again. */
void uvzk__node_cache_read_again(struct uvzk__node_cache *);

/* Returns true if the last read was sent on the present connection, and no other one is
 * due. */
bool uvzk__node_cache_is_read(const struct uvzk__node_cache *);

/* The znode had these data after the transaction in the stat. Takes ownership of the
 * data, and frees them if they are not newer than the known ones. Notifies the values of
 * a change. */
void uvzk__node_cache_update(struct uvzk__node_cache *, const struct uvzk__stat *,
                             void *data, size_t length);

/* Ends the node cache if it has no values left. Its watch is removed. */
void uvzk__node_cache_end_unused(struct uvzk__node_cache *);

#endif
