/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at a lock, in all processes, for people to look at. ZooKeeper is asked only
 * while a live page is open: first for the queue, then for the data of those znodes that
 * were not in the last queue. The data of a znode is the name of its instance. */
#ifndef STOCK_CROWD_H
#define STOCK_CROWD_H

#include <stdbool.h>
#include <uvzk.h>

enum {
    CROWD_SHOWN = 12, /* the first ones of a queue; the others are only counted */
    CROWD_NAME_MAX = 31,
    CROWD_PATH_MAX = 127,
    CROWD_UNKNOWN = -1
};

struct contender {
    char name[CROWD_NAME_MAX + 1]; /* of its instance; "": not known */
    char path[CROWD_PATH_MAX + 1]; /* of its znode; a longer path is cut */
};

struct queue {
    int standing; /* holders and waiters, or CROWD_UNKNOWN */
    int holding;  /* how many of them hold the lock, from the first on */
    int shown;    /* how many of them are in `contenders` */
    struct contender contenders[CROWD_SHOWN]; /* in queue order */
};

struct crowd;
typedef void (*crowd_known_cb)(struct crowd *crowd);

struct crowd {
    void *data;         /* the caller's */
    struct queue queue; /* the last answer */
    struct queue next;  /* private, from here on: the answer that is not complete yet */
    crowd_known_cb known_cb;
    uvzk_client_t *client;
    uvzk_req_t participants;
    uvzk_req_t reads[CROWD_SHOWN]; /* of the contenders of `next` */
    int reading;                   /* how many of them are under way */
    bool asked;
};

void crowd_init(struct crowd *crowd);

/* Asks ZooKeeper. known_cb runs when crowd->queue has the answer, or is unknown because
 * ZooKeeper does not answer. Returns false if nothing is asked: an earlier answer is
 * still awaited, or the request was refused, and the queue is unknown then. */
bool crowd_look(struct crowd *crowd, uvzk_client_t *client, uvzk_lock_t *lock,
                crowd_known_cb known_cb);

#endif
