/* Creates that leave together: what a turn wants made in different directories goes in
 * multis, up to 64 znodes in one, and so do readers of one directory that come in a row. A
 * lone create is a request of its own and is not kept: only while a few multis are under way
 * those that come gather. Who else comes to a directory in which others of ours are goes
 * alone, behind them. All of one multi share a czxid, which its reply does not tell: one
 * exists tells it for all of them.
 *
 *   GATHERING --- full, or none is left ---> UNDER_WAY --- made ---> IDENTIFYING
 *                                                |                       |
 *                                   refused, lost|                       | told, lost,
 *                                                v                       | or none is left
 *                                             SETTLED <------------------'
 *
 * SETTLED: each znode has gone its way, by its own machine (node.h); freed. Where the
 * multi was refused, the one to blame is told why. Of the others nothing is known but that
 * they were not made: each goes on alone, at once, and waits for nobody. If what was
 * missing is a directory, theirs may be missing too, as in a new place: they have it made
 * first, and if that is refused as well, they see for themselves (parents.c).
 *
 * Behind those of its directory that are in a multi under way, whoever comes is kept until
 * it is answered, or would come before them when it fails; and so is a writer behind readers
 * that are going to share one, and whoever comes behind that writer. Meanwhile they gather,
 * so that the next readers are many.
 *
 * Tokens: two holds that exclude one another have each their own create in one directory,
 * in a transaction of its own: a multi never has two creates of one directory, unless all of
 * them are readers'. So their czxids differ, and grow from one to the next. Equal ones are of
 * readers in a row, which hold together; or of different locks, which nobody compares: of
 * other paths, or of other kinds at one path, which do not exclude one another either. */
#ifndef UVZK_CREATE_BATCH_H
#define UVZK_CREATE_BATCH_H

#include "base/machine.h"
#include "directory/queue.h"

enum uvzk__create_batch_state {
    UVZK__CREATE_BATCH_GATHERING,   /* next: UNDER_WAY */
    UVZK__CREATE_BATCH_UNDER_WAY,   /* next: IDENTIFYING SETTLED */
    UVZK__CREATE_BATCH_IDENTIFYING, /* next: SETTLED */
    UVZK__CREATE_BATCH_SETTLED      /* final */
};

extern const struct uvzk__machine uvzk__create_batch_machine;

/* It wants its znode made: by the next request that makes several, or by one of its own. */
void uvzk__create_batch_add(struct uvzk__contender *);

/* By one of its own, whatever it is that wants it made: its czxid is nobody else's. Of one
 * for which nothing has been sent yet; for the others it comes too late. */
void uvzk__create_alone(struct uvzk__contender *);

/* Lets go who has been kept behind others, if none of them is to be made any more. */
void uvzk__create_batch_resume(struct uvzk__queue *);

/* Sends what may be sent of those that wait for it; whether there is any. */
void uvzk__create_batches_send(struct uvzk__session *);
bool uvzk__create_batches_due(const struct uvzk__session *);

#endif
