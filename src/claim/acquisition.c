/* SPDX-License-Identifier: Apache-2.0 */
/* One acquire call from its start to its last callback. acquire.c starts acquisitions;
 * their claim grants and ends them, or their time runs out; the user releases and cancels
 * them through hold_calls.c.
 *
 * No function here runs a user's callback directly. A change puts the acquisition into
 * the session's list of notifications, and acquisition_deliver() runs the callback at the
 * end of the turn. Only an intercepted loss is reported at once, to another file of the
 * library (multilock_in_turn.c). */
#include "claim/acquisition.h"

#include <assert.h>

#include "claim/claim.h"
#include "claim/lock.h"
#include "claim/observed_steps.h"
#include "claim/timed_out_wait.h"
#include "directory/contender_request.h"
#include "directory/own_watch.h"
#include "engine/handle_end.h"
#include "engine/probe_points.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include <string.h>

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__ACQUISITION_, ASKED, GRANTING, REFUSED),
    UVZK__STATE(UVZK__ACQUISITION_, GRANTING, GRANTED, ASKED, REFUSED),
    UVZK__STATE(UVZK__ACQUISITION_, GRANTED, RELEASING, RELEASED, LOSING),
    UVZK__STATE(UVZK__ACQUISITION_, RELEASING, RELEASED),
    UVZK__STATE(UVZK__ACQUISITION_, LOSING, FINAL, RELEASED),
    UVZK__STATE(UVZK__ACQUISITION_, RELEASED, FINAL),
    UVZK__STATE(UVZK__ACQUISITION_, REFUSED, FINAL),
    UVZK__FINAL(UVZK__ACQUISITION_, FINAL),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__acquisition *acquisition = object;
    /* In these states the acquisition is in a claim's ring. */
    const unsigned of_a_claim =
        UVZK__BIT(UVZK__ACQUISITION_ASKED) | UVZK__BIT(UVZK__ACQUISITION_GRANTING) |
        UVZK__BIT(UVZK__ACQUISITION_GRANTED) | UVZK__BIT(UVZK__ACQUISITION_RELEASING);

    return acquisition->claim != NULL || !(of_a_claim & UVZK__BIT(acquisition->state));
}

const struct uvzk__machine uvzk__acquisition_machine =
    UVZK__MACHINE("acquisition", table, struct uvzk__acquisition, state, invariant_holds);

/* ------------------------------------------------ what only some acquisitions have */

/* What only some acquisitions have: the reports of revocation requests, a timeout, the
 * queued callback, the warning callback. Most acquisitions have none of these, so the
 * memory for them is allocated only if needed, in one piece with the acquisition:
 *
 *     struct uvzk__acquisition, or struct uvzk__revocable_acquisition
 *     struct uvzk__acquire_timeout, if is_limited
 *     struct uvzk__queued_report, if wants_place
 *     struct uvzk__hold_warning, if wants_warning */

/* An acquisition with a revoke callback. */
struct uvzk__revocable_acquisition {
    struct uvzk__acquisition acquisition;
    struct uvzk__notification notification;
    uvzk_hold_revoke_cb cb;
    uint32_t count; /* requests for a release that have not been reported yet */
};

/* The timeout or UVZK_TRY_ONCE of an acquisition. */
struct uvzk__acquire_timeout {
    union {
        struct uvzk__timer timer;
        struct uvzk__link try_link; /* try_once: in session->claims->try_once */
    };
    struct uvzk__acquisition *acquisition;
    /* What it waited for when its time ran out, for the acquire callback; NULL: not timed
     * out, or out of memory. */
    struct uvzk__timed_out_wait *timed_out_wait;
    bool try_once;
};

/* The queued callback of an acquisition. */
struct uvzk__queued_report {
    uvzk_hold_queued_cb cb; /* NULL once it has run */
    uint64_t ahead;
};

