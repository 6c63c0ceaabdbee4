/* SPDX-License-Identifier: Apache-2.0 */
/* A claim is the request of one owner for one lock in one session. Above it are its
 * acquisitions (one for each acquire call of that owner), below it its contenders (one
 * for each znode that it needs).
 *
 *   ASKING --- the contenders that it needs hold ---> HELD --- release, loss ---.
 *     |  ^                                             |                        v
 *     |  +-- the proof expired before the user knew ---+                     GIVEN_UP
 *     +------------- refused, cancelled, timed out -----------------------^     |
 *     |  ^                                           the last contender is gone v
 *     v  | the claim could not begin: its contenders are withdrawn              freed
 *   EMPTYING
 *
 * The claim_kind of a recipe decides when the claim as a whole holds. The plain kind
 * (uvzk__claim_plain) needs all contenders to hold. */
#ifndef UVZK_CLAIM_H
#define UVZK_CLAIM_H

#include "base/machine.h"
#include "claim/hold_limit.h"
#include "claim/wait_reason.h"
#include "directory/queue.h"

struct uvzk__contender_user;
struct uvzk__lock;
struct uvzk__session;

/* What this room keeps for one session: its locks, the lists of claims and acquisitions
 * that wait for something, and a buffer for texts. */
struct uvzk__claims {
    struct uvzk__link locks;    /* made in this session, until they are freed */
    struct uvzk__link try_once; /* pending acquisitions with UVZK_TRY_ONCE */
    /* Claims that have ended, whose contenders are withdrawn in the next round. */
    struct uvzk__link to_withdraw;
    /* The buffer of uvzk__claims_user_text; NULL: none yet. */
    char *user_text;
    /* In bytes, without one byte that is always added. */
    size_t user_text_size;
    /* Locks made in this session so far; the last number that was given out. */
    uint64_t locks_made;
};

/* The struct itself is part of the session's memory (client/create.c). init prepares its
 * lists; free frees what the struct points to. */
void uvzk__claims_init(struct uvzk__claims *);
void uvzk__claims_free(struct uvzk__claims *);

/* Returns a buffer of at least `size` bytes for a text that the user may read until the
 * next call of this function. The session owns the buffer. NULL: out of memory. */
char *uvzk__claims_user_text(struct uvzk__session *, size_t size);

/* The callbacks by which contenders report to their claims, and ask them. */
extern const struct uvzk__contender_user uvzk__claim_contender_user;

/* How the claims of a recipe differ. Each contender of a claim reports to the kind of its
 * claim. */
struct uvzk__claim_kind {
    /* The contender has been granted in its directory; or it has lost the grant before
     * the user knew of it, and waits again. */
    void (*granted)(struct uvzk__contender *);
    void (*ungranted)(struct uvzk__contender *);
    /* The contender is no longer wanted: its wait was refused, its znode was deleted, its
     * session ended, or the client closes. */
    void (*ended)(struct uvzk__contender *, int code);
    /* The znode of the contender is to be deleted. Returns whether the znode at its path
     * is certainly the contender's own. If it is not certain, the kind sends a request to
     * find out, and then calls uvzk__contender_pump. NULL: it is always certain. */
    bool (*may_delete)(struct uvzk__contender *);
    /* The znode of the contender is gone, and the contender is about to leave the claim.
     * status: 0 or the code that the release reports. May be NULL. */
    void (*contender_gone)(struct uvzk__contender *, int status);
    /* For a claim that consists of other claims (a multi lock in turn): returns the claim
     * of the index-th member, or NULL beyond the last member and for a member that does
     * not hold. May be NULL. */
    const struct uvzk__claim *(*member)(const struct uvzk__claim *, uint32_t index);
    /* The claim is given up. Returns true if the kind itself withdraws the contenders,
     * now or later. False, or NULL: claim.c withdraws them. */
    bool (*keeps_contenders)(struct uvzk__claim *);
    /* The claim is freed: frees what the kind keeps in `extra`. May be NULL. */
    void (*freed)(struct uvzk__claim *);
    /* Tells what a claim that does not hold waits for (timed_out_wait.h). most: how many
     * local contenders are counted at most. NULL: the claim waits for what its contenders
     * wait for. */
    void (*wait_reason)(const struct uvzk__claim *, size_t most,
                        struct uvzk__wait_reason *);
};

