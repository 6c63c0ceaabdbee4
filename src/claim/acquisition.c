/* One acquire call from its start to its last callback, and the public functions on a
 * hold: release, cancel, and questions that need no request. acquire.c starts
 * acquisitions; their claim grants and ends them.
 *
 * No function here runs a user's callback directly. A change puts the acquisition into
 * the session's list of notifications, and deliver() runs the callback at the end of the
 * turn. Only an intercepted loss is reported at once, to another file of the library
 * (multilock_in_turn.c).
 *
 * Most acquisitions have neither a timeout nor a revoke or queued callback, so the memory
 * for these is allocated only if needed, behind the struct. */
#include "claim/acquisition.h"

#include <assert.h>

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/claim_validity.h"
#include "claim/handover.h"
#include "claim/lock.h"
#include "claim/timed_out_wait.h"
#include "engine/turn.h"
#include "proof/prover.h"

/* since_ms has 40 bits. Milliseconds since the machine's start fit for 34 years. */
#define MOMENT_MAX ((UINT64_C(1) << 40) - 1)

#define ASKED UVZK__ACQUISITION_ASKED
#define GRANTING UVZK__ACQUISITION_GRANTING
#define GRANTED UVZK__ACQUISITION_GRANTED
#define RELEASING UVZK__ACQUISITION_RELEASING
#define LOSING UVZK__ACQUISITION_LOSING
#define RELEASED UVZK__ACQUISITION_RELEASED
#define REFUSED UVZK__ACQUISITION_REFUSED
#define FINAL UVZK__ACQUISITION_FINAL

static const struct uvzk__state table[] = {
    [ASKED] = {"ASKED", UVZK__BIT(GRANTING) | UVZK__BIT(REFUSED)},
    [GRANTING] = {"GRANTING", UVZK__BIT(GRANTED) | UVZK__BIT(ASKED) | UVZK__BIT(REFUSED)},
    [GRANTED] = {"GRANTED",
                 UVZK__BIT(RELEASING) | UVZK__BIT(RELEASED) | UVZK__BIT(LOSING)},
    [RELEASING] = {"RELEASING", UVZK__BIT(RELEASED)},
    [LOSING] = {"LOSING", UVZK__BIT(FINAL) | UVZK__BIT(RELEASED)},
    [RELEASED] = {"RELEASED", UVZK__BIT(FINAL)},
    [REFUSED] = {"REFUSED", UVZK__BIT(FINAL)},
    [FINAL] = {"FINAL", 0},
};

const struct uvzk__machine uvzk__acquisition_machine =
    UVZK__MACHINE("acquisition", table);

static bool invariant_holds(const struct uvzk__acquisition *acquisition)
{
    /* In these states the acquisition is in a claim's ring. */
    const unsigned of_a_claim = UVZK__BIT(ASKED) | UVZK__BIT(GRANTING) |
                                UVZK__BIT(GRANTED) | UVZK__BIT(RELEASING);

    return acquisition->claim != NULL || !(of_a_claim & UVZK__BIT(acquisition->state));
}

/* The only writer of `state`. */
static void move(struct uvzk__acquisition *acquisition,
                 enum uvzk__acquisition_state state)
{
    acquisition->state =
        uvzk__move(acquisition->lock->session, &uvzk__acquisition_machine,
                   acquisition->state, state) &
        0xfU;
    uvzk__invariant(acquisition->lock->session, &uvzk__acquisition_machine,
                    acquisition->state, invariant_holds(acquisition));
}

/* The memory of an acquisition with a revoke callback. */
struct revocable {
    struct uvzk__acquisition acquisition;
    struct uvzk__notification notification;
    uvzk_hold_revoke_cb cb;
    uint32_t count; /* requests for a release that have not been reported yet */
};

/* Behind the memory of an acquisition that has a timeout or UVZK_TRY_ONCE. */
struct limit {
    union {
        struct uvzk__timer timeout;
        struct uvzk__link try_link; /* try_once: in uvzk__claims(session)->try_once */
    };
    struct uvzk__acquisition *acquisition;
    /* What it waited for when its time ran out, for the acquire callback; NULL: not timed
     * out, or out of memory. */
    struct uvzk__timed_out_wait *timed_out_wait;
    bool try_once;
};

