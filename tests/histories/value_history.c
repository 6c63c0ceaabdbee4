#include "value_history.h"

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

#define DIRECTORY "/values/deep"
#define PATH DIRECTORY "/v"
#define SLOTS_MAX 5
#define HANDLES 2
#define SETS_MAX 1024
#define STATES_MAX 4096
#define TEXT_SIZE 24
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

struct history;
struct client_slot;

/* A shared value, made anew each time. */
struct handle {
    struct client_slot *slot;
    uvzk_shared_value_t *value; /* NULL: closed */
    int64_t mzxid;              /* told last */
    int status;
    bool closing;
    uint64_t next_ms;
    uvzk_value_version_t earlier; /* some version of before */
    int incarnation;
};

struct client_slot {
    struct history *history;
    int number;
    struct uvzk__port *ports[HISTORY_PORTS_MAX];
    uint32_t sessions;
    uvzk_client_t *client; /* NULL: closed */
    struct handle handles[HANDLES];
    bool closing;
    uint64_t reopen_ms;
};

struct set {
    uvzk_set_t *request;   /* NULL: told */
    uvzk_future_t *future; /* in its place; NULL likewise */
    struct handle *handle;
    int incarnation; /* of the handle */
    bool conditional;
    uvzk_value_version_t over;
    int status;
    char text[TEXT_SIZE];
    size_t took_effect; /* how often */
    size_t path_locks;  /* in the znode's states */
};

/* What the znode was, one transaction after the other; mzxid 0: missing. */
struct znode_state {
    struct uvzk__stat stat;
    char text[TEXT_SIZE];
};

struct history {
    struct sim *sim;
    struct value_history_result *result;
    struct client_slot slots[SLOTS_MAX];
    int slot_count;
    struct set sets[SETS_MAX];
    size_t set_count;
    struct znode_state states[STATES_MAX];
    size_t state_count;
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms;
    uint64_t end_ms;
    bool deletes_nodes, operator_kills, pauses, failed;
    unsigned kinds; /* enum history_kind */
};

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

/* ------------------------------------------------------------ what the znode was */

static void copy_text(char text[TEXT_SIZE], const void *data, size_t length)
{
    size_t room = length < TEXT_SIZE - 1 ? length : TEXT_SIZE - 1;

    memcpy(text, data, room);
    text[room] = '\0';
}

/* After each event; there is at most one transaction in it. */
static void write_down(struct history *history)
{
    const struct znode_state *last = &history->states[history->state_count - 1];
    struct znode_state now;
    size_t length;

    memset(&now, 0, sizeof(now));
    if (sim_stat(history->sim, PATH, &now.stat)) {
        if (now.stat.mzxid == last->stat.mzxid) {
            return;
        }
        const void *data = sim_data(history->sim, PATH, &length);
        copy_text(now.text, data, length);
    } else if (last->stat.mzxid == 0) {
        return;
    }
    if (history->state_count == STATES_MAX) {
        fail(history, "too many states");
        return;
    }
    history->states[history->state_count++] = now;
}

static const struct znode_state *state_at(const struct history *history, int64_t mzxid)
{
    for (size_t i = history->state_count; i-- > 0;) {
        if (history->states[i].stat.mzxid == mzxid) {
            return &history->states[i];
        }
    }
    return NULL;
}

/* -------------------------------------------------------------- the callbacks */

static uint64_t soon(struct history *history, uint64_t most_ms)
{
    return sim_now(history->sim) + 1 + chance(history, most_ms);
}

static bool auth_failed(const struct client_slot *slot)
{
    return history_ports_auth_failed(slot->ports, slot->sessions);
}

/* What only some histories have. */
static bool is_of_its_kind(const struct handle *handle, int status)
{
    unsigned kinds = handle->slot->history->kinds;

    return (status == UVZK_EAUTH && auth_failed(handle->slot)) ||
           (status == UVZK_ENOAUTH && (kinds & HISTORY_UNREADABLE) != 0);
}