/* The warning callback of an acquisition (hold_limit.h). */
struct uvzk__hold_warning {
    struct uvzk__acquisition *acquisition;
    struct uvzk__notification notification;
    uvzk_hold_max_hold_cb cb;
};

static size_t acquisition_size(bool revocable, bool is_limited, bool wants_place,
                               bool wants_warning)
{
    return (revocable ? sizeof(struct uvzk__revocable_acquisition)
                      : sizeof(struct uvzk__acquisition)) +
           (is_limited ? sizeof(struct uvzk__acquire_timeout) : 0) +
           (wants_place ? sizeof(struct uvzk__queued_report) : 0) +
           (wants_warning ? sizeof(struct uvzk__hold_warning) : 0);
}

/* Each part; the acquisition must have it. */
static struct uvzk__revocable_acquisition *
revocable_of(struct uvzk__acquisition *acquisition)
{
    return UVZK__CONTAINER_OF(acquisition, struct uvzk__revocable_acquisition,
                              acquisition);
}
static struct uvzk__acquire_timeout *
timeout_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__acquire_timeout *)((uintptr_t)acquisition +
                                            acquisition_size(acquisition->revocable,
                                                             false, false, false));
}
static struct uvzk__queued_report *
queued_report_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__queued_report *)((uintptr_t)acquisition +
                                          acquisition_size(acquisition->revocable,
                                                           acquisition->is_limited, false,
                                                           false));
}
static struct uvzk__hold_warning *
hold_warning_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__hold_warning *)((uintptr_t)acquisition +
                                         acquisition_size(acquisition->revocable,
                                                          acquisition->is_limited,
                                                          acquisition->wants_place,
                                                          false));
}

/* ------------------------------------------------------- its beginning, its end */

/* Requests for a release, and a warning, that have not been reported yet are dropped. */
static void cancel_hold_cbs(struct uvzk__acquisition *acquisition)
{
    if (acquisition->revocable) {
        uvzk__list_remove(&revocable_of(acquisition)->notification.link);
    }
    if (acquisition->wants_warning) {
        uvzk__list_remove(&hold_warning_of(acquisition)->notification.link);
    }
}

/* The code for its last callback. */
static void set_status(struct uvzk__acquisition *acquisition, int status)
{
    acquisition->error = (unsigned)-status & 0x3fffU;
    assert(-(int)acquisition->error == status);
}

/* Reports a step to the observer and to a tracer. If there is neither, which is the common
 * case, this costs two tests. */
static inline void acquisition_observe(struct uvzk__acquisition *acquisition,
                                       enum uvzk_trace_step step, int status)
{
    struct uvzk__session *session = uvzk__acquisition_session(acquisition);

    if (__builtin_expect(session->observer != NULL, 0) || uvzk__probed()) {
        uvzk__observe_step(session, acquisition, step, status);
    }
}

static void acquisition_detach(struct uvzk__acquisition *acquisition)
{
    cancel_hold_cbs(acquisition);
    uvzk__ring_remove(&acquisition->claim->acquisitions, &acquisition->in_claim);
    acquisition->claim = NULL;
}

/* Frees the acquisition. From here on the handle belongs to the caller. */
static uvzk_hold_t *acquisition_finish(struct uvzk__acquisition *acquisition)
{
    uvzk_hold_t *handle = acquisition->handle;
    struct uvzk__lock *lock = acquisition->lock;

    uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
               UVZK__ACQUISITION_FINAL);
    handle->impl = NULL;
    uvzk__free(acquisition);
    uvzk__lock_unref(lock);
    return handle;
}

/* ------------------------------------------------------- how long it waits */

bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && timeout_of(acquisition)->try_once;
}

struct uvzk__timer *
uvzk__acquisition_deadline(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && !timeout_of(acquisition)->try_once
               ? &timeout_of(acquisition)->timer
               : NULL;
}

struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__acquire_timeout, try_link)->acquisition;
}

