/* SPDX-License-Identifier: Apache-2.0 */
/* A walk through the tree of znodes that finds the locks below some directories, and what
 * of each lock `uvzk top` shows: one row for each lock. */
#ifndef LOCK_WALK_H
#define LOCK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

#include "connection.h"
#include "lock_rows.h"

struct lock_walk;
/* Called once for each lock_walk_start that has returned 0, never inside it. status < 0:
 * the walk has failed, and there are no rows. */
typedef void (*lock_walk_cb)(struct lock_walk *, int status);

/* Zero the struct, then set the first members. */
struct lock_walk {
    uvzk_client_t *client;
    const struct connection_options *connection; /* of the client */
    char *const *roots; /* the directories where the walk begins */
    size_t root_count;
    size_t listings_max; /* how many znodes are listed in one walk */
    void *data;          /* the user's */

    struct lock_rows found; /* left_out: there were more than listings_max */

    /* The walk's own. */
    lock_walk_cb cb;
    struct visit *pending; /* directories that are not listed yet, in order */
    struct visit **pending_end;
    struct visit *visits; /* those that are being listed */
    size_t running;       /* how many these are */
    bool starting;        /* inside lock_walk_start */
    bool cancelled;
    int status; /* the first failure; 0: none */
};

/* Starts a walk, and drops the rows of the one before. Returns 0 or a negative error
 * code. */
int lock_walk_start(struct lock_walk *, lock_walk_cb cb);
/* The client is about to be closed: the callback will not be called. */
void lock_walk_cancel(struct lock_walk *);
/* Frees the rows, and the rest of a cancelled walk. Call it when the client is closed. */
void lock_walk_free(struct lock_walk *);

#endif
