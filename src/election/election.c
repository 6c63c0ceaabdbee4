/* SPDX-License-Identifier: Apache-2.0 */
/* Elections (election.h). First the machine of one participant: it queues the participant by
 * an acquire, lets it lead while it holds, and queues it again. The lock, the timer and the
 * notification call back. Then the public functions, except for the list of participants
 * (election_participants.c): they check their arguments and move the machine, or ask the
 * hold. At the end, what client/lifecycle.c calls when the client closes and when it has
 * ended.
 *
 * The idea: this file does not decide whether the participant may lead. A grant makes a
 * leader and a loss deposes it, so only the lock deals with proofs, sessions and znodes.
 * This file adds the order of the callbacks, and it queues the participant again after
 * each hold unless that is useless. */
#include "election/election.h"

#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "base/struct_size.h"
#include "claim/lock.h"
#include "engine/handle_end.h"
#include "engine/invariant.h"
#include "engine/turn.h"
#include "locks/leader_latch.h"
#include "locks/mutex.h"

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

/* Returns true if the participant leads, as far as the machine knows: LEADING or
 * RESIGNING. The hold may be invalid by then (uvzk_hold_is_valid). */
static bool candidacy_is_leading(const struct uvzk__election *election)
{
    return election->state == UVZK__CANDIDACY_LEADING ||
           election->state == UVZK__CANDIDACY_RESIGNING;
}

bool uvzk__candidacy_is_closing(const struct uvzk__election *election)
{
    return election->state == UVZK__CANDIDACY_CLOSING || election->close_wanted;
}

/* Returns true if the participant is queued, leads, or will be queued without a call of
 * its user. */
static bool candidacy_goes_on(const struct uvzk__election *election)
{
    bool later = !election->manual_requeue || election->requeue_wanted;

    return election->state == UVZK__CANDIDACY_RELEASING
               ? later
               : election->state != UVZK__CANDIDACY_IDLE;
}

/* The waits for the leadership end with this status. From the loop only. A request that is added meanwhile is not ended: it waits for the state after this
 * one. */
static void candidacy_end_waits(struct uvzk__election *election, int status)
{
    struct uvzk__link requests, *link;

    uvzk__list_move(&election->lead_requests, &requests);
    while ((link = uvzk__list_take(&requests)) != NULL) {
        struct uvzk__lead_request *request =
            UVZK__CONTAINER_OF(link, struct uvzk__lead_request, link);
        request->done(request, status);
    }
}

/* -------------------------------------------------------------------------- its end */

/* A wait that is left belongs to a future that outlives the client. */
static void forget_waits(struct uvzk__election *election)
{
    while (uvzk__list_take(&election->lead_requests) != NULL) {
    }
}

static void free_election(struct uvzk__election *election)
{
    election->handle->impl = NULL;
    uvzk__list_remove(&election->in_session);
    uvzk__list_remove(&election->notification.link);
    forget_waits(election);
    uvzk__leader_report_end(&election->report);
    uvzk__free(election->id);
    uvzk__free(election);
}

