/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_lock_acquire, uvzk_lock_close, uvzk_lock_is_held and the like, for locks of every
 * recipe. lock->kind has what differs between recipes (lock.h).
 *
 * An acquire joins the claim that its owner already has on the lock. Otherwise it makes a
 * claim, in the lock's own session or, with options.sessions above 1, in another session
 * of the client that has room. All memory is allocated before the claim begins, so that
 * beginning cannot fail. An error is returned, with nothing done; any other outcome is
 * reported by the acquire callback. */
#include <string.h>

#include "base/refusal.h"
#include "base/struct_size.h"
#include "base/traceparent.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "engine/handle_end.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "proof/validity.h"

void uvzk_acquire_options_init_size(uvzk_acquire_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
    options->timeout_ms = UVZK_WAIT_FOREVER;
}

static int check_traceparent(const uvzk_acquire_options_t *options)
{
    if (options->traceparent == NULL) {
        return 0;
    }
    return uvzk__refuse_if(
        UV_EINVAL,
        !uvzk__traceparent_is_valid(options->traceparent)
            ? "options.traceparent: not 2, 32, 16 and 2 lower-case hex digits with '-' "
              "between them, or the trace or the parent is 0"
        : options->revoke_cb != NULL
            ? "options.traceparent: the znode of an acquire with revoke_cb has no data"
        : options->node_data_length > UVZK__DATA_MAX - UVZK__TRACEPARENT_LINE_MAX
            ? "options.node_data_length with the traceparent is more than 1000000"
            : NULL);
}

static int read_options(uvzk_acquire_options_t *into, const uvzk_acquire_options_t *from)
{
    uvzk_acquire_options_init(into);
    if (from == NULL) {
        return 0;
    }
    if (from->size < UVZK__SIZE_UP_TO(uvzk_acquire_options_t, revoke_cb)) {
        return uvzk__refuse(UV_EINVAL,
                            "options.size: begin with uvzk_acquire_options_init");
    }
    uvzk__settings_from(into, from, sizeof(*into));
    int status = check_traceparent(into);
    if (status != 0) {
        return status;
    }
    return uvzk__refuse_if(
        UV_EINVAL, into->timeout_ms < UVZK_WAIT_FOREVER ? "options.timeout_ms is below -1"
                   : into->node_data_length > UVZK__DATA_MAX
                       ? "options.node_data_length is more than 1000000"
                   : into->node_data == NULL && into->node_data_length > 0
                       ? "options.node_data is NULL, node_data_length is not 0"
                   : into->max_hold_ms < UVZK_HOLD_UNLIMITED
                       ? "options.max_hold_ms is below -1"
                       : NULL);
}

/* From here on, 0 means without a limit. */
static void use_defaults_of(const struct uvzk__lock *lock,
                            uvzk_acquire_options_t *options)
{
    if (options->max_hold_ms == UVZK_HOLD_UNLIMITED) {
        options->max_hold_ms = 0;
    } else if (options->max_hold_ms == 0) {
        options->max_hold_ms = lock->max_hold_ms;
        options->max_hold_warning_ms = options->max_hold_warning_ms != 0
                                           ? options->max_hold_warning_ms
                                           : lock->max_hold_warning_ms;
    }
}

/* The code of an acquire that can be refused without a znode; 0: it cannot. An acquire
 * without UVZK_TRY_ONCE waits for a connection. */
static int acquire_refusal(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    struct uvzk__session *session = lock->session;

    if (session->auth_failed) {
        return UVZK_EAUTH;
    }
    if (options->timeout_ms != UVZK_TRY_ONCE) {
        return 0;
    }
    if (!uvzk__is_connected(session)) {
        return UVZK_ECONNLOSS;
    }
    /* A local contender is ahead: the answer needs no request. */
    return lock->kind->occupied(lock, options) ? UV_ETIMEDOUT : 0;
}

/* The owner's claim, pending or held, or NULL. If the proof of its hold has expired, the
 * check of the provers reports the loss now, and the owner no longer has a claim. If the
 * hold's time is over (hold_limit.h), the acquire joins the claim and ends with it. */
static struct uvzk__claim *claim_to_join(struct uvzk__lock *lock,
                                         const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *claim = uvzk__claim_of(lock, options->owner);

    if (claim != NULL && uvzk__claim_is_held(claim) && !uvzk__claim_holds(claim)) {
        uvzk__provers_check(claim->session);
        claim = uvzk__claim_of(lock, options->owner); /* the expired claim has ended */
    }
    return claim;
}

/* The user may join a claim with the first revoke_cb after its znodes have been
 * created. */
static int acquire_join(struct uvzk__claim *claim, struct uvzk__acquisition *acquisition,
                        const uvzk_acquire_options_t *options)
{
    if (options->revoke_cb != NULL && uvzk__revocation_enable(claim) != 0) {
        return UV_ENOMEM;
    }
    /* From here on nothing can fail. */
    uvzk__acquisition_start(acquisition, claim, options->timeout_ms);
    if (uvzk__claim_is_held(claim)) {
        uvzk__acquisition_grant(acquisition);
    }
    return 0;
}

/* Makes a claim in this session, with everything that it needs. UVZK_ELIMIT: the session
 * has no room for another znode. */
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
        lock->limited |= claim->limited;
    } else if (claim != NULL) {
        uvzk__claim_free(claim);
    }
    return status;
}

enum suitability { UNSUITABLE, UNREACHABLE, SUITABLE };

