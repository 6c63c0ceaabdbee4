#include "election_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/create.h"
#include "failing_allocator.h"
#include "history_ports.h"
#include "history_strikes.h"
#include "history_transport.h"
#include "sim.h"
#include "ticker.h"

#define SLOTS_MAX 5
#define PARTICIPANTS 3
#define PATHS 2
#define ACTIVE_MS 15000U
#define HEAL_MS 300000U
#define LATE_MS 100U /* how late a loop may be that is not late */
#define TOGETHER_MS 300U

static const char *const paths[PATHS] = {"/elections/latch", "/elections/selector"};

struct history;
struct client_slot;

/* An election, made anew each time. */
struct participant {
    struct client_slot *slot;
    uvzk_election_t *election; /* NULL: closed */
    int path;
    bool leads;    /* between leader_cb and deposed_cb */
    bool resigned; /* uvzk_election_resign was called since */
    bool closing, silent, manual, follows;
    uint64_t max_reign_ms;
    uint64_t led_ms; /* when it was told that it leads */
    int64_t token;   /* of its last leadership */
    int64_t session_id;
    int64_t known;  /* the token of the leader that it was told last; 0: none */
    int64_t newest; /* the greatest of them */
    uint64_t next_ms;
    uvzk_election_participants_t *list; /* a request under way */
    uvzk_future_t *future;              /* of a wait to lead; NULL: none */
};

struct client_slot {
    struct history *history;
    int number;
    struct uvzk__port *ports[HISTORY_PORTS_MAX];
    uint32_t sessions;
    uvzk_client_t *client; /* NULL: closed */
    struct participant participants[PARTICIPANTS];
    bool closing;
    uint64_t reopen_ms;
    /* Until then nothing is checked of its leaders: their znodes were deleted. */
    uint64_t struck_until_ms[PATHS];
};

struct history {
    struct sim *sim;
    struct election_history_result *result;
    struct client_slot slots[SLOTS_MAX];
    int slot_count;
    int64_t last_token[PATHS]; /* of a leader */
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms, tick_ms;
    uint64_t end_ms;
    bool operator_kills, pauses, failed;
    unsigned kinds; /* enum history_kind */
};

#define EACH(one_, history)                                                             \
    for (struct participant *one_ = &(history)->slots[0].participants[0]; one_ != NULL; \
         one_ = next_participant((history), one_))

static struct participant *next_participant(struct history *history,
                                            struct participant *participant)
{
    struct client_slot *slot = participant->slot;

    if (++participant < &slot->participants[PARTICIPANTS]) {
        return participant;
    }
    return ++slot < &history->slots[history->slot_count] ? &slot->participants[0] : NULL;
}

static void fail(struct history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct history *history, const char *format, ...)
{
    va_list arguments;

    history->failed = true;
    va_start(arguments, format);
    history_sim_failed(history->sim, history->result->outcome.failure, format, arguments);
    va_end(arguments);
}

static uint64_t chance(struct history *history, uint64_t n)
{
    return sim_random(history->sim, n);
}

static uint64_t soon(struct history *history, uint64_t most_ms)
{
    return sim_now(history->sim) + 1 + chance(history, most_ms);
}

static bool auth_failed(const struct client_slot *slot)
{
    return history_ports_auth_failed(slot->ports, slot->sessions);
}

static int number_of(const struct participant *participant)
{
    return (int)(participant - participant->slot->participants);
}

/* With those whose znodes are deleted by hand, some processes have one participant of each
 * path, so that one multi may make the znodes of all. */
static bool stands_alone(const struct participant *participant)
{
    return (participant->slot->history->kinds & HISTORY_STRIKES) != 0 &&
           participant->slot->number % 2 == 0;
}

/* ... which do all that they do at the same times. */
static uint64_t next_act(const struct participant *participant)
{
    struct history *history = participant->slot->history;
    uint64_t at_ms = soon(history, 600);

    return stands_alone(participant) ? at_ms + TOGETHER_MS - at_ms % TOGETHER_MS : at_ms;
}

/* Nothing makes a loop run late, so that a callback comes when it is due. */
static bool loops_are_on_time(const struct history *history)
{
    const unsigned late = HISTORY_CLOCKS | HISTORY_CLOSES | HISTORY_SLOW_LINKS |
                          HISTORY_DEPOSED | HISTORY_RENEGOTIATE;

    return !history->pauses && (history->kinds & late) == 0;
}

/* ------------------------------------------------------------------- the leaders */