/* Behind all other memory of an acquisition with a queued callback. */
struct place {
    uvzk_hold_queued_cb cb; /* NULL once it has run */
    uint64_t ahead;
};

static struct revocable *revocable(struct uvzk__acquisition *acquisition)
{
    return UVZK__CONTAINER_OF(acquisition, struct revocable, acquisition);
}

static size_t size_without_limit(bool is_revocable)
{
    return is_revocable ? sizeof(struct revocable) : sizeof(struct uvzk__acquisition);
}

static struct limit *limit_of(const struct uvzk__acquisition *acquisition)
{
    return (struct limit *)((uintptr_t)acquisition +
                            size_without_limit(acquisition->revocable));
}

static size_t size_without_place(bool is_revocable, bool is_limited)
{
    return size_without_limit(is_revocable) + (is_limited ? sizeof(struct limit) : 0);
}

static struct place *place_of(const struct uvzk__acquisition *acquisition)
{
    return (struct place *)((uintptr_t)acquisition +
                            size_without_place(acquisition->revocable,
                                               acquisition->is_limited));
}

bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && limit_of(acquisition)->try_once;
}

struct uvzk__timer *
uvzk__acquisition_deadline(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && !limit_of(acquisition)->try_once
               ? &limit_of(acquisition)->timeout
               : NULL;
}

struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct limit, try_link)->acquisition;
}

/* Requests for a release that have not been reported yet are dropped. */
static void cancel_revoke_cb(struct uvzk__acquisition *acquisition)
{
    if (acquisition->revocable) {
        uvzk__list_remove(&revocable(acquisition)->notification.link);
    }
}

/* The session of its claim; without a claim, the home of its lock. */
static struct uvzk__session *session_of(const struct uvzk__acquisition *acquisition)
{
    return acquisition->claim != NULL ? acquisition->claim->session
                                      : acquisition->lock->session;
}

static inline __attribute__((always_inline)) void
count(struct uvzk__acquisition *acquisition, enum uvzk_trace_step step, int status,
      uint64_t now, uint64_t took_ms)
{
    struct uvzk__observer *observer = uvzk__observer_of(session_of(acquisition));
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (step) {
    case UVZK_TRACE_GRANTED:
        uvzk__histogram_add(&metrics->acquire, took_ms);
        uvzk__handover_done(acquisition->claim, now, took_ms, &metrics->handover);
        break;
    case UVZK_TRACE_REFUSED:
        uvzk__count_refused(observer, status);
        break;
    case UVZK_TRACE_LOST:
        uvzk__count_lost(observer, status);
        uvzk__histogram_add(&metrics->hold, took_ms);
        uvzk__handover_started(acquisition->claim, now);
        break;
    case UVZK_TRACE_RELEASE:
        uvzk__histogram_add(&metrics->hold, took_ms);
        uvzk__handover_started(acquisition->claim, now);
        break;
    case UVZK_TRACE_RELEASED:
        uvzk__histogram_add(&metrics->release, took_ms);
        break;
    default:
        break;
    }
}

static inline __attribute__((always_inline)) void
observed(struct uvzk__acquisition *acquisition, enum uvzk_trace_step step, int status)
{
    struct uvzk__session *session = session_of(acquisition);
    uint64_t now = uvzk__now(session);
    uint64_t since_ms = acquisition->since_ms;
    uint64_t took_ms = uvzk__elapsed_since(&since_ms, now);

    acquisition->since_ms = since_ms & MOMENT_MAX;
    count(acquisition, step, status, now, took_ms);
    if (uvzk__observer_of(session)->trace_cb != NULL) {
        uvzk__trace_hold(session, step, acquisition->shell, acquisition->lock->path->text,
                         status, now, took_ms);
    }
}

/* One function for each step, not inlined: a client without an observer must not save
 * registers for them (tests/cost). */
