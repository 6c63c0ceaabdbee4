#include "node_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_transport.h"
#include "recipe_history.h"

#define DIRECTORY "/nodes/deep"
#define SHARED DIRECTORY "/shared"
#define HANDLES 2 /* the first has a path of its own, the second shares its path */
#define DATA_SIZE 24
#define PATH_SIZE 40
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

/* A persistent node, made anew each time. */
struct handle {
    struct recipe_client *slot;
    uvzk_persistent_node_t *node; /* NULL: closed */
    bool shared, closing;
    uint32_t mode;
    char path[PATH_SIZE], data[DATA_SIZE];
    int status; /* told last; 1: nothing yet */
    bool set;   /* data were set since */
    uint64_t next_ms;
    unsigned count; /* of its data */
};

struct nodes {
    struct handle handles[RECIPE_CLIENTS_MAX][HANDLES];
};

static struct handle *handles_of(const struct recipe_client *client)
{
    return ((struct nodes *)client->history->part)->handles[client->number];
}

static struct node_history_result *result_of(const struct handle *handle)
{
    return handle->slot->history->result;
}

/* -------------------------------------------------------------- the callbacks */

static void on_change(uvzk_persistent_node_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the node %s is %s", handle->slot->number,
             handle->path, uvzk_err_name(status));
    if (handle->node != node || handle->closing || handle->slot->closing) {
        recipe_fail(history, "told after the close");
    }
    if (status > 0 || (status == handle->status && !handle->set)) {
        recipe_fail(history, "told %s twice", uvzk_err_name(status));
    }
    handle->status = status;
    handle->set = false;
    result_of(handle)->told++;
    result_of(handle)->present += status == 0;
}

static void on_closed(uvzk_persistent_node_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the node %s is closed with %s",
             handle->slot->number, handle->path, uvzk_err_name(status));
    if (!handle->closing || node->impl != NULL || status > 0) {
        recipe_fail(history, "a close callback out of order");
    }
    free(node);
    handle->node = NULL;
    handle->next_ms = recipe_soon(history, 500);
    result_of(handle)->closes++;
}

static void client_closed(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &handles_of(client)[i];
        if (handle->node != NULL && (handle->node->impl != NULL || handle->closing)) {
            recipe_fail(client->history, "a persistent node outlives its client");
        }
        free(handle->node); /* closed with its client, without a word */
        handle->node = NULL;
    }
}

/* ---------------------------------------------------------------- what they do */