/* Decides whether a claim may be made in this session. In the first pass a session must
 * have room to watch a predecessor, and any session but the home must be connected. In
 * the second pass these two limits fall away, but an acquire with UVZK_TRY_ONCE cannot
 * wait for a connection. A session other than the home whose credentials were refused is
 * never suitable. */
static enum suitability
suitability_of(const struct uvzk__lock *lock, const struct uvzk__session *session,
               const char *path, const uvzk_acquire_options_t *options, bool at_first)
{
    bool away = session != lock->session;

    if (away && session->auth_failed) {
        return UNSUITABLE;
    }
    if (away && !uvzk__is_connected(session) &&
        (at_first || options->timeout_ms == UVZK_TRY_ONCE)) {
        return UNREACHABLE;
    }
    return !at_first || uvzk__watch_budget_has_room(session, path) ? SUITABLE
                                                                   : UNSUITABLE;
}

/* Makes the claim in the first session that has room, in the order of the path's rank,
 * which begins with the home. Two passes: see suitability_of. UVZK_ECONNLOSS:
 * UVZK_TRY_ONCE, and a session that may have room is not connected. */
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

/* The acquire ends without a claim and without a request. Its callback reports the status
 * at the end of the turn. */
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

static int acquire_begin(struct uvzk__lock *lock, struct uvzk__acquisition *acquisition,
                         const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *claim = claim_to_join(lock, options);
    int status;

    if (claim != NULL) {
        return acquire_join(claim, acquisition, options);
    }
    status = acquire_refusal(lock, options);
    if (status != 0) {
        return end_at_once(acquisition, options, status);
    }
    status = create_claim(lock, options, &claim);
    if (status != 0) {
        /* UVZK_ECONNLOSS is an outcome, which the callback reports. Other codes are
         * errors of the call, which returns them. */
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

int uvzk_lock_acquire(uvzk_lock_t *handle, uvzk_hold_t *hold,
                      const uvzk_acquire_options_t *options,
                      uvzk_hold_acquire_cb acquire_cb, uvzk_hold_lost_cb lost_cb)
{
    uvzk_acquire_options_t known;
    int status = uvzk__refuse_if(UV_EINVAL, handle == NULL       ? "lock is NULL"
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
    struct uvzk__lock *lock = handle->impl;
    /* Checked before the lock: a hold in use is an error even if its lock is closing. */
    if (hold->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "hold is pending or held, or not zeroed");
    }
    if (lock == NULL || lock->closing || uvzk__session_is_closing(lock->session)) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->ignores_owners) {
        known.owner = NULL;
    }
    use_defaults_of(lock, &known);
    status = lock->kind->check(lock, &known);
    if (status != 0) {
        return status;
    }
    struct uvzk__acquisition *acquisition =
        uvzk__acquisition_new(lock, hold, &known, acquire_cb, lost_cb);
    if (acquisition == NULL) {
        return UV_ENOMEM;
    }
    /* After a failure the acquisition has not been started, and hold->impl is still
     * NULL. */
    status = acquire_begin(lock, acquisition, &known);
    if (status != 0) {
        uvzk__free(acquisition);
    }
    return status;
}

/* ------------------------------------------------------------------ closing */

int uvzk_lock_close(uvzk_lock_t *handle, uvzk_lock_close_cb close_cb)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "lock is NULL");
    }
    struct uvzk__lock *lock = handle->impl;
    if (lock == NULL || lock->closing) {
        return uvzk__refuse(UVZK_ESTATE, "lock is closing, or not initialised");
    }
    /* The reference keeps the lock until set_no_claims has stored close_cb. If no
     * acquisition refers to the lock, unref below queues the close callback. */
    uvzk__lock_ref(lock);
    lock->closing = true;
    uvzk__end_begin(&handle->end, lock->session);
    struct uvzk__claim *claim;
    /* Its end removes it from lock->claims. */
    while ((claim = uvzk__lock_first_claim(lock)) != NULL) {
        uvzk__claim_end(claim, UVZK_ECLOSED);
    }
    uvzk__lock_set_no_claims(lock, close_cb);
    uvzk__lock_unref(lock);
    return 0;
}

/* ------------------------------------------------------------------- is it held */

/* Returns true if any claim of the lock holds. Needed where claims do not share one
 * proof: claims in several sessions, claims that consist of members, or claims whose hold
 * is limited. */
static bool any_claim_holds(const struct uvzk__lock *lock)
{
    const struct uvzk__claim *claim = uvzk__lock_first_claim(lock);

    while (claim != NULL && !uvzk__claim_holds(claim)) {
        claim = uvzk__lock_next_claim(lock, claim);
    }
    return claim != NULL;
}

int uvzk_lock_is_held(const uvzk_lock_t *handle)
{
    const struct uvzk__lock *lock = handle == NULL ? NULL : handle->impl;

    if (lock == NULL || lock->held_count == 0) {
        return false;
    }
    /* Otherwise all claims of the lock share the proof of its session, and no claim has
     * to be checked. */
    return lock->limited || uvzk__has_sessions(lock->session) ||
                   lock->kind->claim_kind->member != NULL
               ? any_claim_holds(lock)
               : lock->persistent || uvzk__is_valid(lock->session);
}

int uvzk_lock_is_held_by(const uvzk_lock_t *handle, const void *owner)
{
    const struct uvzk__lock *lock = handle == NULL ? NULL : handle->impl;
    const struct uvzk__claim *claim = lock == NULL ? NULL : uvzk__claim_of(lock, owner);

    return claim != NULL && uvzk__claim_holds(claim);
}
