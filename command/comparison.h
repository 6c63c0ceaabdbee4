/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what several servers show of one path, over three passes. In each pass every
 * server is read once. One pass proves nothing, because a server may lag, and because a
 * lock may change hands during the pass.
 *
 * Each reading is made on a new connection. A quorum must accept the first request on
 * it, so the reading shows everything that was committed before the connection was
 * opened. Each pass begins when the pass before has ended. So, of one znode and one
 * server:
 *
 *     the server shows the znode in pass 1:  it was created before pass 2 began
 *     the server shows the znode in pass 3:  it was not deleted before pass 3 began
 *
 * Every server must therefore show this znode in pass 2. If one does not, either that
 * server or the server that shows the znode has diverged. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARISON_LOOKS 3    /* passes */
#define COMPARISON_SERVERS 64 /* at most: each server has one bit of a uint64_t */

/* A contender's znode, as one server shows it. */
struct sighting {
    char *node;      /* the full path; owned by the reading */
    int64_t czxid;   /* tells a znode from another one that had the same path */
    int64_t session; /* of the znode's owner; 0: none */
};

/* What one server shows in one pass. */
struct reading {
    struct sighting *nodes; /* sorted by path and czxid after reading_end */
    size_t count;
    bool answered; /* false: the server did not answer, and is not compared */
};

/* A znode that some servers show in pass 3 (shown_by) and others do not show in pass 2
 * (not_by). Each server has one bit: 1 << its number. */
struct difference {
    const struct sighting *znode; /* in a reading of pass 3, not owned */
    uint64_t shown_by, not_by;    /* in pass 3; in pass 2 */
};

/* Starts as zeros. */
struct comparison {
    /* Pass 1 is readings[0]. */
    struct reading readings[COMPARISON_LOOKS][COMPARISON_SERVERS];
    size_t servers;                 /* how many are compared */
    struct difference *differences; /* owned; filled in by comparison_find */
    size_t count;                   /* of differences */
};

/* Allocates room for `count` znodes. Returns false if there is no memory. */
bool reading_begin(struct reading *, size_t count);
/* Adds a znode and copies its path. Call it at most `count` times. Returns false if
 * there is no memory. */
bool reading_add(struct reading *, const char *node, int64_t czxid, int64_t session);
/* All znodes have been added: the server has answered. */
void reading_end(struct reading *);

/* Returns true if all servers that answered in pass 1 show the same. Then the other
 * passes are not needed. */
bool comparison_is_equal(const struct comparison *);
/* Finds the differences, after pass 3. Returns false if there is no memory. */
bool comparison_find(struct comparison *);
/* Returns the number of the one server that differs from all others in every difference,
 * or -1 if there is no such server. */
int comparison_outlier(const struct comparison *);
void comparison_free(struct comparison *);

#endif
