/* What is asked of a lock, whatever its recipe. */
#include <string.h>

#include "base/refusal.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "claim/revocation.h"
#include "directory/contender.h"
#include "engine/turn.h"
#include "proof/prover.h"

void uvzk_acquire_options_init_size(uvzk_acquire_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
    options->timeout_ms = UVZK_WAIT_FOREVER;
}

static int read_options(uvzk_acquire_options_t *into, const uvzk_acquire_options_t *from)
{
    uvzk_acquire_options_init(into);
    if (from == NULL) {
        return 0;
    }
    if (from->size < offsetof(uvzk_acquire_options_t, leases)) {
        return uvzk__refuse(UV_EINVAL, /* what version 0.1 had */
                            "options.size: begin with uvzk_acquire_options_init");
    }
    memcpy(into, from, from->size < sizeof(*into) ? from->size : sizeof(*into));
    return uvzk__refuse_if(
        UV_EINVAL, into->timeout_ms < UVZK_WAIT_FOREVER ? "options.timeout_ms is below -1"
                   : into->node_data_length > UVZK__DATA_MAX
                       ? "options.node_data_length is more than 1000000"
                   : into->node_data == NULL && into->node_data_length > 0
                       ? "options.node_data is NULL, node_data_length is not 0"
                       : NULL);
}

/* What can be refused without a znode; 0 if nothing can. */
static int refusal(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    struct uvzk__session *session = lock->session;

    if (session->auth_failed) {
        return UVZK_EAUTH;
    }
    if (options->timeout_ms != UVZK_TRY_ONCE) {
        return 0;
    }
    if (!uvzk__connection_is_connected(&session->connection)) {
        return UVZK_ECONNLOSS;
    }
    return lock->kind->occupied(lock, options) ? UV_ETIMEDOUT : 0;
}

/* The owner's claim, pending or held, if there is one. */
static struct uvzk__claim *claim_to_join(struct uvzk__lock *lock,
                                         const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *claim = uvzk__claim_of(lock, options->owner);

    if (claim != NULL && uvzk__claim_is_held(claim) && !uvzk__claim_holds(claim)) {
        uvzk__provers_check(claim->session);
        claim = uvzk__claim_of(lock, options->owner); /* that hold is lost */
    }
    return claim;
}

static int join(struct uvzk__claim *claim, struct uvzk__acquisition *acquisition,
                const uvzk_acquire_options_t *options)
{
    if (options->revoke_cb != NULL && uvzk__revocation_enable(claim) != 0) {
        return UV_ENOMEM;
    }
    uvzk__acquisition_start(acquisition, claim, options->timeout_ms);
    if (uvzk__claim_is_held(claim)) {
        uvzk__acquisition_grant(acquisition);
    }
    return 0;
}

/* A claim in this session, with all that it needs. UVZK_ELIMIT: there is no room. */
static int create_claim_in(struct uvzk__session *session, struct uvzk__lock *lock,
                           const uvzk_acquire_options_t *options,
                           struct uvzk__claim **made)
{
    struct uvzk__claim *claim =
        uvzk__claim_new(lock, session, lock->kind->claim_kind, options);
    int status = claim == NULL ? UV_ENOMEM : lock->kind->prepare(lock, claim, options);

    if (status == 0 && options->revoke_cb != NULL) {
        status = uvzk__revocation_enable(claim);
        if (status != 0) {
            uvzk__claim_remove_contenders(claim);
        }
    }
    if (status == 0) {
        *made = claim;
    } else if (claim != NULL) {
        uvzk__claim_free(claim);
    }
    return status;
}

enum suitability { UNSUITABLE, UNREACHABLE, SUITABLE };

/* Whether it is made there: in the lock's home in any case. At first only where there
 * is a connection, and room to watch whoever stands before it; one that is tried once
 * cannot wait for a connection. */
static enum suitability
suitability_of(const struct uvzk__lock *lock, const struct uvzk__session *session,
               const char *path, const uvzk_acquire_options_t *options, bool at_first)
{
    bool away = session != lock->session;

    if (away && session->auth_failed) {
        return UNSUITABLE;
    }
    if (away && !uvzk__connection_is_connected(&session->connection) &&
        (at_first || options->timeout_ms == UVZK_TRY_ONCE)) {
        return UNREACHABLE;
    }
    return !at_first || uvzk__watch_budget_has_room(session, path) ? SUITABLE
                                                                   : UNSUITABLE;
}

/* In the first session of the path's rank that has room, the home before all.
 * UVZK_ECONNLOSS: tried once, and one that may have room is out of reach. */
static int create_claim_in_order(struct uvzk__lock *lock, const char *path,
                                 const uvzk_acquire_options_t *options,
                                 struct uvzk__claim **made)
{
    bool unreachable = false;

    for (int at_first = 1; at_first >= 0; at_first--) {
        struct uvzk__session *session;
        uint32_t tried = 0;

        while ((session = uvzk__next_in_rank(lock->session, path, &tried)) != NULL) {
            enum suitability suitability =
                suitability_of(lock, session, path, options, at_first == 1);
            int status = suitability == SUITABLE
                             ? create_claim_in(session, lock, options, made)
                             : UVZK_ELIMIT;
            if (status != UVZK_ELIMIT) {
                return status;
            }
            unreachable |= suitability == UNREACHABLE;
        }
    }
    if (unreachable && options->timeout_ms == UVZK_TRY_ONCE) {
        return UVZK_ECONNLOSS;
    }
    return uvzk__refuse(UVZK_ELIMIT,
                        "each session's budget of znodes, 1500000 bytes of their paths, "
                        "is spent: set options.sessions higher");
}