enum uvzk__claim_state {
    UVZK__CLAIM_ASKING,   /* next: HELD GIVEN_UP EMPTYING */
    UVZK__CLAIM_HELD,     /* next: ASKING GIVEN_UP */
    UVZK__CLAIM_EMPTYING, /* next: ASKING */
    UVZK__CLAIM_GIVEN_UP  /* final: its acquisitions end, or wait for the deletes */
};

extern const struct uvzk__machine uvzk__claim_machine;

struct uvzk__claim {
    const struct uvzk__claim_kind *kind;
    struct uvzk__session *session;
    /* The lock whose owner may re-enter. NULL once the claim is given up. */
    struct uvzk__lock *lock;
    /* In lock->claims. Once the claim is given up: in session->claims->to_withdraw, or in
     * a list of its kind (leases.h). */
    struct uvzk__link link;
    /* The acquisitions that are not detached yet, in the order of the acquire calls. */
    struct uvzk__ring acquisitions;
    /* The contenders that are not detached yet. */
    struct uvzk__ring contenders;
    void *extra;              /* owned and used by the kind */
    int64_t fencing_token;    /* of the hold; 0 before the first grant */
    uint32_t refs;            /* the claim is not freed before this is 0 */
    uint32_t contender_count; /* length of `contenders` */
    uint32_t held_count;      /* how many of the contenders hold */
    /* The first error among the deletes of the znodes; 0: none. The release callback
     * reports it. */
    int16_t release_status;
    uint8_t state; /* enum uvzk__claim_state */
    /* Its znodes are persistent, so they and the hold outlive the session. */
    bool persistent : 1;
    bool owned : 1; /* it is a struct uvzk__owned_claim (claim.c) */
    /* Its znodes have their own data, which follow the claim in memory (claim.c). */
    bool has_data : 1;
    bool limited : 1; /* it has a hold_limit, which is in front of the struct */
};

/* Makes a claim on the lock, in this session of the lock's client. The claim has the
 * owner, the hold limit and a copy of the data of the options, and no contenders. NULL: out of memory. */
struct uvzk__claim *uvzk__claim_new(struct uvzk__lock *, struct uvzk__session *,
                                    const struct uvzk__claim_kind *,
                                    const uvzk_acquire_options_t *);

/* The owner that the acquire named, or NULL. */
const void *uvzk__claim_owner(const struct uvzk__claim *);

/* The data for the claim's znodes, owned by the claim. NULL: they get the client's
 * default data. */
const void *uvzk__claim_data(const struct uvzk__claim *);
size_t uvzk__claim_data_length(const struct uvzk__claim *);
/* Returns true if both claims have the same data, so that one claim may take over the
 * znode of the other. */
bool uvzk__claim_same_data(const struct uvzk__claim *, const struct uvzk__claim *);

/* Frees a claim that has neither contenders nor acquisitions. */
void uvzk__claim_free(struct uvzk__claim *);

static inline bool uvzk__claim_is_of(const struct uvzk__claim *claim,
                                     const struct uvzk__claim_kind *kind)
{
    return claim->kind == kind;
}
/* The index-th claim that it consists of (claim_kind.member). NULL: beyond the last, or
 * it consists of contenders. */
static inline const struct uvzk__claim *
uvzk__claim_member(const struct uvzk__claim *claim, uint32_t index)
{
    return claim->kind->member == NULL ? NULL : claim->kind->member(claim, index);
}

/* The first function returns true if the claim holds as a whole, regardless of the clock;
 * the second, if the claim has ended, or is emptied because it could not begin. */
static inline bool uvzk__claim_is_held(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_HELD;
}
static inline bool uvzk__claim_is_given_up(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_GIVEN_UP || claim->state == UVZK__CLAIM_EMPTYING;
}

/* The claim of this owner on the lock, pending or held. NULL: the owner is NULL or has
 * none. */
struct uvzk__claim *uvzk__claim_of(const struct uvzk__lock *, const void *owner);

/* The claim holds as a whole, with this fencing token: grants its acquisitions. */
void uvzk__claim_grant(struct uvzk__claim *, int64_t token);
/* The grant is taken back. Acquisitions whose callback has not run yet continue to wait;
 * the others do not change. */
void uvzk__claim_ungrant(struct uvzk__claim *);

/* Ends the claim. Its acquisitions end with this code, except for those in RELEASING. Its
 * contenders are withdrawn: a single one at once, several in the next round of the turn.
 * The claim may have been freed when the function returns. Does nothing if the claim is
 * given up already. */
void uvzk__claim_end(struct uvzk__claim *, int code);
/* For a broken client (engine/invariant.h): ends all acquisitions of the claim, and the
 * claim, whatever its state is. Its releases end with this code too. */
