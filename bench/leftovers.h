/* What a run has left on the server, seen by somebody else than uvzk: a raw
 * ZooKeeper client lists the lock directories, and the server itself is asked
 * how many watches it keeps. Everything here blocks: call it off the loop. */
#ifndef BENCH_LEFTOVERS_H
#define BENCH_LEFTOVERS_H

#include <stddef.h>

#define LEFTOVERS_UNKNOWN (-1L)

/* Watches in the first server of hosts, whoever set them, by the four-letter
 * word wchs; LEFTOVERS_UNKNOWN if it is not whitelisted or cannot be asked. */
long leftovers_watches(const char *hosts);

/* The same, waiting up to five seconds for the count to come down to
 * `expected`: clients take watches back in the background. */
long leftovers_watches_settled(const char *hosts, long expected);

/* Writes the path of the n-th lock directory below base. */
void leftovers_lock_path(char *path, size_t size, const char *base, size_t n);

/* Children of the directories 0..count-1 below base, all together. A directory
 * that is not there has none (the server reaps empty containers). Returns
 * LEFTOVERS_UNKNOWN and a sentence in *error if it cannot be told. */
long leftovers_nodes(const char *hosts, const char *base, size_t count,
                     const char **error);

#endif