static bool is_leader(const struct participant *participant)
{
    return participant->election != NULL &&
           uvzk_election_is_leader(participant->election) != 0;
}

static bool is_struck(const struct participant *participant)
{
    return sim_now(participant->slot->history->sim) <
           participant->slot->struck_until_ms[participant->path];
}

/* A8 and A9 of docs/promise.md, and the ends of sessions by an operator. */
static bool is_excepted(const struct participant *earlier, int64_t later)
{
    const struct history *history = earlier->slot->history;
    uint64_t most = history->timeout_ms + history->timeout_ms / 50;

    return sim_lost_transaction(history->sim, earlier->token) ||
           sim_went_unread(history->sim, earlier->token, 2 * most) ||
           sim_made_behind_unread(history->sim, paths[earlier->path], earlier->token,
                                  later, most) ||
           (history->operator_kills &&
            !sim_session_alive(history->sim, earlier->session_id));
}

static void check_pair(struct participant *one, struct participant *other)
{
    const struct participant *earlier = one->token < other->token ? one : other;
    struct history *history = one->slot->history;

    if (one->path != other->path || !is_leader(one) || !is_leader(other) ||
        is_struck(one) || is_struck(other)) {
        return;
    }
    if (is_excepted(earlier, earlier == one ? other->token : one->token)) {
        history->result->lost_txn_overlaps++;
        return;
    }
    fail(history,
         "two leaders: client %d with token %" PRId64 " and client %d with %" PRId64,
         one->slot->number, one->token, other->slot->number, other->token);
}

static void check_leaders(struct history *history)
{
    EACH(one, history)
    {
        if (!is_leader(one)) {
            continue;
        }
        if (loops_are_on_time(history) && one->max_reign_ms > 0 &&
            sim_now(history->sim) > one->led_ms + one->max_reign_ms + LATE_MS) {
            fail(history, "client %d leads for too long", one->slot->number);
        }
        for (struct participant *other = next_participant(history, one); other != NULL;
             other = next_participant(history, other)) {
            check_pair(one, other);
        }
    }
}

/* Nobody else was told to lead and not told yet that this is over. */
static void check_deposed(struct participant *leader)
{
    struct history *history = leader->slot->history;

    EACH(other, history)
    {
        const struct participant *earlier = other->token < leader->token ? other : leader;

        if (other != leader && other->path == leader->path && other->leads &&
            !other->slot->closing && loops_are_on_time(history) && !is_struck(leader) &&
            !is_struck(other) &&
            !is_excepted(earlier, earlier == other ? leader->token : other->token)) {
            fail(history, "client %d leads before client %d is deposed",
                 leader->slot->number, other->slot->number);
        }
    }
}

/* ------------------------------------------------------------------ the callbacks */

static void note(const struct participant *participant, const char *what, int status)
{
    sim_note(participant->slot->history->sim, "client %d, participant %d, %s: %s, %s",
             participant->slot->number, number_of(participant), paths[participant->path],
             what, uvzk_err_name(status));
}

/* The session that owns the znode by which it leads. */
static void note_session(struct participant *participant)
{
    const uvzk_hold_t *hold = uvzk_election_hold(participant->election);
    struct uvzk__stat stat = {.ephemeral_owner = 0};

    (void)sim_stat(participant->slot->history->sim, uvzk_hold_path(hold), &stat);
    participant->session_id = stat.ephemeral_owner;
}

static void on_lead(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    struct participant *participant = election->data;
    struct history *history = participant->slot->history;
    int64_t *last = &history->last_token[participant->path];

    note(participant, "leads", 0);
    if (participant->leads || participant->silent || participant->slot->client == NULL) {
        fail(history, "leader_cb out of order");
    }
    if (!is_leader(participant) || valid_until != uvzk_election_valid_until(election)) {
        fail(history, "told to lead, and does not");
    }
    participant->token = token;
    note_session(participant);
    bool killed = history->operator_kills &&
                  !sim_session_alive(history->sim, participant->session_id);
    if (token <= *last && !killed && !is_struck(participant) &&
        !sim_lost_transaction(history->sim, 0) &&
        (history->kinds & HISTORY_UNREAD) == 0) {
        fail(history, "token %" PRId64 " after %" PRId64, token, *last);
    }
    if (token > *last) {
        *last = token;
    }
    participant->led_ms = sim_now(history->sim);
    check_leaders(history);
    check_deposed(participant);
    participant->leads = true;
    participant->resigned = false;
    history->result->led++;
    if (chance(history, 8) == 0) {
        participant->resigned = uvzk_election_resign(election) == 0;
    }
}