/* What it knows is something that the znode was. */
static void check_known(struct handle *handle)
{
    struct history *history = handle->slot->history;
    uvzk_value_version_t version;
    const void *data;
    size_t length;
    char text[TEXT_SIZE];

    if (uvzk_shared_value_get(handle->value, &data, &length, &version) != 0) {
        return;
    }
    write_down(history);
    const struct znode_state *was = state_at(history, version.mzxid);
    copy_text(text, data, length);
    if (was == NULL || was->stat.version != version.version ||
        strcmp(was->text, text) != 0) {
        fail(history, "%s was never the value at %" PRId64, text, version.mzxid);
    }
    if (version.mzxid < handle->mzxid) {
        fail(history, "a value goes back");
    }
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct handle *handle = value->data;
    struct history *history = handle->slot->history;
    uvzk_value_version_t version = {0, 0};

    (void)uvzk_shared_value_get(value, NULL, NULL, &version);
    sim_note(history->sim, "client %d: value says %s at %" PRId64, handle->slot->number,
             uvzk_err_name(status), version.mzxid);
    if (handle->value != value || handle->closing || handle->slot->closing) {
        fail(history, "told after the close");
    }
    if (status != 0 && status != UVZK_ENONODE && !is_of_its_kind(handle, status)) {
        fail(history, "a value says %s", uvzk_err_name(status));
    }
    if (status == UVZK_ENONODE && !history->deletes_nodes) {
        fail(history, "a znode that was never deleted is missing");
    }
    if (status == handle->status && (status != 0 || version.mzxid == handle->mzxid)) {
        fail(history, "told twice");
    }
    check_known(handle);
    handle->mzxid = version.mzxid;
    handle->status = status;
    history->result->values++;
    if (chance(history, 4) == 0) {
        handle->earlier = version;
    }
}

static void on_value_closed(uvzk_shared_value_t *value)
{
    struct handle *handle = value->data;

    if (!handle->closing || value->impl != NULL) {
        fail(handle->slot->history, "a close callback out of order");
    }
    free(value);
    handle->value = NULL;
    handle->next_ms = soon(handle->slot->history, 500);
}

static void was_set(struct set *set, int status)
{
    struct history *history = set->handle->slot->history;

    sim_note(history->sim, "client %d: set of %s says %s", set->handle->slot->number,
             set->text, uvzk_err_name(status));
    if (status > 0) {
        fail(history, "the callback of a set out of order");
    }
    if (status == 0 && !set->handle->closing && !set->handle->slot->closing) {
        check_known(set->handle);
    }
    set->status = status;
    history->result->set += status == 0;
    history->result->outdated += status == UVZK_EBADVERSION;
    history->result->unknown += status == UVZK_ECONNLOSS;
}

static void on_set(uvzk_set_t *request, int status)
{
    struct set *set = request->data;

    if (set->request != request || request->impl != NULL) {
        fail(set->handle->slot->history, "the callback of a set out of order");
    }
    free(request);
    set->request = NULL;
    was_set(set, status);
}

static void on_set_done(uvzk_future_t *future, int status, void *context)
{
    struct set *set = context;

    if (set->future != future || uvzk_future_status(future) != status) {
        fail(set->handle->slot->history, "told of another future");
    }
    uvzk_future_drop(future);
    free(future);
    set->future = NULL;
    was_set(set, status);
}

static void on_client_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &slot->handles[i];
        if (handle->value != NULL && handle->value->impl != NULL) {
            fail(slot->history, "a value outlives its client");
        }
        free(handle->value); /* closed with its client, without a word */
        handle->value = NULL;
    }
    free(client);
    slot->client = NULL;
    slot->sessions = 0;
    slot->reopen_ms = soon(slot->history, 1500);
}

/* ---------------------------------------------------------------- what they do */

static void open_seat(struct client_slot *slot)
{
    struct history *history = slot->history;
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    slot->sessions = history_ports_open(slot->ports, history->sim, slot->number,
                                        history->kinds, history->timeout_ms);
    slot->client = calloc(1, sizeof(*slot->client));
    slot->client->data = slot;
    slot->closing = false;
    if (uvzk__client_create_over(slot->client, slot->ports, slot->sessions, &options,
                                 history->tuning) != 0 ||
        uvzk_client_start(slot->client) != 0) {
        fail(history, "a client cannot be made");
    }
    for (int i = 0; i < HANDLES; i++) {
        slot->handles[i].next_ms = soon(history, i == 0 ? 50 : 3000);
    }
}

