/* SPDX-License-Identifier: Apache-2.0 */
/* A journal: a file to which several processes append what they did with one lock, and
 * its check. Each line is one record. who: any word without spaces.
 *   E who token permits    a holder enters and takes this many permits
 *   L who token permits    the holder gives this many back; 0: all that it has
 * The permits may be missing: then one is taken, or all are given back. A record is one
 * write to a file that was opened for appending, so the order in the file is the order in
 * which the records were written.
 *
 * All recipes are checked by their permits. A mutex has one permit. A semaphore has its
 * maximum. A read-write lock has many: a reader takes one; a writer takes all, and gives
 * all but one back when it is downgraded to a reader. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_INSIDE_MAX 64 /* holders at a time */

/* Opens the journal for appending and creates it if it does not exist. Returns the file
 * descriptor, or -1. */
int journal_open(const char *path);
bool journal_enter(int fd, const char *who, int64_t token); /* takes one permit */
bool journal_leave(int fd, const char *who, int64_t token); /* gives all back */
/* The following functions append one record with these permits. All four return false if
 * the record was not written. */
bool journal_take(int fd, const char *who, int64_t token, unsigned permits);
bool journal_give_back(int fd, const char *who, int64_t token, unsigned permits);

struct journal_result {
    /* Never more permits were taken than there are, none was given back that was not
     * taken, and no holder entered twice. */
    bool exclusive;
    /* A holder that takes all permits has a greater token than all holders before it, and
     * all holders after it have a greater token than it has. A token of 0 is not
     * compared: the holder's library does not report tokens. */
    bool tokens_grow;
    size_t entries;
    size_t handovers;      /* entries by another holder than the entry before */
    size_t crossings;      /* of those, by a name with another first letter */
    size_t peak;           /* the most holders at a time */
    size_t inside;         /* holders that have not left at the end */
    char first_error[160]; /* the first wrong record; "": none */
};

/* Checks the journal of a lock with this many permits. Returns false if the file cannot
 * be read or is not a journal. */
bool journal_check_permits(const char *path, unsigned permits,
                           struct journal_result *result);
/* The same for one permit. */
bool journal_check(const char *path, struct journal_result *result);

#endif
