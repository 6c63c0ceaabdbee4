#include "group_history.h"

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

#define GROUP "/groups/deep"
#define SLOTS_MAX 5
#define HANDLES 2 /* the first has an id of its own, the second shares its id */
#define ID_SIZE 12
#define LIST_SIZE 512U /* of a list as text */
#define DATA_SIZE 24
#define PATH_SIZE 40
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

struct history;
struct client_slot;

/* A group member, made anew each time. */
struct handle {
    struct client_slot *slot;
    uvzk_group_member_t *node; /* NULL: closed */
    bool shared, closing;
    char id[ID_SIZE], path[PATH_SIZE], data[DATA_SIZE];
    int status;           /* of its znode, told last; 1: nothing yet */
    int listed;           /* of the list, told last; 1: nothing yet */
    char told[LIST_SIZE]; /* the list, told last; empty: none, or data were set since */
    bool set;             /* data were set since */
    uint64_t next_ms;
    unsigned count; /* of its data */
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

struct history {
    struct sim *sim;
    struct group_history_result *result;
    struct client_slot slots[SLOTS_MAX];
    int slot_count;
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms;
    uint64_t end_ms;
    bool operator_kills, pauses, failed;
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

static uint64_t soon(struct history *history, uint64_t most_ms)
{
    return sim_now(history->sim) + 1 + chance(history, most_ms);
}

static bool auth_failed(const struct client_slot *slot)
{
    return history_ports_auth_failed(slot->ports, slot->sessions);
}

/* -------------------------------------------------------------- the callbacks */

static void on_change(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the znode %s is %s", handle->slot->number,
             handle->path, uvzk_err_name(status));
    if (handle->node != node || handle->closing || handle->slot->closing) {
        fail(history, "told after the close");
    }
    if (status > 0 || (status == handle->status && !handle->set)) {
        fail(history, "told %s twice", uvzk_err_name(status));
    }
    handle->status = status;
    handle->set = false;
    history->result->told++;
    history->result->present += status == 0;
}

/* As "id=data@mzxid ", in order, with the mzxids only if they are wanted. */
static void write_list(const struct handle *handle, char *text, bool mzxids)
{
    struct history *history = handle->slot->history;
    const uvzk_group_entry_t *members = NULL;
    size_t count = 0, used = 0;
    bool own = false;

    text[0] = '\0';
    if (uvzk_group_member_list(handle->node, &members, &count) != 0) {
        fail(history, "the members cannot be listed");
    }
    for (size_t i = 0; i < count && used < LIST_SIZE - 64; i++) {
        used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s=%.*s", members[i].id,
                                 (int)members[i].length,
                                 members[i].data == NULL ? ""
                                                         : (const char *)members[i].data);
        if (mzxids) {
            used += (size_t)snprintf(text + used, LIST_SIZE - used, "@%" PRIx64,
                                     members[i].mzxid);
        }
        used += (size_t)snprintf(text + used, LIST_SIZE - used, " ");
        own = own || (strcmp(members[i].id, handle->id) == 0 &&
                      members[i].length == strlen(handle->data) &&
                      memcmp(members[i].data, handle->data, members[i].length) == 0);
    }
    if (!own) {
        fail(history, "client %d does not list itself: %s", handle->slot->number, text);
    }
}

static void on_members(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct history *history = handle->slot->history;
    char list[LIST_SIZE];

    if (handle->node != node || handle->closing || handle->slot->closing) {
        fail(history, "told of members after the close");
        return;
    }
    write_list(handle, list, true);
    sim_note(history->sim, "client %d, member %s: %s: %s", handle->slot->number,
             handle->id, uvzk_err_name(status), list);
    if (status > 0 || (status < 0 && status == handle->listed)) {
        fail(history, "told %s twice of the list", uvzk_err_name(status));
    }
    if (status == 0 && handle->listed == 0 && strcmp(list, handle->told) == 0) {
        fail(history, "told of one list twice: %s", list);
    }
    handle->listed = status;
    if (status == 0) {
        memcpy(handle->told, list, sizeof(list));
        history->result->changes++;
    }
}

static void on_closed(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the member %s is closed with %s",
             handle->slot->number, handle->path, uvzk_err_name(status));
    if (!handle->closing || node->impl != NULL || status > 0) {
        fail(history, "a close callback out of order");
    }
    free(node);
    handle->node = NULL;
    handle->next_ms = soon(history, 500);
    history->result->closes++;
}