#define OBSERVED(name, step)                                                          \
    static __attribute__((noinline)) void name(struct uvzk__acquisition *acquisition, \
                                               int status)                            \
    {                                                                                 \
        observed(acquisition, (step), status);                                        \
    }
OBSERVED(asked_seen, UVZK_TRACE_ACQUIRE)
OBSERVED(granted_seen, UVZK_TRACE_GRANTED)
OBSERVED(refused_seen, UVZK_TRACE_REFUSED)
OBSERVED(release_seen, UVZK_TRACE_RELEASE)
OBSERVED(released_seen, UVZK_TRACE_RELEASED)
OBSERVED(lost_seen, UVZK_TRACE_LOST)

/* Reports a step to the observer. Without an observer, which is the common case, this
 * costs one test. */
static inline void observe(struct uvzk__acquisition *acquisition,
                           void (*seen)(struct uvzk__acquisition *, int), int status)
{
    if (__builtin_expect(uvzk__observer_of(session_of(acquisition)) != NULL, 0)) {
        seen(acquisition, status);
    }
}

/* Cancels the timeout or the single try. */
static void stop_waiting(struct uvzk__acquisition *acquisition)
{
    struct uvzk__timer *deadline = uvzk__acquisition_deadline(acquisition);

    if (deadline != NULL) {
        uvzk__timer_clear(session_of(acquisition), deadline);
    } else if (acquisition->is_limited) {
        uvzk__list_remove(&limit_of(acquisition)->try_link);
    }
}

/* The code for its last callback. */
static void set_status(struct uvzk__acquisition *acquisition, int status)
{
    acquisition->status = (int16_t)status;
    assert(acquisition->status == status);
}

static void detach(struct uvzk__acquisition *acquisition)
{
    cancel_revoke_cb(acquisition);
    uvzk__ring_remove(&acquisition->claim->acquisitions, &acquisition->in_claim);
    acquisition->claim = NULL;
}

/* Frees the acquisition. From here on the shell belongs to the caller. */
static uvzk_hold_t *finish(struct uvzk__acquisition *acquisition)
{
    uvzk_hold_t *shell = acquisition->shell;
    struct uvzk__lock *lock = acquisition->lock;

    move(acquisition, FINAL);
    shell->impl = NULL;
    uvzk__free(acquisition);
    uvzk__lock_unref(lock);
    return shell;
}

static void deliver_grant(struct uvzk__acquisition *acquisition)
{
    /* [P2] The clock is read again right before acquire_cb runs. The process may have
     * been stopped since the grant was decided, and the proof may have expired meanwhile.
     * The check of the provers then takes back the grants that have no valid proof, or
     * ends them. A grant that no prover knows is still GRANTING afterwards. It must end
     * here, because no later event would report it. */
    if (!uvzk__claim_holds(acquisition->claim)) {
        uvzk__provers_check(session_of(acquisition));
        if (acquisition->state == GRANTING) {
            uvzk__claim_end(acquisition->claim, UVZK_EPROOF);
        }
        return;
    }
    stop_waiting(acquisition);
    move(acquisition, GRANTED);
    /* A broken client grants nothing. The user has not been told, so this ends as a
     * wait. */
    if (uvzk__is_broken(session_of(acquisition))) {
        move(acquisition, GRANTING);
        return;
    }
    observe(acquisition, granted_seen, 0);
    acquisition->acquire_cb(acquisition->shell, 0);
}

static void notify_refusal(struct uvzk__acquisition *acquisition)
{
    uvzk_hold_acquire_cb acquire_cb = acquisition->acquire_cb;
    int status = acquisition->status;
    struct uvzk__timed_out_wait *timed_out_wait =
        acquisition->is_limited ? limit_of(acquisition)->timed_out_wait : NULL;

    uvzk__timed_out_wait_notify(timed_out_wait, finish(acquisition), acquire_cb, status);
}

/* The callback is cleared first: it runs once for each acquire. */
static void notify_place(struct uvzk__acquisition *acquisition)
{
    struct place *place = place_of(acquisition);
    uvzk_hold_queued_cb queued_cb = place->cb;

    place->cb = NULL;
    queued_cb(acquisition->shell, place->ahead);
}

