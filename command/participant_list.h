/* SPDX-License-Identifier: Apache-2.0 */
/* All participants at a path, of every recipe and library: the contenders of a mutex, of
 * both halves of a read-write lock, of a semaphore, and of a leader latch. Those of a
 * leader selector are a mutex's. If wanted, also what their znodes contain. Used by
 * query.c, each_server.c, lock_job.c, elect_job.c and lock_walk.c. */
#ifndef PARTICIPANT_LIST_H
#define PARTICIPANT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

enum recipe {
    RECIPE_WRITE,  /* the write half of InterProcessReadWriteLock */
    RECIPE_READ,   /* its read half */
    RECIPE_MUTEX,  /* InterProcessMutex */
    RECIPE_LEASES, /* InterProcessSemaphoreV2 */
    RECIPE_LATCH   /* LeaderLatch */
};

#define PARTICIPANT_RECIPES 5

/* token to traceparent are 0 or NULL if the znode was not read. */
struct participant {
    enum recipe recipe;
    bool holds;
    bool gone;        /* the znode was deleted after it was listed */
    char *node;       /* full path, owned */
    int64_t token;    /* the znode's czxid; with RECIPE_LEASES not the fencing token */
    int64_t session;  /* of the znode's owner; 0: the znode is not ephemeral */
    int64_t since_ms; /* when the znode was created: server's clock, ms since 1970 */
    char *data;       /* owned, with a NUL at the end */
    size_t data_length;
    size_t text_length; /* of the data without the line of the traceparent */
    char traceparent[UVZK_TRACEPARENT_SIZE]; /* in the data; "": none */
    struct node_read *read_request; /* owned; NULL: not read, or all reads are done */
};

struct participant_list;
/* Called once for each participant_list_read that has returned 0. status < 0: the
 * participants could not be listed or read. */
typedef void (*participant_list_cb)(struct participant_list *, int status);

struct participant_list {
    /* For listing only: these locks are never acquired. */
    uvzk_lock_t mutex, semaphore, latch;
    uvzk_rwlock_t rwlock;
    /* In the order of enum recipe. */
    uvzk_req_t requests[PARTICIPANT_RECIPES];
    /* Set by the user, before the first read. The recipes that are listed, as bits by enum
     * recipe; 0: all. How many holders and how many waiters of each recipe are read, the
     * first ones; 0: all. */
    unsigned recipes;
    size_t reads_of_each;
    struct participant_list_closing {
        void (*cb)(struct participant_list *);
        size_t outstanding;
    } closing;
    uvzk_client_t *client;
    bool reads_nodes; /* also reads each znode */
    /* In the last listing that was allowed, a holder's znode was deleted before it was
     * read. It is therefore not known who holds the lock now. */
    bool inconsistent;
    unsigned listings_left; /* how often the listing may still be repeated */
    size_t outstanding;     /* requests without a reply */
    int status;             /* the first error of this run; 0: none */
    /* Sorted: first the read-write lock, then the mutex, the semaphore and the latch; in
     * each of them first the holders, then the waiters; in each group by czxid, if the
     * znodes were read. */
    struct participant *participants;
    size_t count;
    participant_list_cb cb;
    void *data; /* the user's */
};

/* Initialises the four locks, which are closed with the client. Returns 0, or a
 * negative error code if the path is not valid or there is no memory. The struct must be
 * zeroed, except for `data`. */
int participant_list_init(struct participant_list *, uvzk_client_t *, const char *path);

/* Lists the participants and, if `looks` is true, reads the znode of each. May be called
 * again after the callback. A reply is never older than the connection on which it
 * arrives. If a holder's znode is deleted between the listing and its reading, the next
 * holder may not be in the listing. The listing is then repeated, a few times; after
 * that `inconsistent` is set. Returns 0 or a negative error code. */
int participant_list_read(struct participant_list *, bool looks, participant_list_cb cb);
/* Frees the participants. No request may be outstanding. */
void participant_list_free(struct participant_list *);
/* Closes the four locks before the client is closed. No request may be outstanding. cb is
 * called when they are closed; inside the call if they were never initialised. */
void participant_list_close(struct participant_list *,
                            void (*cb)(struct participant_list *));

/* Returns how long ago this was, in seconds, at least 0. It is only a hint: since_ms is
 * by the server's clock, and now is by this machine's. */
double participant_age(int64_t since_ms);

/* Returns true if there is a contender whose recipe and this one do not exclude each
 * other. Then it is also printed on standard error. path: of the list. by_default: no
 * option of `uvzk lock` has chosen the recipe, so the option that is missing is named. */
bool participant_list_is_mixed(const struct participant_list *, const char *path,
                               enum recipe, bool by_default);

/* Returns true if contenders of the two recipes at one path wait for each other. */
bool recipes_exclude(enum recipe, enum recipe);
/* Returns the name that status prints. */
const char *recipe_name(enum recipe);
/* A contender of this kind without data may be revocable: its data would be its name, but
 * another client writes the revocation there. Or its program gives none, as kazoo's locks
 * do. NO_NAME is shown in their place. */
bool recipe_may_be_revocable(enum recipe);
#define NO_NAME "(no name: revocable?)"

#endif