static bool may_be_deposed_with(const struct participant *participant, int reason)
{
    switch (reason) {
    case 0:
        return participant->resigned;
    case UV_ETIMEDOUT:
        return participant->max_reign_ms > 0;
    case UVZK_ECLOSED:
        return participant->closing || participant->slot->closing;
    case UVZK_EAUTH:
        return auth_failed(participant->slot);
    default:
        return reason == UVZK_EEXPIRED || reason == UVZK_EPROOF ||
               reason == UVZK_EDELETED;
    }
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    struct participant *participant = election->data;
    struct history *history = participant->slot->history;

    note(participant, "is deposed", reason);
    if (!participant->leads || participant->silent) {
        fail(history, "deposed_cb out of order");
    }
    if (is_leader(participant) || uvzk_election_token(election) != 0) {
        fail(history, "deposed, and leads");
    }
    if (!may_be_deposed_with(participant, reason)) {
        fail(history, "deposed with %s", uvzk_err_name(reason));
    }
    participant->leads = false;
    history->result->resigned += reason == 0;
    history->result->timed_out += reason == UV_ETIMEDOUT;
    history->result->lost += reason == UVZK_EEXPIRED || reason == UVZK_EPROOF;
}

static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct participant *participant = election->data;
    int64_t token = leader == NULL ? 0 : leader->token;

    note(participant, leader == NULL ? "sees nobody lead" : leader->id, 0);
    if (participant->silent || !participant->follows || token == participant->known ||
        (token != 0 && token <= participant->newest)) {
        fail(participant->slot->history, "changed_cb out of order");
    }
    participant->known = token;
    participant->newest = token > participant->newest ? token : participant->newest;
    participant->slot->history->result->changes++;
}

static bool may_err_with(const struct participant *participant, int status)
{
    const unsigned acl = HISTORY_UNREADABLE | HISTORY_UNREAD | HISTORY_FORBID;

    return uvzk_err_is_retriable(status) ||
           (status == UVZK_ECLOSED && participant->slot->closing) ||
           (status == UVZK_EAUTH && auth_failed(participant->slot)) ||
           (status == UVZK_ENOAUTH && (participant->slot->history->kinds & acl) != 0) ||
           /* A call of random() has failed. */
           status == UV_EIO;
}

static void on_error(uvzk_election_t *election, int status)
{
    struct participant *participant = election->data;

    note(participant, "is not queued", status);
    if (participant->leads || participant->silent) {
        fail(participant->slot->history, "error_cb out of order");
    }
    if (!may_err_with(participant, status)) {
        fail(participant->slot->history, "not queued: %s", uvzk_err_name(status));
    }
    participant->slot->history->result->errors++;
}

static void drop_future(struct participant *participant)
{
    if (participant->future != NULL) {
        uvzk_future_drop(participant->future);
        free(participant->future);
        participant->future = NULL;
    }
}

static void on_closed(uvzk_election_t *election)
{
    struct participant *participant = election->data;

    note(participant, "is closed", 0);
    if (!participant->closing || election->impl != NULL || participant->list != NULL ||
        participant->leads) {
        fail(participant->slot->history, "a close callback out of order");
    }
    drop_future(participant);
    free(election);
    participant->election = NULL;
    participant->next_ms = soon(participant->slot->history, 1500);
}

static void on_list(uvzk_election_participants_t *request, int status,
                    const uvzk_election_participant_t *const *participants, size_t count)
{
    struct participant *participant = request->data;
    struct history *history = participant->slot->history;

    for (size_t i = 0; status == 0 && i < count; i++) {
        if (participants[i]->is_leader != (i == 0) || participants[i]->token == 0) {
            fail(history, "a list without an order");
        }
    }
    history->result->listed += status == 0;
    free(request);
    participant->list = NULL;
}

static void on_future(uvzk_future_t *future, int status, void *context)
{
    struct participant *participant = context;

    (void)future;
    participant->slot->history->result->futures += status == 0;
    drop_future(participant);
}

static void on_client_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    for (int i = 0; i < PARTICIPANTS; i++) {
        struct participant *participant = &slot->participants[i];
        if (participant->election != NULL && participant->election->impl != NULL) {
            fail(slot->history, "an election outlives its client");
        }
        if (participant->leads && !participant->silent) {
            fail(slot->history, "a leader is not deposed with its client");
        }
        drop_future(participant);
        free(participant->election); /* closed with its client, without a word */
        participant->election = NULL;
        participant->leads = false;
    }
    free(client);
    slot->client = NULL;
    slot->sessions = 0;
    slot->reopen_ms = soon(slot->history, 1500);
}

