/* What is behind every uvzk_lock_t: the verbs that all recipes share. A recipe is
 * its lock_kind: how a claim on it begins. */
#ifndef UVZK_LOCK_H
#define UVZK_LOCK_H

#include "state.h"

struct uvzk__lock_kind {
    const struct uvzk__claim_kind *claim_kind;
    /* What the acquire call refuses at once, with this code; 0. */
    int (*check)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* Whether whoever tries once would have to wait for somebody here. */
    bool (*occupied)(struct uvzk__lock *, const uvzk_acquire_options_t *);
    /* Gives a new claim what it needs, so that beginning cannot fail: 0, UV_ENOMEM,
     * UVZK_ELIMIT, UV_EIO; after a failure the claim has no contenders. */
    int (*prepare)(struct uvzk__lock *, struct uvzk__claim *,
                   const uvzk_acquire_options_t *);
    /* Puts it on its way. The claim may be gone afterwards. */
    void (*begin)(struct uvzk__lock *, struct uvzk__claim *);
    /* The lock is freed: what the kind has put behind `extra`. May be NULL. */
    void (*freed)(struct uvzk__lock *);
};

/* What an init function refuses: UV_EINVAL, UVZK_ESTATE, UV_EBUSY, UVZK_EPATH; 0. */
int uvzk__lock_check(const uvzk_client_t *, const uvzk_lock_t *, const char *path);

/* A new lock at this path below the namespace. NULL when out of memory. */
struct uvzk__lock *uvzk__lock_new(struct uvzk__client *, uvzk_lock_t *, const char *path,
                                  const struct uvzk__lock_kind *);

/* One of its acquisitions has had its FINAL callback, or is about to. */
void uvzk__lock_acquisition_over(struct uvzk__lock *);

/* Frees it with its client; its shell is the caller's again. */
void uvzk__lock_free(struct uvzk__lock *);

#endif
