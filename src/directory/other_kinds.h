/* SPDX-License-Identifier: Apache-2.0 */
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
#include "engine/turn.h"

struct uvzk__contender;
struct uvzk__queue;
struct uvzk__session;

/* Which directories are read for the contenders of a directory's kind. */
enum uvzk__kinds_elsewhere {
    UVZK__KINDS_NOWHERE, /* a lock driver's names say nothing about its kind */
    UVZK__KINDS_BELOW,   /* `locks` and `leases` below it, if it has them */
    UVZK__KINDS_ABOVE    /* it is the `leases` of a semaphore: the znode above */
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

/* A contender has been granted. If later ones of another kind are refused, all is read
 * again once a session timeout, as long as contenders hold: one of another library is not
 * refused, and a warning tells of it. */
void uvzk__other_kinds_granted(struct uvzk__queue *);

/* ------------------------------------------------------------ for this room alone */

/* One directory that is read (settle/other_kinds_check.c). */
struct uvzk__kinds_place {
    struct uvzk__other_kinds *other_kinds;
    /* Owned: the path that is listed, then that of the oldest contender in it. NULL: the
     * reading does not need this place. */
    char *path;
    struct uvzk__other_contender oldest;
    int64_t czxid; /* of the oldest one; INT64_MAX: there is none; 0: not read yet */
};

/* What a directory knows of other kinds. Allocated for those that have something to know. */
struct uvzk__other_kinds {
    struct uvzk__session *session;
    struct uvzk__queue *queue; /* NULL: it is freed, and the last reply frees this too */
    struct uvzk__listed_kinds listed;
    struct uvzk__timer timer; /* while contenders hold: until all is read again */
    bool due;                 /* all is to be read again */
    bool read_below;          /* that includes what is below; the listing has come */
    bool news;                /* since the waiters were last looked at */
    bool told;                /* the warning was logged */
    bool failed;              /* a request of this reading has failed */
    bool unreadable;          /* a directory of the last reading may not be listed */
    bool dating;              /* the exists are in flight, or have been answered */
    uint8_t outstanding;      /* requests of this reading without a reply */
    uint8_t again;            /* how often it has begun again */
    uint64_t asked_stamp;     /* of its first request */
    uint64_t doubt_ms;        /* since when it is in doubt who came first; 0: it is not */
    /* Of the last reading that is complete, and what it has shown. */
    uint64_t read_stamp;
    enum uvzk__name_kind oldest_kind;
    int64_t oldest_czxid; /* INT64_MAX: there was none */
    struct uvzk__kinds_place places[2];
};

/* Takes a child of the directory that is no contender of its kind into account. */
void uvzk__listed_kinds_add(struct uvzk__listed_kinds *, const struct uvzk__queue *,
                            const char *name);
/* The listing is complete. Returns 0, or UV_ENOMEM with nothing changed. */
int uvzk__other_kinds_listed(struct uvzk__queue *, const struct uvzk__listed_kinds *);

/* Returns true if the last listing has shown contenders of another kind, or the znodes of
 * a semaphore. */
bool uvzk__other_kinds_shown(const struct uvzk__queue *);

/* Returns true if the directory in order is to be listed for later ones. */
bool uvzk__other_kinds_due(const struct uvzk__queue *);

/* What is known, NULL: nothing; the second function allocates it: NULL without memory. */
struct uvzk__other_kinds *uvzk__other_kinds(const struct uvzk__queue *);
struct uvzk__other_kinds *uvzk__other_kinds_need(struct uvzk__queue *);

/* All is read again after one more session timeout. */
void uvzk__other_kinds_again(struct uvzk__other_kinds *);
/* A reading is complete: a warning tells of a later one that it has shown. */
void uvzk__other_kinds_read_done(struct uvzk__other_kinds *);
/* Logs a line that names both kinds. */
void uvzk__other_kinds_log(const struct uvzk__other_kinds *, int level, const char *what);

/* Frees the paths of a reading; frees all. */
void uvzk__kinds_places_free(struct uvzk__other_kinds *);
void uvzk__other_kinds_free_memory(struct uvzk__other_kinds *);

/* Forgets all that is known: the directory or its session ends. The second function does
 * so only if no other kind is known. */
void uvzk__other_kinds_free(struct uvzk__queue *);
void uvzk__other_kinds_trim(struct uvzk__queue *);

#endif
