/* Moves one participant of an election (candidacy.h): queues it by an acquire, lets it
 * lead while it holds, and queues it again. election.c calls it for the user; the lock,
 * the timer and the notification call back.
 *
 * The idea: this file does not decide whether the participant may lead. A grant makes a
 * leader and a loss deposes it, so only the lock deals with proofs, sessions and znodes.
 * This file adds the order of the callbacks, and it queues the participant again after
 * each hold unless that is useless. */
#include "election/candidacy.h"

#include "base/retry.h"
#include "election/elections.h"
#include "engine/invariant.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__CANDIDACY_, IDLE, QUEUED, PAUSING, CLOSING),
    UVZK__STATE(UVZK__CANDIDACY_, QUEUED, LEADING, IDLE, CLOSING),
    UVZK__STATE(UVZK__CANDIDACY_, PAUSING, IDLE, CLOSING),
    UVZK__STATE(UVZK__CANDIDACY_, LEADING, RESIGNING, IDLE, CLOSING),
    UVZK__STATE(UVZK__CANDIDACY_, RESIGNING, RELEASING, IDLE, CLOSING),
    UVZK__STATE(UVZK__CANDIDACY_, RELEASING, IDLE, CLOSING),
    UVZK__FINAL(UVZK__CANDIDACY_, CLOSING),
};

/* In LEADING and after it, the hold may have been released by a user who must not. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__election *election = object;

    return (election->state != UVZK__CANDIDACY_QUEUED || election->hold.impl != NULL) &&
           (election->state != UVZK__CANDIDACY_PAUSING || election->hold.impl == NULL);
}

const struct uvzk__machine uvzk__candidacy_machine =
    UVZK__MACHINE("candidacy", table, struct uvzk__election, state, invariant_holds);

static struct uvzk__election *candidacy_of(uvzk_hold_t *hold)
{
    return UVZK__CONTAINER_OF(hold, struct uvzk__election, hold);
}

bool uvzk__candidacy_leads(const struct uvzk__election *election)
{
    return election->state == UVZK__CANDIDACY_LEADING ||
           election->state == UVZK__CANDIDACY_RESIGNING;
}

bool uvzk__candidacy_is_closing(const struct uvzk__election *election)
{
    return election->state == UVZK__CANDIDACY_CLOSING || election->close_wanted;
}

bool uvzk__candidacy_goes_on(const struct uvzk__election *election)
{
    bool later = !election->manual_requeue || election->requeue_wanted;

    return election->state == UVZK__CANDIDACY_RELEASING
               ? later
               : election->state != UVZK__CANDIDACY_IDLE;
}

/* A request that is added meanwhile is not ended: it waits for the state after this
 * one. */
void uvzk__candidacy_end_waits(struct uvzk__election *election, int status)
{
    struct uvzk__link requests, *link;

    uvzk__list_move(&election->lead_requests, &requests);
    while ((link = uvzk__list_take(&requests)) != NULL) {
        struct uvzk__lead_request *request =
            UVZK__CONTAINER_OF(link, struct uvzk__lead_request, link);
        request->done(request, status);
    }
}

/* -------------------------------------------------------------------- refusals */

/* How long to wait before the next attempt. Attempts go on forever: when the retry policy
 * is used up, its count starts again. */
static uint64_t next_pause(struct uvzk__election *election)
{
    const uvzk_retry_policy_t *policy = &election->session->retry;
    uint64_t now = uvzk__now(election->session), random = 0, ms;

    if (election->retries == 0) {
        election->retries_since_ms = now;
    }
    (void)uvzk__random(election->session, &random, sizeof(random));
    if (!uvzk__retry_allow(policy, election->retries++, now - election->retries_since_ms,
                           random, &ms)) {
        election->retries = 0;
        ms = policy->base_ms;
    }
    /* At least 1 ms, so that the loop is not kept busy by attempts. */
    return ms == 0 ? 1 : ms;
}

/* error_cb runs later, because a timer may call this. */
static void report_refusal(struct uvzk__election *election, int status)
{
    election->refusal = status;
    uvzk__notify_later(election->session, &election->notification);
}

/* In IDLE: the participant could not be queued. */
static void candidacy_refused(struct uvzk__election *election, int status)
{
    report_refusal(election, status);
    if (uvzk_err_is_retriable(status)) {
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_PAUSING);
        uvzk__timer_set(election->session, &election->timer,
                        uvzk__now(election->session) + next_pause(election));
    }
}

