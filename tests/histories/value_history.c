/* SPDX-License-Identifier: Apache-2.0 */
#include "value_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_history.h"

#define DIRECTORY "/values/deep"
#define PATH DIRECTORY "/v"
#define HANDLES 2
#define SETS_MAX 1024
#define STATES_MAX 4096
#define TEXT_SIZE 24
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

/* A shared value, made anew each time. */
struct handle {
    struct recipe_client *slot;
    uvzk_shared_value_t *value; /* NULL: closed */
    int64_t mzxid;              /* told last */
    int status;
    bool closing;
    uint64_t next_ms;
    uvzk_value_version_t earlier; /* some version of before */
    int incarnation;
};

struct set {
    uvzk_req_t *request;   /* NULL: told */
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

struct values {
    struct handle handles[RECIPE_CLIENTS_MAX][HANDLES];
    struct set sets[SETS_MAX];
    size_t set_count;
    struct znode_state states[STATES_MAX];
    size_t state_count;
    bool deletes_nodes;
};

static struct values *part_of(const struct recipe_history *history)
{
    return history->part;
}

static struct handle *handles_of(const struct recipe_client *client)
{
    return part_of(client->history)->handles[client->number];
}

static struct value_history_result *result_of(const struct recipe_history *history)
{
    return history->result;
}

/* ------------------------------------------------------------ what the znode was */

static void copy_text(char text[TEXT_SIZE], const void *data, size_t length)
{
    size_t room = length < TEXT_SIZE - 1 ? length : TEXT_SIZE - 1;

    memcpy(text, data, room);
    text[room] = '\0';
}

/* After each event; there is at most one transaction in it. */
static void write_down(struct recipe_history *history)
{
    const struct znode_state *last =
        &part_of(history)->states[part_of(history)->state_count - 1];
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
    if (part_of(history)->state_count == STATES_MAX) {
        recipe_fail(history, "too many states");
        return;
    }
    part_of(history)->states[part_of(history)->state_count++] = now;
}

static const struct znode_state *state_at(const struct recipe_history *history,
                                          int64_t mzxid)
{
    for (size_t i = part_of(history)->state_count; i-- > 0;) {
        if (part_of(history)->states[i].stat.mzxid == mzxid) {
            return &part_of(history)->states[i];
        }
    }
    return NULL;
}

/* -------------------------------------------------------------- the callbacks */

/* What only some histories have. */
static bool is_of_its_kind(const struct handle *handle, int status)
{
    unsigned kinds = handle->slot->history->kinds;

    return (status == UVZK_EAUTH && recipe_auth_failed(handle->slot)) ||
           (status == UVZK_ENOAUTH && (kinds & HISTORY_UNREADABLE) != 0);
}

/* What it knows is something that the znode was. */
static void check_known(struct handle *handle)
{
    struct recipe_history *history = handle->slot->history;
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
        recipe_fail(history, "%s was never the value at %" PRId64, text, version.mzxid);
    }
    if (version.mzxid < handle->mzxid) {
        recipe_fail(history, "a value goes back");
    }
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct handle *handle = value->data;
    struct recipe_history *history = handle->slot->history;
    uvzk_value_version_t version = {0, 0};

    (void)uvzk_shared_value_get(value, NULL, NULL, &version);
    sim_note(history->sim, "client %d: value says %s at %" PRId64, handle->slot->number,
             uvzk_err_name(status), version.mzxid);
    if (handle->value != value || handle->closing || handle->slot->closing) {
        recipe_fail(history, "told after the close");
    }
    if (status != 0 && status != UVZK_ENONODE && !is_of_its_kind(handle, status)) {
        recipe_fail(history, "a value says %s", uvzk_err_name(status));
    }
    if (status == UVZK_ENONODE && !part_of(history)->deletes_nodes) {
        recipe_fail(history, "a znode that was never deleted is missing");
    }
    if (status == handle->status && (status != 0 || version.mzxid == handle->mzxid)) {
        recipe_fail(history, "told twice");
    }
    check_known(handle);
    handle->mzxid = version.mzxid;
    handle->status = status;
    result_of(history)->values++;
    if (recipe_chance(history, 4) == 0) {
        handle->earlier = version;
    }
}