/* ---------------------------------------------------------------- what they do */

static void open_ports(struct client_slot *slot)
{
    struct history *history = slot->history;

    slot->sessions = history_ports_open(slot->ports, history->sim, slot->number,
                                        history->kinds, history->timeout_ms);
    if ((history->kinds & HISTORY_SLOW_LINKS) != 0 && history->tick_ms < 1000) {
        for (uint32_t i = 0; i < slot->sessions; i++) {
            history_transport.set_latency(slot->ports[i], history->timeout_ms / 24,
                                          history->timeout_ms / 16);
        }
    }
}

static void open_slot(struct client_slot *slot)
{
    struct history *history = slot->history;
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.tick_ms = history->tick_ms;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.max_retries = (uint32_t)chance(history, 4);
    options.retry.base_ms = (uint32_t)chance(history, 500);
    open_ports(slot);
    slot->client = calloc(1, sizeof(*slot->client));
    slot->client->data = slot;
    slot->closing = false;
    if (uvzk__client_create_over(slot->client, slot->ports, slot->sessions, &options,
                                 history->tuning) != 0 ||
        uvzk_client_start(slot->client) != 0) {
        fail(history, "a client cannot be made");
    }
    for (int i = 0; i < PARTICIPANTS; i++) {
        slot->participants[i].next_ms = soon(history, i == 0 ? 50 : 3000);
        if (stands_alone(&slot->participants[i]) && i >= PATHS) {
            slot->participants[i].next_ms = UINT64_MAX;
        }
    }
}

static void close_slot(struct client_slot *slot)
{
    slot->closing = true;
    if (uvzk_client_close(slot->client, on_client_closed) != 0) {
        fail(slot->history, "a client cannot be closed");
    }
}

static void begin_election(struct participant *participant)
{
    struct history *history = participant->slot->history;
    uvzk_election_options_t options;
    char id[16];

    participant->path = stands_alone(participant) ? number_of(participant) % PATHS
                                                  : (int)chance(history, PATHS);
    participant->closing = participant->silent = participant->leads = false;
    participant->manual = chance(history, 4) == 0;
    participant->follows = chance(history, 4) != 0;
    participant->max_reign_ms = chance(history, 3) == 0 ? 50 + chance(history, 2000) : 0;
    participant->known = participant->newest = 0;
    (void)snprintf(id, sizeof(id), "id%d.%d", participant->slot->number,
                   number_of(participant));
    uvzk_election_options_init(&options);
    options.kind = (uint32_t)participant->path; /* latches, and selectors */
    options.id = id;
    options.manual_requeue = participant->manual;
    options.max_reign_ms = participant->max_reign_ms;
    options.leader_cb = on_lead;
    options.deposed_cb = on_deposed;
    options.changed_cb = participant->follows ? on_changed : NULL;
    options.error_cb = on_error;
    participant->election = calloc(1, sizeof(*participant->election));
    participant->election->data = participant;
    int status = uvzk_election_init(participant->slot->client, participant->election,
                                    paths[participant->path], &options);
    if (status != 0) {
        if (status != UV_EIO) {
            fail(history, "an election is refused: %s", uvzk_err_name(status));
        }
        free(participant->election);
        participant->election = NULL;
    }
}

static void close_election(struct participant *participant, bool silent)
{
    participant->closing = true;
    participant->silent = silent;
    if (silent) {
        participant->leads = false;
    }
    if (uvzk_election_close(participant->election,
                            silent ? UVZK_ELECTION_SILENT : UVZK_ELECTION_NOTIFY,
                            on_closed) != 0) {
        fail(participant->slot->history, "an election cannot be closed");
    }
}

static void list(struct participant *participant)
{
    if (participant->list == NULL) {
        participant->list = calloc(1, sizeof(*participant->list));
        participant->list->data = participant;
        if (uvzk_election_participants(participant->election, participant->list,
                                       on_list) != 0) {
            fail(participant->slot->history, "a list is refused");
        }
    }
}

