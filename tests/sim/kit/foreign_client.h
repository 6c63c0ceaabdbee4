/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated client of another library in the same ensemble. It uses nothing of src/
 * except base/list.h and port.h. Over port.h it sends the requests of Curator, kazoo or
 * go-zookeeper, in the order in which the library sends them, and with the library's
 * faults.
 *
 *   foreign_client      a process: one session after the other, requests that are
 *                       repeated as the library does it, background deletes, watches
 *   foreign_contender   one ephemeral znode of a client in one directory: created,
 *                       searched for if a reply was lost, listed until it may hold
 *                       (foreign_contender.c)
 *   foreign_claim       what one thread of a client acquires of one lock and then holds:
 *                       one contender, or a ticket and leases (foreign_claim.c)
 *
 * As in these libraries, no callback reports the loss of a lock. Only the states of the
 * connection are reported: SUSPENDED when the connection is lost; LOST when the session
 * has expired, or T after SUSPENDED (T: the session timeout). At LOST the client opens a
 * new session and leaves the old one to the server. The libraries promise that a hold is
 * valid until SUSPENDED, and nothing more. */
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

/* A request that is sent when there is a connection. May be submitted again when it has
 * been answered. Must be zeroed before its first use. */
struct call {
    struct uvzk__rpc rpc;
    struct uvzk__link link; /* in foreign_client->calls, while it waits to be sent */
    struct foreign_client *foreign_client;
    /* The directory for whose contenders the request arms a watch on rpc.path; NULL: no
     * watch. */
    const char *watcher;
    /* Sent at due_ms or later. Without a connection until give_up_ms it fails. */
    uint64_t due_ms, give_up_ms;
    void (*answered)(struct call *, const struct uvzk__reply *);
};

struct foreign_client {
    struct uvzk__port_user user;
    struct sim *sim;
    struct uvzk__port *port; /* NULL after the close */
    const char *name;
    enum foreign_library library;
    uint32_t timeout_ms; /* of each of its sessions */
    bool connected, closing;
    int64_t session_id; /* of the latest session */
    /* When SUSPENDED becomes LOST; UINT64_MAX unless SUSPENDED. */
    uint64_t lost_ms;
    uint64_t retry_ms;                    /* before a request is repeated; 100 */
    unsigned retries;                     /* the most repetitions of a request; 3 */
    struct uvzk__link calls;              /* struct call: they wait to be sent */
    struct uvzk__link contenders;         /* those that are not at rest */
    struct uvzk__link holds;              /* struct foreign_claim: those that are held */
    struct uvzk__link watches;            /* struct foreign_watch */
    struct uvzk__link background_deletes; /* struct cleanup */
};

/* Opens a port and the first session. The name is borrowed, and must outlive the
 * client. */
void foreign_client_begin(struct foreign_client *foreign_client, struct sim *sim,
                          const char *name, enum foreign_library library,
                          uint32_t timeout_ms);
/* Closes the port. No claim and no contender gets a callback any more. The caller owns
 * the memory again when foreign_client->port is NULL. */
void foreign_client_close(struct foreign_client *foreign_client);

/* Sends the request after_ms from now. A reply of UVZK_ECONNLOSS may also mean that the
 * request was not sent, because for T/2 there was no connection. */
void foreign_client_call(struct foreign_client *foreign_client, struct call *call,
                         uint64_t after_ms);
/* Returns true if the library repeats a request that was answered with this status. */
bool foreign_client_may_retry(int status);

/* Deletes a znode in the background, and repeats the request until the znode is gone. */
void foreign_client_delete(struct foreign_client *foreign_client, const char *path);
/* Like foreign_client_delete, for the znode in the directory whose name begins with the
 * prefix. */
void foreign_client_search_and_delete(struct foreign_client *foreign_client,
                                      const char *directory, const char *prefix);

/* Returns true if a watch of this client on the path is armed. */
bool foreign_client_watches(const struct foreign_client *foreign_client,
                            const char *path);
/* Removes all armed watches of this directory's contenders, as a client of Curator does
 * with its own watches. All contenders that wait in the directory are woken, because they
 * may have relied on one of them. */
void foreign_client_unwatch_all(struct foreign_client *foreign_client,
                                const char *directory);

/* ------------------------------------------------------------ foreign_contender */

/* What a contender does at present. It is at rest in the first and the last state. */
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

/* The order of the contenders in a directory, and which of them may hold. */
struct foreign_rule {
    const char *name_prefix; /* in the znode's name, before the number */
    bool watches_all;        /* the listing itself arms a watch on the directory */
    /* Returns true if the contender may hold. names: the children, sorted by their
     * numbers. mine: the index of the contender's own name. If it may not hold, the
     * function may set *obstacle to the name to watch; otherwise the directory is
     * watched. */
    bool (*may_hold)(const struct foreign_contender *, const char *const *names,
                     size_t count, size_t mine, const char **obstacle);
};
extern const struct foreign_rule foreign_mutex_rule, foreign_read_rule,
    foreign_write_rule, foreign_lease_rule;

