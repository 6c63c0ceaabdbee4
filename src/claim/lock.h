/* What is behind every uvzk_lock_t, from its init to its close. A recipe is its lock_kind:
 * how a claim on it begins; the verbs are the same for all (acquire.c). */
#ifndef UVZK_LOCK_H
#define UVZK_LOCK_H

#include "base/shared_path.h"
#include "claim/claim.h"
#include "claim/participant.h"

struct uvzk__lock_kind {
    const struct uvzk__claim_kind *claim_kind;
    bool ignores_owners; /* nobody re-enters it */
    /* What the acquire call refuses at once, with this code; 0. */
    int (*check)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* Whether whoever tries once would have to wait for somebody here. */
    bool (*occupied)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* By which path claims rank the sessions of the client, to be made in the next one when
     * the lock's own has no room; NULL, or none: they live in that one alone. */
    const char *(*session_order_path)(const struct uvzk__lock *,
                                      const uvzk_acquire_options_t *);
    /* Gives a new claim what it needs, so that beginning cannot fail: 0, UV_ENOMEM,
     * UVZK_ELIMIT, UV_EIO; after a failure the claim has no contenders. */
    int (*prepare)(struct uvzk__lock *, struct uvzk__claim *,
                   const uvzk_acquire_options_t *);
    /* Puts it on its way; the claim may be gone afterwards. NULL: its first contender
     * is pumped. */
    void (*begin)(struct uvzk__claim *);
    /* Where those stand who take part, in the order in which they are told; returns how
     * many directories there are. NULL: nobody can be told. */
    size_t (*directories)(const struct uvzk__lock *,
                          struct uvzk__participant_directory *);
    /* What the contenders in them, at least one, are to this lock: marks some of them
     * as silent, and as holding. In a driver-defined directory all children are
     * contenders, in no order; it may put them into one. 0 or UV_ENOMEM. */
    int (*classify)(const struct uvzk__lock *, struct uvzk__participant *, size_t count);
    /* The lock is freed: what the kind has put behind `extra`. May be NULL. */
    void (*freed)(struct uvzk__lock *);
};

struct uvzk__lock {
    const struct uvzk__lock_kind *kind;
    uvzk_lock_t *shell;
    struct uvzk__session *session;  /* the home of its path */
    struct uvzk__shared_path *path; /* namespace included */
    struct uvzk__link in_session;   /* on session->claims->locks */
    union {
        struct {
            struct uvzk__link claims; /* not given up */
            struct uvzk__owned_claim
                *owned; /* those with an owner, claim.c; uthash by him */
        };
        struct {                                    /* once it has none any more */
            struct uvzk__notification notification; /* of its close */
            uvzk_lock_close_cb close_cb;
        };
    };
    void *extra;         /* the kind's own */
    uint32_t refs;       /* its close waits for them */
    uint32_t held_count; /* claims that hold */
    uint64_t
        number : 56; /* of the session's locks: the next one in its shell has another */
    bool persistent : 1; /* so are its claims */
    bool closing : 1;
    bool no_claims : 1; /* closing, all its claims given up */
};

/* A lock, as whoever keeps its shell knows it again: that may be used for another one. */
struct uvzk__lock_identity {
    const struct uvzk__session *session;
    uint64_t number;
};

static inline struct uvzk__lock_identity
uvzk__lock_identity(const struct uvzk__lock *lock)
{
    return (struct uvzk__lock_identity){lock->session, lock->number};
}

/* The one behind the shell; NULL: it is closing, or another one is. */
struct uvzk__lock *uvzk__lock_by_identity(const uvzk_lock_t *,
                                          struct uvzk__lock_identity);

/* What an init function refuses: UV_EINVAL, UVZK_ESTATE, UV_EBUSY, UVZK_EPATH; 0. */
int uvzk__lock_check(const uvzk_client_t *, const uvzk_lock_t *, const char *path);

/* A new lock at this path below the namespace, in the session that is its home; one without
 * a path ("") in the session that is given. NULL when out of memory. */
struct uvzk__lock *uvzk__lock_new(struct uvzk__session *, uvzk_lock_t *, const char *path,
                                  const struct uvzk__lock_kind *);

/* Whether its claims' znodes outlive their session. */
static inline void uvzk__lock_set_persistent(struct uvzk__lock *lock, bool persistent)
{
    lock->persistent = persistent;
}

/* Of one that is initialised; else NULL. */
struct uvzk__session *uvzk__lock_session(const uvzk_lock_t *);

/* The first of its claims that are not given up, and the next one of a claim; NULL: there
 * is none. */
struct uvzk__claim *uvzk__lock_first_claim(const struct uvzk__lock *);
struct uvzk__claim *uvzk__lock_next_claim(const struct uvzk__lock *,
                                          const struct uvzk__claim *);

/* It is closing, and all its claims have been given up; its close is told when all that
 * pins it is over. */
void uvzk__lock_set_no_claims(struct uvzk__lock *, uvzk_lock_close_cb);

/* One of its claims holds, or one less. */
void uvzk__lock_hold_began(struct uvzk__lock *);
void uvzk__lock_hold_ended(struct uvzk__lock *);

/* Its close is told when all that pins it is over. */
void uvzk__lock_ref(struct uvzk__lock *);
void uvzk__lock_unref(struct uvzk__lock *);

/* Frees it with its client; its shell is the caller's again. */
void uvzk__lock_free(struct uvzk__lock *);

#endif