static void timed_out(struct uvzk__timer *timer)
{
    struct uvzk__acquire_timeout *timeout =
        UVZK__CONTAINER_OF(timer, struct uvzk__acquire_timeout, timer);
    /* Before the end: afterwards the claim no longer knows what it waited for. */
    int status =
        uvzk__wait_timed_out(timeout->acquisition->claim, &timeout->timed_out_wait);

    uvzk__acquisition_end_alone(timeout->acquisition, status);
}

void uvzk__acquisition_try_failed(struct uvzk__acquisition *acquisition)
{
    (void)uvzk__wait_timed_out(acquisition->claim,
                               &timeout_of(acquisition)->timed_out_wait);
    uvzk__acquisition_end(acquisition, UV_ETIMEDOUT);
}

/* For an acquisition that is limited. The acquisition of a claim waits from now on.
 * timeout_ms: as in the options. */
static void start_timeout(struct uvzk__acquisition *acquisition, int64_t timeout_ms)
{
    struct uvzk__session *session = uvzk__acquisition_session(acquisition);
    struct uvzk__acquire_timeout *timeout = timeout_of(acquisition);

    timeout->acquisition = acquisition;
    timeout->try_once = timeout_ms == UVZK_TRY_ONCE;
    if (timeout->try_once) {
        uvzk__list_init(&timeout->try_link);
        uvzk__list_append(&session->claims->try_once, &timeout->try_link);
    } else {
        timeout->timer.due = timed_out;
        uvzk__timer_set(session, &timeout->timer,
                        uvzk__now(session) + (uint64_t)timeout_ms);
    }
}

/* The acquisition no longer waits. */
static void stop_timeout(struct uvzk__acquisition *acquisition)
{
    struct uvzk__timer *deadline = uvzk__acquisition_deadline(acquisition);

    if (deadline != NULL) {
        uvzk__timer_clear(uvzk__acquisition_session(acquisition), deadline);
    } else if (acquisition->is_limited) {
        uvzk__list_remove(&timeout_of(acquisition)->try_link);
    }
}

static void deliver_grant(struct uvzk__acquisition *acquisition)
{
    /* [P2] The clock is read again right before acquire_cb runs. The process may have
     * been stopped since the grant was decided, and the proof may have expired meanwhile.
     * The check of the provers then takes back the grants that have no valid proof, or
     * ends them. A grant that is unknown to all provers is still GRANTING afterwards. It
     * must end here, because no later event would report it. */
    if (!uvzk__claim_holds(acquisition->claim)) {
        uvzk__hold_limit_check(uvzk__claim_hold_limit(acquisition->claim));
        uvzk__provers_check(uvzk__acquisition_session(acquisition));
        if (acquisition->state == UVZK__ACQUISITION_GRANTING) {
            uvzk__claim_end(acquisition->claim, UVZK_EPROOF);
        }
        return;
    }
    stop_timeout(acquisition);
    uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
               UVZK__ACQUISITION_GRANTED);
    /* A broken client grants nothing. The user has not been told, so this ends as a
     * wait. */
    if (uvzk__is_broken(uvzk__acquisition_session(acquisition))) {
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_GRANTING);
        return;
    }
    if (acquisition->claim->limited &&
        uvzk__hold_limit_granted(uvzk__claim_hold_limit(acquisition->claim))) {
        uvzk__acquisition_warn(acquisition); /* it has re-entered late */
    }
    acquisition_observe(acquisition, UVZK_TRACE_GRANTED, 0);
    acquisition->acquire_cb(acquisition->handle, 0);
}

static void notify_refusal(struct uvzk__acquisition *acquisition)
{
    uvzk_hold_acquire_cb acquire_cb = acquisition->acquire_cb;
    int status = -(int)acquisition->error;
    struct uvzk__timed_out_wait *timed_out_wait =
        acquisition->is_limited ? timeout_of(acquisition)->timed_out_wait : NULL;

    uvzk__timed_out_wait_notify(timed_out_wait, acquisition_finish(acquisition),
                                acquire_cb, status);
}

