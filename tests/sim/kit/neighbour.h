/* Another library's client in the same ensemble: it knows nothing of src/, and sends
 * over port.h the requests of Curator, of kazoo or of go-zookeeper, in their order and
 * with their faults.
 *
 *   neighbour   a process: one session after the other, requests that are repeated as
 *               the library does it, deletes in the background, watches
 *   standing    one ephemeral znode of it in one directory: made, searched for when a
 *               reply was lost, listed for until it may hold     (neighbour_standing.c)
 *   attempt     what one of its threads asks of one lock, and then holds: one standing, or
 *               a ticket and leases                              (neighbour_attempt.c)
 *
 * As there, nobody tells a holder that it has lost its lock, but the connection's states
 * are told: SUSPENDED when the connection is lost, LOST when the session has expired or
 * T after that, whereupon a new session is opened and the old one left to itself. All
 * that is promised is a hold until SUSPENDED is told. */
#ifndef UVZK_NEIGHBOUR_H
#define UVZK_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sim.h"

#define NEIGHBOUR_LEASES_MAX 6U
#define NEIGHBOUR_NAME_MAX 96U
#define NEIGHBOUR_PATH_MAX 256U

struct neighbour;
struct standing;
struct attempt;

enum neighbour_library { CURATOR, KAZOO, GO_ZOOKEEPER };

/* ------------------------------------------------------------------ the process */

/* A request that leaves when there is a connection. One at a time; zeroed before its
 * first use. */
struct call {
    struct uvzk__rpc rpc;
    struct uvzk__link link; /* of neighbour->calls, while it waits to leave */
    struct neighbour *neighbour;
    const char *watcher; /* the directory that it leaves a watch for; NULL: none */
    uint64_t due_ms, give_up_ms;
    void (*answered)(struct call *, const struct uvzk__reply *);
};

struct neighbour {
    struct uvzk__port_user user;
    struct sim *sim;
    struct uvzk__port *port; /* NULL once closed */
    const char *name;
    enum neighbour_library library;
    uint32_t timeout_ms; /* of its sessions */
    bool connected, closing;
    int64_t session_id;          /* the latest */
    uint64_t lost_ms;            /* when SUSPENDED becomes LOST; UINT64_MAX */
    uint64_t retry_ms;           /* between two tries of a request; 100 */
    unsigned retries;            /* so often; 3 */
    struct uvzk__link calls;     /* that wait to leave */
    struct uvzk__link standings; /* in use */
    struct uvzk__link holds;     /* attempts */
    struct uvzk__link sights;    /* watches */
    struct uvzk__link chores;    /* searches and deletes in the background */
};

/* The name is borrowed. It opens its first session. */
void neighbour_begin(struct neighbour *neighbour, struct sim *sim, const char *name,
                     enum neighbour_library library, uint32_t timeout_ms);
/* Every attempt is forgotten, untold. The memory is the caller's again once
 * neighbour->port is NULL. */
void neighbour_close(struct neighbour *neighbour);

/* Sends it after_ms from now. An answer with ECONNLOSS may mean that there was no
 * connection for as long as T/2. */
void neighbour_call(struct neighbour *neighbour, struct call *call, uint64_t after_ms);
/* Whether the library would repeat a request that was answered so. */
bool neighbour_may_retry(int status);

/* Until it is gone, whatever it takes: the znode; or whichever one in the directory has
 * a name that begins so. */
void neighbour_delete(struct neighbour *neighbour, const char *path);
void neighbour_search_and_delete(struct neighbour *neighbour, const char *directory,
                                 const char *prefix);

/* Whether a watch stands on the path. All those of a directory are given up, as an instance
 * of Curator's does with its own: whoever waits for one looks again. */
bool neighbour_watches(const struct neighbour *neighbour, const char *path);
void neighbour_unwatch_all(struct neighbour *neighbour, const char *directory);

/* ------------------------------------------------------------------- a standing */

enum standing_step {
    AT_REST,
    CREATING,
    SEARCHING,
    MAKING_PARENTS,
    LISTING,
    WATCHING,
    WAITING,
    STANDING
};

