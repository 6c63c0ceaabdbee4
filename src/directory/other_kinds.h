/* Contenders of other kinds of locks at the path of a directory. Locks of two kinds do not
 * exclude one another: a mutex and a semaphore at one path would both be held. So each
 * contender looks, before it is granted, for one of another kind that came before it. If
 * there is one, options.mixed_kinds says what follows: the claim ends with UVZK_EKIND, or
 * a warning is logged.
 *
 * Where the other kinds are:
 *
 *   in the same directory   Mutexes, leader latches and read-write locks. The numbers of
 *                           all of them are from one counter, so the number says who came
 *                           first. Each listing shows them, at no further request.
 *   one level below         The tickets and the leases of a semaphore, in `locks` and
 *                           `leases`. A directory that has one of these children reads
 *                           both. The czxid says who came first.
 *   one level above         For a semaphore: the contenders of the other kinds.
 *
 * [P1] Such a reading is sent after the create of the contender for which it counts. So it
 * shows every znode that was created before the contender's own and still exists: a server
 * carries out the requests of a session in order, and after a lost connection the barrier
 * comes first (engine/barrier.h). Of two contenders of different kinds that do this, the
 * later one always sees the earlier one.
 *
 * While other kinds are shown, the directory has no watermark: creates one level below
 * leave no gap in its numbers. docs/decisions/directory.md, "Other kinds". */
#ifndef UVZK_OTHER_KINDS_H
#define UVZK_OTHER_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/node_name.h"

struct uvzk__contender;
struct uvzk__queue;

/* Which directories are read for the contenders of a directory's kind. */
enum uvzk__kinds_elsewhere {
    UVZK__KINDS_NOWHERE, /* a lock driver's names say nothing about its kind */
    UVZK__KINDS_BELOW,   /* `locks` and `leases` below it, if it has them */
    UVZK__KINDS_ABOVE    /* it is the `leases` of a semaphore: the znode above */
};

enum uvzk__kinds_verdict {
    UVZK__KINDS_NOT_KNOWN, /* a request that shows it is still to be answered, or sent */
    UVZK__KINDS_ALONE,     /* no contender of another kind came before this one */
    UVZK__KINDS_MIXED,     /* one did */
    UVZK__KINDS_UNREADABLE /* the ACL forbids to list where one may be; only if later ones
                              are refused */
};

/* A contender of another kind. */
struct uvzk__other_contender {
    enum uvzk__name_kind kind; /* UVZK__NAMES_OTHER: there is none */
    int32_t number;
};

/* What a listing of the directory itself has shown. */
struct uvzk__listed_kinds {
    struct uvzk__other_contender first; /* the one with the smallest number */
    bool below;                         /* the directory has `locks` or `leases` */
};

/* Takes a child of the directory that is no contender of its kind into account. */
void uvzk__listed_kinds_add(struct uvzk__listed_kinds *, const struct uvzk__queue *,
                            const char *name);
/* The listing is complete. Returns 0, or UV_ENOMEM with nothing changed. */
int uvzk__other_kinds_listed(struct uvzk__queue *, const struct uvzk__listed_kinds *);

/* Returns true if the last listing has shown contenders of another kind, or the znodes of
 * a semaphore. */
bool uvzk__other_kinds_shown(const struct uvzk__queue *);

/* A contender has been granted. If later ones of another kind are refused, all is read
 * again once a session timeout, as long as contenders hold: one of another library is not
 * refused, and a warning tells of it.
 *
 * due: returns true if a listing of the directory in order is needed for that. */
void uvzk__other_kinds_granted(struct uvzk__queue *);
bool uvzk__other_kinds_due(const struct uvzk__queue *);

/* For a directory in order. The first function ends the claims of the waiters that came
 * after one of another kind, or warns, and reads what has to be read. The second one
 * returns true if this waiter may be granted. */
void uvzk__other_kinds_settle(struct uvzk__queue *);
bool uvzk__other_kinds_let(const struct uvzk__contender *);

/* For the directory of a semaphore's leases.
 *
 * read: sends the reading, unless it is under way or was sent after this create of a
 * lease, or is not needed: with a warning only, a session reads once for each path.
 * judge: the verdict of a lease. What was judged once is not judged again, so a lease that
 * is handed over needs no reading. has_ticket: its czxid is that of its ticket, because
 * the reply to the multi that created it had none.
 * met: the verdict was one of the last two. Returns the code with which the claim has to
 * end, UVZK_EKIND or UVZK_ENOAUTH; 0: a warning was logged. */
void uvzk__other_kinds_read(struct uvzk__queue *, uint64_t created);
enum uvzk__kinds_verdict uvzk__other_kinds_judge(struct uvzk__contender *lease,
                                                 bool has_ticket);
int uvzk__other_kinds_met(struct uvzk__queue *, enum uvzk__kinds_verdict);

/* ------------------------------------------------------------ for this room alone */

/* Forgets all that is known: the directory or its session ends. The second function does
 * so only if no other kind is known. */
void uvzk__other_kinds_free(struct uvzk__queue *);
void uvzk__other_kinds_trim(struct uvzk__queue *);

#endif
