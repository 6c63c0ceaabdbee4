/* SPDX-License-Identifier: Apache-2.0 */
#include "election_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_transport.h"
#include "recipe_history.h"

#define PARTICIPANTS 3
#define PATHS 2
#define ACTIVE_MS 15000U
#define HEAL_MS 300000U
#define LATE_MS 100U /* how late a loop may be that is not late */
#define TOGETHER_MS 300U

static const char *const paths[PATHS] = {"/elections/latch", "/elections/selector"};

/* An election, made anew each time. */
struct participant {
    struct recipe_client *slot;
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
    uvzk_req_t *list;      /* a request under way */
    uvzk_future_t *future; /* of a wait to lead; NULL: none */
};

struct elections {
    struct participant participants[RECIPE_CLIENTS_MAX][PARTICIPANTS];
    /* Until then nothing is checked of a client's leaders: their znodes were deleted. */
    uint64_t struck_until_ms[RECIPE_CLIENTS_MAX][PATHS];
    int64_t last_token[PATHS]; /* of a leader */
    uint32_t tick_ms;
};

static struct elections *part_of(const struct recipe_history *history)
{
    return history->part;
}

static struct participant *participants_of(const struct recipe_client *client)
{
    return part_of(client->history)->participants[client->number];
}

static struct election_history_result *result_of(const struct recipe_history *history)
{
    return history->result;
}

#define EACH(one_, history)                                                  \
    for (struct participant *one_ = participants_of(&(history)->clients[0]); \
         one_ != NULL; one_ = next_participant((history), one_))

static struct participant *next_participant(struct recipe_history *history,
                                            struct participant *participant)
{
    struct recipe_client *slot = participant->slot;

    if (++participant < &participants_of(slot)[PARTICIPANTS]) {
        return participant;
    }
    return slot->number + 1 < history->client_count ? participants_of(slot + 1) : NULL;
}

static int number_of(const struct participant *participant)
{
    return (int)(participant - participants_of(participant->slot));
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
    struct recipe_history *history = participant->slot->history;
    uint64_t at_ms = recipe_soon(history, 600);

    return stands_alone(participant) ? at_ms + TOGETHER_MS - at_ms % TOGETHER_MS : at_ms;
}

/* Nothing makes a loop run late, so that a callback comes when it is due. */
static bool loops_are_on_time(const struct recipe_history *history)
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
           part_of(participant->slot->history)
               ->struck_until_ms[participant->slot->number][participant->path];
}

/* A8 and A9 of docs/promise.md, and the ends of sessions by an operator. */
static bool is_excepted(const struct participant *earlier, int64_t later)
{
    const struct recipe_history *history = earlier->slot->history;
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
    struct recipe_history *history = one->slot->history;

    if (one->path != other->path || !is_leader(one) || !is_leader(other) ||
        is_struck(one) || is_struck(other)) {
        return;
    }
    if (is_excepted(earlier, earlier == one ? other->token : one->token)) {
        result_of(history)->lost_txn_overlaps++;
        return;
    }
    recipe_fail(history,
                "two leaders: client %d with token %" PRId64
                " and client %d with %" PRId64,
                one->slot->number, one->token, other->slot->number, other->token);
}