/* The close callback of an election's lock: frees the election and calls its user. */
static void election_lock_closed(uvzk_lock_t *lock)
{
    struct uvzk__election *election =
        UVZK__CONTAINER_OF(lock, struct uvzk__election, lock);
    uvzk_election_close_cb close_cb = election->close_cb;
    uvzk_election_t *handle = election->handle;

    free_election(election);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
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

static int candidacy_queue(struct uvzk__election *election);

static void queue_again(struct uvzk__election *election)
{
    int status = candidacy_queue(election);

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
        candidacy_end_waits(election, status);
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
    if (candidacy_is_leading(election)) {
        candidacy_end_waits(election, 0);
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
    (void)uvzk_lock_close(&election->lock, election_lock_closed);
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
        candidacy_end_waits(election, reason);
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
        candidacy_end_waits(election, UVZK_ECLOSED);
        return;
    }
    /* First, because a wait that began while the participant led has its answer. */
    if (candidacy_is_leading(election)) {
        candidacy_end_waits(election, 0);
    }
    if (election->refusal != 0) {
        tell_refusal(election);
    }
    if (election->state == UVZK__CANDIDACY_RESIGNING) {
        step_down(election);
    }
}

/* Gives up the leadership. Returns 0 or UVZK_ENOTHELD. reason: for deposed_cb. */
static int candidacy_resign(struct uvzk__election *election, int reason)
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

static void candidacy_due(struct uvzk__timer *timer)
{
    struct uvzk__election *election =
        UVZK__CONTAINER_OF(timer, struct uvzk__election, timer);

    if (election->state == UVZK__CANDIDACY_PAUSING) {
        uvzk__move(election->session, &uvzk__candidacy_machine, election,
                   UVZK__CANDIDACY_IDLE);
        queue_again(election);
    } else {
        (void)candidacy_resign(election, UV_ETIMEDOUT);
    }
}

/* ------------------------------------------------------------- queueing and closing */

static void candidacy_init(struct uvzk__election *election)
{
    election->notification.notify_cb = candidacy_notified;
    election->timer.due = candidacy_due;
    uvzk__list_init(&election->notification.link);
    uvzk__list_init(&election->lead_requests);
}

/* In IDLE: queues the participant. Returns what uvzk_lock_acquire returns; after an error
 * the state is still IDLE. */
static int candidacy_queue(struct uvzk__election *election)
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

/* The user wants it queued again. Returns the same, or UVZK_ESTATE. */
static int candidacy_requeue(struct uvzk__election *election)
{
    if (election->state == UVZK__CANDIDACY_IDLE) {
        return candidacy_queue(election);
    }
    if (election->state != UVZK__CANDIDACY_RELEASING || candidacy_goes_on(election)) {
        return UVZK_ESTATE;
    }
    election->requeue_wanted = true;
    return 0;
}

/* Closes the lock: at once, or after deposed_cb if the participant is a leader and must
 * be notified. All waits for the leadership end. */
static void candidacy_close(struct uvzk__election *election, bool notify)
{
    if (!notify || !candidacy_is_leading(election)) {
        close_lock(election);
        return;
    }
    election->close_wanted = true;
    /* A participant that is already resigning keeps that reason. */
    (void)candidacy_resign(election, UVZK_ECLOSED);
}

void uvzk_election_options_init_size(uvzk_election_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
}

/* ----------------------------------------------------------------------------- init */

/* Copies the options over the defaults, and gives the id its length. */
static int read_options(uvzk_election_options_t *into,
                        const uvzk_election_options_t *from)
{
    uvzk_election_options_init(into);
    if (from == NULL) {
        return 0;
    }
    if (from->size < UVZK__SIZE_UP_TO(uvzk_election_options_t, error_cb)) {
        return uvzk__refuse(UV_EINVAL,
                            "options.size: begin with uvzk_election_options_init");
    }
    uvzk__settings_from(into, from, sizeof(*into));
    if (into->id != NULL && into->id_length == 0) {
        into->id_length = strlen(into->id);
    }
    return uvzk__refuse_if(UV_EINVAL, into->kind > UVZK_ELECTION_SELECTOR
                                          ? "options.kind: there is no such kind"
                                      : into->id == NULL && into->id_length > 0
                                          ? "options.id is NULL, id_length is not 0"
                                      : into->id_length > UVZK__DATA_MAX
                                          ? "options.id_length is more than 1000000"
                                          : NULL);
}

/* Without an id, or with an empty one, a latch has no data, as in Curator, and a selector
 * has the client's. */
static int copy_id(struct uvzk__election *election,
                   const uvzk_election_options_t *options)
{
    if (options->kind == UVZK_ELECTION_SELECTOR && options->id_length == 0) {
        return 0;
    }
    election->id = uvzk__memdup(options->id, options->id_length);
    election->id_length = options->id_length;
    return election->id == NULL ? UV_ENOMEM : 0;
}

static int make_lock(uvzk_client_t *client, struct uvzk__election *election,
                     const char *path, uint32_t kind)
{
    int status = kind == UVZK_ELECTION_LATCH
                     ? uvzk__leader_latch_init(client, &election->lock, path)
                     : uvzk_mutex_init(client, &election->lock, path);

    election->session = uvzk__lock_session(&election->lock);
    return status;
}

/* Makes everything that can fail, and queues the participant last. */
static int election_begin(uvzk_client_t *client, struct uvzk__election *election,
                          const char *path, const uvzk_election_options_t *options)
{
    int status = copy_id(election, options);

    if (status == 0) {
        status = make_lock(client, election, path, options->kind);
    }
    if (status == 0 && options->changed_cb != NULL) {
        status = uvzk__leader_report_begin(election, options->changed_cb);
    }
    if (status == 0) {
        status = candidacy_queue(election);
    }
    return status;
}

static void election_discard(struct uvzk__election *election)
{
    if (election->lock.impl != NULL) {
        uvzk__leader_report_end(&election->report);
        uvzk__lock_free(election->lock.impl);
    }
    uvzk__free(election->id);
    uvzk__free(election);
}

static struct uvzk__election *new_election(uvzk_election_t *handle,
                                           const uvzk_election_options_t *options)
{
    struct uvzk__election *election = uvzk__calloc(1, sizeof(*election));

    if (election != NULL) {
        election->handle = handle;
        election->leader_cb = options->leader_cb;
        election->deposed_cb = options->deposed_cb;
        election->error_cb = options->error_cb;
        election->max_reign_ms = options->max_reign_ms;
        election->manual_requeue = options->manual_requeue != 0;
        candidacy_init(election);
        uvzk__leader_report_init(&election->report);
    }
    return election;
}

int uvzk_election_init(uvzk_client_t *client, uvzk_election_t *handle, const char *path,
                       const uvzk_election_options_t *options)
{
    uvzk_election_options_t known;
    int status = uvzk__check_init(client, "election", handle,
                                  handle == NULL ? NULL : handle->impl, path);

    if (status == 0) {
        status = read_options(&known, options);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__election *election = new_election(handle, &known);
    if (election == NULL) {
        return UV_ENOMEM;
    }
    status = election_begin(client, election, path, &known);
    if (status != 0) {
        election_discard(election);
        return status;
    }
    uvzk__list_init(&election->in_session);
    uvzk__list_append(&election->session->elections->all, &election->in_session);
    handle->impl = election;
    return 0;
}

/* ------------------------------------------------------------------ the other calls */

/* The election, if it is open. Otherwise NULL, and *status is UV_EINVAL or UVZK_ECLOSED. */
static struct uvzk__election *open_election(const uvzk_election_t *handle, int *status)
{
    if (handle == NULL) {
        *status = uvzk__refuse(UV_EINVAL, "election is NULL");
        return NULL;
    }
    struct uvzk__election *election = handle->impl;
    if (election == NULL || uvzk__candidacy_is_closing(election) ||
        uvzk__session_is_closing(election->session)) {
        *status = uvzk__refuse(UVZK_ECLOSED, "the election or its client is closing, or "
                                             "it is not initialised");
        return NULL;
    }
    return election;
}

int uvzk_election_resign(uvzk_election_t *handle)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    status = candidacy_resign(election, 0);
    return uvzk__refuse_if(
        status, status == 0 ? NULL : "the participant does not lead, or resigns already");
}

int uvzk_election_requeue(uvzk_election_t *handle)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    status = candidacy_requeue(election);
    return status != UVZK_ESTATE
               ? status
               : uvzk__refuse(status, "the participant is queued, or uvzk will queue it");
}

