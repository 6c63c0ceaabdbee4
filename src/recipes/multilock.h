/* The two ways of a multi lock's claims.
 *
 * At once (multilock_at_once.c): all members are mutexes. Their znodes are created in one
 * transaction, so all queues agree on the order of any two such claims, and these can
 * never wait for each other in a circle.
 *
 * In turn (multilock_in_turn.c): members of any kind are acquired one after the other, in
 * the order of their paths. Each of them is a machine:
 *
 *   IDLE ---> ASKED --- granted ---> GRANTED --- let go ---> RELEASING
 *              |  `-- refused -.        `--- lost, untold --> LOSING  |
 *              |               v                                |     |
 *              `- cancelled -> DONE <---------- told -----------'-----' */
#ifndef UVZK_MULTILOCK_H
#define UVZK_MULTILOCK_H

#include "base/machine.h"
#include "claim/lock.h"

/* One of the locks: its shell is the user's, who may close it and make another one in
 * it. */
struct uvzk__multilock_member {
    uvzk_lock_t *shell;
    struct uvzk__lock_identity identity;
};

struct uvzk__multilock {
    uvzk_lock_t *shell;
    struct uvzk__multilock_member *members; /* in the order of their paths */
    size_t count;
    bool in_turn;                     /* wanted, whatever the members */
    uvzk_multilock_error_cb error_cb; /* may be NULL */
};

/* A member's trouble, to be told to the user; told once for each member. */
struct uvzk__member_error {
    struct uvzk__notification notification;
    struct uvzk__claim *claim; /* pinned until it is told */
    const struct uvzk__multilock *multilock;
    const struct uvzk__multilock_member *member;
    int status;
};

/* Initialised for a member of the claim. */
void uvzk__member_error_init(struct uvzk__member_error *, struct uvzk__claim *,
                             const struct uvzk__multilock *,
                             const struct uvzk__multilock_member *);
/* Nothing for status 0, or when it has been reported. */
void uvzk__member_error_report(struct uvzk__member_error *, int status);

/* What it refuses, UVZK_ECLOSED: the member is closed, or its shell is used anew. 0. */
int uvzk__multilock_member_check(const struct uvzk__multilock_member *);

enum uvzk__member_state {
    UVZK__MEMBER_IDLE,      /* next: ASKED */
    UVZK__MEMBER_ASKED,     /* next: GRANTED DONE */
    UVZK__MEMBER_GRANTED,   /* next: RELEASING LOSING */
    UVZK__MEMBER_RELEASING, /* next: DONE */
    UVZK__MEMBER_LOSING,    /* next: DONE; it has not been told */
    UVZK__MEMBER_DONE       /* final */
};

extern const struct uvzk__machine uvzk__member_machine;

extern const struct uvzk__claim_kind uvzk__claim_at_once;
int uvzk__at_once_prepare(struct uvzk__claim *, const struct uvzk__multilock *);

extern const struct uvzk__claim_kind uvzk__claim_in_turn;
int uvzk__in_turn_prepare(struct uvzk__claim *, const struct uvzk__multilock *,
                          const uvzk_acquire_options_t *);
void uvzk__in_turn_begin(struct uvzk__claim *);

#endif