/* Must be zeroed before its first use. */
struct foreign_contender {
    struct foreign_client *foreign_client;
    const struct foreign_rule *rule;
    struct uvzk__link link;
    struct call call;
    enum foreign_step step;
    unsigned tries;     /* repetitions of the current request */
    unsigned starts;    /* new znodes, each because the last one was missing */
    int64_t session_id; /* of the session of the latest create */
    uint64_t deadline_ms;
    bool parents_made;
    char directory[FOREIGN_PATH_MAX];
    char prefix[FOREIGN_NAME_MAX]; /* of the name: "_c_" and a UUID */
    char wanted[FOREIGN_PATH_MAX]; /* path of the create, without the number */
    char watched[FOREIGN_PATH_MAX];
    char parent[FOREIGN_PATH_MAX]; /* the one that is being created */
    char path[FOREIGN_PATH_MAX];   /* of the znode; "": not known */
    /* To be set before foreign_contender_begin: */
    uint32_t limit; /* the maximum number of leases */
    /* "": the server adds a sequence number. Otherwise the number of the writer that
     * becomes this reader. */
    char number[16];
    /* status 0: the contender may hold. Otherwise it has ended. */
    void (*told)(struct foreign_contender *, int status);
    void *data;
};

/* Creates a znode in the directory and calls `told` with the result. The deadline applies
 * only while the contender waits for others. */
void foreign_contender_begin(struct foreign_contender *contender,
                             struct foreign_client *foreign_client,
                             const struct foreign_rule *rule, const char *directory,
                             uint64_t deadline_ms);
/* Ends a contender that may hold: removes the watches of its directory, and deletes its
 * znode in the background. */
void foreign_contender_end(struct foreign_contender *contender);
/* The following functions are called by foreign_client.c only.
 *
 * A watch of the contender's directory has fired, or the connection is lost. If the
 * contender waits, it lists again. */
void foreign_contender_wake(struct foreign_contender *contender);
/* The session of the contender's client has expired. */
void foreign_contender_expired(struct foreign_contender *contender);
/* The deadline has passed. If the contender waits, it fails with UV_ETIMEDOUT. */
void foreign_contender_timed_out(struct foreign_contender *contender);

/* ----------------------------------------------------------------- foreign_claim */

enum foreign_lock { FOREIGN_MUTEX, FOREIGN_READ, FOREIGN_WRITE, FOREIGN_SEMAPHORE };

/* Must be zeroed before its first use. May be used again when it is neither busy nor
 * held. */
struct foreign_claim {
    struct foreign_client *foreign_client;
    struct uvzk__link link;
    struct foreign_contender ticket; /* of a semaphore; otherwise the only znode */
    struct foreign_contender leases[FOREIGN_LEASES_MAX];
    struct foreign_contender reader; /* of a writer that is downgraded to a reader */
    enum foreign_lock lock;
    char path[FOREIGN_PATH_MAX];
    /* Leases: wanted, held, and the maximum of the semaphore. */
    uint32_t wanted, got, limit;
    /* Repetitions because a lease was missing. */
    unsigned starts;
    uint64_t deadline_ms;
    bool busy;      /* an acquire or a downgrade is under way */
    bool held;      /* acquired and not released */
    bool suspended; /* SUSPENDED was reported since the grant */
    void (*told)(struct foreign_claim *, int status); /* 0: acquired */
    void *data;
};

/* Begins an acquire. `told` is called with the result. leases, limit: of a semaphore;
 * both are 1 for any other lock. */
void foreign_claim_begin(struct foreign_claim *claim,
                         struct foreign_client *foreign_client, enum foreign_lock lock,
                         const char *path, uint32_t leases, uint32_t limit,
                         uint64_t timeout_ms);
/* Deletes the znodes in the background. The claim must be held. */
void foreign_claim_release(struct foreign_claim *claim);
/* Downgrades a held write lock, as Curator 5.5 and later do it: creates a reader with the
 * writer's own number, which is granted whatever has become of the writer. Then releases
 * the writer and calls `told` with 0. If the reader fails, `told` gets the error, and the
 * claim still holds by the writer. The claim must not be released meanwhile. */
void foreign_claim_downgrade(struct foreign_claim *claim);
/* How many of the claim's znodes make it a valid holder now: it was granted, it was not
 * SUSPENDED since, and the znodes exist. */
uint32_t foreign_claim_valid(const struct foreign_claim *claim);
/* The session to which all znodes of a hold belong. 0: one of them is gone, or they belong
 * to several sessions, because a session has ended between the leases of a semaphore. */
int64_t foreign_claim_session(const struct foreign_claim *claim);
/* Returns true if the claim is held and has a znode with this path, even if that znode
 * has been deleted. */
bool foreign_claim_is_on(const struct foreign_claim *claim, const char *path);
/* The czxid of the claim's first znode; 0 if it does not exist. */
int64_t foreign_claim_token(const struct foreign_claim *claim);

#endif