/* Who may hold in such a directory. */
struct standing_rule {
    const char *token; /* in the name, before the number */
    bool watches_all;  /* the listing itself leaves a watch on the directory */
    /* names are sorted by their numbers; mine is the index of the own one. Whether it
     * may hold; if not, *obstacle may become the name to watch. */
    bool (*may_hold)(const struct standing *, const char *const *names, size_t count,
                     size_t mine, const char **obstacle);
};
extern const struct standing_rule neighbour_mutex_rule, neighbour_read_rule,
    neighbour_write_rule, neighbour_lease_rule;

/* Zeroed before its first use. */
struct standing {
    struct neighbour *neighbour;
    const struct standing_rule *rule;
    struct uvzk__link link;
    struct call call;
    enum standing_step step;
    unsigned tries;     /* of the request under way */
    unsigned starts;    /* with a new znode, since the own one was missing */
    int64_t session_id; /* of the latest create */
    uint64_t deadline_ms;
    bool parents_made;
    char directory[NEIGHBOUR_PATH_MAX];
    char prefix[NEIGHBOUR_NAME_MAX]; /* of the name */
    char wanted[NEIGHBOUR_PATH_MAX]; /* what is created */
    char watched[NEIGHBOUR_PATH_MAX];
    char parent[NEIGHBOUR_PATH_MAX]; /* that is being made */
    char path[NEIGHBOUR_PATH_MAX];   /* of the znode; "": none is known */
    /* Set before it begins: */
    uint32_t limit;  /* leases */
    char number[16]; /* "": the server's; else the writer's, whose reader it is */
    void (*told)(struct standing *, int status); /* 0: it may hold; else it is over */
    void *data;
};

void standing_begin(struct standing *standing, struct neighbour *neighbour,
                    const struct standing_rule *rule, const char *directory,
                    uint64_t deadline_ms);
/* It may hold, and no longer wants to. */
void standing_end(struct standing *standing);
/* By the neighbour: a watch of its directory came, or the connection's state changed;
 * the deadline has passed. */
void standing_wake(struct standing *standing);
void standing_expired(struct standing *standing); /* its session */
void standing_out_of_time(struct standing *standing);

/* -------------------------------------------------------------------- an attempt */

enum neighbour_lock {
    NEIGHBOUR_MUTEX,
    NEIGHBOUR_READ,
    NEIGHBOUR_WRITE,
    NEIGHBOUR_SEMAPHORE
};

/* Zeroed before its first use; may be used again when it is over. */
struct attempt {
    struct neighbour *neighbour;
    struct uvzk__link link;
    struct standing ticket; /* or all there is */
    struct standing leases[NEIGHBOUR_LEASES_MAX];
    struct standing reader; /* of a writer that becomes one */
    enum neighbour_lock lock;
    char path[NEIGHBOUR_PATH_MAX];
    uint32_t wanted, got, limit;
    unsigned starts;
    uint64_t deadline_ms;
    bool busy;      /* asked for, or to read instead, and not told yet */
    bool held;      /* told 0, and not let go */
    bool suspended; /* ... and the neighbour has been told SUSPENDED since */
    void (*told)(struct attempt *, int status); /* 0: acquired */
    void *data;
};

/* Of a semaphore: so many leases of a limit; else both are 1. */
void attempt_begin(struct attempt *attempt, struct neighbour *neighbour,
                   enum neighbour_lock lock, const char *path, uint32_t leases,
                   uint32_t limit, uint64_t timeout_ms);
void attempt_release(struct attempt *attempt);
/* A writer that holds reads as well, as Curator 5.5 and later do it: with the writer's own
 * number, and granted whatever has become of the writer. Then the write is released, and
 * it is told; or that it has come to nothing. It is not released meanwhile. */
void attempt_downgrade(struct attempt *attempt);
/* How many of its znodes make it a holder at this moment: it was told so, has not been
 * told SUSPENDED, and they stand. */
uint32_t attempt_valid(const struct attempt *attempt);
/* Whether it holds this znode, or would if it stood. */
bool attempt_is_on(const struct attempt *attempt, const char *path);
/* The czxid of its first znode, 0 if there is none. */
int64_t attempt_token(const struct attempt *attempt);

#endif