/* The callback is cleared first: it runs once for each acquire. */
static void notify_place(struct uvzk__acquisition *acquisition)
{
    struct uvzk__queued_report *place = queued_report_of(acquisition);
    uvzk_hold_queued_cb queued_cb = place->cb;

    place->cb = NULL;
    queued_cb(acquisition->handle, place->ahead);
}

static void notify_release(uvzk_hold_t *handle, uvzk_hold_release_cb release_cb,
                           int status)
{
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (release_cb != NULL) {
        release_cb(handle, status);
    }
    uvzk__end_tell(listener, status);
}

static void acquisition_deliver(struct uvzk__notification *notification)
{
    struct uvzk__acquisition *acquisition =
        UVZK__CONTAINER_OF(notification, struct uvzk__acquisition, notification);
    /* Valid only in RELEASED. It is read before acquisition_finish() frees the acquisition. */
    uvzk_hold_release_cb release_cb = acquisition->release_cb;
    uvzk_hold_lost_cb lost_cb = acquisition->lost_cb;
    int status = -(int)acquisition->error;

    switch (acquisition->state) {
    /* ASKED is in the list only because of the queued callback. */
    case UVZK__ACQUISITION_ASKED:
        notify_place(acquisition);
        break;
    case UVZK__ACQUISITION_GRANTING:
        deliver_grant(acquisition);
        break;
    case UVZK__ACQUISITION_LOSING:
        lost_cb(acquisition_finish(acquisition), status);
        break;
    case UVZK__ACQUISITION_RELEASED:
        notify_release(acquisition_finish(acquisition), release_cb, status);
        break;
    case UVZK__ACQUISITION_REFUSED:
        notify_refusal(acquisition);
        break;
    default:
        break;
    }
}

bool uvzk__acquisition_is_loss(const struct uvzk__notification *notification)
{
    return notification->notify_cb == acquisition_deliver &&
           UVZK__CONTAINER_OF((uintptr_t)notification, struct uvzk__acquisition,
                              notification)
                   ->state == UVZK__ACQUISITION_LOSING;
}

static void deliver_revocation(struct uvzk__notification *notification)
{
    struct uvzk__revocable_acquisition *told = UVZK__CONTAINER_OF(
        notification, struct uvzk__revocable_acquisition, notification);

    /* Queued again before the callback runs, because the callback may release the hold
     * and so free this memory. */
    if (--told->count > 0) {
        uvzk__notify_later(uvzk__acquisition_session(&told->acquisition), notification);
    }
    told->cb(told->acquisition.handle);
}

static void deliver_warning(struct uvzk__notification *notification)
{
    const struct uvzk__hold_warning *warning =
        UVZK__CONTAINER_OF(notification, struct uvzk__hold_warning, notification);

    warning->cb(warning->acquisition->handle, uvzk__hold_limit_end(uvzk__claim_hold_limit(
                                                  warning->acquisition->claim)));
}

/* Prepares the parts that follow the acquisition, except for the timeout
 * (start_timeout). */
static void init_parts(struct uvzk__acquisition *acquisition,
                       const uvzk_acquire_options_t *options)
{
    if (acquisition->wants_place) {
        queued_report_of(acquisition)->cb = options->queued_cb;
    }
    if (acquisition->revocable) {
        struct uvzk__revocable_acquisition *told = revocable_of(acquisition);
        told->cb = options->revoke_cb;
        told->notification.notify_cb = deliver_revocation;
        uvzk__list_init(&told->notification.link);
    }
    if (acquisition->wants_warning) {
        struct uvzk__hold_warning *warning = hold_warning_of(acquisition);
        warning->acquisition = acquisition;
        warning->cb = options->max_hold_cb;
        warning->notification.notify_cb = deliver_warning;
        uvzk__list_init(&warning->notification.link);
    }
}