static void queue_again(struct uvzk__election *election)
{
    int status = uvzk__candidacy_queue(election);

    if (status != 0) {
        candidacy_refused(election, status);
    }
}

static void tell_refusal(struct uvzk__election *election)
{
    int status = election->refusal;

    election->refusal = 0;
    if (election->error_cb != NULL) {
        election->error_cb(election->handle, status);
    }
    if (!uvzk_err_is_retriable(status)) {
        uvzk__candidacy_end_waits(election, status);
    }
}

/* ------------------------------------------------------------- leading and its end */

static void candidacy_leads(struct uvzk__election *election)
{
    uvzk__move(election->session, &uvzk__candidacy_machine, election,
               UVZK__CANDIDACY_LEADING);
    election->retries = 0;
    if (election->max_reign_ms > 0) {
        uvzk__timer_set(election->session, &election->timer,
                        uvzk__now(election->session) + election->max_reign_ms);
    }
    uvzk__leader_report_leads(&election->report, uvzk_hold_token(&election->hold));
    if (election->leader_cb != NULL) {
        election->leader_cb(election->handle, uvzk_hold_token(&election->hold),
                            uvzk_hold_valid_until(&election->hold));
    }
    /* The callback may have closed the election. */
    if (uvzk__candidacy_leads(election)) {
        uvzk__candidacy_end_waits(election, 0);
    }
}

static void candidacy_acquired(uvzk_hold_t *hold, int status)
{
    struct uvzk__election *election = candidacy_of(hold);

    if (election->state == UVZK__CANDIDACY_CLOSING) {
        return; /* the end of the acquire belongs to the close */
    }
    if (status == 0) {
        candidacy_leads(election);
        return;
    }
    uvzk__move(election->session, &uvzk__candidacy_machine, election,
               UVZK__CANDIDACY_IDLE);
    if (status == UVZK_EEXPIRED) {
        /* The place is lost, and another one waits for the next session anyway. */
        report_refusal(election, status);
        queue_again(election);
    } else {
        candidacy_refused(election, status);
    }
}

/* [P22] The participant no longer leads when deposed_cb runs, and its znode is deleted
 * only after deposed_cb has returned, unless it was gone already. */
static void candidacy_depose(struct uvzk__election *election,
                             enum uvzk__candidacy_state next, int reason)
{
    uvzk__timer_clear(election->session, &election->timer);
    uvzk__move(election->session, &uvzk__candidacy_machine, election, next);
    uvzk__leader_report_leads(&election->report, 0);
    if (election->deposed_cb != NULL) {
        election->deposed_cb(election->handle, reason);
    }
}

/* What the lock reports from here on belongs to the close. */
static void close_lock(struct uvzk__election *election)
{
    uvzk__timer_clear(election->session, &election->timer);
    uvzk__move(election->session, &uvzk__candidacy_machine, election,
               UVZK__CANDIDACY_CLOSING);
    election->refusal = 0;
    uvzk__leader_report_end(&election->report);
    /* Ends the waits. It is queued before the lock's close callback. */
    uvzk__notify_later(election->session, &election->notification);
    (void)uvzk_lock_close(&election->lock, uvzk__election_lock_closed);
}

/* Returns true if it is useful to be queued again after such a loss. UVZK_ENOAUTH and the
 * like do not end the hold of a mutex. */
static bool is_over(int reason)
{
    return reason == UVZK_EAUTH || reason == UVZK_ECLOSED || reason == UVZK_EINTERNAL;
}

static void candidacy_lost(uvzk_hold_t *hold, int reason)
{
    struct uvzk__election *election = candidacy_of(hold);

    if (election->state == UVZK__CANDIDACY_CLOSING) {
        return;
    }
    candidacy_depose(election, UVZK__CANDIDACY_IDLE, reason);
    uvzk__leader_report_follow(&election->report);
    if (election->state != UVZK__CANDIDACY_IDLE) {
        return; /* the callback has queued the participant, or closed the election */
    }
    if (election->close_wanted) {
        close_lock(election);
    } else if (is_over(reason)) {
        uvzk__candidacy_end_waits(election, reason);
    } else if (!election->manual_requeue) {
        queue_again(election);
    }
}

/* For every outcome of the release, the znode is no longer this participant's, or uvzk
 * deletes it in the background. In both cases the new znode comes after it. */
