/* SPDX-License-Identifier: Apache-2.0 */
/* A multi lock (InterProcessMultiLock) acquires several locks, its members, as one. There
 * are two ways.
 *
 * At once (multilock_at_once.c): all members are mutexes. One transaction creates their
 * znodes, so all queues have any two such claims in the same order, and the claims never
 * wait for each other in a circle.
 *
 * In turn (multilock_in_turn.c): members of any kind are acquired one after the other, in
 * the order of their paths. Each member is a state machine:
 *
 *   IDLE ---> ASKED --- granted ---> GRANTED --- released ----> RELEASING
 *              |  `-- refused -.        `--- lost --> LOSING        |
 *              |               v                        |           | the callback has
 *              `- cancelled -> DONE <-------------------'-----------' run */
#ifndef UVZK_MULTILOCK_H
#define UVZK_MULTILOCK_H

#include "base/machine.h"
#include "claim/lock.h"

/* One of the locks. The user may close a member and initialize another lock in the same
 * struct; the identity shows this. */
struct uvzk__multilock_member {
    uvzk_lock_t *handle; /* the user's struct */
    struct uvzk__lock_identity identity;
};

/* lock->extra of a multi lock. */
struct uvzk__multilock {
    uvzk_lock_t *handle;                    /* the user's struct of the multi lock */
    struct uvzk__multilock_member *members; /* owned; in the order of their paths */
    size_t count;                           /* of members, 1 to 100 */
    bool in_turn;                           /* UVZK_MULTILOCK_IN_TURN: never at once */
    uvzk_multilock_error_cb error_cb;       /* may be NULL */
};

/* The failure of one member in one claim of a multi lock. It is reported to the user's
 * error callback once. */
struct uvzk__member_error {
    struct uvzk__notification notification;
    struct uvzk__claim *claim; /* referenced from the report until the callback runs */
    const struct uvzk__multilock *multilock;
    const struct uvzk__multilock_member *member;
    int status; /* 0: no failure so far */
};

/* Initializes it for this member of the claim. The caller has zeroed the struct. */
void uvzk__member_error_init(struct uvzk__member_error *, struct uvzk__claim *,
                             const struct uvzk__multilock *,
                             const struct uvzk__multilock_member *);
/* Reports the status: the error callback, if there is one, will run at the end of the
 * turn. Does nothing for status 0, or if a failure of this member has been reported. */
void uvzk__member_error_report(struct uvzk__member_error *, int status);

/* Returns 0, or UVZK_ECLOSED if the member is closed, or if its struct is another lock
 * now. */
int uvzk__multilock_member_check(const struct uvzk__multilock_member *);

enum uvzk__member_state {
    UVZK__MEMBER_IDLE,      /* next: ASKED */
    UVZK__MEMBER_ASKED,     /* next: GRANTED DONE */
    UVZK__MEMBER_GRANTED,   /* next: RELEASING LOSING */
    UVZK__MEMBER_RELEASING, /* next: DONE */
    UVZK__MEMBER_LOSING,    /* next: DONE; its lost callback has not run */
    UVZK__MEMBER_DONE       /* final */
};

extern const struct uvzk__machine uvzk__member_machine;

/* The kind of a claim that acquires its members at once. prepare makes its contenders,
 * all in the claim's session. Returns 0, UV_ENOMEM, UVZK_ELIMIT or UV_EIO; after an error
 * the claim has no contenders. */
extern const struct uvzk__claim_kind uvzk__claim_at_once;
int uvzk__at_once_prepare(struct uvzk__claim *, const struct uvzk__multilock *);

/* The kind of a claim that acquires its members in turn. prepare returns 0 or UV_ENOMEM.
 * begin starts the acquire of the first member; the claim may have been freed when it
 * returns. */
extern const struct uvzk__claim_kind uvzk__claim_in_turn;
int uvzk__in_turn_prepare(struct uvzk__claim *, const struct uvzk__multilock *,
                          const uvzk_acquire_options_t *);
void uvzk__in_turn_begin(struct uvzk__claim *);

#endif
