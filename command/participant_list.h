/* Everybody at a path, whatever recipe he is there with: contenders of mutexes, of both
 * halves of read-write locks, and of semaphores, and what their znodes tell. */
#ifndef PARTICIPANT_LIST_H
#define PARTICIPANT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

enum recipe {
    RECIPE_WRITE, /* InterProcessReadWriteLock */
    RECIPE_READ,
    RECIPE_MUTEX, /* InterProcessMutex */
    RECIPE_LEASES /* InterProcessSemaphoreV2 */
};

#define PARTICIPANT_RECIPES 4

struct participant {
    enum recipe recipe;
    bool holds;
    bool gone;        /* since it was listed */
    char *node;       /* in full */
    int64_t token;    /* its czxid; of a lease, no token */
    int64_t session;  /* 0: none */
    int64_t since_ms; /* by the server's clock */
    char *data;
    size_t data_length;
    struct node_read *read_request; /* the request under way */
};

struct participant_list;
/* Once a participant list. status < 0: it is not known who is there. */
typedef void (*participant_list_cb)(struct participant_list *, int status);

struct participant_list {
    uvzk_lock_t mutex, semaphore;
    uvzk_rwlock_t rwlock;
    uvzk_participants_t requests[PARTICIPANT_RECIPES];
    uvzk_client_t *client;
    bool reads_nodes;
    bool
        inconsistent; /* holders went, and went again, before they could be read: it is not
                       known who has it now */
    unsigned listings_left; /* listings that may still follow */
    size_t outstanding;
    int status;
    struct participant
        *participants; /* those that hold before the others, in their order */
    size_t count;
    participant_list_cb cb;
    void *data; /* the user's */
};

/* 0 or negative. The locks are closed with the client. */
int participant_list_init(struct participant_list *, uvzk_client_t *, const char *path);

/* Lists everybody, and, if it looks, reads each znode; again, after the callback. What is
 * read on a connection is no older than that. A holder that goes between the two has left
 * the lock to somebody whom the listing may not have: then it is listed again, a few
 * times; see torn. 0 or negative. */
int participant_list_read(struct participant_list *, bool looks, participant_list_cb cb);
void participant_list_free(struct participant_list *);

/* Whether the two keep each other out. */
bool recipes_exclude(enum recipe, enum recipe);
const char *recipe_name(enum recipe);

#endif