static void on_value_closed(uvzk_shared_value_t *value)
{
    struct handle *handle = value->data;

    if (!handle->closing || value->impl != NULL) {
        recipe_fail(handle->slot->history, "a close callback out of order");
    }
    free(value);
    handle->value = NULL;
    handle->next_ms = recipe_soon(handle->slot->history, 500);
}

static void was_set(struct set *set, int status)
{
    struct recipe_history *history = set->handle->slot->history;

    sim_note(history->sim, "client %d: set of %s says %s", set->handle->slot->number,
             set->text, uvzk_err_name(status));
    if (status > 0) {
        recipe_fail(history, "the callback of a set out of order");
    }
    if (status == 0 && !set->handle->closing && !set->handle->slot->closing) {
        check_known(set->handle);
    }
    set->status = status;
    result_of(history)->set += status == 0;
    result_of(history)->outdated += status == UVZK_EBADVERSION;
    result_of(history)->unknown += status == UVZK_ECONNLOSS;
}

static void on_set(uvzk_req_t *request, int status)
{
    struct set *set = request->data;

    if (set->request != request || request->impl != NULL) {
        recipe_fail(set->handle->slot->history, "the callback of a set out of order");
    }
    free(request);
    set->request = NULL;
    was_set(set, status);
}

static void on_set_done(uvzk_future_t *future, int status, void *context)
{
    struct set *set = context;

    if (set->future != future || uvzk_future_status(future) != status) {
        recipe_fail(set->handle->slot->history, "told of another future");
    }
    uvzk_future_drop(future);
    free(future);
    set->future = NULL;
    was_set(set, status);
}

static void client_closed(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &handles_of(client)[i];
        if (handle->value != NULL && handle->value->impl != NULL) {
            recipe_fail(client->history, "a value outlives its client");
        }
        free(handle->value); /* closed with its client, without a word */
        handle->value = NULL;
    }
}

/* ---------------------------------------------------------------- what they do */

static void client_opened(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        handles_of(client)[i].next_ms = recipe_soon(client->history, i == 0 ? 50 : 3000);
    }
}

static void open_handle(struct handle *handle)
{
    struct recipe_history *history = handle->slot->history;
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
        recipe_fail(history, "a value cannot be made");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_shared_value_close(handle->value, on_value_closed) != 0) {
        recipe_fail(handle->slot->history, "a value cannot be closed");
    }
}

static int set_by_future(struct set *set)
{
    uvzk_shared_value_t *value = set->handle->value;

    set->future = calloc(1, sizeof(*set->future));
    int status =
        set->conditional
            ? uvzk_shared_value_try_set(value, uvzk_future_req(set->future), &set->over,
                                        set->text, strlen(set->text),
                                        uvzk_future_complete)
            : uvzk_shared_value_set(value, uvzk_future_req(set->future), set->text,
                                    strlen(set->text), uvzk_future_complete);
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
    struct recipe_history *history = handle->slot->history;
    struct set *set = &part_of(history)->sets[part_of(history)->set_count];

    if (part_of(history)->set_count == SETS_MAX) {
        return;
    }
    (void)snprintf(set->text, sizeof(set->text), "s%d.%zu", handle->slot->number,
                   part_of(history)->set_count++);
    set->handle = handle;
    set->incarnation = handle->incarnation;
    if (over != NULL) {
        set->conditional = true;
        set->over = *over;
    }
    bool by_future =
        (history->kinds & HISTORY_FUTURES) != 0 && recipe_chance(history, 2) == 0;
    int status = by_future ? set_by_future(set) : set_by_request(set);
    if (status != 0) {
        recipe_fail(history, "a set is refused: %s", uvzk_err_name(status));
    }
    result_of(history)->sets++;
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
    struct recipe_history *history = handle->slot->history;
    uint64_t kind = recipe_chance(history, 100);

    handle->next_ms = recipe_soon(history, 400);
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
        recipe_close_client(handle->slot);
    }
}

