#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "history_parts.h"

#define TOGETHER_MS 1000U

static uint64_t now_of(const struct actor *actor)
{
    return sim_now(actor->history->sim);
}

/* With creates that leave together, some processes' actors often come together. Where few
 * come, one process comes again and again. */
static void rest(struct ticket *ticket, uint64_t most_ms)
{
    const struct history *history = ticket->actor->history;
    bool again =
        (history->kinds & HISTORY_LONELY) != 0 && ticket->actor->seat->number == 0;
    bool together =
        !again &&
        (history->options->tuning & (UVZK__TUNE_MAKING | UVZK__TUNE_READERS)) != 0 &&
        ticket->actor->seat->number % 2 == 0;

    ticket->next_ms = now_of(ticket->actor) +
                      chance(ticket->actor->history, again ? most_ms / 20 : most_ms);
    if (together) {
        ticket->next_ms += TOGETHER_MS - ticket->next_ms % TOGETHER_MS;
    }
}

static bool is_first(const struct ticket *ticket)
{
    return ticket == &ticket->actor->tickets[0];
}

uvzk_lock_t *lock_of(struct ticket *ticket)
{
    struct actor *actor = ticket->actor;

    return actor->history->recipe->shell(&actor->seat->places[ticket->path],
                                         ticket->lock);
}

void ticket_add(struct ticket *ticket, int path, enum kind kind, uint32_t leases)
{
    struct share *share = &ticket->shares[ticket->share_count++];

    memset(share, 0, sizeof(*share));
    share->ticket = ticket;
    share->path = path;
    share->kind = kind;
    share->leases = leases;
}

void ticket_set(struct ticket *ticket, int path, int lock, enum kind kind,
                uint32_t leases)
{
    ticket->path = path;
    ticket->lock = lock;
    ticket->share_count = 0;
    ticket_add(ticket, path, kind, leases);
}

bool actor_idle(const struct actor *actor)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        if (actor->tickets[i].state != IDLE) {
            return false;
        }
    }
    return true;
}

struct ticket *actor_other(struct ticket *ticket, unsigned states)
{
    struct ticket *tickets = ticket->actor->tickets;

    for (int i = 0; i < TICKETS_MAX; i++) {
        if (&tickets[i] != ticket && tickets[i].owner != NULL &&
            (states & BIT_OF(tickets[i].state)) != 0) {
            return &tickets[i];
        }
    }
    return NULL;
}

void actor_begin(struct actor *actor, struct seat *seat)
{
    memset(actor, 0, sizeof(*actor));
    actor->history = seat->history;
    actor->seat = seat;
    for (int i = 0; i < TICKETS_MAX; i++) {
        actor->tickets[i].actor = actor;
        rest(&actor->tickets[i], 1500);
    }
}

void actor_stop(struct actor *actor)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        actor->tickets[i].next_ms = UINT64_MAX;
        actor->tickets[i].cancelled = false;
    }
}

/* ------------------------------------------------------------ what they are told */

void ticket_over(struct ticket *ticket)
{
    if (ticket->by_future != NULL) {
        by_future_free(ticket);
    } else {
        if (ticket->request->impl != NULL) {
            history_fail(ticket->actor->history, "impl is set after the last callback");
        }
        free(ticket->request);
    }
    ticket->request = NULL;
    ticket->state = IDLE;
    rest(ticket, 1000);
}

static void note(const struct ticket *ticket, const char *what, const char *how)
{
    const struct actor *actor = ticket->actor;

    sim_note(actor->history->sim, "client %d: %s lock %d, actor %d, ticket %d: %s, %s",
             actor->seat->number, path_of(ticket), ticket->lock,
             (int)(actor - actor->seat->actors), (int)(ticket - actor->tickets), what,
             how);
}

/* Every callback comes here first. */
static void told(struct ticket *ticket, enum ticket_state expected, const char *what,
                 int status)
{
    note(ticket, what, status == 0 ? "done" : uvzk_err_name(status));
    if (ticket->state != expected) {
        history_fail(ticket->actor->history, "%s callback out of order", what);
    }
}

static struct ticket *ticket_of(const uvzk_hold_t *hold)
{
    struct ticket *ticket = hold->data;

    if (hold != ticket->request) {
        history_fail(ticket->actor->history, "a callback of another hold");
    }
    return ticket;
}