int uvzk_election_close(uvzk_election_t *handle, unsigned mode,
                        uvzk_election_close_cb close_cb)
{
    if (handle == NULL || mode > UVZK_ELECTION_NOTIFY) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "election is NULL"
                                                      : "mode: there is no such mode");
    }
    struct uvzk__election *election = handle->impl;
    if (election == NULL || uvzk__candidacy_is_closing(election)) {
        return uvzk__refuse(UVZK_ESTATE, "the election is closing, or not initialised");
    }
    election->close_cb = close_cb;
    uvzk__end_begin(&handle->end, election->session);
    candidacy_close(election, mode == UVZK_ELECTION_NOTIFY);
    return 0;
}

int uvzk__election_wait_to_lead(uvzk_election_t *handle,
                                struct uvzk__lead_request *request)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    if (!candidacy_goes_on(election)) {
        return uvzk__refuse(UVZK_ESTATE, "the participant is not queued");
    }
    uvzk__list_init(&request->link);
    uvzk__list_append(&election->lead_requests, &request->link);
    if (candidacy_is_leading(election)) {
        uvzk__notify_later(election->session, &election->notification);
    }
    return 0;
}

struct uvzk__session *uvzk__election_session(const uvzk_election_t *handle)
{
    const struct uvzk__election *election = handle == NULL ? NULL : handle->impl;

    return election == NULL ? NULL : election->session;
}

/* ------------------------------------------------------------- what is known of it */

uvzk_hold_t *uvzk_election_hold(const uvzk_election_t *handle)
{
    struct uvzk__election *election = handle == NULL ? NULL : handle->impl;

    return election != NULL && candidacy_is_leading(election) ? &election->hold : NULL;
}

/* [P22] A leader leads as long as its hold is valid. */
int uvzk_election_is_leader(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold != NULL && uvzk_hold_is_valid(hold);
}

int64_t uvzk_election_token(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold == NULL ? 0 : uvzk_hold_token(hold);
}

uint64_t uvzk_election_valid_until(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold == NULL ? 0 : uvzk_hold_valid_until(hold);
}

/* ------------------------------------------------------- all elections of a session */

/* They are listed while their memory exists, which ends with the close of their lock, or with
 * the client. */
static struct uvzk__election *election_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__election, in_session);
}

void uvzk__elections_init(struct uvzk__elections *elections)
{
    uvzk__list_init(&elections->all);
}

/* The client is closing, see uvzk__elections_closing. */
static void candidacy_client_closing(struct uvzk__election *election, int code)
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

void uvzk__elections_closing(struct uvzk__session *session, int code)
{
    struct uvzk__link *all = &session->elections->all;

    for (struct uvzk__link *link = all->next; link != all; link = link->next) {
        candidacy_client_closing(election_at(link), code);
    }
}

void uvzk__elections_free(struct uvzk__session *session)
{
    struct uvzk__link *all = &session->elections->all;

    while (!uvzk__list_empty(all)) {
        free_election(election_at(all->next));
    }
}