static void candidacy_released(uvzk_hold_t *hold, int status)
{
    struct uvzk__election *election = candidacy_of(hold);
    bool wanted = !election->manual_requeue || election->requeue_wanted;

    (void)status;
    election->requeue_wanted = false;
    if (election->state != UVZK__CANDIDACY_CLOSING) {
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_IDLE);
        uvzk__leader_report_follow(&election->report);
        if (wanted) {
            queue_again(election);
        }
    }
}

/* In RESIGNING, from the loop. */
static void step_down(struct uvzk__election *election)
{
    candidacy_depose(election, UVZK__CANDIDACY_RELEASING, election->deposed_reason);
    if (election->close_wanted) {
        close_lock(election);
    } else if (election->state == UVZK__CANDIDACY_RELEASING) {
        int status = uvzk_hold_release(&election->hold, candidacy_released);

        /* A hold that was lost meanwhile may be released too. But the user may have
         * released it, which uvzk_election_hold forbids. */
        if (status != 0) {
            candidacy_released(&election->hold, status);
        }
    }
}

/* ------------------------------------------------------------------ what calls back */

static void candidacy_notified(struct uvzk__notification *notification)
{
    struct uvzk__election *election =
        UVZK__CONTAINER_OF(notification, struct uvzk__election, notification);

    if (election->state == UVZK__CANDIDACY_CLOSING) {
        uvzk__candidacy_end_waits(election, UVZK_ECLOSED);
        return;
    }
    /* First, because a wait that began while the participant led has its answer. */
    if (uvzk__candidacy_leads(election)) {
        uvzk__candidacy_end_waits(election, 0);
    }
    if (election->refusal != 0) {
        tell_refusal(election);
    }
    if (election->state == UVZK__CANDIDACY_RESIGNING) {
        step_down(election);
    }
}

static void candidacy_due(struct uvzk__timer *timer)
{
    struct uvzk__election *election =
        UVZK__CONTAINER_OF(timer, struct uvzk__election, timer);

    if (election->state == UVZK__CANDIDACY_PAUSING) {
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_IDLE);
        queue_again(election);
    } else {
        (void)uvzk__candidacy_resign(election, UV_ETIMEDOUT);
    }
}

/* ---------------------------------------------------------------- what the user calls */

void uvzk__candidacy_init(struct uvzk__election *election)
{
    election->notification.notify_cb = candidacy_notified;
    election->timer.due = candidacy_due;
    uvzk__list_init(&election->notification.link);
    uvzk__list_init(&election->lead_requests);
}

int uvzk__candidacy_queue(struct uvzk__election *election)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = election->id;
    options.node_data_length = election->id_length;
    int status = uvzk_lock_acquire(&election->lock, &election->hold, &options,
                                   candidacy_acquired, candidacy_lost);
    if (status == 0) {
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_QUEUED);
    }
    return status;
}

int uvzk__candidacy_requeue(struct uvzk__election *election)
{
    if (election->state == UVZK__CANDIDACY_IDLE) {
        return uvzk__candidacy_queue(election);
    }
    if (election->state != UVZK__CANDIDACY_RELEASING ||
        uvzk__candidacy_goes_on(election)) {
        return UVZK_ESTATE;
    }
    election->requeue_wanted = true;
    return 0;
}

int uvzk__candidacy_resign(struct uvzk__election *election, int reason)
{
    if (election->state != UVZK__CANDIDACY_LEADING) {
        return UVZK_ENOTHELD;
    }
    uvzk__move(election->session, &uvzk__candidacy_machine, election,
               UVZK__CANDIDACY_RESIGNING);
    election->deposed_reason = reason;
    uvzk__notify_later(election->session, &election->notification);
    return 0;
}

void uvzk__candidacy_close(struct uvzk__election *election, bool notify)
{
    if (!notify || !uvzk__candidacy_leads(election)) {
        close_lock(election);
        return;
    }
    election->close_wanted = true;
    /* A participant that is already resigning keeps that reason. */
    (void)uvzk__candidacy_resign(election, UVZK_ECLOSED);
}

void uvzk__candidacy_client_closing(struct uvzk__election *election, int code)
{
    if (election->state == UVZK__CANDIDACY_PAUSING) {
        uvzk__timer_clear(election->session, &election->timer);
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_IDLE);
    } else if (election->state != UVZK__CANDIDACY_IDLE ||
               uvzk__list_empty(&election->lead_requests)) {
        return;
    }
    election->refusal = code;
    uvzk__notify_later(election->session, &election->notification);
}
