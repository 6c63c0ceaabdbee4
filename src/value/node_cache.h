/* The client's copy of one znode's data; all shared values of this client on that
 * path have it in common. One request at a time, beside the sets of the values:
 *
 *   IDLE --> READING --> IDLE         read, or no answer: again after a rest, or when
 *               |                     connected again
 *               |------> SEEDING --> IDLE   missing, and there is a seed to write;
 *               |           |               ancestors are made on the way
 *               |           `------> LOOKING   the seed was refused
 *               `------> LOOKING --> IDLE   missing or unreadable: get leaves no watch
 *                                           then, but exists does
 *
 * A watch renewal is taken at what is under watch (watch_renewal.h); what may not be watched
 * either is asked for ever more rarely, down to once in a session timeout.
 *
 * A read is due whenever no watch stands, as after each event, whenever none was
 * answered on this connection, and when a set found another version. What is read
 * replaces what is known only if its mzxid is larger: the version number starts anew
 * when the znode is made again, and wraps around (ZOOKEEPER-4743); a server that lags
 * behind shows older data. */
#ifndef UVZK_NODE_CACHE_H
#define UVZK_NODE_CACHE_H

#include "base/machine.h"
#include "base/table.h"
#include "engine/session.h"

enum uvzk__node_cache_state {
    UVZK__NODE_CACHE_IDLE,
    UVZK__NODE_CACHE_READING,
    UVZK__NODE_CACHE_SEEDING,
    UVZK__NODE_CACHE_LOOKING
};

enum uvzk__node_cache_watch_state {
    UVZK__NODE_CACHE_UNWATCHED, /* next: ARMING */
    UVZK__NODE_CACHE_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__NODE_CACHE_ARMED      /* next: UNWATCHED */
};

/* Of its request, and of its watch. */
extern const struct uvzk__machine uvzk__node_cache_machine,
    uvzk__node_cache_watch_machine;

struct uvzk__node_cache {
    struct uvzk__session *session;
    UT_hash_handle hh;        /* in session->node_caches, by path */
    struct uvzk__link values; /* shared values */
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct uvzk__timer retry_timer;   /* before a failed request is repeated */
    struct uvzk__timer watch_renewal; /* while the watch stands */
    char *path;
    char *creating_path;  /* path, or the ancestor of it that is being made */
    struct uvzk__acl acl; /* of that, acl.h */
    void *seed;           /* NULL: none left to be written */
    size_t seed_length;
    void *data; /* the last that is known */
    size_t length;
    uvzk_value_version_t version; /* of it; its mzxid is 0 as long as there is none */
    uint64_t read_stamp;          /* the stamp when the last read was submitted */
    uint64_t retry_ms;            /* how long it rests after a refusal; 0: none yet */
    int status;                   /* why it cannot be read now; 0 */
    int refusal;                  /* why the seed could not be written; 0 */
    uint32_t refs;                /* requests under way that point here */
    uint8_t state;                /* enum uvzk__node_cache_state */
    uint8_t watch_state;          /* enum uvzk__node_cache_watch_state */
    bool answered;                /* the servers have said how things are */
    bool read_again;
    bool retry_pending;
    bool ended; /* freed as soon as nothing points here */
};

/* The node cache of this path, made if need be; NULL when out of memory. */
struct uvzk__node_cache *uvzk__node_cache_of(struct uvzk__session *, const char *path);

/* Whether there is one. */
bool uvzk__node_cache_exists(const struct uvzk__session *, const char *path);

/* Takes a seed, to be written if the znode is found missing; the first one counts. */
void uvzk__node_cache_seed(struct uvzk__node_cache *, void *seed, size_t length);

/* It cannot be read now, and why. */
static inline void uvzk__node_cache_refused(struct uvzk__node_cache *node_cache,
                                            int status)
{
    node_cache->status = status;
}

/* Sends what is due, if anything may be sent. */
void uvzk__node_cache_pump(struct uvzk__node_cache *);

/* A set found another version than it asked for. */
void uvzk__node_cache_read_again(struct uvzk__node_cache *);

/* A request on its znode was refused for a reason that passes. */
void uvzk__node_cache_retry_later(struct uvzk__node_cache *);

/* The znode had this data, which is taken, after the transaction in the stat. */
void uvzk__node_cache_update(struct uvzk__node_cache *, const struct uvzk__stat *,
                             void *data, size_t length);

/* While a request under way uses its path. */
void uvzk__node_cache_pin(struct uvzk__node_cache *);
void uvzk__node_cache_unpin(struct uvzk__node_cache *);

/* Ends it if it has no values any more: no watch is left. */
void uvzk__node_cache_end_unused(struct uvzk__node_cache *);

/* Of all of a client. Its watches are gone, with the session or without. */
void uvzk__node_caches_watches_lost(struct uvzk__session *);
/* Connected, or a pause is over. */
void uvzk__node_caches_resume(struct uvzk__session *);
/* There is no connection to come, or not soon: who waits for one is told. */
void uvzk__node_caches_unreachable(struct uvzk__session *, int code);

#endif