/* In some histories somebody deletes the znode at times, and makes it again. Where it is
 * struck more often, it is soon made again. */
static void delete_and_make(struct recipe_history *history)
{
    bool struck = (history->kinds & HISTORY_STRIKES) != 0 &&
                  part_of(history)->state_count > 1 && !sim_exists(history->sim, PATH);

    if (part_of(history)->deletes_nodes && recipe_chance(history, 800) == 0) {
        if (sim_delete_by_hand(history->sim, PATH) == 0) {
            write_down(history);
        }
        struck = recipe_chance(history, 2) == 0;
    } else if (struck) {
        struck = recipe_chance(history, 50) == 0;
    }
    if (struck) {
        (void)sim_create_by_hand(history->sim, PATH, UVZK__PERSISTENT);
        write_down(history);
    }
}

static void act_all(struct recipe_client *client, uint64_t now)
{
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &handles_of(client)[i];
        if (recipe_is_open(client) && now >= handle->next_ms) {
            act(handle);
        }
    }
}

/* ------------------------------------------------------------------- the checks */

static const struct set *set_named(const struct recipe_history *history, const char *text)
{
    const char *dot = strchr(text, '.');
    size_t number = text[0] != 's' || dot == NULL ? SETS_MAX : strtoul(dot + 1, NULL, 10);

    return number < part_of(history)->set_count &&
                   strcmp(part_of(history)->sets[number].text, text) == 0
               ? &part_of(history)->sets[number]
               : NULL;
}

static void count_effects(struct recipe_history *history)
{
    for (size_t i = 0; i < part_of(history)->state_count; i++) {
        const struct set *found = set_named(history, part_of(history)->states[i].text);
        if (found != NULL) {
            struct set *set = &part_of(history)->sets[found - part_of(history)->sets];
            set->took_effect++;
            set->path_locks = i;
        }
    }
}

