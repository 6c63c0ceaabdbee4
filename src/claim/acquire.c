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
    return uvzk__object(
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
    struct uvzk__client *client = lock->client;

    if (client->auth_failed) {
        return UVZK_EAUTH;
    }
    if (options->timeout_ms != UVZK_TRY_ONCE) {
        return 0;
    }
    if (!uvzk__session_is_connected(&client->session)) {
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
        uvzk__prover_check(lock->client);
        claim = uvzk__claim_of(lock, options->owner); /* that hold is lost */
    }
    return claim;
}

static int join(struct uvzk__claim *claim, struct uvzk__acquisition *acquisition,
                const uvzk_acquire_options_t *options)
{
    if (options->revoke_cb != NULL && uvzk__revocation_wanted(claim) != 0) {
        return UV_ENOMEM;
    }
    uvzk__acquisition_start(acquisition, claim, options->timeout_ms);
    if (uvzk__claim_is_held(claim)) {
        uvzk__acquisition_grant(acquisition);
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
        uvzk__acquisition_start(acquisition, NULL, options->timeout_ms);
        if (status == UV_ETIMEDOUT) {
            uvzk__acquisition_tried(acquisition);
        } else {
            uvzk__acquisition_end(acquisition, status);
        }
        return 0;
    }
    claim = uvzk__claim_new(lock, lock->kind->claim_kind, options);
    if (claim == NULL) {
        return UV_ENOMEM;
    }
    status = lock->kind->prepare(lock, claim, options);
    if (status == 0 && options->revoke_cb != NULL) {
        status = uvzk__revocation_wanted(claim);
        if (status != 0) {
            uvzk__claim_empty(claim);
        }
    }
    if (status != 0) {
        uvzk__claim_free(claim);
        return status;
    }
    uvzk__acquisition_start(acquisition, claim, options->timeout_ms);
    if (lock->kind->begin != NULL) {
        lock->kind->begin(claim);
    } else {
        uvzk__contender_pump(uvzk__claim_first(claim));
    }
    return 0;
}

int uvzk_lock_acquire(uvzk_lock_t *shell, uvzk_hold_t *hold,
                      const uvzk_acquire_options_t *options,
                      uvzk_hold_acquire_cb acquire_cb, uvzk_hold_lost_cb lost_cb)
{
    uvzk_acquire_options_t known;
    int status = uvzk__object(UV_EINVAL, shell == NULL        ? "lock is NULL"
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
    if (lock == NULL || lock->closing || lock->client->closing) {
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
    uvzk__lock_pin(lock);
    lock->closing = true;
    struct uvzk__claim *claim;
    while ((claim = uvzk__lock_first_claim(lock)) != NULL) { /* its end takes it off */
        uvzk__claim_end(claim, UVZK_ECLOSED);
    }
    uvzk__lock_deserted(lock, close_cb);
    uvzk__lock_unpin(lock);
    return 0;
}

/* ------------------------------------------------------------------- asking */

int uvzk_lock_is_held(const uvzk_lock_t *shell)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;

    return lock != NULL && lock->held_count > 0 &&
           (lock->durable ||
            uvzk__prover_valid_until(lock->client) > uvzk__now(lock->client));
}

int uvzk_lock_is_held_by(const uvzk_lock_t *shell, const void *owner)
{
    const struct uvzk__lock *lock = shell == NULL ? NULL : shell->impl;
    const struct uvzk__claim *claim = lock == NULL ? NULL : uvzk__claim_of(lock, owner);

    return claim != NULL && uvzk__claim_holds(claim);
}
