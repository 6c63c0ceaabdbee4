/* The supervisor: a process that runs CMD, and outlives neither it nor the lock.
 *
 *      holder  (what was started as `uvzk lock`: the ZooKeeper session, the lock)
 *        |  channel, and until when the hold is valid
 *      supervisor  (no thread, no socket of ZooKeeper's)
 *        |
 *       CMD, in a process group of its own, and all that it starts
 *
 * It is forked off before there is a ZooKeeper client, so that CMD can inherit none of
 * the client's sockets, and is forked by a process of one thread. It ends CMD when the
 * hold's validity runs out or the holder is gone: killed, stopped, or without a server,
 * it is all the same. If the supervisor is killed, CMD dies with it (PR_SET_PDEATHSIG), and
 * the holder, who adopts the rest, ends that. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "termination.h"

struct supervisor_options {
    struct termination_rules rules;
    const char *path; /* of the lock, for UVZK_PATH */
    char **command;
};

struct supervisor {
    pid_t pid;
    unsigned long long start_time; /* as descendants_start_time() has it */
    int channel;
    _Atomic uint64_t *valid_until; /* CLOCK_BOOTTIME, ms; written by the holder alone */
};

/* Forks it off; to be called before any thread, socket or handler of ours is there. 0 or
 * -errno. */
int supervisor_start(struct supervisor *, const struct supervisor_options *);

/* Ends it and all that it has started, by SIGKILL, and waits until they are gone. Its own
 * death, if that came first, has made its children ours. */
void supervisor_kill(struct supervisor *);

/* After its last word: waits until it has gone, and frees the rest. */
void supervisor_end(struct supervisor *);

#endif
