/* The guardian: a process that runs CMD, and outlives neither it nor the lock.
 *
 *      holder  (what was started as `uvzk lock`: the ZooKeeper session, the lock)
 *        |  channel, and until when the hold is valid
 *      guardian  (no thread, no socket of ZooKeeper's)
 *        |
 *       CMD, in a process group of its own, and all that it starts
 *
 * It is forked off before there is a ZooKeeper client, so that CMD can inherit none of
 * the client's sockets, and is forked by a process of one thread. It ends CMD when the
 * hold's validity runs out or the holder is gone: killed, stopped, or without a server,
 * it is all the same. If the guardian is killed, CMD dies with it (PR_SET_PDEATHSIG), and
 * the holder, who adopts the rest, ends that. */
#ifndef GUARDIAN_H
#define GUARDIAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervision.h"

struct guardian_orders {
    struct supervision_rules rules;
    const char *path; /* of the lock, for UVZK_PATH */
    char **command;
};

struct guardian {
    pid_t pid;
    unsigned long long birth; /* as descendants_birth() has it */
    int channel;
    _Atomic uint64_t *valid_until; /* CLOCK_BOOTTIME, ms; written by the holder alone */
};

/* Forks it off; to be called before any thread, socket or handler of ours is there. 0 or
 * -errno. */
int guardian_begin(struct guardian *, const struct guardian_orders *);

/* Ends it and all that it has started, by SIGKILL, and waits until they are gone. Its own
 * death, if that came first, has made its children ours. */
void guardian_kill(struct guardian *);

/* After its last word: waits until it has gone, and frees the rest. */
void guardian_end(struct guardian *);

#endif