static void check_leaders(struct recipe_history *history)
{
    EACH(one, history)
    {
        if (!is_leader(one)) {
            continue;
        }
        if (loops_are_on_time(history) && one->max_reign_ms > 0 &&
            sim_now(history->sim) > one->led_ms + one->max_reign_ms + LATE_MS) {
            recipe_fail(history, "client %d leads for too long", one->slot->number);
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
    struct recipe_history *history = leader->slot->history;

    EACH(other, history)
    {
        const struct participant *earlier = other->token < leader->token ? other : leader;

        if (other != leader && other->path == leader->path && other->leads &&
            !other->slot->closing && loops_are_on_time(history) && !is_struck(leader) &&
            !is_struck(other) &&
            !is_excepted(earlier, earlier == other ? leader->token : other->token)) {
            recipe_fail(history, "client %d leads before client %d is deposed",
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
    struct recipe_history *history = participant->slot->history;
    int64_t *last = &part_of(history)->last_token[participant->path];

    note(participant, "leads", 0);
    if (participant->leads || participant->silent || participant->slot->client == NULL) {
        recipe_fail(history, "leader_cb out of order");
    }
    if (!is_leader(participant) || valid_until != uvzk_election_valid_until(election)) {
        recipe_fail(history, "told to lead, and does not");
    }
    participant->token = token;
    note_session(participant);
    bool killed = history->operator_kills &&
                  !sim_session_alive(history->sim, participant->session_id);
    if (token <= *last && !killed && !is_struck(participant) &&
        !sim_lost_transaction(history->sim, 0) &&
        (history->kinds & HISTORY_UNREAD) == 0) {
        recipe_fail(history, "token %" PRId64 " after %" PRId64, token, *last);
    }
    if (token > *last) {
        *last = token;
    }
    participant->led_ms = sim_now(history->sim);
    check_leaders(history);
    check_deposed(participant);
    participant->leads = true;
    participant->resigned = false;
    result_of(history)->led++;
    if (recipe_chance(history, 8) == 0) {
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
        return recipe_auth_failed(participant->slot);
    default:
        return reason == UVZK_EEXPIRED || reason == UVZK_EPROOF ||
               reason == UVZK_EDELETED;
    }
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    struct participant *participant = election->data;
    struct recipe_history *history = participant->slot->history;

    note(participant, "is deposed", reason);
    if (!participant->leads || participant->silent) {
        recipe_fail(history, "deposed_cb out of order");
    }
    if (is_leader(participant) || uvzk_election_token(election) != 0) {
        recipe_fail(history, "deposed, and leads");
    }
    if (!may_be_deposed_with(participant, reason)) {
        recipe_fail(history, "deposed with %s", uvzk_err_name(reason));
    }
    participant->leads = false;
    result_of(history)->resigned += reason == 0;
    result_of(history)->timed_out += reason == UV_ETIMEDOUT;
    result_of(history)->lost += reason == UVZK_EEXPIRED || reason == UVZK_EPROOF;
}

static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct participant *participant = election->data;
    int64_t token = leader == NULL ? 0 : leader->token;

    note(participant, leader == NULL ? "sees nobody lead" : leader->id, 0);
    if (participant->silent || !participant->follows || token == participant->known ||
        (token != 0 && token <= participant->newest)) {
        recipe_fail(participant->slot->history, "changed_cb out of order");
    }
    participant->known = token;
    participant->newest = token > participant->newest ? token : participant->newest;
    result_of(participant->slot->history)->changes++;
}

static bool may_err_with(const struct participant *participant, int status)
{
    const unsigned acl = HISTORY_UNREADABLE | HISTORY_UNREAD | HISTORY_FORBID;

    return uvzk_err_is_retriable(status) ||
           (status == UVZK_ECLOSED && participant->slot->closing) ||
           (status == UVZK_EAUTH && recipe_auth_failed(participant->slot)) ||
           (status == UVZK_ENOAUTH && (participant->slot->history->kinds & acl) != 0) ||
           /* A call of random() has failed. */
           status == UV_EIO;
}

static void on_error(uvzk_election_t *election, int status)
{
    struct participant *participant = election->data;

    note(participant, "is not queued", status);
    if (participant->leads || participant->silent) {
        recipe_fail(participant->slot->history, "error_cb out of order");
    }
    if (!may_err_with(participant, status)) {
        recipe_fail(participant->slot->history, "not queued: %s", uvzk_err_name(status));
    }
    result_of(participant->slot->history)->errors++;
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
        recipe_fail(participant->slot->history, "a close callback out of order");
    }
    drop_future(participant);
    free(election);
    participant->election = NULL;
    participant->next_ms = recipe_soon(participant->slot->history, 1500);
}

static void on_list(uvzk_req_t *request, int status)
{
    const uvzk_election_participant_t *const *participants =
        request->result->participants;
    size_t count = request->result->count;
    struct participant *participant = request->data;
    struct recipe_history *history = participant->slot->history;

    for (size_t i = 0; status == 0 && i < count; i++) {
        if (participants[i]->is_leader != (i == 0) || participants[i]->token == 0) {
            recipe_fail(history, "a list without an order");
        }
    }
    result_of(history)->listed += status == 0;
    free(request);
    participant->list = NULL;
}

static void on_future(uvzk_future_t *future, int status, void *context)
{
    struct participant *participant = context;

    (void)future;
    result_of(participant->slot->history)->futures += status == 0;
    drop_future(participant);
}

static void client_closed(struct recipe_client *client)
{
    for (int i = 0; i < PARTICIPANTS; i++) {
        struct participant *participant = &participants_of(client)[i];
        if (participant->election != NULL && participant->election->impl != NULL) {
            recipe_fail(client->history, "an election outlives its client");
        }
        if (participant->leads && !participant->silent) {
            recipe_fail(client->history, "a leader is not deposed with its client");
        }
        drop_future(participant);
        free(participant->election); /* closed with its client, without a word */
        participant->election = NULL;
        participant->leads = false;
    }
}

/* ---------------------------------------------------------------- what they do */

static void client_options(struct recipe_client *client, uvzk_client_options_t *options)
{
    options->tick_ms = part_of(client->history)->tick_ms;
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.max_retries = (uint32_t)recipe_chance(client->history, 4);
    options->retry.base_ms = (uint32_t)recipe_chance(client->history, 500);
}

static void client_opens(struct recipe_client *client)
{
    struct recipe_history *history = client->history;

    if ((history->kinds & HISTORY_SLOW_LINKS) != 0 && part_of(history)->tick_ms < 1000) {
        for (uint32_t i = 0; i < client->sessions; i++) {
            history_transport.set_latency(client->ports[i], history->timeout_ms / 24,
                                          history->timeout_ms / 16);
        }
    }
}

static void client_opened(struct recipe_client *client)
{
    for (int i = 0; i < PARTICIPANTS; i++) {
        struct participant *participant = &participants_of(client)[i];
        participant->next_ms = recipe_soon(client->history, i == 0 ? 50 : 3000);
        if (stands_alone(participant) && i >= PATHS) {
            participant->next_ms = UINT64_MAX;
        }
    }
}

static void begin_election(struct participant *participant)
{
    struct recipe_history *history = participant->slot->history;
    uvzk_election_options_t options;
    char id[16];

    participant->path = stands_alone(participant) ? number_of(participant) % PATHS
                                                  : (int)recipe_chance(history, PATHS);
    participant->closing = participant->silent = participant->leads = false;
    participant->manual = recipe_chance(history, 4) == 0;
    participant->follows = recipe_chance(history, 4) != 0;
    participant->max_reign_ms =
        recipe_chance(history, 3) == 0 ? 50 + recipe_chance(history, 2000) : 0;
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
            recipe_fail(history, "an election is refused: %s", uvzk_err_name(status));
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
        recipe_fail(participant->slot->history, "an election cannot be closed");
    }
}

static void list(struct participant *participant)
{
    if (participant->list == NULL) {
        participant->list = calloc(1, sizeof(*participant->list));
        participant->list->data = participant;
        if (uvzk_election_participants(participant->election, participant->list,
                                       on_list) != 0) {
            recipe_fail(participant->slot->history, "a list is refused");
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
        recipe_fail(participant->slot->history, "a future is refused: %s",
                    uvzk_err_name(status));
    }
}

static void act(struct participant *participant)
{
    struct recipe_history *history = participant->slot->history;
    uint64_t kind = recipe_chance(history, 100);

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
        close_election(participant, recipe_chance(history, 2) == 0);
    } else if (kind < 92) {
        recipe_close_client(participant->slot);
    }
}

static void act_all(struct recipe_client *client, uint64_t now)
{
    for (int i = 0; i < PARTICIPANTS; i++) {
        struct participant *participant = &participants_of(client)[i];
        if (recipe_is_open(client) && now >= participant->next_ms) {
            act(participant);
        }
    }
}

/* ------------------------------------------------------------------- the history */

static void other_faults(const struct recipe_history *history, struct sim_faults *faults)
{
    faults->expire /= 2;
    if ((history->kinds & HISTORY_STRIKES) != 0) {
        faults->forget = 0;
        faults->miss_delete = 0; /* the waiter's own server shows it to the waiter */
    }
}

/* The znode of a leader, or of who may lead by now. A client that closes leads no more, and
 * its ports are freed one by one. */
static void ends_hold(void *context, size_t directory, int64_t session_id)
{
    struct recipe_history *history = context;

    for (int i = 0; i < history->client_count; i++) {
        struct recipe_client *slot = &history->clients[i];
        bool open = slot->client != NULL && !slot->closing;
        for (uint32_t j = 0; open && j < slot->sessions; j++) {
            if (slot->ports[j] != NULL &&
                history_transport.session_id(slot->ports[j]) == session_id) {
                part_of(history)->struck_until_ms[i][directory] =
                    sim_now(history->sim) +
                    STRIKES_UNKNOWN * (uint64_t)history->timeout_ms;
            }
        }
    }
}

static void begin_strikes(struct recipe_history *history, uint64_t seed)
{
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    history->strikes.context = history;
    history->strikes.ends_hold = ends_hold;
    for (int i = 0; i < PATHS; i++) {
        strikes_add(&history->strikes, paths[i], 1, false);
    }
}

static void server_options(struct sim_options *options)
{
    options->container_check_random = true;
    options->container_check_ms = 4000;
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    history->pauses = seed % 5 >= 2;
    part_of(history)->tick_ms = history_sim_tick(seed);
    history->timeout_ms = (uint32_t)(4000 + recipe_chance(history, 8000));
    history->client_count = 2 + (int)recipe_chance(history, RECIPE_CLIENTS_MAX - 1);
    begin_strikes(history, seed);
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < PARTICIPANTS; j++) {
            participants_of(&history->clients[i])[j].slot = &history->clients[i];
        }
    }
}

