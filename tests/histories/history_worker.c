/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client/create.h"
#include "history_parts.h"

#define TOGETHER_MS 1000U

static uint64_t now_of(const struct actor *worker)
{
    return sim_now(worker->history->sim);
}

/* With creates that leave together, some processes' actors often come together. Where few
 * come, one process comes again and again. */
static void rest(struct acquisition *acquisition, uint64_t most_ms)
{
    const struct history *history = acquisition->worker->history;
    bool again =
        (history->kinds & HISTORY_SPARSE) != 0 && acquisition->worker->slot->number == 0;
    bool together = !again &&
                    (history->options->tuning &
                     (UVZK__TUNE_CREATE_BATCH | UVZK__TUNE_READERS)) != 0 &&
                    acquisition->worker->slot->number % 2 == 0;

    acquisition->next_ms =
        now_of(acquisition->worker) +
        chance(acquisition->worker->history, again ? most_ms / 20 : most_ms);
    if (together) {
        acquisition->next_ms += TOGETHER_MS - acquisition->next_ms % TOGETHER_MS;
    }
}

static bool is_first(const struct acquisition *acquisition)
{
    return acquisition == &acquisition->worker->acquisitions[0];
}

uvzk_lock_t *lock_of(struct acquisition *acquisition)
{
    struct actor *worker = acquisition->worker;

    return worker->history->recipe->handle(&worker->slot->path_locks[acquisition->path],
                                           acquisition->lock);
}

void acquisition_add(struct acquisition *acquisition, int path, enum kind kind,
                     uint32_t leases)
{
    struct share *share = &acquisition->shares[acquisition->share_count++];

    memset(share, 0, sizeof(*share));
    share->acquisition = acquisition;
    share->path = path;
    share->kind = kind;
    share->leases = leases;
}

void acquisition_set(struct acquisition *acquisition, int path, int lock, enum kind kind,
                     uint32_t leases)
{
    acquisition->path = path;
    acquisition->lock = lock;
    acquisition->share_count = 0;
    acquisition_add(acquisition, path, kind, leases);
}

void acquisition_without_token(struct acquisition *acquisition)
{
    acquisition->shares[0].token = 0;
}

bool worker_idle(const struct actor *worker)
{
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        if (worker->acquisitions[i].state != IDLE) {
            return false;
        }
    }
    return true;
}

struct acquisition *worker_other(struct acquisition *acquisition, unsigned states)
{
    struct acquisition *acquisitions = acquisition->worker->acquisitions;

    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        if (&acquisitions[i] != acquisition && acquisitions[i].owner != NULL &&
            (states & BIT_OF(acquisitions[i].state)) != 0) {
            return &acquisitions[i];
        }
    }
    return NULL;
}

void worker_begin(struct actor *worker, struct client_slot *slot)
{
    memset(worker, 0, sizeof(*worker));
    worker->history = slot->history;
    worker->slot = slot;
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        worker->acquisitions[i].worker = worker;
        rest(&worker->acquisitions[i], 1500);
    }
}

void worker_stop(struct actor *worker)
{
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        worker->acquisitions[i].next_ms = UINT64_MAX;
        worker->acquisitions[i].cancelled = false;
    }
}

/* ------------------------------------------------------------ what they are told */

void acquisition_over(struct acquisition *acquisition)
{
    if (acquisition->by_future != NULL) {
        by_future_free(acquisition);
    } else {
        if (acquisition->request->impl != NULL) {
            history_fail(acquisition->worker->history,
                         "impl is set after the last callback");
        }
        free(acquisition->request);
    }
    acquisition->request = NULL;
    acquisition->state = IDLE;
    rest(acquisition, 1000);
}

static void note(const struct acquisition *acquisition, const char *what, const char *how)
{
    const struct actor *worker = acquisition->worker;

    sim_note(worker->history->sim, "client %d: %s lock %d, actor %d, ticket %d: %s, %s",
             worker->slot->number, path_of(acquisition), acquisition->lock,
             (int)(worker - worker->slot->workers),
             (int)(acquisition - worker->acquisitions), what, how);
}

/* Every callback comes here first. */
static void told(struct acquisition *acquisition, enum ticket_state expected,
                 const char *what, int status)
{
    note(acquisition, what, status == 0 ? "done" : uvzk_err_name(status));
    if (acquisition->state != expected) {
        history_fail(acquisition->worker->history, "%s callback out of order", what);
    }
}

static struct acquisition *ticket_of(const uvzk_hold_t *hold)
{
    struct acquisition *acquisition = hold->data;

    if (hold != acquisition->request) {
        history_fail(acquisition->worker->history, "a callback of another hold");
    }
    return acquisition;
}

/* Returns true if somebody else holds on this path, too, or did just before. */
static bool beside(const struct share *share)
{
    const struct tally *tally =
        &share->acquisition->worker->history->tallies[share->path];

    return tally->leases > 0 ||
           (tally->shared[0] != NULL &&
            tally->shared[0]->acquisition->worker != share->acquisition->worker);
}

