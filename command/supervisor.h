/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: a process between the holder and CMD. It runs CMD, ends CMD in time,
 * and exits when CMD has ended.
 *
 *      holder  (was started as `uvzk lock` or `uvzk elect`; has the ZooKeeper session and
 *        |      the lock)
 *        |  channel, and shared memory with the end of the hold's validity
 *      supervisor  (one thread, no socket of the ZooKeeper client)
 *        |
 *       CMD, in a process group of its own, and all processes that CMD starts
 *
 * The supervisor is forked before the ZooKeeper client exists. So CMD cannot inherit a
 * socket of the client, and the supervisor has one thread when it forks CMD.
 *
 * The supervisor ends CMD when the validity of the hold is about to end, unless
 * --on-lost is ignore. It does not matter whether the holder is stopped or has no
 * connection. If the holder is killed, the supervisor ends CMD in any case. If the
 * supervisor is killed, the kernel kills CMD (PR_SET_PDEATHSIG), and the holder adopts
 * and kills the other descendants.
 *
 * With `again` the supervisor runs CMD again with each MESSAGE_START, until the channel
 * is closed. */
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
    const char *hold; /* enclosing_hold_describe's text */
    char **command;
    bool again; /* CMD may be run again after it has ended */
    /* Why CMD is ended, in the words of the subcommand: the holder process has died; the
     * hold is not proved in time. */
    const char *says_holder_gone, *says_unproved;
};

/* The holder's side. */
struct supervisor {
    pid_t pid;
    unsigned long long start_time; /* of the process (descendants_start_time) */
    int channel;                   /* the holder's end */
    /* In memory that both processes share: the end of the hold's validity
     * (CLOCK_BOOTTIME, ms). Only the holder writes it. 0 at first. */
    _Atomic uint64_t *valid_until;
};

/* Forks the supervisor. Call it before this process has a thread, a signal handler or a
 * socket of the client. Returns 0 or -errno. */
int supervisor_start(struct supervisor *, const struct supervisor_options *);

/* Kills the supervisor and all its descendants with SIGKILL. Blocks until they are gone.
 * It also works if the supervisor is dead already, because the holder then adopts its
 * children. */
void supervisor_kill(struct supervisor *);

/* Closes the channel, waits until the supervisor has exited, and frees the shared
 * memory. Call it after MESSAGE_ENDED, MESSAGE_NOT_STARTED or supervisor_kill, or if
 * MESSAGE_START was not sent since then: the supervisor exits when the channel is
 * closed. */
void supervisor_end(struct supervisor *);

#endif