static int create_claim(struct uvzk__lock *lock, const uvzk_acquire_options_t *options,
                        struct uvzk__claim **made)
{
    const char *path =
        uvzk__has_sessions(lock->session) && lock->kind->session_order_path != NULL
            ? lock->kind->session_order_path(lock, options)
            : NULL;

    return path == NULL ? create_claim_in(lock->session, lock, options, made)
                        : create_claim_in_order(lock, path, options, made);
}

/* It is told soon, with nothing asked of the server. */
static int end_at_once(struct uvzk__acquisition *acquisition,
                       const uvzk_acquire_options_t *options, int status)
{
    uvzk__acquisition_start(acquisition, NULL, options->timeout_ms);
    if (status == UV_ETIMEDOUT) {
        uvzk__acquisition_try_failed(acquisition);
    } else {
        uvzk__acquisition_end(acquisition, status);
    }
    return 0;
}

static int begin(struct uvzk__lock *lock, struct uvzk__acquisition *acquisition,
                 const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *claim = claim_to_join(lock, options);
    int status;

    if (claim != NULL) {
        return join(claim, acquisition, options);
    }
    status = refusal(lock, options);
    if (status != 0) {
        return end_at_once(acquisition, options, status);
    }
    status = create_claim(lock, options, &claim);
    if (status != 0) {
        return status == UVZK_ECONNLOSS ? end_at_once(acquisition, options, status)
                                        : status;
    }
    uvzk__acquisition_start(acquisition, claim, options->timeout_ms);
    if (lock->kind->begin != NULL) {
        lock->kind->begin(claim);
    } else {
        uvzk__contender_pump(uvzk__claim_first_contender(claim));
    }
    return 0;
}

int uvzk_lock_acquire(uvzk_lock_t *shell, uvzk_hold_t *hold,
                      const uvzk_acquire_options_t *options,
                      uvzk_hold_acquire_cb acquire_cb, uvzk_hold_lost_cb lost_cb)
{
    uvzk_acquire_options_t known;
    int status = uvzk__refuse_if(UV_EINVAL, shell == NULL        ? "lock is NULL"
                                            : hold == NULL       ? "hold is NULL"
                                            : acquire_cb == NULL ? "acquire_cb is NULL"
                                            : lost_cb == NULL    ? "lost_cb is NULL"
                                                                 : NULL);

    if (status == 0) {
        status = read_options(&known, options);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__lock *lock = shell->impl;
    if (hold->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "hold is pending or held, or not zeroed");
    }
    if (lock == NULL || lock->closing || lock->session->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->ignores_owners) {
        known.owner = NULL;
    }
    status = lock->kind->check(lock, &known);
    if (status != 0) {
        return status;
    }
    struct uvzk__acquisition *acquisition =
        uvzk__acquisition_new(lock, hold, &known, acquire_cb, lost_cb);
    if (acquisition == NULL) {
        return UV_ENOMEM;
    }
    status = begin(lock, acquisition, &known);
    if (status != 0) {
        uvzk__free(acquisition);
    }
    return status;
}

/* ------------------------------------------------------------------ closing */

int uvzk_lock_close(uvzk_lock_t *shell, uvzk_lock_close_cb close_cb)
{
    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "lock is NULL");
    }
    struct uvzk__lock *lock = shell->impl;
    if (lock == NULL || lock->closing) {
        return uvzk__refuse(UVZK_ESTATE, "lock is closing, or not initialised");
    }
    uvzk__lock_ref(lock);
    lock->closing = true;
    struct uvzk__claim *claim;
    while ((claim = uvzk__lock_first_claim(lock)) != NULL) { /* its end takes it off */
        uvzk__claim_end(claim, UVZK_ECLOSED);
    }
    uvzk__lock_set_no_claims(lock, close_cb);
    uvzk__lock_unref(lock);
    return 0;
}

/* ------------------------------------------------------------------- asking */

/* Of claims with proofs of their own: in several sessions, or of members. The first ones
 * hold. */
static bool any_claim_holds(const struct uvzk__lock *lock)
{
    const struct uvzk__claim *claim = uvzk__lock_first_claim(lock);

    while (claim != NULL && !uvzk__claim_holds(claim)) {
        claim = uvzk__lock_next_claim(lock, claim);
    }
    return claim != NULL;
}

int uvzk_lock_is_held(const uvzk_lock_t *shell)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;

    if (lock == NULL || lock->held_count == 0) {
        return false;
    }
    return uvzk__has_sessions(lock->session) || lock->kind->claim_kind->member != NULL
               ? any_claim_holds(lock)
               : lock->persistent ||
                     uvzk__prover_valid_until(lock->session) > uvzk__now(lock->session);
}

int uvzk_lock_is_held_by(const uvzk_lock_t *shell, const void *owner)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;
    const struct uvzk__claim *claim = lock == NULL ? NULL : uvzk__claim_of(lock, owner);

    return claim != NULL && uvzk__claim_holds(claim);
}
