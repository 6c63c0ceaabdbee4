/* A file to which several processes append what they did with one lock, and
 * the judgement over it. One record a line, who being any word without spaces:
 *   E who token permits    a holder enters and takes so many permits
 *   L who token permits    it gives so many back; 0: all that it has
 * The permits may be missing: one is taken, all are given back. A record is one
 * write to a file opened for appending, so the file's order is the order in which
 * it happened.
 *
 * Every recipe is a matter of permits. A mutex has one; a semaphore has its
 * maximum; of a read-write lock's many permits a reader takes one and a writer
 * all, and gives all but one back when it becomes a reader. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_INSIDE_MAX 64 /* holders at once */

/* A descriptor, or -1. */
int journal_open(const char *path);
bool journal_enter(int fd, const char *who, int64_t token); /* one permit */
bool journal_leave(int fd, const char *who, int64_t token); /* with all */
bool journal_take(int fd, const char *who, int64_t token, unsigned permits);
bool journal_give_back(int fd, const char *who, int64_t token, unsigned permits);

struct journal_result {
    bool exclusive;   /* never more permits taken than there are, none given back
                         that was not taken, nobody in twice */
    bool tokens_grow; /* whoever takes all permits has a greater token than all
                         before, and all after have a greater one than it; a
                         token of 0 says nothing, as with peers that know none */
    size_t entries;
    size_t handovers;      /* entries by another one than the entry before */
    size_t crossings;      /* of those, by a name with another first letter */
    size_t peak;           /* the most holders at once */
    size_t inside;         /* how many are still in at the end */
    char first_error[160]; /* the first wrong record, "" if there is none */
};

/* The judgement over a lock with so many permits. false: the file cannot be
 * read, or is not a journal. */
bool journal_check_permits(const char *path, unsigned permits,
                           struct journal_result *result);
/* The same over one permit. */
bool journal_check(const char *path, struct journal_result *result);

#endif