static void acquisition_notify(struct uvzk__acquisition *acquisition)
{
    uvzk__notify_later(uvzk__acquisition_session(acquisition),
                       &acquisition->notification);
}

/* The callback runs in the session of the claim, so that callbacks come in the order of
 * that session's events. The session is read first, because detaching clears the
 * claim. */
static void notify_detached(struct uvzk__acquisition *acquisition)
{
    struct uvzk__session *session = uvzk__acquisition_session(acquisition);

    if (acquisition->claim != NULL) {
        acquisition_detach(acquisition);
    }
    uvzk__notify_later(session, &acquisition->notification);
}

void uvzk__acquisition_end_alone(struct uvzk__acquisition *acquisition, int status)
{
    struct uvzk__claim *claim = acquisition->claim;

    uvzk__acquisition_end(acquisition, status);
    /* The acquisition has left its claim. No other one wants the claim, so its znodes are
     * deleted. The code 0 reaches no acquisition. */
    if (claim != NULL && uvzk__ring_empty(&claim->acquisitions)) {
        uvzk__claim_end(claim, 0);
    }
}

struct uvzk__acquisition *uvzk__acquisition_new(struct uvzk__lock *lock,
                                                uvzk_hold_t *handle,
                                                const uvzk_acquire_options_t *options,
                                                uvzk_hold_acquire_cb acquire_cb,
                                                uvzk_hold_lost_cb lost_cb)
{
    bool is_revocable = options->revoke_cb != NULL;
    bool is_limited = options->timeout_ms != UVZK_WAIT_FOREVER;
    bool wants_place = options->queued_cb != NULL;
    bool wants_warning = options->max_hold_cb != NULL;
    struct uvzk__acquisition *acquisition = uvzk__calloc(
        1, acquisition_size(is_revocable, is_limited, wants_place, wants_warning));

    if (acquisition == NULL) {
        return NULL;
    }
    acquisition->revocable = is_revocable;
    acquisition->is_limited = is_limited;
    acquisition->wants_place = wants_place;
    acquisition->wants_warning = wants_warning;
    init_parts(acquisition, options);
    acquisition->handle = handle;
    acquisition->lock = lock;
    acquisition->acquire_cb = acquire_cb;
    acquisition->lost_cb = lost_cb;
    acquisition->state = UVZK__ACQUISITION_ASKED;
    acquisition->notification.notify_cb = acquisition_deliver;
    uvzk__list_init(&acquisition->in_claim);
    uvzk__list_init(&acquisition->notification.link);
    return acquisition;
}

void uvzk__acquisition_start(struct uvzk__acquisition *acquisition,
                             struct uvzk__claim *claim, int64_t timeout_ms)
{
    acquisition->handle->impl = acquisition;
    /* Until acquisition_finish(): the close callback of a lock runs after the last callback
     * of its holds. */
    uvzk__lock_ref(acquisition->lock);
    acquisition->claim = claim;
    acquisition_observe(acquisition, UVZK_TRACE_ACQUIRE, 0);
    /* Without a claim the caller ends the acquisition at once, so no deadline is
     * needed. */
    if (claim != NULL) {
        uvzk__ring_append(&claim->acquisitions, &acquisition->in_claim);
        if (acquisition->is_limited) {
            start_timeout(acquisition, timeout_ms);
        }
    }
}

void uvzk__acquisition_grant(struct uvzk__acquisition *acquisition)
{
    if (acquisition->state == UVZK__ACQUISITION_ASKED) {
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_GRANTING);
        /* A queued callback that has not run yet is dropped. Acquire callbacks run in the
         * order of the grants. */
        uvzk__list_remove(&acquisition->notification.link);
        acquisition_notify(acquisition);
    }
}

void uvzk__acquisition_ungrant(struct uvzk__acquisition *acquisition)
{
    if (acquisition->state == UVZK__ACQUISITION_GRANTING) {
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_ASKED);
        uvzk__list_remove(&acquisition->notification.link);
    }
}