static void deliver(struct uvzk__notification *notification)
{
    struct uvzk__acquisition *acquisition =
        UVZK__CONTAINER_OF(notification, struct uvzk__acquisition, notification);
    /* Valid only in RELEASED. It is read before finish() frees the acquisition. */
    uvzk_hold_release_cb release_cb = acquisition->release_cb;
    uvzk_hold_lost_cb lost_cb = acquisition->lost_cb;
    int status = acquisition->status;

    switch (acquisition->state) {
    /* ASKED is in the list only because of the queued callback. */
    case ASKED:
        notify_place(acquisition);
        break;
    case GRANTING:
        deliver_grant(acquisition);
        break;
    case LOSING:
        lost_cb(finish(acquisition), status);
        break;
    case RELEASED:
        release_cb(finish(acquisition), status);
        break;
    case REFUSED:
        notify_refusal(acquisition);
        break;
    default:
        break;
    }
}

bool uvzk__acquisition_is_loss(const struct uvzk__notification *notification)
{
    return notification->notify_cb == deliver &&
           UVZK__CONTAINER_OF((uintptr_t)notification, struct uvzk__acquisition,
                              notification)
                   ->state == LOSING;
}

static void deliver_revocation(struct uvzk__notification *notification)
{
    struct revocable *told =
        UVZK__CONTAINER_OF(notification, struct revocable, notification);

    /* Queued again before the callback runs, because the callback may release the hold
     * and so free this memory. */
    if (--told->count > 0) {
        uvzk__notify_later(session_of(&told->acquisition), notification);
    }
    told->cb(told->acquisition.shell);
}

static void notify(struct uvzk__acquisition *acquisition)
{
    uvzk__notify_later(session_of(acquisition), &acquisition->notification);
}

/* The callback runs in the session of the claim, so that callbacks come in the order of
 * that session's events. The session is read first, because detaching clears the
 * claim. */