static struct participant *leader_of(struct recipe_history *history, int path)
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
    struct recipe_history *history = participant->slot->history;
    const struct participant *leader = leader_of(history, participant->path);

    if (participant->election == NULL) {
        return true;
    }
    return leader != NULL && participant->list == NULL && !participant->closing &&
           (!participant->follows || participant->known == leader->token);
}

static bool all_are_settled(struct recipe_history *history)
{
    EACH(participant, history)
    {
        if (!is_settled(participant)) {
            return false;
        }
    }
    return true;
}

/* From now on nobody resigns by itself; who is out of the queue comes back into it. */
static void come_to_rest(struct recipe_history *history)
{
    recipe_close_refused(history);
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

static void heal(struct recipe_history *history)
{
    uint64_t until = sim_now(history->sim) + HEAL_MS;

    sim_set_faults(history->sim, NULL);
    sim_converge(history->sim);
    while (!history->failed && sim_now(history->sim) < until &&
           !all_are_settled(history)) {
        come_to_rest(history);
        recipe_live(history, sim_now(history->sim) + 2ULL * history->timeout_ms, false);
    }
    EACH(participant, history)
    {
        if (!history->failed && !is_settled(participant)) {
            const struct participant *leader = leader_of(history, participant->path);
            recipe_fail(history, "client %d: %s on %s, and knows %" PRId64,
                        participant->slot->number,
                        leader == NULL ? "no leader" : "a leader",
                        paths[participant->path], participant->known);
        }
    }
}

static bool all_elections_closed(struct recipe_history *history)
{
    EACH(participant, history)
    {
        if (participant->election != NULL) {
            return false;
        }
    }
    return true;
}

static size_t count_znodes(const struct recipe_history *history)
{
    return sim_children(history->sim, paths[0], NULL, 0) +
           sim_children(history->sim, paths[1], NULL, 0);
}

static void close_elections(struct recipe_history *history)
{
    EACH(participant, history)
    {
        if (participant->election != NULL && !participant->closing &&
            !participant->slot->closing) {
            close_election(participant, recipe_chance(history, 2) == 0);
        }
    }
    if (!recipe_step_until(history, all_elections_closed)) {
        recipe_fail(history, "an election does not close");
    }
    /* The znodes are deleted in the background; those of sessions that were given up go
     * with them. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_now(history->sim) < until && count_znodes(history) > 0;) {
        sim_run_for(history->sim, 100);
    }
    if (count_znodes(history) > 0) {
        recipe_fail(history, "znodes are left");
    }
}

static void end(struct recipe_history *history)
{
    close_elections(history);
    sim_run_for(history->sim, 1000);
}

static const struct recipe_history_kind kind = {.size = sizeof(struct elections),
                                                .active_ms = ACTIVE_MS,
                                                .heal_ms = HEAL_MS,
                                                .options = server_options,
                                                .begin = begin,
                                                .faults = other_faults,
                                                .client_options = client_options,
                                                .client_opens = client_opens,
                                                .client_opened = client_opened,
                                                .client_closed = client_closed,
                                                .act = act_all,
                                                .event = check_leaders,
                                                .is_settled = all_are_settled,
                                                .heal = heal,
                                                .end = end};

void election_history_run(uint64_t seed, bool verbose,
                          struct election_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
