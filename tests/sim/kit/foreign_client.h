/* Another library's client in the same ensemble: it knows nothing of src/, and sends
 * over port.h the requests of Curator, of kazoo or of go-zookeeper, in their order and
 * with their faults.
 *
 *   neighbour   a process: one session after the other, requests that are repeated as
 *               the library does it, deletes in the background, watches
 *   standing    one ephemeral znode of it in one directory: made, searched for when a
 *               reply was lost, listed for until it may hold     (foreign_contender.c)
 *   attempt     what one of its threads asks of one lock, and then holds: one standing, or
 *               a ticket and leases                              (foreign_claim.c)
 *
 * As there, nobody tells a holder that it has lost its lock, but the connection's states
 * are told: SUSPENDED when the connection is lost, LOST when the session has expired or
 * T after that, whereupon a new session is opened and the old one left to itself. All
 * that is promised is a hold until SUSPENDED is told. */
#ifndef UVZK_FOREIGN_CLIENT_H
#define UVZK_FOREIGN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sim.h"

#define FOREIGN_LEASES_MAX 6U
#define FOREIGN_NAME_MAX 96U
#define FOREIGN_PATH_MAX 256U

struct foreign_client;
struct foreign_contender;
struct foreign_claim;

enum foreign_library { CURATOR, KAZOO, GO_ZOOKEEPER };

/* ------------------------------------------------------------------ the process */

/* A request that leaves when there is a connection. One at a time; zeroed before its
 * first use. */
struct call {
    struct uvzk__rpc rpc;
    struct uvzk__link link; /* of foreign_client->calls, while it waits to leave */
    struct foreign_client *foreign_client;
    const char *watcher; /* the directory that it leaves a watch for; NULL: none */
    uint64_t due_ms, give_up_ms;
    void (*answered)(struct call *, const struct uvzk__reply *);
};

struct foreign_client {
    struct uvzk__port_user user;
    struct sim *sim;
    struct uvzk__port *port; /* NULL once closed */
    const char *name;
    enum foreign_library library;
    uint32_t timeout_ms; /* of its sessions */
    bool connected, closing;
    int64_t session_id;                   /* the latest */
    uint64_t lost_ms;                     /* when SUSPENDED becomes LOST; UINT64_MAX */
    uint64_t retry_ms;                    /* between two tries of a request; 100 */
    unsigned retries;                     /* so often; 3 */
    struct uvzk__link calls;              /* that wait to leave */
    struct uvzk__link contenders;         /* in use */
    struct uvzk__link holds;              /* attempts */
    struct uvzk__link watches;            /* watches */
    struct uvzk__link background_deletes; /* searches and deletes in the background */
};

/* The name is borrowed. It opens its first session. */
void foreign_client_begin(struct foreign_client *foreign_client, struct sim *sim,
                          const char *name, enum foreign_library library,
                          uint32_t timeout_ms);
/* Every attempt is forgotten, untold. The memory is the caller's again once
 * foreign_client->port is NULL. */
void foreign_client_close(struct foreign_client *foreign_client);

/* Sends it after_ms from now. An answer with ECONNLOSS may mean that there was no
 * connection for as long as T/2. */
void foreign_client_call(struct foreign_client *foreign_client, struct call *call,
                         uint64_t after_ms);
/* Whether the library would repeat a request that was answered so. */
bool foreign_client_may_retry(int status);

/* Until it is gone, whatever it takes: the znode; or whichever one in the directory has
 * a name that begins so. */
void foreign_client_delete(struct foreign_client *foreign_client, const char *path);
void foreign_client_search_and_delete(struct foreign_client *foreign_client,
                                      const char *directory, const char *prefix);

/* Whether a watch stands on the path. All those of a directory are given up, as an instance
 * of Curator's does with its own: whoever waits for one looks again. */
bool foreign_client_watches(const struct foreign_client *foreign_client,
                            const char *path);
void foreign_client_unwatch_all(struct foreign_client *foreign_client,
                                const char *directory);

/* ------------------------------------------------------------------- a standing */

enum foreign_step {
    NOT_STARTED,
    CREATING,
    SEARCHING,
    CREATING_PARENTS,
    LISTING,
    WATCHING,
    WAITING,
    STANDING
};