static void client_opened(struct recipe_client *client)
{
    for (int i = 0; i < HANDLES; i++) {
        handles_of(client)[i].next_ms = recipe_soon(client->history, 500);
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
    handle->status = 1;
    handle->set = false;
    new_data(handle);
    if (uvzk_persistent_node_init(handle->slot->client, handle->node, handle->path,
                                  handle->mode, handle->data, strlen(handle->data),
                                  on_change) != 0) {
        recipe_fail(handle->slot->history, "a node cannot be made");
    }
}

static void set_data(struct handle *handle)
{
    new_data(handle);
    handle->set = true;
    if (uvzk_persistent_node_set_data(handle->node, handle->data, strlen(handle->data)) !=
        0) {
        recipe_fail(handle->slot->history, "data cannot be set");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_persistent_node_close(handle->node, on_closed) != 0) {
        recipe_fail(handle->slot->history, "a node cannot be closed");
    }
}

static void act(struct handle *handle)
{
    struct recipe_history *history = handle->slot->history;
    uint64_t kind = recipe_chance(history, 100);

    handle->next_ms = recipe_soon(history, 700);
    if (handle->node == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 30) {
        set_data(handle);
    } else if (kind < 50) {
        close_handle(handle);
    } else if (kind < 53) {
        recipe_close_client(handle->slot);
    } else if (kind < 65) {
        (void)sim_delete_by_hand(history->sim, handle->path);
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

static bool is_of(const struct recipe_client *slot, int64_t owner)
{
    for (uint32_t i = 0; i < slot->sessions; i++) {
        if (history_transport.session_id(slot->ports[i]) == owner) {
            return true;
        }
    }
    return false;
}

/* Returns true if its znode is there, as it is to be. The data of a persistent one may be
 * those of a set that came late, and has found the znode with the version that it
 * names. */
static bool is_there(const struct handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;
    size_t length;
    const void *data = sim_data(sim, handle->path, &length);

    return data != NULL && sim_stat(sim, handle->path, &stat) &&
           (handle->mode == UVZK_PERSISTENT_NODE_EPHEMERAL
                ? is_of(handle->slot, stat.ephemeral_owner)
                : stat.ephemeral_owner == 0) &&
           (handle->mode == UVZK_PERSISTENT_NODE_PERSISTENT ||
            (length == strlen(handle->data) && memcmp(data, handle->data, length) == 0));
}

/* Its znode is there, and it has been told so; or, if it shares the path, that another's is. */
static bool is_settled(const struct handle *handle)
{
    if (handle->closing || handle->slot->closing) {
        return false;
    }
    return is_there(handle) ? handle->status == 0 && !handle->set
                            : handle->shared && handle->status == UVZK_ENODEEXISTS;
}

/* Of those that share a path one has the znode. */
static bool all_is_settled(struct recipe_history *history)
{
    unsigned open = 0, have = 0;

    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &handles_of(&history->clients[i])[j];
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

/* What a closed one has left: a persistent znode may be left by its client's close. */
static bool is_gone(const struct handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;

    return !sim_stat(sim, handle->path, &stat) || stat.ephemeral_owner == 0;
}

/* ------------------------------------------------------------------- the history */

static void begin(struct recipe_history *history, uint64_t seed)
{
    history->client_count = 3 + (int)recipe_chance(history, 3);
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, DIRECTORY, false);
    for (int i = 0; i < history->client_count; i++) {
        struct handle *handles = handles_of(&history->clients[i]);
        for (int j = 0; j < HANDLES; j++) {
            handles[j].slot = &history->clients[i];
            handles[j].shared = j == 1;
            /* Those that share a path are all ephemeral. */
            handles[j].mode = j == 1 || i % 2 == 0 ? UVZK_PERSISTENT_NODE_EPHEMERAL
                                                   : UVZK_PERSISTENT_NODE_PERSISTENT;
            (void)snprintf(handles[j].path, PATH_SIZE, j == 1 ? SHARED : "%s/%d",
                           DIRECTORY, i);
        }
    }
}

static void heal(struct recipe_history *history)
{
    recipe_heal(history);
    if (all_is_settled(history)) {
        return;
    }
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &handles_of(&history->clients[i])[j];
            if (handle->node != NULL && !is_settled(handle)) {
                recipe_fail(history, "client %d: %s is %s, told %s", i, handle->path,
                            is_there(handle) ? "there" : "not there",
                            handle->status == 1 ? "nothing"
                                                : uvzk_err_name(handle->status));
            }
        }
    }
    recipe_fail(history, "nobody has the znode that they share");
}

static bool all_handles_closed(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (handles_of(&history->clients[i])[j].node != NULL) {
                return false;
            }
        }
    }
    return true;
}

/* The path of the first of them whose znode has not gone; NULL: none. */
static const char *first_left(const struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (!is_gone(&handles_of(&history->clients[i])[j])) {
                return handles_of(&history->clients[i])[j].path;
            }
        }
    }
    return NULL;
}

static void close_handles(struct recipe_history *history)
{
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &handles_of(&history->clients[i])[j];
            if (handle->node != NULL && !handle->closing &&
                !history->clients[i].closing) {
                close_handle(handle);
            }
        }
    }
    if (!recipe_step_until(history, all_handles_closed)) {
        recipe_fail(history, "a node does not close");
    }
    recipe_await_none_left(history, first_left);
}

static const struct recipe_history_kind kind = {.size = sizeof(struct nodes),
                                                .active_ms = ACTIVE_MS,
                                                .heal_ms = HEAL_MS,
                                                .leaves_no_watch = true,
                                                .begin = begin,
                                                .client_opened = client_opened,
                                                .client_closed = client_closed,
                                                .act = act_all,
                                                .is_settled = all_is_settled,
                                                .heal = heal,
                                                .end = close_handles};

void node_history_run(uint64_t seed, bool verbose, struct node_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