static void wait_to_lead(struct participant *participant)
{
    if (participant->future != NULL) {
        drop_future(participant);
        return;
    }
    participant->future = calloc(1, sizeof(*participant->future));
    int status = uvzk_election_lead_future(participant->election, participant->future);
    if (status == 0) {
        status = uvzk_future_then(participant->future, on_future, participant);
    } else {
        free(participant->future);
        participant->future = NULL;
    }
    if (status != 0 && status != UVZK_ESTATE) {
        fail(participant->slot->history, "a future is refused: %s",
             uvzk_err_name(status));
    }
}

static void act(struct participant *participant)
{
    struct history *history = participant->slot->history;
    uint64_t kind = chance(history, 100);

    participant->next_ms = next_act(participant);
    if (participant->election == NULL) {
        begin_election(participant);
    } else if (participant->closing) {
        return;
    } else if (kind < 35) {
        participant->resigned |= uvzk_election_resign(participant->election) == 0;
    } else if (kind < 60) {
        (void)uvzk_election_requeue(participant->election);
    } else if (kind < 70) {
        list(participant);
    } else if (kind < 80) {
        wait_to_lead(participant);
    } else if (kind < 90) {
        close_election(participant, chance(history, 2) == 0);
    } else if (kind < 92) {
        close_slot(participant->slot);
    }
}

/* Nothing can be done with it any more. */
static void close_refused(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->closing && auth_failed(slot)) {
            close_slot(slot);
        }
    }
}

static void act_all(struct history *history)
{
    uint64_t now = sim_now(history->sim);

    close_refused(history);
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client == NULL && now >= slot->reopen_ms) {
            open_slot(slot);
        }
        for (int j = 0; j < PARTICIPANTS; j++) {
            if (slot->client != NULL && !slot->closing &&
                now >= slot->participants[j].next_ms) {
                act(&slot->participants[j]);
            }
        }
    }
}

/* ------------------------------------------------------------------- the history */

static void some_faults(struct history *history, uint64_t seed)
{
    struct sim_faults faults;

    history_sim_usual_faults(history->sim, &faults, history->operator_kills,
                             history->pauses, history->timeout_ms);
    faults.expire /= 2;
    history_sim_faults(&faults, seed, history->timeout_ms);
    if ((history->kinds & HISTORY_STRIKES) != 0) {
        faults.forget = 0;
        faults.miss_delete = 0; /* the waiter's own server shows it to the waiter */
    }
    history_sim_more_faults(&faults);
    sim_set_faults(history->sim, &faults);
}

/* The znode of a leader, or of who may lead by now. A client that closes leads no more, and
 * its ports are freed one by one. */
static void ends_hold(void *context, size_t directory, int64_t session_id)
{
    struct history *history = context;

    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        bool open = slot->client != NULL && !slot->closing;
        for (uint32_t j = 0; open && j < slot->sessions; j++) {
            if (slot->ports[j] != NULL &&
                history_transport.session_id(slot->ports[j]) == session_id) {
                slot->struck_until_ms[directory] =
                    sim_now(history->sim) +
                    STRIKES_UNKNOWN * (uint64_t)history->timeout_ms;
            }
        }
    }
}

static void begin_strikes(struct history *history, uint64_t seed)
{
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    history->strikes.context = history;
    history->strikes.ends_hold = ends_hold;
    for (int i = 0; i < PATHS; i++) {
        strikes_add(&history->strikes, paths[i], 1, false);
    }
}