static void close_seat(struct client_slot *slot)
{
    slot->closing = true;
    if (uvzk_client_close(slot->client, on_client_closed) != 0) {
        fail(slot->history, "a client cannot be closed");
    }
}

static void open_handle(struct handle *handle)
{
    struct history *history = handle->slot->history;
    char seed[TEXT_SIZE];

    handle->incarnation++;
    (void)snprintf(seed, sizeof(seed), "seed%d.%d", handle->slot->number,
                   handle->incarnation);
    handle->value = calloc(1, sizeof(*handle->value));
    handle->value->data = handle;
    handle->closing = false;
    handle->mzxid = 0;
    handle->status = 0;
    if (uvzk_shared_value_init(handle->slot->client, handle->value, PATH, seed,
                               strlen(seed), on_value) != 0) {
        fail(history, "a value cannot be made");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_shared_value_close(handle->value, on_value_closed) != 0) {
        fail(handle->slot->history, "a value cannot be closed");
    }
}

static int set_by_future(struct set *set)
{
    uvzk_shared_value_t *value = set->handle->value;

    set->future = calloc(1, sizeof(*set->future));
    int status = set->conditional
                     ? uvzk_shared_value_try_set_future(value, set->future, &set->over,
                                                        set->text, strlen(set->text))
                     : uvzk_shared_value_set_future(value, set->future, set->text,
                                                    strlen(set->text));
    return status != 0 ? status : uvzk_future_then(set->future, on_set_done, set);
}

static int set_by_request(struct set *set)
{
    uvzk_shared_value_t *value = set->handle->value;

    set->request = calloc(1, sizeof(*set->request));
    set->request->data = set;
    return set->conditional
               ? uvzk_shared_value_try_set(value, set->request, &set->over, set->text,
                                           strlen(set->text), on_set)
               : uvzk_shared_value_set(value, set->request, set->text, strlen(set->text),
                                       on_set);
}

static void begin_set(struct handle *handle, const uvzk_value_version_t *over)
{
    struct history *history = handle->slot->history;
    struct set *set = &history->sets[history->set_count];

    if (history->set_count == SETS_MAX) {
        return;
    }
    (void)snprintf(set->text, sizeof(set->text), "s%d.%zu", handle->slot->number,
                   history->set_count++);
    set->handle = handle;
    set->incarnation = handle->incarnation;
    if (over != NULL) {
        set->conditional = true;
        set->over = *over;
    }
    bool by_future = (history->kinds & HISTORY_FUTURES) != 0 && chance(history, 2) == 0;
    int status = by_future ? set_by_future(set) : set_by_request(set);
    if (status != 0) {
        fail(history, "a set is refused: %s", uvzk_err_name(status));
    }
    history->result->sets++;
}

static void try_to_set(struct handle *handle)
{
    uvzk_value_version_t version;

    if (uvzk_shared_value_get(handle->value, NULL, NULL, &version) == 0) {
        begin_set(handle, &version);
    }
}

static void act(struct handle *handle)
{
    struct history *history = handle->slot->history;
    uint64_t kind = chance(history, 100);

    handle->next_ms = soon(history, 400);
    if (handle->value == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 35) {
        begin_set(handle, NULL);
    } else if (kind < 75) {
        try_to_set(handle);
    } else if (kind < 80) {
        try_to_set(handle); /* two over the same value */
        try_to_set(handle);
    } else if (kind < 85 && handle->earlier.mzxid != 0) {
        begin_set(handle, &handle->earlier);
    } else if (kind < 92) {
        close_handle(handle);
    } else if (kind < 94) {
        close_seat(handle->slot);
    }
}

/* In some histories somebody deletes the znode at times, and makes it again. Where it is
 * struck more often, it is soon made again. */
