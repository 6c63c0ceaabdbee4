/* SPDX-License-Identifier: Apache-2.0 */
/* A mixed crowd at one lock: contenders of the library and of other clients, who
 * acquire and release, time after time, and keep one journal. All stand in the
 * line, in the order in which they were sent, before the first one is let in.
 *
 *   begin: a gate, the znode of a foreign client, stands at the head of the line
 *   send:  ours, theirs, ours, ... each waits behind the last one
 *   run:   the gate goes; when all have come through, the journal is checked
 *   end:   the journal is gone
 */
#ifndef MIX_H
#define MIX_H

#include "journal.h"
#include "other_side.h"
#include "scratch.h"

#define MIX_MAX 12

struct mix_member {
    struct hold hold;    /* ours, with its proof; theirs have a peer */
    struct hold reading; /* what a downgrading writer goes on with */
    uvzk_req_t proof;
    struct peer *peer;
    struct mix *mix;
    struct process *process;
    uvzk_lock_t *lock, *read_lock; /* the second one: to downgrade to */
    char who[16];
    unsigned permits;
    int left;        /* how often it still goes in */
    int round_trips; /* of this hold, still to come */
    int releases;    /* of this hold, still to come */
    int done;
};

struct mix {
    struct world *world;
    const char *line;
    struct world_path gate;
    char file[160];
    struct scratch scratch;
    int journal, times, round_trips;
    bool permits_are_leases; /* of a semaphore; set it before the first is sent */
    int64_t last_token;      /* of ours */
    struct mix_member members[MIX_MAX];
    int count;
    struct journal_result result;
};

/* line: the directory in which contenders queue; made if it is missing. token:
 * what an exclusive contender's znode is called there ("lock-", "__WRIT__").
 * Everyone goes in so many times, for so many round trips: more than one, where
 * holders are to meet. The line's text must stay. */
void mix_begin(struct mix *mix, struct world *world, const char *line, const char *token,
               int times, int round_trips);

/* who: for the journal, the first letter one of the client's. permits: how many
 * it takes of those that mix_run tells. A peer's lock goes by its name there. */
void mix_send_ours(struct mix *mix, const char *who, struct process *process,
                   uvzk_lock_t *lock, unsigned permits);
/* A writer with all permits, who each time goes on as a reader. */
void mix_send_downgrading(struct mix *mix, const char *who, struct process *process,
                          uvzk_rwlock_t *lock, unsigned permits);
void mix_send_theirs(struct mix *mix, struct peer *peer, const char *who,
                     const char *lock, unsigned permits);

/* Asserts that everybody came through so many times, that never more were in
 * than the permits allow, and that the tokens tell the order. */
void mix_run(struct mix *mix, unsigned permits);

/* The names in the order of their entries, joined by spaces. */
void mix_entries(const struct mix *mix, char *out, size_t size);

void mix_end(struct mix *mix);

#endif