static void begin(struct history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    options.container_check_random = true;
    options.container_check_ms = 4000;
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 >= 2;
    history->tick_ms = history_sim_tick(seed);
    history->timeout_ms = (uint32_t)(4000 + chance(history, 8000));
    history->slot_count = 2 + (int)chance(history, SLOTS_MAX - 1);
    history->end_ms = sim_now(history->sim) + ACTIVE_MS;
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    begin_strikes(history, seed);
    for (int i = 0; i < history->slot_count; i++) {
        history->slots[i].history = history;
        history->slots[i].number = i;
        for (int j = 0; j < PARTICIPANTS; j++) {
            history->slots[i].participants[j].slot = &history->slots[i];
        }
        open_slot(&history->slots[i]);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    some_faults(history, seed);
}

static struct participant *leader_of(struct history *history, int path)
{
    EACH(participant, history)
    {
        if (participant->path == path && is_leader(participant)) {
            return participant;
        }
    }
    return NULL;
}

/* Its path has a leader, whom it knows if it follows. */
static bool is_settled(struct participant *participant)
{
    struct history *history = participant->slot->history;
    const struct participant *leader = leader_of(history, participant->path);

    if (participant->election == NULL) {
        return true;
    }
    return leader != NULL && participant->list == NULL && !participant->closing &&
           (!participant->follows || participant->known == leader->token);
}

static bool all_are_settled(struct history *history)
{
    EACH(participant, history)
    {
        if (!is_settled(participant)) {
            return false;
        }
    }
    return true;
}

static void live(struct history *history, uint64_t until, bool active)
{
    while (sim_now(history->sim) < until && !history->failed) {
        if (ticker_step(&history->ticker)) {
            if (active) {
                strikes_step(&history->strikes);
            }
            check_leaders(history);
        } else if (active) {
            act_all(history);
        } else if (all_are_settled(history)) {
            break;
        }
    }
}

/* From now on nobody resigns by itself; who is out of the queue comes back into it. */
static void come_to_rest(struct history *history)
{
    close_refused(history);
    EACH(participant, history)
    {
        if (participant->election != NULL && participant->max_reign_ms > 0 &&
            !participant->closing && !participant->slot->closing) {
            close_election(participant, false);
        } else if (participant->election != NULL && !participant->closing &&
                   !participant->slot->closing) {
            (void)uvzk_election_requeue(participant->election);
        }
    }
}

static void heal(struct history *history)
{
    uint64_t until = sim_now(history->sim) + HEAL_MS;

    sim_set_faults(history->sim, NULL);
    sim_converge(history->sim);
    while (!history->failed && sim_now(history->sim) < until &&
           !all_are_settled(history)) {
        come_to_rest(history);
        live(history, sim_now(history->sim) + 2ULL * history->timeout_ms, false);
    }
    EACH(participant, history)
    {
        if (!history->failed && !is_settled(participant)) {
            const struct participant *leader = leader_of(history, participant->path);
            fail(history, "client %d: %s on %s, and knows %" PRId64,
                 participant->slot->number, leader == NULL ? "no leader" : "a leader",
                 paths[participant->path], participant->known);
        }
    }
}

static bool anyone_open(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        if (history->slots[i].client != NULL) {
            return true;
        }
    }
    return false;
}

static bool any_election_open(struct history *history)
{
    EACH(participant, history)
    {
        if (participant->election != NULL) {
            return true;
        }
    }
    return false;
}

static size_t count_znodes(const struct history *history)
{
    return sim_children(history->sim, paths[0], NULL, 0) +
           sim_children(history->sim, paths[1], NULL, 0);
}

static void close_elections(struct history *history)
{
    EACH(participant, history)
    {
        if (participant->election != NULL && !participant->closing &&
            !participant->slot->closing) {
            close_election(participant, chance(history, 2) == 0);
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         any_election_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    if (any_election_open(history)) {
        fail(history, "an election does not close");
    }
    /* The znodes are deleted in the background; those of sessions that were given up go
     * with them. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_now(history->sim) < until && count_znodes(history) > 0;) {
        sim_run_for(history->sim, 100);
    }
    if (count_znodes(history) > 0) {
        fail(history, "znodes are left");
    }
}

static void close_clients(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->closing) {
            close_slot(slot);
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         anyone_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_session_count(history->sim) > 0 && sim_now(history->sim) < until;) {
        sim_run_for(history->sim, 1000);
    }
    if (anyone_open(history) || sim_session_count(history->sim) != 0) {
        fail(history, "left: %s, %zu sessions",
             anyone_open(history) ? "clients" : "no client",
             sim_session_count(history->sim));
    }
}

void election_history_run(uint64_t seed, bool verbose,
                          struct election_history_result *result)
{
    struct history *history = calloc(1, sizeof(*history));

    memset(result, 0, sizeof(*result));
    history->result = result;
    begin(history, seed, verbose);
    live(history, history->end_ms, true);
    if (!history->failed) {
        heal(history);
    }
    if (!history->failed) {
        close_elections(history);
    }
    if (!history->failed) {
        sim_run_for(history->sim, 1000);
        ticker_end(&history->ticker);
        close_clients(history);
    }
    if (!history->failed && failing_allocator_live_blocks() != 0) {
        fail(history, "%" PRId64 " blocks of memory are left",
             failing_allocator_live_blocks());
    }
    history_sim_outcome(history->sim, &result->outcome);
    result->outcome.struck = history->strikes.deleted;
    if (history->failed) {
        sim_trace_print(history->sim, stderr);
        return; /* what is broken is not taken to pieces */
    }
    history_sim_free(history->sim);
    free(history);
}