static void delete_and_make(struct history *history)
{
    bool struck = (history->kinds & HISTORY_STRIKES) != 0 && history->state_count > 1 &&
                  !sim_exists(history->sim, PATH);

    if (history->deletes_nodes && chance(history, 800) == 0) {
        if (sim_delete_by_hand(history->sim, PATH) == 0) {
            write_down(history);
        }
        struck = chance(history, 2) == 0;
    } else if (struck) {
        struck = chance(history, 50) == 0;
    }
    if (struck) {
        (void)sim_create_by_hand(history->sim, PATH, UVZK__PERSISTENT);
        write_down(history);
    }
}

/* Nothing can be done with it any more. */
static void close_refused(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        if (slot->client != NULL && !slot->closing && auth_failed(slot)) {
            close_seat(slot);
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
            open_seat(slot);
        }
        for (int j = 0; j < HANDLES; j++) {
            if (slot->client != NULL && !slot->closing &&
                now >= slot->handles[j].next_ms) {
                act(&slot->handles[j]);
            }
        }
    }
    delete_and_make(history);
}

/* ------------------------------------------------------------------- the checks */

static const struct set *set_named(const struct history *history, const char *text)
{
    const char *dot = strchr(text, '.');
    size_t number = text[0] != 's' || dot == NULL ? SETS_MAX : strtoul(dot + 1, NULL, 10);

    return number < history->set_count && strcmp(history->sets[number].text, text) == 0
               ? &history->sets[number]
               : NULL;
}

static void count_effects(struct history *history)
{
    for (size_t i = 0; i < history->state_count; i++) {
        const struct set *found = set_named(history, history->states[i].text);
        if (found != NULL) {
            struct set *set = &history->sets[found - history->sets];
            set->took_effect++;
            set->path_locks = i;
        }
    }
}

/* A znode that was made again may have come to the same version number. */
static bool replaced_the_right_value(const struct history *history, const struct set *set)
{
    const struct uvzk__stat *before = &history->states[set->path_locks - 1].stat;

    return before->version == set->over.version &&
           (before->mzxid == set->over.mzxid || history->deletes_nodes);
}

static bool may_have_taken_effect(int status)
{
    switch (status) {
    case 0:
    case UVZK_ECONNLOSS:
    case UVZK_ECLOSED:
    case UVZK_EAUTH: /* of the connection, when the set was on its way */
    case UV_ENOMEM:  /* a spoilt reply */
        return true;
    default:
        return false;
    }
}

static void check_set(struct history *history, const struct set *set)
{
    const char *name = uvzk_err_name(set->status);

    if (set->request != NULL || set->future != NULL) {
        fail(history, "%s is never answered", set->text);
    } else if (set->took_effect > 1) {
        fail(history, "%s was set %zu times", set->text, set->took_effect);
    } else if (set->status == 0 && set->took_effect == 0) {
        fail(history, "%s was told to be set, and was not", set->text);
    } else if (set->took_effect == 1 && !may_have_taken_effect(set->status)) {
        fail(history, "%s was set, and told %s", set->text, name);
    } else if (set->took_effect == 1 && set->conditional &&
               !replaced_the_right_value(history, set)) {
        fail(history, "%s replaced another value than it was to replace", set->text);
    } else if (set->status == UVZK_EBADVERSION  ? !set->conditional
               : set->status == UVZK_ENONODE    ? !history->deletes_nodes
               : set->status == UVZK_ETHROTTLED ? (history->kinds & HISTORY_THROTTLE) == 0
                                                : !may_have_taken_effect(set->status)) {
        fail(history, "%s says %s", set->text, name);
    }
}

static void check_sets(struct history *history)
{
    const struct set *last[SLOTS_MAX][HANDLES] = {{NULL}};

    count_effects(history);
    for (size_t i = 0; i < history->set_count; i++) {
        const struct set *set = &history->sets[i];
        int handle = (int)(set->handle - set->handle->slot->handles);
        const struct set **before = &last[set->handle->slot->number][handle];
        check_set(history, set);
        if (set->took_effect == 0) {
            continue;
        }
        if (*before != NULL && (*before)->incarnation == set->incarnation &&
            set->path_locks < (*before)->path_locks) {
            fail(history, "%s overtook %s", set->text, (*before)->text);
        }
        *before = set;
    }
}