/* Who may hold in such a directory. */
struct foreign_rule {
    const char *name_prefix; /* in the name, before the number */
    bool watches_all;        /* the listing itself leaves a watch on the directory */
    /* names are sorted by their numbers; mine is the index of the own one. Whether it
     * may hold; if not, *obstacle may become the name to watch. */
    bool (*may_hold)(const struct foreign_contender *, const char *const *names,
                     size_t count, size_t mine, const char **obstacle);
};
extern const struct foreign_rule foreign_mutex_rule, foreign_read_rule,
    foreign_write_rule, foreign_lease_rule;

/* Zeroed before its first use. */
struct foreign_contender {
    struct foreign_client *foreign_client;
    const struct foreign_rule *rule;
    struct uvzk__link link;
    struct call call;
    enum foreign_step step;
    unsigned tries;     /* of the request under way */
    unsigned starts;    /* with a new znode, since the own one was missing */
    int64_t session_id; /* of the latest create */
    uint64_t deadline_ms;
    bool parents_made;
    char directory[FOREIGN_PATH_MAX];
    char prefix[FOREIGN_NAME_MAX]; /* of the name */
    char wanted[FOREIGN_PATH_MAX]; /* what is created */
    char watched[FOREIGN_PATH_MAX];
    char parent[FOREIGN_PATH_MAX]; /* that is being made */
    char path[FOREIGN_PATH_MAX];   /* of the znode; "": none is known */
    /* Set before it begins: */
    uint32_t limit;  /* leases */
    char number[16]; /* "": the server's; else the writer's, whose reader it is */
    void (*told)(struct foreign_contender *,
                 int status); /* 0: it may hold; else it is over */
    void *data;
};

void foreign_contender_begin(struct foreign_contender *contender,
                             struct foreign_client *foreign_client,
                             const struct foreign_rule *rule, const char *directory,
                             uint64_t deadline_ms);
/* It may hold, and no longer wants to. */
void foreign_contender_end(struct foreign_contender *contender);
/* By the neighbour: a watch of its directory came, or the connection's state changed;
 * the deadline has passed. */
void foreign_contender_wake(struct foreign_contender *contender);
void foreign_contender_expired(struct foreign_contender *contender); /* its session */
void foreign_contender_timed_out(struct foreign_contender *contender);

/* -------------------------------------------------------------------- an attempt */

enum foreign_lock { FOREIGN_MUTEX, FOREIGN_READ, FOREIGN_WRITE, FOREIGN_SEMAPHORE };

/* Zeroed before its first use; may be used again when it is over. */
struct foreign_claim {
    struct foreign_client *foreign_client;
    struct uvzk__link link;
    struct foreign_contender ticket; /* or all there is */
    struct foreign_contender leases[FOREIGN_LEASES_MAX];
    struct foreign_contender reader; /* of a writer that becomes one */
    enum foreign_lock lock;
    char path[FOREIGN_PATH_MAX];
    uint32_t wanted, got, limit;
    unsigned starts;
    uint64_t deadline_ms;
    bool busy;      /* asked for, or to read instead, and not told yet */
    bool held;      /* told 0, and not let go */
    bool suspended; /* ... and the neighbour has been told SUSPENDED since */
    void (*told)(struct foreign_claim *, int status); /* 0: acquired */
    void *data;
};

/* Of a semaphore: so many leases of a limit; else both are 1. */
void foreign_claim_begin(struct foreign_claim *claim,
                         struct foreign_client *foreign_client, enum foreign_lock lock,
                         const char *path, uint32_t leases, uint32_t limit,
                         uint64_t timeout_ms);
void foreign_claim_release(struct foreign_claim *claim);
/* A writer that holds reads as well, as Curator 5.5 and later do it: with the writer's own
 * number, and granted whatever has become of the writer. Then the write is released, and
 * it is told; or that it has come to nothing. It is not released meanwhile. */
void foreign_claim_downgrade(struct foreign_claim *claim);
/* How many of its znodes make it a holder at this moment: it was told so, has not been
 * told SUSPENDED, and they stand. */
uint32_t foreign_claim_valid(const struct foreign_claim *claim);
/* Whether it holds this znode, or would if it stood. */
bool foreign_claim_is_on(const struct foreign_claim *claim, const char *path);
/* The czxid of its first znode, 0 if there is none. */
int64_t foreign_claim_token(const struct foreign_claim *claim);

#endif