static void notify_detached(struct uvzk__acquisition *acquisition)
{
    struct uvzk__session *session = session_of(acquisition);

    if (acquisition->claim != NULL) {
        detach(acquisition);
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

static void timed_out(struct uvzk__timer *timer)
{
    struct limit *limit = UVZK__CONTAINER_OF(timer, struct limit, timeout);
    /* Before the end: afterwards the claim no longer knows what it waited for. */
    int status = uvzk__wait_timed_out(limit->acquisition->claim, &limit->timed_out_wait);

    uvzk__acquisition_end_alone(limit->acquisition, status);
}

void uvzk__acquisition_try_failed(struct uvzk__acquisition *acquisition)
{
    (void)uvzk__wait_timed_out(acquisition->claim,
                               &limit_of(acquisition)->timed_out_wait);
    uvzk__acquisition_end(acquisition, UV_ETIMEDOUT);
}

static void set_deadline(struct uvzk__acquisition *acquisition, int64_t timeout_ms)
{
    struct uvzk__session *session = session_of(acquisition);

    if (!acquisition->is_limited) {
        return;
    }
    struct limit *limit = limit_of(acquisition);
    limit->acquisition = acquisition;
    limit->try_once = timeout_ms == UVZK_TRY_ONCE;
    if (limit->try_once) {
        uvzk__list_init(&limit->try_link);
        uvzk__list_append(&uvzk__claims(session)->try_once, &limit->try_link);
    } else {
        limit->timeout.due = timed_out;
        uvzk__timer_set(session, &limit->timeout,
                        uvzk__now(session) + (uint64_t)timeout_ms);
    }
}

struct uvzk__acquisition *uvzk__acquisition_new(struct uvzk__lock *lock,
                                                uvzk_hold_t *shell,
                                                const uvzk_acquire_options_t *options,
                                                uvzk_hold_acquire_cb acquire_cb,
                                                uvzk_hold_lost_cb lost_cb)
{
    bool is_revocable = options->revoke_cb != NULL;
    bool is_limited = options->timeout_ms != UVZK_WAIT_FOREVER;
    bool wants_place = options->queued_cb != NULL;
    struct uvzk__acquisition *acquisition =
        uvzk__calloc(1, size_without_place(is_revocable, is_limited) +
                            (wants_place ? sizeof(struct place) : 0));

    if (acquisition == NULL) {
        return NULL;
    }
    acquisition->revocable = is_revocable;
    acquisition->is_limited = is_limited;
    acquisition->wants_place = wants_place;
    if (wants_place) {
        place_of(acquisition)->cb = options->queued_cb;
    }
    if (is_revocable) {
        revocable(acquisition)->cb = options->revoke_cb;
        revocable(acquisition)->notification.notify_cb = deliver_revocation;
        uvzk__list_init(&revocable(acquisition)->notification.link);
    }
    acquisition->shell = shell;
    acquisition->lock = lock;
    acquisition->acquire_cb = acquire_cb;
    acquisition->lost_cb = lost_cb;
    acquisition->state = ASKED;
    acquisition->notification.notify_cb = deliver;
    uvzk__list_init(&acquisition->in_claim);
    uvzk__list_init(&acquisition->notification.link);
    return acquisition;
}

void uvzk__acquisition_start(struct uvzk__acquisition *acquisition,
                             struct uvzk__claim *claim, int64_t timeout_ms)
{
    acquisition->shell->impl = acquisition;
    /* Until finish(): the close callback of a lock runs after the last callback of its
     * holds. */
    uvzk__lock_ref(acquisition->lock);
    acquisition->claim = claim;
    observe(acquisition, asked_seen, 0);
    /* Without a claim the caller ends the acquisition at once, so no deadline is
     * needed. */
    if (claim != NULL) {
        uvzk__ring_append(&claim->acquisitions, &acquisition->in_claim);
        set_deadline(acquisition, timeout_ms);
    }
}

void uvzk__acquisition_grant(struct uvzk__acquisition *acquisition)
{
    if (acquisition->state == ASKED) {
        move(acquisition, GRANTING);
        /* A queued callback that has not run yet is dropped. Acquire callbacks run in the
         * order of the grants. */
        uvzk__list_remove(&acquisition->notification.link);
        notify(acquisition);
    }
}

void uvzk__acquisition_ungrant(struct uvzk__acquisition *acquisition)
{
    if (acquisition->state == GRANTING) {
        move(acquisition, ASKED);
        uvzk__list_remove(&acquisition->notification.link);
    }
}

void uvzk__acquisition_end(struct uvzk__acquisition *acquisition, int reason)
{
    switch (acquisition->state) {
    case ASKED:
    case GRANTING:
        stop_waiting(acquisition);
        move(acquisition, REFUSED);
        observe(acquisition, refused_seen, reason);
        break;
    case GRANTED:
        move(acquisition, LOSING);
        observe(acquisition, lost_seen, reason);
        break;
    default:
        return;
    }
    set_status(acquisition, reason);
    notify_detached(acquisition);
    /* Last, because a multi lock in turn ends its whole claim in this call. */
    if (acquisition->state == LOSING && acquisition->loss_intercepted) {
        acquisition->losing_cb(acquisition->shell, reason);
    }
}

void uvzk__acquisition_released(struct uvzk__acquisition *acquisition, int status)
{
    move(acquisition, RELEASED);
    observe(acquisition, released_seen, status);
    set_status(acquisition, status);
    notify_detached(acquisition);
}

/* Only the states before LOSING have a claim. One of a claim in a later state has a state
 * that is wrong. */
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
    if (acquisition->revocable && acquisition->state != RELEASING) {
        revocable(acquisition)->count++;
        uvzk__notify_later(session_of(acquisition),
                           &revocable(acquisition)->notification);
    }
}

void uvzk__acquisition_queued(struct uvzk__acquisition *acquisition, uint64_t ahead)
{
    if (acquisition->state == ASKED && acquisition->wants_place &&
        place_of(acquisition)->cb != NULL) {
        place_of(acquisition)->ahead = ahead;
        notify(acquisition);
    }
}

/* --------------------------------------------------------- the public functions */

int uvzk_hold_release(uvzk_hold_t *hold, uvzk_hold_release_cb release_cb)
{
    if (hold == NULL || release_cb == NULL) {
        return uvzk__refuse(UV_EINVAL,
                            hold == NULL ? "hold is NULL" : "release_cb is NULL");
    }
    struct uvzk__acquisition *acquisition = hold->impl;
    /* The shell is compared because the struct may have been copied: a copy is not the
     * hold. */
    if (acquisition == NULL || acquisition->shell != hold ||
        (acquisition->state != GRANTED && acquisition->state != LOSING)) {
        return uvzk__refuse(UVZK_ENOTHELD, "hold is not held, or being released already");
    }
    /* This overwrites acquire_cb or losing_cb in the union; neither is needed any
     * more. */
    acquisition->release_cb = release_cb;
    if (acquisition->state == GRANTED) {
        observe(acquisition, release_seen, 0);
    }
    /* The hold was lost, and its lost callback has not run yet. The release callback runs
     * in its place, with UVZK_ELOST. */
    if (acquisition->state == LOSING) {
        uvzk__acquisition_released(acquisition, UVZK_ELOST);
        return 0;
    }
    /* LOSING has been handled above, so the acquisition has a claim. */
    struct uvzk__claim *claim = acquisition->claim;
    if (uvzk__ring_first(&claim->acquisitions) != uvzk__ring_last(&claim->acquisitions)) {
        /* Other acquisitions of this owner keep the hold, so no znode is deleted. */
        uvzk__acquisition_released(acquisition, 0);
    } else {
        move(acquisition, RELEASING);
        cancel_revoke_cb(acquisition);
        uvzk__claim_end(claim, 0);
    }
    return 0;
}

int uvzk_hold_cancel(uvzk_hold_t *hold)
{
    if (hold == NULL) {
        return uvzk__refuse(UV_EINVAL, "hold is NULL");
    }
    struct uvzk__acquisition *acquisition = hold->impl;
    if (acquisition == NULL || acquisition->shell != hold ||
        !uvzk__acquisition_is_pending(acquisition)) {
        return uvzk__refuse(UVZK_ESTATE, "hold is not pending");
    }
    uvzk__acquisition_end_alone(acquisition, UV_ECANCELED);
    return 0;
}

struct uvzk__session *uvzk__hold_session(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = hold == NULL ? NULL : hold->impl;

    return acquisition == NULL ? NULL : session_of(acquisition);
}

uvzk_hold_release_cb uvzk__hold_intercept_release(const uvzk_hold_t *hold,
                                                  uvzk_hold_release_cb cb)
{
    struct uvzk__acquisition *acquisition = hold->impl;

    if (acquisition == NULL ||
        (acquisition->state != RELEASING && acquisition->state != RELEASED)) {
        return NULL;
    }
    uvzk_hold_release_cb before = acquisition->release_cb;
    acquisition->release_cb = cb;
    return before;
}

void uvzk__hold_intercept_loss(const uvzk_hold_t *hold, uvzk_hold_lost_cb losing)
{
    struct uvzk__acquisition *acquisition = hold->impl;

    /* acquire_cb is not called any more, so losing_cb may use its memory. */
    assert(acquisition->state == GRANTED);
    acquisition->loss_intercepted = true;
    acquisition->losing_cb = losing;
}

struct uvzk__claim *uvzk__hold_of(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = hold == NULL ? NULL : hold->impl;

    if (acquisition == NULL || acquisition->shell != hold ||
        acquisition->state != GRANTED) {
        return NULL;
    }
    return acquisition->claim;
}

int uvzk_hold_is_valid(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim != NULL && uvzk__claim_holds(claim);
}

int64_t uvzk_hold_token(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? 0 : claim->fencing_token;
}

const char *uvzk_hold_path(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? NULL : uvzk__claim_node_path(claim, 0);
}

uint64_t uvzk_hold_valid_until(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? 0 : uvzk__claim_valid_until(claim);
}