void uvzk__acquisition_end(struct uvzk__acquisition *acquisition, int reason)
{
    switch (acquisition->state) {
    case UVZK__ACQUISITION_ASKED:
    case UVZK__ACQUISITION_GRANTING:
        stop_timeout(acquisition);
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_REFUSED);
        acquisition_observe(acquisition, UVZK_TRACE_REFUSED, reason);
        break;
    case UVZK__ACQUISITION_GRANTED:
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_LOSING);
        acquisition_observe(acquisition, UVZK_TRACE_LOST, reason);
        break;
    default:
        return;
    }
    set_status(acquisition, reason);
    notify_detached(acquisition);
    /* Last, because a multi lock in turn ends its whole claim in this call. */
    if (acquisition->state == UVZK__ACQUISITION_LOSING && acquisition->loss_intercepted) {
        acquisition->losing_cb(acquisition->handle, reason);
    }
}

void uvzk__acquisition_released(struct uvzk__acquisition *acquisition, int status)
{
    uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
               UVZK__ACQUISITION_RELEASED);
    acquisition_observe(acquisition, UVZK_TRACE_RELEASED, status);
    set_status(acquisition, status);
    notify_detached(acquisition);
}

/* Only the states before LOSING have a claim. An acquisition with a claim in a later
 * state has a wrong state. */
void uvzk__acquisition_end_broken(struct uvzk__acquisition *acquisition, int reason)
{
    uvzk__acquisition_end(acquisition, reason);
    if (acquisition->claim != NULL) {
        uvzk__acquisition_released(acquisition, reason);
    }
}

void uvzk__acquisition_revoked(struct uvzk__acquisition *acquisition)
{
    /* The user of a RELEASING hold has already done what is asked for. */
    if (acquisition->revocable && acquisition->state != UVZK__ACQUISITION_RELEASING) {
        revocable_of(acquisition)->count++;
        uvzk__notify_later(uvzk__acquisition_session(acquisition),
                           &revocable_of(acquisition)->notification);
    }
}

void uvzk__acquisition_warn(struct uvzk__acquisition *acquisition)
{
    if (acquisition->wants_warning && acquisition->state == UVZK__ACQUISITION_GRANTED) {
        uvzk__notify_later(uvzk__acquisition_session(acquisition),
                           &hold_warning_of(acquisition)->notification);
    }
}

void uvzk__acquisition_queued(struct uvzk__acquisition *acquisition, uint64_t ahead)
{
    if (acquisition->state == UVZK__ACQUISITION_ASKED && acquisition->wants_place &&
        queued_report_of(acquisition)->cb != NULL) {
        queued_report_of(acquisition)->ahead = ahead;
        acquisition_notify(acquisition);
    }
}

void uvzk__acquisition_release(struct uvzk__acquisition *acquisition,
                               uvzk_hold_release_cb release_cb)
{
    struct uvzk__claim *claim = acquisition->claim;

    /* This overwrites acquire_cb or losing_cb in the union; neither is needed from now
     * on. */
    acquisition->release_cb = release_cb;
    uvzk__end_begin(&acquisition->handle->end, uvzk__acquisition_session(acquisition));
    /* The hold was lost, and its lost callback has not run yet. The release callback runs
     * in its place, with UVZK_ELOST. */
    if (acquisition->state == UVZK__ACQUISITION_LOSING) {
        uvzk__acquisition_released(acquisition, UVZK_ELOST);
        return;
    }
    acquisition_observe(acquisition, UVZK_TRACE_RELEASE, 0);
    if (uvzk__ring_first(&claim->acquisitions) != uvzk__ring_last(&claim->acquisitions)) {
        /* Other acquisitions of this owner keep the hold, so no znode is deleted. */
        uvzk__acquisition_released(acquisition, 0);
    } else {
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine, acquisition,
                   UVZK__ACQUISITION_RELEASING);
        cancel_hold_cbs(acquisition);
        uvzk__claim_end(claim, 0);
    }
}