static void on_client_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &slot->handles[i];
        if (handle->node != NULL && (handle->node->impl != NULL || handle->closing)) {
            fail(slot->history, "a group member outlives its client");
        }
        free(handle->node); /* closed with its client, without a word */
        handle->node = NULL;
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
        slot->handles[i].next_ms = soon(history, 500);
    }
}

static void close_seat(struct client_slot *slot)
{
    slot->closing = true;
    if (uvzk_client_close(slot->client, on_client_closed) != 0) {
        fail(slot->history, "a client cannot be closed");
    }
}

static void new_data(struct handle *handle)
{
    (void)snprintf(handle->data, sizeof(handle->data), "%d.%u", handle->slot->number,
                   handle->count++);
}

static void open_handle(struct handle *handle)
{
    handle->node = calloc(1, sizeof(*handle->node));
    handle->node->data = handle;
    handle->closing = false;
    handle->status = handle->listed = 1;
    handle->set = false;
    handle->told[0] = '\0';
    new_data(handle);
    if (uvzk_group_member_init(handle->slot->client, handle->node, GROUP, handle->id,
                               handle->data, strlen(handle->data), on_change,
                               on_members) != 0) {
        fail(handle->slot->history, "a member cannot be made");
    }
}

static void set_data(struct handle *handle)
{
    new_data(handle);
    handle->set = true;
    handle->told[0] = '\0'; /* its own data are in it, and no news for it */
    if (uvzk_group_member_set_data(handle->node, handle->data, strlen(handle->data)) !=
        0) {
        fail(handle->slot->history, "data cannot be set");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_group_member_close(handle->node, on_closed) != 0) {
        fail(handle->slot->history, "a member cannot be closed");
    }
}

static void act(struct handle *handle)
{
    struct history *history = handle->slot->history;
    uint64_t kind = chance(history, 100);

    handle->next_ms = soon(history, 700);
    if (handle->node == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 30) {
        set_data(handle);
    } else if (kind < 50) {
        close_handle(handle);
    } else if (kind < 53) {
        close_seat(handle->slot);
    } else if (kind < 65) {
        (void)sim_delete_by_hand(history->sim, handle->path);
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
}

/* ------------------------------------------------------------------- the checks */

static bool is_of(const struct client_slot *slot, int64_t owner)
{
    for (uint32_t i = 0; i < slot->sessions; i++) {
        if (history_transport.session_id(slot->ports[i]) == owner) {
            return true;
        }
    }
    return false;
}

/* Returns true if its znode is there, as it is to be. */
static bool is_there(const struct handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;
    size_t length;
    const void *data = sim_data(sim, handle->path, &length);

    return data != NULL && sim_stat(sim, handle->path, &stat) &&
           is_of(handle->slot, stat.ephemeral_owner) && length == strlen(handle->data) &&
           memcmp(data, handle->data, length) == 0;
}

/* Adds the znode of this path to the list that `asker` is to see. */
static void write_znode(const struct handle *asker, const struct handle *of, char *text)
{
    size_t used = strlen(text), length;
    const void *data = sim_data(asker->slot->history->sim, of->path, &length);

    if (strcmp(of->id, asker->id) == 0) {
        data = asker->data;
        length = strlen(asker->data);
    }
    if (data != NULL) {
        (void)snprintf(text + used, LIST_SIZE - used, "%s=%.*s ", of->id, (int)length,
                       (const char *)data);
    }
}

/* What it is to list: the znodes that there are, and itself. */
static void expect_list(const struct handle *asker, char *text)
{
    const struct history *history = asker->slot->history;

    text[0] = '\0';
    for (int i = 0; i < history->slot_count; i++) {
        write_znode(asker, &history->slots[i].handles[0], text);
    }
    write_znode(asker, &history->slots[0].handles[1], text);
}

/* Returns true if it lists what is there, and has been told so. */
static bool lists_all(const struct handle *handle)
{
    char expected[LIST_SIZE], list[LIST_SIZE], with_mzxids[LIST_SIZE];

    expect_list(handle, expected);
    write_list(handle, list, false);
    write_list(handle, with_mzxids, true);
    return strcmp(expected, list) == 0 && handle->listed == 0 &&
           (handle->told[0] == '\0' || strcmp(with_mzxids, handle->told) == 0);
}

/* Its znode is there, and it has been told so; or, if it shares the id, that another's is. And
 * it lists all members. */
static bool is_settled(const struct handle *handle)
{
    if (handle->closing || handle->slot->closing || !lists_all(handle)) {
        return false;
    }
    return is_there(handle) ? handle->status == 0 && !handle->set
                            : handle->shared && handle->status == UVZK_ENODEEXISTS;
}

static bool is_gone(const struct handle *handle)
{
    return !sim_exists(handle->slot->history->sim, handle->path);
}

/* Of those that share an id one has the znode; those that are closed have none. */
static bool all_is_settled(struct history *history)
{
    unsigned open = 0, have = 0;

    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &history->slots[i].handles[j];
            if (handle->node == NULL && !handle->shared && !is_gone(handle)) {
                return false;
            }
            if (handle->node == NULL) {
                continue;
            }
            if (!is_settled(handle)) {
                return false;
            }
            open += handle->shared;
            have += handle->shared && is_there(handle);
        }
    }
    return open == 0 || have == 1;
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

