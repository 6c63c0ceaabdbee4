/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has left on the server, checked without uvzk: a bare C client lists the lock
 * directories, and the server is asked how many watches it has. All functions block. Do
 * not call them on the loop's thread. */
#ifndef BENCH_LEFTOVERS_H
#define BENCH_LEFTOVERS_H

#include <stddef.h>

#define LEFTOVERS_UNKNOWN (-1L)

/* Returns how many watches the first server of `hosts` has, of all its clients, by the
 * four-letter word wchs. Returns LEFTOVERS_UNKNOWN if wchs is not whitelisted or the
 * server does not answer. */
long leftovers_watches(const char *hosts);

/* The same, but waits up to five seconds until there are not more than `expected`
 * watches, because clients remove watches in the background. */
long leftovers_watches_settled(const char *hosts, long expected);

/* Writes the path of the n-th lock directory below base into `path`. */
void leftovers_lock_path(char *path, size_t size, const char *base, size_t n);

/* Returns how many children the directories 0 to count-1 below base have in all. A
 * missing directory has none (the server removes empty container znodes). If it cannot
 * find out, it returns LEFTOVERS_UNKNOWN and sets *error to a sentence. */
long leftovers_nodes(const char *hosts, const char *base, size_t count,
                     const char **error);

#endif