/* ------------------------------------------- all acquisitions of one claim
 *
 * What they are told while the claim continues. claim.c reports the grant and the end of
 * the claim itself. */

void uvzk__claim_queued(struct uvzk__claim *claim, uint64_t ahead)
{
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_queued(each, ahead);
    }
}

bool uvzk__claim_grant_notified(const struct uvzk__claim *claim)
{
    for (const struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        if (each->state == UVZK__ACQUISITION_GRANTED) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ its limit */

void uvzk__claim_warn(struct uvzk__claim *claim)
{
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_warn(each);
    }
}

/* [P2] At the end of its max_hold_ms a hold's contenders are withdrawn only after its lost
 * callbacks have returned; until then no other contender can be granted. If the claim
 * ended as others do, the delete would be sent before a lost callback that waits for
 * other callbacks. A multi lock may be in another session than the member whose limit
 * ends it, and so may be the notification of its loss. */
void uvzk__claim_give_back(struct uvzk__claim *claim)
{
    const struct uvzk__session *session = claim->session;

    if (uvzk__claim_is_given_up(claim)) {
        return;
    }
    /* A lost callback may close the client. */
    uvzk__claim_ref(claim);
    uvzk__claim_give_up(claim, UVZK_EMAXHOLD);
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__notify_those(session->client->sessions[i], uvzk__acquisition_is_loss);
    }
    uvzk__claim_withdraw_given_up(claim);
    uvzk__claim_unref(claim);
}

/* ------------------------------------------------------------------ its ends */

/* In the functions below, the next acquisition is read before one ends, because that one
 * leaves the claim. */

void uvzk__claim_end_try_once(struct uvzk__claim *claim)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (uvzk__acquisition_is_try_once(acquisition)) {
            uvzk__acquisition_try_failed(acquisition);
        }
    }
    /* Acquisitions without UVZK_TRY_ONCE keep the claim waiting. */
    if (uvzk__ring_empty(&claim->acquisitions)) {
        uvzk__claim_end(claim, 0);
    }
}

/* Of several acquisitions of one owner, one may hold and another one wait. A member's hold
 * is not the user's: the multi lock has an acquisition of its own. */
void uvzk__claim_end_holds(struct uvzk__claim *claim, int code)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (acquisition->state == UVZK__ACQUISITION_GRANTED &&
            !acquisition->loss_intercepted) {
            uvzk__acquisition_end(acquisition, code);
        }
    }
}

void uvzk__claim_fail_releases(struct uvzk__claim *claim, int code)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    if (claim->persistent && code == UVZK_EEXPIRED) {
        return; /* the znodes still exist, and their deletes continue */
    }
    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (acquisition->state == UVZK__ACQUISITION_RELEASING) {
            uvzk__acquisition_released(acquisition, code);
        }
    }
}

/* ------------------------------------------------------------ requests for a release */

int uvzk__revocation_enable(struct uvzk__claim *claim)
{
    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        if (uvzk__contender_make_revocable(contender) != 0) {
            return UV_ENOMEM;
        }
        uvzk__own_watch_arm(contender); /* if its znode exists already */
    }
    return 0;
}

void uvzk__revocation_read(struct uvzk__contender *contender,
                           const struct uvzk__reply *reply)
{
    struct uvzk__claim *claim = contender->claim;

    if (!contender->revocable || reply->data_length != UVZK__REVOKE_LENGTH ||
        memcmp(reply->data, UVZK__REVOKE, UVZK__REVOKE_LENGTH) != 0 ||
        /* The watch may read the same message several times. A message counts once, by
         * its mzxid. */
        !uvzk__contender_record_revocation(contender, reply->stat.mzxid)) {
        return;
    }
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_revoked(each);
    }
}