/* A znode that was made again may have come to the same version number. */
static bool replaced_the_right_value(const struct recipe_history *history,
                                     const struct set *set)
{
    const struct uvzk__stat *before = &part_of(history)->states[set->path_locks - 1].stat;

    return before->version == set->over.version &&
           (before->mzxid == set->over.mzxid || part_of(history)->deletes_nodes);
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

static void check_set(struct recipe_history *history, const struct set *set)
{
    const char *name = uvzk_err_name(set->status);

    if (set->request != NULL || set->future != NULL) {
        recipe_fail(history, "%s is never answered", set->text);
    } else if (set->took_effect > 1) {
        recipe_fail(history, "%s was set %zu times", set->text, set->took_effect);
    } else if (set->status == 0 && set->took_effect == 0) {
        recipe_fail(history, "%s was told to be set, and was not", set->text);
    } else if (set->took_effect == 1 && !may_have_taken_effect(set->status)) {
        recipe_fail(history, "%s was set, and told %s", set->text, name);
    } else if (set->took_effect == 1 && set->conditional &&
               !replaced_the_right_value(history, set)) {
        recipe_fail(history, "%s replaced another value than it was to replace",
                    set->text);
    } else if (set->status == UVZK_EBADVERSION  ? !set->conditional
               : set->status == UVZK_ENONODE    ? !part_of(history)->deletes_nodes
               : set->status == UVZK_ETHROTTLED ? (history->kinds & HISTORY_THROTTLE) == 0
                                                : !may_have_taken_effect(set->status)) {
        recipe_fail(history, "%s says %s", set->text, name);
    }
}

static void check_sets(struct recipe_history *history)
{
    const struct set *last[RECIPE_CLIENTS_MAX][HANDLES] = {{NULL}};

    count_effects(history);
    for (size_t i = 0; i < part_of(history)->set_count; i++) {
        const struct set *set = &part_of(history)->sets[i];
        int handle = (int)(set->handle - handles_of(set->handle->slot));
        const struct set **before = &last[set->handle->slot->number][handle];
        check_set(history, set);
        if (set->took_effect == 0) {
            continue;
        }
        if (*before != NULL && (*before)->incarnation == set->incarnation &&
            set->path_locks < (*before)->path_locks) {
            recipe_fail(history, "%s overtook %s", set->text, (*before)->text);
        }
        *before = set;
    }
}

static bool is_current(const struct handle *handle)
{
    const struct recipe_history *history = handle->slot->history;
    const struct znode_state *last =
        &part_of(history)->states[part_of(history)->state_count - 1];
    uvzk_value_version_t version;

    return handle->value != NULL &&
           uvzk_shared_value_get(handle->value, NULL, NULL, &version) == 0 &&
           version.mzxid == last->stat.mzxid && handle->mzxid == last->stat.mzxid &&
           handle->status == 0;
}

static bool everyone_is_current(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &handles_of(&history->clients[i])[j];
            if (handle->value != NULL && !is_current(handle)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < part_of(history)->set_count; i++) {
        if (part_of(history)->sets[i].request != NULL ||
            part_of(history)->sets[i].future != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- the history */

/* Servers that resume no session may carry out a set of the old session after one of the
 * new session. */
static void options(struct sim_options *options)
{
    options->forgets_sessions = false;
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    part_of(history)->deletes_nodes =
        seed % 3 == 2 || (history->kinds & HISTORY_STRIKES) != 0;
    history->client_count = 3 + (int)recipe_chance(history, 3);
    part_of(history)->state_count = 1; /* missing */
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, DIRECTORY, false);
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            handles_of(&history->clients[i])[j].slot = &history->clients[i];
        }
    }
}

static void heal(struct recipe_history *history)
{
    sim_set_faults(history->sim, NULL);
    recipe_close_refused(history);
    if (!sim_exists(history->sim, PATH)) {
        static const char *const ways[] = {"/values", "/values/deep", PATH};
        for (int i = 0; i < 3; i++) {
            (void)sim_create_by_hand(history->sim, ways[i], UVZK__PERSISTENT);
            write_down(history);
        }
    }
    recipe_live(history, sim_now(history->sim) + HEAL_MS, false);
    if (!everyone_is_current(history)) {
        recipe_fail(history, "somebody does not come to know the last value");
    }
}

static bool all_handles_closed(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (handles_of(&history->clients[i])[j].value != NULL) {
                return false;
            }
        }
    }
    return true;
}

static void close_values(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        struct recipe_client *slot = &history->clients[i];
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &handles_of(slot)[j];
            if (handle->value != NULL && !handle->closing && !slot->closing) {
                close_handle(handle);
            }
        }
    }
    if (!recipe_step_until(history, all_handles_closed)) {
        recipe_fail(history, "a value does not close");
    }
}

static void end(struct recipe_history *history)
{
    check_sets(history);
    close_values(history);
    sim_run_for(history->sim, 1000);
}

static const struct recipe_history_kind kind = {.size = sizeof(struct values),
                                                .active_ms = ACTIVE_MS,
                                                .heal_ms = HEAL_MS,
                                                .leaves_no_watch = true,
                                                .options = options,
                                                .begin = begin,
                                                .act_outside = delete_and_make,
                                                .client_opened = client_opened,
                                                .client_closed = client_closed,
                                                .act = act_all,
                                                .transaction = write_down,
                                                .is_settled = everyone_is_current,
                                                .heal = heal,
                                                .end = end};

void value_history_run(uint64_t seed, bool verbose, struct value_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
