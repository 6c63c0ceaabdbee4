/* SPDX-License-Identifier: Apache-2.0 */
/* The library's part of every uvzk_lock_t, from its init to its close. The recipes differ
 * in their lock_kind, which says how a claim is made and begun. The public functions are
 * the same for all recipes (acquire.c). */
#ifndef UVZK_LOCK_H
#define UVZK_LOCK_H

#include "base/path.h"
#include "claim/claim.h"
#include "claim/participant.h"

struct uvzk__lock_kind {
    const struct uvzk__claim_kind *claim_kind;
    bool ignores_owners; /* its acquires have no owner, so there is no re-entry */
    /* Of a kind whose claims have one contender each, for the functions in
     * locks/mutex.h. */
    const struct uvzk__directory_kind *directory_kind;
    const struct uvzk__contender_kind *contender_kind;
    /* Checks the options of an acquire: 0, or the code that uvzk_lock_acquire returns. */
    int (*check)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* Returns true if an acquire with UVZK_TRY_ONCE would have to wait for a local
     * contender. */
    bool (*occupied)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* The path by which the sessions of the client are ranked for a claim. If the lock's
     * own session has no room, the claim is made in the next session of that rank. NULL,
     * as function or as result: claims are made only in the lock's own session. */
    const char *(*session_order_path)(const struct uvzk__lock *,
                                      const uvzk_acquire_options_t *);
    /* Allocates everything that a new claim needs, so that beginning it cannot fail.
     * Returns 0, UV_ENOMEM, UVZK_ELIMIT or UV_EIO. After a failure the claim has no
     * contenders. */
    int (*prepare)(struct uvzk__lock *, struct uvzk__claim *,
                   const uvzk_acquire_options_t *);
    /* Begins the claim: sends its first requests, or has them sent. The claim may have
     * been freed when it returns. NULL: the first contender is pumped. */
    void (*begin)(struct uvzk__claim *);
    /* Writes the directories in which the participants of the lock are, in the order in
     * which they are reported, and returns how many there are. The paths are owned by the
     * lock. NULL: the lock has no participants of its own (a multi lock). */
    size_t (*directories)(const struct uvzk__lock *,
                          struct uvzk__participant_directory *);
    /* Classifies the contenders found in these directories, at least one: marks those
     * that must be hidden, and those that hold. In a driver-defined directory all
     * children are contenders, in no order; the function may sort them. Returns 0 or
     * UV_ENOMEM. */
    int (*classify)(const struct uvzk__lock *, struct uvzk__participant *, size_t count);
    /* The lock is freed: frees what the kind keeps in `extra`. May be NULL. */
    void (*freed)(struct uvzk__lock *);
};

struct uvzk__lock {
    const struct uvzk__lock_kind *kind;
    /* The user's struct. */
    uvzk_lock_t *handle;
    /* The home of its path; of a multi lock, the client's session that was given. */
    struct uvzk__session *session;
    struct uvzk__shared_path *path; /* namespace included; owned by reference */
    struct uvzk__link in_session;   /* in session->claims->locks */
    union {
        struct {
            struct uvzk__link claims; /* those that are not given up */
            /* Those of them that have an owner, by owner (claim.c). */
            struct uvzk__owned_claim *owned;
        };
        struct {                                    /* from no_claims on */
            struct uvzk__notification notification; /* runs the close callback */
            uvzk_lock_close_cb close_cb;
        };
    };
    void *extra;         /* owned and used by the kind */
    uint32_t refs;       /* the close callback waits until this is 0 */
    uint32_t held_count; /* how many of its claims are HELD */
    /* The defaults of options.max_hold_ms and max_hold_warning_ms; 0: none. */
    uint32_t max_hold_ms, max_hold_warning_ms;
    /* Its number among the session's locks. A lock that is made later in the same
     * uvzk_lock_t has another number. */
    uint64_t number : 56;
    bool persistent : 1; /* the znodes of its claims outlive the session */
    bool closing : 1;
    bool limited : 1; /* a claim with a hold_limit has been made */
    /* It is closing and has no claims left; the union has its second form. */
    bool no_claims : 1;
};

/* Identifies a lock for code that keeps only its uvzk_lock_t, which may have been used
 * for another lock since. */
struct uvzk__lock_identity {
    const struct uvzk__session *session;
    uint64_t number;
};

static inline struct uvzk__lock_identity
uvzk__lock_identity(const struct uvzk__lock *lock)
{
    return (struct uvzk__lock_identity){lock->session, lock->number};
}

/* The lock of this identity in the handle. NULL: that lock is closing or closed, or the
 * handle has another lock. The handle's memory must still be valid. */
struct uvzk__lock *uvzk__lock_by_identity(const uvzk_lock_t *,
                                          struct uvzk__lock_identity);

/* The checks of an init function: 0, UV_EINVAL, UVZK_ESTATE, UV_EBUSY; the second function
 * also checks the path: UVZK_EPATH, UVZK_ENOCHILDREN. */
int uvzk__lock_check_handle(const uvzk_client_t *, const uvzk_lock_t *);
int uvzk__lock_check(const uvzk_client_t *, const uvzk_lock_t *, const char *path);

/* Makes a lock at this path below the namespace, in the session that is the path's home,
 * or with an empty path in the given session. The handle refers to it from now on. NULL:
 * out of memory. */
struct uvzk__lock *uvzk__lock_new(struct uvzk__session *, uvzk_lock_t *, const char *path,
                                  const struct uvzk__lock_kind *);

/* Sets whether the znodes of its claims outlive their session. Called before the first
 * acquire. */
static inline void uvzk__lock_set_persistent(struct uvzk__lock *lock, bool persistent)
{
    lock->persistent = persistent;
}

/* The session of an initialized lock, else NULL. */
struct uvzk__session *uvzk__lock_session(const uvzk_lock_t *);

/* The first of the lock's claims that are not given up, and the one after a given claim.
 * NULL: there is none. */
struct uvzk__claim *uvzk__lock_first_claim(const struct uvzk__lock *);
struct uvzk__claim *uvzk__lock_next_claim(const struct uvzk__lock *,
                                          const struct uvzk__claim *);

/* Calls a function for each of these claims. It may end claims. */
void uvzk__lock_each_claim(struct uvzk__lock *, void (*act)(struct uvzk__claim *, int),
                           int code);

/* The close callback does not run between a call of ref and the matching call of
 * unref. */
void uvzk__lock_ref(struct uvzk__lock *);
void uvzk__lock_unref(struct uvzk__lock *);

/* Returns true if a lock of the session has its znodes below this path. */
bool uvzk__locks_need_below(const struct uvzk__session *, const char *path);

/* Frees the lock at once. The handle belongs to the caller again. */
void uvzk__lock_free(struct uvzk__lock *);
/* Frees all locks of the session, which its client's user need not have closed. */
void uvzk__locks_free(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* The lock is closing, and all its claims have been given up. The close callback runs
 * when the last reference is gone. */
void uvzk__lock_set_no_claims(struct uvzk__lock *, uvzk_lock_close_cb);

#endif
