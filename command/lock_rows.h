/* SPDX-License-Identifier: Apache-2.0 */
/* What `uvzk top` shows of locks: one row for each. lock_walk.c and daemon_locks.c fill the
 * rows, and top.c shows them. */
#ifndef LOCK_ROWS_H
#define LOCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "newest_run.h"
#include "participant_list.h"

/* Times are by the server's clock, in ms since 1970; 0: there is no such participant, or
 * its znode was gone before it was read. */
struct lock_row {
    char *path; /* owned */
    size_t holders, waiters;
    enum recipe recipe;      /* of the first participant; only if there is one */
    int64_t token;           /* of the first holder; 0: it has none */
    int64_t held_since_ms;   /* when the first holder came: at the walk, its znode */
    int64_t waited_since_ms; /* when the first waiter came, likewise */
    char *data;              /* of the first holder; owned; NULL: not known */
    size_t data_length;
    struct newest_run *newest; /* which key has run last; owned; NULL: none is known */
};

struct lock_rows {
    struct lock_row *rows; /* the busiest lock first, after lock_rows_sort */
    size_t count;
    size_t listings;   /* how many znodes were listed */
    size_t unreadable; /* how many could not be listed, for example without READ
                          permission */
    size_t too_deep;   /* how many were too far below the path to be listed */
    bool left_out;     /* there are more */
};

/* Adds an empty row with a copy of the path. Returns NULL if there is no memory. */
struct lock_row *lock_rows_add(struct lock_rows *, const char *path);
void lock_rows_sort(struct lock_rows *);
/* Frees the rows, and sets everything to zero. */
void lock_rows_free(struct lock_rows *);

#endif