void uvzk__claim_end_broken(struct uvzk__claim *, int code);
/* The claim has been given up: has its contenders withdrawn in the next round of the
 * turn. */
void uvzk__claim_withdraw(struct uvzk__claim *);
/* Withdraws the contenders of all claims in to_withdraw. Called once in each round. */
void uvzk__claims_withdraw(struct uvzk__session *);

/* Withdraws the contenders of a claim that could not begin. No create has been sent for
 * them, so all of them are gone when the function returns. The claim is ASKING again and
 * may be freed. */
void uvzk__claim_remove_contenders(struct uvzk__claim *);

/* The claim is not freed between a call of ref and the matching call of unref. */
void uvzk__claim_ref(struct uvzk__claim *);
void uvzk__claim_unref(struct uvzk__claim *);

/* The releases will report this status, unless an earlier status was an error. */
void uvzk__claim_set_release_status(struct uvzk__claim *, int status);

/* The contender becomes one of the claim's; or it leaves the claim. A claim that has been
 * given up is freed when its last contender leaves. */
void uvzk__claim_attach(struct uvzk__claim *, struct uvzk__contender *);
void uvzk__claim_detach(struct uvzk__contender *);

/* Makes a contender of the claim in this directory (uvzk__contender_new, whose codes it
 * returns). The second function makes it in the directory of that path, and may return
 * UV_ENOMEM. If options->queued_cb is set, the contender will report how many contenders
 * are ahead of it. */
int uvzk__claim_new_contender(struct uvzk__claim *, struct uvzk__queue *,
                              const struct uvzk__contender_kind *, void *extra,
                              struct uvzk__contender **out);
int uvzk__claim_add_contender(struct uvzk__claim *, const struct uvzk__directory_kind *,
                              struct uvzk__shared_path *path,
                              const struct uvzk__contender_kind *, void *extra,
                              const uvzk_acquire_options_t *,
                              struct uvzk__contender **out);

/* The first of its contenders, and the one after this one. NULL: there is none. */
static inline struct uvzk__contender *
uvzk__claim_first_contender(const struct uvzk__claim *claim)
{
    return uvzk__contender_of_link(uvzk__ring_first(&claim->contenders));
}
static inline struct uvzk__contender *
uvzk__claim_next_contender(struct uvzk__contender *contender)
{
    return uvzk__contender_of_link(
        uvzk__ring_next(&contender->claim->contenders, &contender->in_claim));
}

/* The full path of the index-th of those znodes that hold, or NULL beyond the last. The
 * claim or its member owns the text. */
const char *uvzk__claim_node_path(const struct uvzk__claim *, uint32_t index);

/* The plain kind: a claim that holds when all of its contenders hold, and ends when one of
 * them ends, for whatever reason. The end of the claim withdraws the other contenders. Its
 * fencing token is the greatest czxid of their znodes. */
extern const struct uvzk__claim_kind uvzk__claim_plain;

/* The functions of the plain kind, for other kinds that differ from it in one of them. */
void uvzk__claim_plain_granted(struct uvzk__contender *);
void uvzk__claim_plain_ungranted(struct uvzk__contender *);
void uvzk__claim_plain_ended(struct uvzk__contender *, int code);

/* Returns true if the claim holds as a whole, and the hold is still valid by the
 * clock. */
bool uvzk__claim_holds(const struct uvzk__claim *);

/* ------------------------------------------------------------ for this room alone */

/* Until when the hold is proved, in ms of uvzk__now; UINT64_MAX: without limit. A hold with
 * ephemeral znodes is valid as long as its session is proved. A hold with persistent znodes
 * is valid without limit. A hold that consists of other claims (a multi lock in turn) is
 * valid as long as each of these. If the hold is limited (hold_limit.h), it is valid at
 * most until its time is over. */
uint64_t uvzk__claim_valid_until(const struct uvzk__claim *);

/* The limit of its hold. NULL: none. */
static inline struct uvzk__hold_limit *
uvzk__claim_hold_limit(const struct uvzk__claim *claim)
{
    return uvzk__hold_limit_before(claim, claim->limited);
}

/* The two halves of uvzk__claim_end, for code that does something in between. The first
 * ends the claim and its acquisitions, but its contenders stay as they are. The second has
 * them withdrawn; it may free the claim. */
void uvzk__claim_give_up(struct uvzk__claim *, int code);
void uvzk__claim_withdraw_given_up(struct uvzk__claim *);

#endif