static void name_handle(struct handle *handle, int number)
{
    char id[ID_SIZE] = "shared";

    if (!handle->shared) {
        (void)snprintf(id, sizeof(id), "%d", number);
    }
    (void)snprintf(handle->path, PATH_SIZE, "%s/%s", GROUP, id);
    memcpy(handle->id, id, sizeof(id));
}

static void begin(struct history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    history->slot_count = 3 + (int)chance(history, 3);
    history->end_ms = sim_now(history->sim) + ACTIVE_MS;
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, GROUP, false);
    for (int i = 0; i < history->slot_count; i++) {
        struct client_slot *slot = &history->slots[i];
        slot->history = history;
        slot->number = i;
        for (int j = 0; j < HANDLES; j++) {
            slot->handles[j].slot = slot;
            slot->handles[j].shared = j == 1;
            name_handle(&slot->handles[j], i);
        }
        open_seat(slot);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    some_faults(history, seed);
}

static void live(struct history *history, uint64_t until, bool active)
{
    while (sim_now(history->sim) < until && !history->failed) {
        if (ticker_step(&history->ticker)) {
            if (active) {
                strikes_step(&history->strikes);
            }
            continue;
        }
        if (active) {
            act_all(history);
        } else if (all_is_settled(history)) {
            break;
        }
    }
}

static void heal(struct history *history)
{
    sim_set_faults(history->sim, NULL);
    /* A server that shows what has been deleted shows it for ever. */
    sim_converge(history->sim);
    close_refused(history);
    live(history, sim_now(history->sim) + HEAL_MS, false);
    if (all_is_settled(history)) {
        return;
    }
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &history->slots[i].handles[j];
            if (handle->node != NULL && !is_settled(handle)) {
                char expected[LIST_SIZE], list[LIST_SIZE];
                expect_list(handle, expected);
                write_list(handle, list, false);
                fail(history, "client %d: %s is %s, told %s; lists %s instead of %s", i,
                     handle->path, is_there(handle) ? "there" : "not there",
                     handle->status == 1 ? "nothing" : uvzk_err_name(handle->status),
                     list, expected);
            }
        }
    }
    fail(history, "nobody has the znode that they share, or one is left");
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

static bool any_handle_open(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (history->slots[i].handles[j].node != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* The first of them whose znode has not gone; NULL: none. */
static const struct handle *first_left(const struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (!is_gone(&history->slots[i].handles[j])) {
                return &history->slots[i].handles[j];
            }
        }
    }
    return NULL;
}

static void close_handles(struct history *history)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &history->slots[i].handles[j];
            if (handle->node != NULL && !handle->closing && !history->slots[i].closing) {
                close_handle(handle);
            }
        }
    }
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         any_handle_open(history) && sim_now(history->sim) < until &&
         sim_step(history->sim);) {
    }
    if (any_handle_open(history)) {
        fail(history, "a member does not close");
    }
    /* Servers that were away give sessions that were left their whole timeout. */
    for (uint64_t until = sim_now(history->sim) + HEAL_MS;
         first_left(history) != NULL && sim_now(history->sim) < until;) {
        sim_run_for(history->sim, history->timeout_ms);
    }
    if (first_left(history) != NULL) {
        fail(history, "%s is there after the close", first_left(history)->path);
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

void group_history_run(uint64_t seed, bool verbose, struct group_history_result *result)
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
        close_handles(history);
    }
    if (!history->failed) {
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