/* Whether somebody else holds on this path, too, or did just before. */
static bool beside(const struct share *share)
{
    const struct tally *tally = &share->ticket->actor->history->tallies[share->path];

    return tally->leases > 0 || (tally->shared[0] != NULL &&
                                 tally->shared[0]->ticket->actor != share->ticket->actor);
}

static void take_tokens(struct ticket *ticket)
{
    struct history *history = ticket->actor->history;

    for (int i = 0; i < ticket->share_count; i++) {
        ticket->shares[i].token = uvzk_hold_token(ticket->request);
        ticket->shares[i].cohort = uvzk_hold_cohort(ticket->request);
    }
    if (history->recipe->granted != NULL) {
        history->recipe->granted(ticket);
    }
    for (int i = 0; i < ticket->share_count; i++) {
        check_token(&ticket->shares[i]);
    }
    history->result->beside += beside(&ticket->shares[0]);
}

void ticket_answered(struct ticket *ticket, int status)
{
    struct history *history = ticket->actor->history;

    told(ticket, ASKING, "acquire", status);
    if (status < 0) {
        history->result->refusals++;
        check_refusal(ticket, status);
        ticket_over(ticket);
        return;
    }
    if (ticket->cancelled || ticket->doomed) {
        history_fail(history, "granted after %s",
                     ticket->cancelled ? "cancel" : "its end");
    }
    history->result->grants++;
    history->result->away += seat_has_away(ticket->request);
    take_tokens(ticket);
    ticket->state = HOLDING;
    if (!uvzk_hold_is_valid(ticket->request)) {
        history_fail(history, "granted, but not valid");
    }
    if (is_first(ticket)) {
        rest(ticket, chance(history, 8) == 0 ? 30000 : 1500);
    } else {
        rest(ticket, chance(history, 2) == 0 ? 60 : 2500);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    ticket_answered(ticket_of(hold), status);
}

void ticket_lost(struct ticket *ticket, int reason)
{
    told(ticket, HOLDING, "lost", reason);
    ticket->actor->history->result->losses++;
    ticket_over(ticket);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    ticket_lost(ticket_of(hold), reason);
}

void ticket_released(struct ticket *ticket, int status)
{
    told(ticket, RELEASING, "release", status);
    bool forbidden =
        status == UVZK_ENOAUTH && (ticket->actor->history->kinds & HISTORY_FORBID) != 0;
    if (status != 0 && status != UVZK_ELOST && status != UVZK_ECLOSED &&
        status != UVZK_EEXPIRED && !forbidden &&
        !(status == UVZK_EAUTH && seat_auth_failed(ticket->actor->seat))) {
        history_fail(ticket->actor->history, "release says %s", uvzk_err_name(status));
    }
    if (status == 0 && ticket->doomed) {
        history_fail(ticket->actor->history, "released after its end");
    }
    ticket->actor->history->result->releases++;
    if (ticket->actor->history->recipe->released != NULL) {
        ticket->actor->history->recipe->released(ticket);
    }
    ticket_over(ticket);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    ticket_released(ticket_of(hold), status);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct ticket *ticket = ticket_of(hold);

    told(ticket, ASKING, "queued", 0);
    if (ahead == 0) {
        history_fail(ticket->actor->history, "queued behind nobody");
    }
}

/* ----------------------------------------------------------------- what they do */

/* A re-entry, or a read under a write. */
static bool may_join(const struct share *share, const struct share *other)
{
    return other->ticket->owner != NULL && other->ticket->owner == share->ticket->owner &&
           other->path == share->path && share->kind != LEASES &&
           (other->kind == share->kind ||
            (share->kind == SHARED && other->kind == EXCLUSIVE));
}

static int64_t joins(const struct share *share, const struct ticket *other, int64_t token)
{
    for (int i = 0; i < other->share_count; i++) {
        const struct share *theirs = &other->shares[i];
        int64_t found = other->state == HOLDING  ? theirs->token
                        : other->state == ASKING ? theirs->joined
                                                 : 0;
        if (found != 0 && (token == 0 || token == found) && may_join(share, theirs)) {
            return found;
        }
    }
    return 0;
}

int64_t actor_joins(const struct share *share, int64_t token)
{
    const struct ticket *tickets = share->ticket->actor->tickets;
    int64_t found = 0;

    for (int i = 0; i < TICKETS_MAX && found == 0; i++) {
        if (&tickets[i] != share->ticket) {
            found = joins(share, &tickets[i], token);
        }
    }
    return found;
}

static void some_timeout(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;
    uint64_t kind = chance(history, 10);

    if (kind == 0) {
        options->timeout_ms = UVZK_TRY_ONCE;
    } else if (kind < 4) {
        options->timeout_ms = 1 + (int64_t)chance(history, 3000);
    }
    ticket->limited = options->timeout_ms > 0;
}

static int acquire(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;

    if ((history->kinds & HISTORY_FUTURES) != 0 && chance(history, 2) == 0) {
        options->queued_cb = NULL;
        options->revoke_cb = NULL;
        ticket->revocable = false;
        return by_future_acquire(ticket, options);
    }
    ticket->request = calloc(1, sizeof(*ticket->request));
    ticket->request->data = ticket;
    return uvzk_lock_acquire(lock_of(ticket), ticket->request, options, on_acquired,
                             on_lost);
}

static void ask(struct ticket *ticket)
{
    struct history *history = ticket->actor->history;
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    some_timeout(ticket, &options);
    options.queued_cb = chance(history, 2) == 0 ? on_queued : NULL;
    rest(ticket, 1000);
    ticket->in_turn = false;
    if (is_first(ticket)) {
        history->recipe->wish(ticket, &options);
    } else if (!history->recipe->wish_more(ticket, &options)) {
        return;
    }
    if (ticket->actor->seat->places[ticket->path].closing[ticket->lock]) {
        return;
    }
    ticket->owner = options.owner;
    for (int i = 0; i < ticket->share_count; i++) {
        ticket->shares[i].joined = actor_joins(&ticket->shares[i], 0);
        ticket->shares[i].before = history->last_token[ticket->shares[i].path];
    }
    ticket->cancelled = false;
    ticket->doomed = false;
    revocation_wish(ticket, &options);
    int status = acquire(ticket, &options);
    note(ticket, "asks", ticket->owner == NULL ? "as nobody" : "as owner");
    if (status == 0) {
        ticket->state = ASKING;
        rest(ticket, 4000);
        return;
    }
    bool refused = (status == UVZK_EAUTH || status == UVZK_ELIMIT) &&
                   seat_auth_failed(ticket->actor->seat);
    if (status != UV_EIO && !refused) { /* no random bytes: one of the faults */
        history_fail(history, "acquire refused: %s", uvzk_err_name(status));
    }
    ticket_over(ticket);
}

static void let_go(struct ticket *ticket)
{
    vandal_sees_release(ticket->actor->history, ticket->path);
    ticket->next_ms = UINT64_MAX;
    if (ticket->by_future != NULL) {
        by_future_release(ticket);
    } else if (uvzk_hold_release(ticket->request, on_released) == 0) {
        ticket->state = RELEASING;
    } else {
        history_fail(ticket->actor->history, "release refused");
    }
}

/* Whether it will be answered so; or it is over. */
static bool give_up(struct ticket *ticket)
{
    if (ticket->by_future == NULL) {
        return uvzk_hold_cancel(ticket->request) == 0;
    }
    return by_future_give_up(ticket);
}

static bool may_ask(const struct ticket *ticket)
{
    if (now_of(ticket->actor) >= ticket->actor->history->end_ms) {
        return false;
    }
    return is_first(ticket) == actor_idle(ticket->actor);
}

static void act(struct ticket *ticket)
{
    struct history *history = ticket->actor->history;

    switch (ticket->state) {
    case IDLE:
        rest(ticket, 1000);
        if (may_ask(ticket)) {
            ask(ticket);
        }
        break;
    case ASKING:
        if (now_of(ticket->actor) < history->end_ms && chance(history, 4) == 0 &&
            give_up(ticket)) {
            ticket->cancelled = true;
            if (ticket->state == ASKING) {
                ticket->next_ms = UINT64_MAX;
            }
        } else {
            rest(ticket, 4000);
        }
        break;
    case HOLDING:
        if (history->recipe->while_held != NULL && history->recipe->while_held(ticket)) {
            rest(ticket, 1500);
        } else {
            let_go(ticket);
        }
        break;
    case RELEASING:
        ticket->next_ms = UINT64_MAX;
        break;
    }
}

void actor_act(struct actor *actor)
{
    const struct recipe *recipe = actor->history->recipe;
    uint64_t now = now_of(actor);

    for (int i = 0; i < recipe->ticket_count; i++) {
        if (actor->tickets[i].next_ms > now) {
            continue;
        }
        if (recipe->provoke != NULL && !actor_idle(actor)) {
            recipe->provoke(actor);
        }
        act(&actor->tickets[i]);
    }
}
