#include "group_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_transport.h"
#include "recipe_history.h"

#define GROUP "/groups/deep"
#define HANDLES 2 /* the first has an id of its own, the second shares its id */
#define ID_SIZE 12
#define LIST_SIZE 512U /* of a list as text */
#define DATA_SIZE 24
#define PATH_SIZE 40
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

/* A group member, made anew each time. */
struct handle {
    struct recipe_client *slot;
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

struct groups {
    struct handle handles[RECIPE_CLIENTS_MAX][HANDLES];
};

static struct handle *handles_of(const struct recipe_client *client)
{
    return ((struct groups *)client->history->part)->handles[client->number];
}

static struct group_history_result *result_of(const struct handle *handle)
{
    return handle->slot->history->result;
}

/* -------------------------------------------------------------- the callbacks */

static void on_change(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the znode %s is %s", handle->slot->number,
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

/* As "id=data@mzxid ", in order, with the mzxids only if they are wanted. */
static void write_list(const struct handle *handle, char *text, bool mzxids)
{
    struct recipe_history *history = handle->slot->history;
    const uvzk_group_entry_t *members = NULL;
    size_t count = 0, used = 0;
    bool own = false;

    text[0] = '\0';
    if (uvzk_group_member_list(handle->node, &members, &count) != 0) {
        recipe_fail(history, "the members cannot be listed");
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
        recipe_fail(history, "client %d does not list itself: %s", handle->slot->number,
                    text);
    }
}

static void on_members(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->slot->history;
    char list[LIST_SIZE];

    if (handle->node != node || handle->closing || handle->slot->closing) {
        recipe_fail(history, "told of members after the close");
        return;
    }
    write_list(handle, list, true);
    sim_note(history->sim, "client %d, member %s: %s: %s", handle->slot->number,
             handle->id, uvzk_err_name(status), list);
    if (status > 0 || (status < 0 && status == handle->listed)) {
        recipe_fail(history, "told %s twice of the list", uvzk_err_name(status));
    }
    if (status == 0 && handle->listed == 0 && strcmp(list, handle->told) == 0) {
        recipe_fail(history, "told of one list twice: %s", list);
    }
    handle->listed = status;
    if (status == 0) {
        memcpy(handle->told, list, sizeof(list));
        result_of(handle)->changes++;
    }
}

static void on_closed(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the member %s is closed with %s",
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
            recipe_fail(client->history, "a group member outlives its client");
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
    handle->status = handle->listed = 1;
    handle->set = false;
    handle->told[0] = '\0';
    new_data(handle);
    if (uvzk_group_member_init(handle->slot->client, handle->node, GROUP, handle->id,
                               handle->data, strlen(handle->data), on_change,
                               on_members) != 0) {
        recipe_fail(handle->slot->history, "a member cannot be made");
    }
}

static void set_data(struct handle *handle)
{
    new_data(handle);
    handle->set = true;
    handle->told[0] = '\0'; /* its own data are in it, and no news for it */
    if (uvzk_group_member_set_data(handle->node, handle->data, strlen(handle->data)) !=
        0) {
        recipe_fail(handle->slot->history, "data cannot be set");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_group_member_close(handle->node, on_closed) != 0) {
        recipe_fail(handle->slot->history, "a member cannot be closed");
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
    const struct recipe_history *history = asker->slot->history;

    text[0] = '\0';
    for (int i = 0; i < history->client_count; i++) {
        write_znode(asker, &handles_of(&history->clients[i])[0], text);
    }
    write_znode(asker, &handles_of(&history->clients[0])[1], text);
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
static bool all_is_settled(struct recipe_history *history)
{
    unsigned open = 0, have = 0;

    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &handles_of(&history->clients[i])[j];
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

static void name_handle(struct handle *handle, int number)
{
    char id[ID_SIZE] = "shared";

    if (!handle->shared) {
        (void)snprintf(id, sizeof(id), "%d", number);
    }
    (void)snprintf(handle->path, PATH_SIZE, "%s/%s", GROUP, id);
    memcpy(handle->id, id, sizeof(id));
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    history->client_count = 3 + (int)recipe_chance(history, 3);
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, GROUP, false);
    for (int i = 0; i < history->client_count; i++) {
        struct handle *handles = handles_of(&history->clients[i]);
        for (int j = 0; j < HANDLES; j++) {
            handles[j].slot = &history->clients[i];
            handles[j].shared = j == 1;
            name_handle(&handles[j], i);
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
                char expected[LIST_SIZE], list[LIST_SIZE];
                expect_list(handle, expected);
                write_list(handle, list, false);
                recipe_fail(
                    history, "client %d: %s is %s, told %s; lists %s instead of %s", i,
                    handle->path, is_there(handle) ? "there" : "not there",
                    handle->status == 1 ? "nothing" : uvzk_err_name(handle->status), list,
                    expected);
            }
        }
    }
    recipe_fail(history, "nobody has the znode that they share, or one is left");
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
        recipe_fail(history, "a member does not close");
    }
    recipe_await_none_left(history, first_left);
}

static const struct recipe_history_kind kind = {.size = sizeof(struct groups),
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

void group_history_run(uint64_t seed, bool verbose, struct group_history_result *result)
{
    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