static void take_tokens(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;

    for (int i = 0; i < acquisition->share_count; i++) {
        acquisition->shares[i].token = uvzk_hold_token(acquisition->request);
        acquisition->shares[i].cohort = uvzk_hold_cohort(acquisition->request);
    }
    if (history->recipe->granted != NULL) {
        history->recipe->granted(acquisition);
    }
    for (int i = 0; i < acquisition->share_count; i++) {
        check_token(&acquisition->shares[i]);
    }
    history->result->shared_grants += beside(&acquisition->shares[0]);
}

void acquisition_answered(struct acquisition *acquisition, int status)
{
    struct history *history = acquisition->worker->history;

    told(acquisition, ASKING, "acquire", status);
    if (status < 0) {
        history->result->refusals++;
        check_refusal(acquisition, status);
        acquisition_over(acquisition);
        return;
    }
    if (acquisition->cancelled || acquisition->must_fail) {
        history_fail(history, "granted after %s",
                     acquisition->cancelled ? "cancel" : "its end");
    }
    history->result->grants++;
    history->result->remote_grants += client_slot_has_remote_hold(acquisition->request);
    take_tokens(acquisition);
    acquisition->state = HOLDING;
    hold_limit_granted(acquisition);
    if (!uvzk_hold_is_valid(acquisition->request)) {
        history_fail(history, "granted, but not valid");
    }
    if (is_first(acquisition)) {
        rest(acquisition, chance(history, 8) == 0 ? 30000 : 1500);
    } else {
        rest(acquisition, chance(history, 2) == 0 ? 60 : 2500);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    acquisition_answered(ticket_of(hold), status);
}

void acquisition_lost(struct acquisition *acquisition, int reason)
{
    told(acquisition, HOLDING, "lost", reason);
    hold_limit_lost(acquisition, reason);
    acquisition->worker->history->result->losses++;
    acquisition_over(acquisition);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    acquisition_lost(ticket_of(hold), reason);
}

void acquisition_released(struct acquisition *acquisition, int status)
{
    told(acquisition, RELEASING, "release", status);
    bool forbidden = status == UVZK_ENOAUTH &&
                     (acquisition->worker->history->kinds & HISTORY_FORBID) != 0;
    if (status != 0 && status != UVZK_ELOST && status != UVZK_ECLOSED &&
        status != UVZK_EEXPIRED && !forbidden &&
        !(status == UVZK_EAUTH && client_slot_auth_failed(acquisition->worker->slot))) {
        history_fail(acquisition->worker->history, "release says %s",
                     uvzk_err_name(status));
    }
    if (status == 0 && acquisition->must_fail) {
        history_fail(acquisition->worker->history, "released after its end");
    }
    acquisition->worker->history->result->releases++;
    if (acquisition->worker->history->recipe->released != NULL) {
        acquisition->worker->history->recipe->released(acquisition);
    }
    acquisition_over(acquisition);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    acquisition_released(ticket_of(hold), status);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct acquisition *acquisition = ticket_of(hold);

    told(acquisition, ASKING, "queued", 0);
    if (ahead == 0) {
        history_fail(acquisition->worker->history, "queued behind nobody");
    }
}

/* ----------------------------------------------------------------- what they do */

/* A re-entry, or a read under a write. */
static bool may_join(const struct share *share, const struct share *other)
{
    return other->acquisition->owner != NULL &&
           other->acquisition->owner == share->acquisition->owner &&
           other->path == share->path && share->kind != LEASES &&
           (other->kind == share->kind ||
            (share->kind == SHARED && other->kind == EXCLUSIVE));
}

static int64_t joins(const struct share *share, const struct acquisition *other,
                     int64_t token)
{
    for (int i = 0; i < other->share_count; i++) {
        const struct share *theirs = &other->shares[i];
        int64_t found = other->state == HOLDING  ? theirs->token
                        : other->state == ASKING ? theirs->joined
                                                 : 0;
        /* The token of a member of a multi lock is not known if its znode was deleted by
         * hand before the multi lock was granted. */
        if (other->state == HOLDING && found == 0) {
            found = token;
        }
        if (found != 0 && (token == 0 || token == found) && may_join(share, theirs)) {
            return found;
        }
    }
    return 0;
}

int64_t worker_joins(const struct share *share, int64_t token)
{
    const struct acquisition *acquisitions = share->acquisition->worker->acquisitions;
    int64_t found = 0;

    for (int i = 0; i < ACQUISITIONS_MAX && found == 0; i++) {
        if (&acquisitions[i] != share->acquisition) {
            found = joins(share, &acquisitions[i], token);
        }
    }
    return found;
}

static void some_timeout(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    uint64_t kind = chance(history, 10);

    if (kind == 0) {
        options->timeout_ms = UVZK_TRY_ONCE;
    } else if (kind < 4) {
        options->timeout_ms = 1 + (int64_t)chance(history, 3000);
    }
    acquisition->limited = options->timeout_ms > 0;
}

static int acquire(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;

    if ((history->kinds & HISTORY_FUTURES) != 0 && chance(history, 2) == 0) {
        options->queued_cb = NULL;
        options->revoke_cb = NULL;
        options->max_hold_cb = NULL;
        acquisition->revocable = false;
        return by_future_acquire(acquisition, options);
    }
    acquisition->request = calloc(1, sizeof(*acquisition->request));
    acquisition->request->data = acquisition;
    return uvzk_lock_acquire(lock_of(acquisition), acquisition->request, options,
                             on_acquired, on_lost);
}

/* A few of these fill the servers' small jute.maxbuffer. Persistent znodes are told apart
 * by their data, so they keep theirs. */
static void choose_data(const struct acquisition *acquisition,
                        uvzk_acquire_options_t *options)
{
    static const char data[700];
    unsigned kinds = acquisition->worker->history->kinds;

    if ((kinds & HISTORY_SMALL_BUFFER) != 0 && (kinds & HISTORY_DURABLE) == 0) {
        options->node_data = data;
        options->node_data_length = sizeof(data);
    }
}

static void ask(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    some_timeout(acquisition, &options);
    options.queued_cb = chance(history, 2) == 0 ? on_queued : NULL;
    rest(acquisition, 1000);
    acquisition->in_turn = false;
    if (is_first(acquisition)) {
        history->recipe->choose_acquire(acquisition, &options);
    } else if (!history->recipe->choose_another(acquisition, &options)) {
        return;
    }
    if (acquisition->worker->slot->path_locks[acquisition->path]
            .closing[acquisition->lock]) {
        return;
    }
    acquisition->owner = options.owner;
    for (int i = 0; i < acquisition->share_count; i++) {
        acquisition->shares[i].joined = worker_joins(&acquisition->shares[i], 0);
        acquisition->shares[i].before = history->last_token[acquisition->shares[i].path];
    }
    acquisition->cancelled = false;
    acquisition->must_fail = false;
    revocation_choose(acquisition, &options);
    choose_data(acquisition, &options);
    hold_limit_choose(acquisition, &options);
    int status = acquire(acquisition, &options);
    note(acquisition, "asks", acquisition->owner == NULL ? "as nobody" : "as owner");
    if (status == 0) {
        acquisition->state = ASKING;
        rest(acquisition, 4000);
        return;
    }
    bool refused = (status == UVZK_EAUTH || status == UVZK_ELIMIT) &&
                   client_slot_auth_failed(acquisition->worker->slot);
    if (status != UV_EIO && !refused) { /* no random bytes: one of the faults */
        history_fail(history, "acquire refused: %s", uvzk_err_name(status));
    }
    acquisition_over(acquisition);
}

static void let_go(struct acquisition *acquisition)
{
    node_deleter_sees_release(acquisition->worker->history, acquisition->path);
    acquisition->next_ms = UINT64_MAX;
    if (acquisition->by_future != NULL) {
        by_future_release(acquisition);
    } else if (uvzk_hold_release(acquisition->request, on_released) == 0) {
        acquisition->state = RELEASING;
    } else {
        history_fail(acquisition->worker->history, "release refused");
    }
}

/* Returns true if it will be answered so; or it is over. */
static bool give_up(struct acquisition *acquisition)
{
    if (acquisition->by_future == NULL) {
        return uvzk_hold_cancel(acquisition->request) == 0;
    }
    return by_future_give_up(acquisition);
}

static bool may_ask(const struct acquisition *acquisition)
{
    if (now_of(acquisition->worker) >= acquisition->worker->history->end_ms) {
        return false;
    }
    return is_first(acquisition) == worker_idle(acquisition->worker);
}

static void act(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;

    switch (acquisition->state) {
    case IDLE:
        rest(acquisition, 1000);
        if (may_ask(acquisition)) {
            ask(acquisition);
        }
        break;
    case ASKING:
        if (now_of(acquisition->worker) < history->end_ms && chance(history, 4) == 0 &&
            give_up(acquisition)) {
            acquisition->cancelled = true;
            if (acquisition->state == ASKING) {
                acquisition->next_ms = UINT64_MAX;
            }
        } else {
            rest(acquisition, 4000);
        }
        break;
    case HOLDING:
        if (history->recipe->while_held != NULL &&
            history->recipe->while_held(acquisition)) {
            rest(acquisition, 1500);
        } else {
            let_go(acquisition);
        }
        break;
    case RELEASING:
        acquisition->next_ms = UINT64_MAX;
        break;
    }
}

void worker_act(struct actor *worker)
{
    const struct recipe *recipe = worker->history->recipe;
    uint64_t now = now_of(worker);

    for (int i = 0; i < recipe->acquisition_count; i++) {
        if (worker->acquisitions[i].next_ms > now) {
            continue;
        }
        if (recipe->try_refused != NULL && !worker_idle(worker)) {
            recipe->try_refused(worker);
        }
        act(&worker->acquisitions[i]);
    }
}