static bool is_current(const struct handle *handle)
{
    const struct history *history = handle->slot->history;
    const struct znode_state *last = &history->states[history->state_count - 1];
    uvzk_value_version_t version;

    return handle->value != NULL &&
           uvzk_shared_value_get(handle->value, NULL, NULL, &version) == 0 &&
           version.mzxid == last->stat.mzxid && handle->mzxid == last->stat.mzxid &&
           handle->status == 0;
}

static bool everyone_is_current(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &history->slots[i].handles[j];
            if (handle->value != NULL && !is_current(handle)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < history->set_count; i++) {
        if (history->sets[i].request != NULL || history->sets[i].future != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- the history */

static void some_faults(struct history *history, uint64_t seed)
{
    struct sim_faults faults;

    history_sim_usual_faults(history->sim, &faults, history->operator_kills,
                             history->pauses, history->timeout_ms);
    history_sim_faults(&faults, seed, history->timeout_ms);
    history_sim_more_faults(&faults);
    sim_set_faults(history->sim, &faults);
}

static void begin(struct history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    /* Servers that resume no session may carry out a set of the old session after one of
     * the new session. */
    options.forgets_sessions = false;
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->deletes_nodes = seed % 3 == 2 || (history->kinds & HISTORY_STRIKES) != 0;
    history->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    history->slot_count = 3 + (int)chance(history, 3);
    history->end_ms = sim_now(history->sim) + ACTIVE_MS;
    history->state_count = 1; /* missing */
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, DIRECTORY, false);
    for (int i = 0; i < history->slot_count; i++) {
        history->slots[i].history = history;
        history->slots[i].number = i;
        for (int j = 0; j < HANDLES; j++) {
            history->slots[i].handles[j].slot = &history->slots[i];
        }
        open_seat(&history->slots[i]);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    some_faults(history, seed);
}

static void live(struct history *history, uint64_t until, bool active)
{
    while (sim_now(history->sim) < until && !history->failed) {
        if (ticker_step(&history->ticker)) {
            write_down(history);
            if (active) {
                strikes_step(&history->strikes);
                write_down(history);
            }
        } else if (active) {
            act_all(history);
        } else if (everyone_is_current(history)) {
            break;
        }
    }
}

static void heal(struct history *history)
{
    sim_set_faults(history->sim, NULL);
    close_refused(history);
    if (!sim_exists(history->sim, PATH)) {
        static const char *const ways[] = {"/values", "/values/deep", PATH};
        for (int i = 0; i < 3; i++) {
            (void)sim_create_by_hand(history->sim, ways[i], UVZK__PERSISTENT);
            write_down(history);
        }
    }
    live(history, sim_now(history->sim) + HEAL_MS, false);
    if (!everyone_is_current(history)) {
        fail(history, "somebody does not come to know the last value");
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

static bool any_value_open(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (history->slots[i].handles[j].value != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void close_values(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &slot->handles[j];
            if (handle->value != NULL && !handle->closing && !slot->closing) {
                close_handle(handle);
            }
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         any_value_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    if (any_value_open(history)) {
        fail(history, "a value does not close");
    }
}

static void close_clients(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        uvzk_client_metrics_t stats;
        if (slot->client == NULL || slot->closing) {
            continue;
        }
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(slot->client, &stats);
        for (uint32_t j = 0; j < slot->sessions; j++) {
            if (stats.watches != 0 || history_transport.watches(slot->ports[j]) != 0) {
                fail(history, "client %d has watches left", slot->number);
            }
        }
        close_seat(slot);
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         anyone_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    /* The servers may be down, or a deposed one may keep a connection that has gone. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         sim_session_count(history->sim) + sim_watch_count(history->sim) > 0 &&
         sim_now(history->sim) < until;) {
        sim_run_for(history->sim, 1000);
    }
    if (anyone_open(history) || sim_watch_count(history->sim) != 0 ||
        sim_session_count(history->sim) != 0) {
        fail(history, "left: %s, %zu watches, %zu sessions",
             anyone_open(history) ? "clients" : "no client",
             sim_watch_count(history->sim), sim_session_count(history->sim));
    }
}

void value_history_run(uint64_t seed, bool verbose, struct value_history_result *result)
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
        check_sets(history);
        close_values(history);
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
