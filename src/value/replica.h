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
 * A second look is taken at what is under watch (second_look.h); what may not be watched
 * either is asked for ever more rarely, down to once in a session timeout.
 *
 * A read is due whenever no watch stands, as after each event, whenever none was
 * answered on this connection, and when a set found another version. What is read
 * replaces what is known only if its mzxid is larger: the version number starts anew
 * when the znode is made again, and wraps around (ZOOKEEPER-4743); a server that lags
 * behind shows older data. */
#ifndef UVZK_REPLICA_H
#define UVZK_REPLICA_H

#include "base/machine.h"
#include "base/table.h"
#include "engine/client.h"

enum uvzk__replica_doing {
    UVZK__REPLICA_IDLE,
    UVZK__REPLICA_READING,
    UVZK__REPLICA_SEEDING,
    UVZK__REPLICA_LOOKING
};

enum uvzk__replica_watching {
    UVZK__REPLICA_UNWATCHED, /* next: ARMING */
    UVZK__REPLICA_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__REPLICA_ARMED      /* next: UNWATCHED */
};

/* Of its request, and of its watch. */
extern const struct uvzk__machine uvzk__replica_machine, uvzk__replica_watch_machine;

struct uvzk__replica {
    struct uvzk__client *client;
    UT_hash_handle hh;        /* in client->replicas, by path */
    struct uvzk__link values; /* shared values */
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct uvzk__timed rest;        /* before a failed request is repeated */
    struct uvzk__timed second_look; /* while the watch stands */
    char *path;
    char *making;         /* path, or the ancestor of it that is being made */
    struct uvzk__acl acl; /* of that, acl.h */
    void *seed;           /* NULL: none left to be written */
    size_t seed_length;
    void *data; /* the last that is known */
    size_t length;
    uvzk_value_version_t version; /* of it; its mzxid is 0 as long as there is none */
    uint64_t read_stamp;          /* the stamp when the last read was submitted */
    uint64_t refused_ms;          /* how long it rests after a refusal; 0: none yet */
    int status;                   /* why it cannot be read now; 0 */
    int refusal;                  /* why the seed could not be written; 0 */
    uint32_t pins;                /* requests under way that point here */
    uint8_t doing;                /* enum uvzk__replica_doing */
    uint8_t watching;             /* enum uvzk__replica_watching */
    bool answered;                /* the servers have said how things are */
    bool read_again;
    bool resting;
    bool ended; /* freed as soon as nothing points here */
};

/* The replica of this path, made if need be; NULL when out of memory. */
struct uvzk__replica *uvzk__replica_of(struct uvzk__client *, const char *path);

/* Whether there is one. */
bool uvzk__replica_exists(const struct uvzk__client *, const char *path);

/* Takes a seed, to be written if the znode is found missing; the first one counts. */
void uvzk__replica_seed(struct uvzk__replica *, void *seed, size_t length);

/* It cannot be read now, and why. */
static inline void uvzk__replica_refused(struct uvzk__replica *replica, int status)
{
    replica->status = status;
}

/* Sends what is due, if anything may be sent. */
void uvzk__replica_pump(struct uvzk__replica *);

/* A set found another version than it asked for. */
void uvzk__replica_read_again(struct uvzk__replica *);

/* A request on its znode was refused for a reason that passes. */
void uvzk__replica_rest(struct uvzk__replica *);

/* The znode had this data, which is taken, after the transaction in the stat. */
void uvzk__replica_learn(struct uvzk__replica *, const struct uvzk__stat *, void *data,
                         size_t length);

/* While a request under way uses its path. */
void uvzk__replica_pin(struct uvzk__replica *);
void uvzk__replica_unpin(struct uvzk__replica *);

/* Ends it if it has no values any more: no watch is left. */
void uvzk__replica_end_unused(struct uvzk__replica *);

/* Of all of a client. Its watches are gone, with the session or without. */
void uvzk__replicas_watches_lost(struct uvzk__client *);
/* Connected, or a pause is over. */
void uvzk__replicas_resume(struct uvzk__client *);
/* There is no connection to come, or not soon: who waits for one is told. */
void uvzk__replicas_out_of_reach(struct uvzk__client *, int code);

#endif
