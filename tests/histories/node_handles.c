/* SPDX-License-Identifier: Apache-2.0 */
#include "node_handles.h"

#include <stdio.h>
#include <stdlib.h>

#include "history_transport.h"

#define EACH(handle, history)                                                          \
    for (int number_ = 0; number_ < (history)->client_count * NODE_HANDLES; number_++) \
        for (struct node_handle *handle = node_handle_at(                              \
                 history, number_ / NODE_HANDLES, number_ % NODE_HANDLES);             \
             handle != NULL; handle = NULL)

#define EACH_OF(handle, client)                                                \
    for (int number_ = 0; number_ < NODE_HANDLES; number_++)                   \
        for (struct node_handle *handle =                                      \
                 node_handle_at((client)->history, (client)->number, number_); \
             handle != NULL; handle = NULL)

static const struct node_handle_kind *kind_of(const struct recipe_history *history)
{
    return history->kind->handles;
}

size_t node_handles_size(const struct node_handle_kind *kind)
{
    return kind->size * RECIPE_CLIENTS_MAX * NODE_HANDLES;
}

struct node_handle *node_handle_at(const struct recipe_history *history, int client,
                                   int number)
{
    size_t index = (size_t)client * NODE_HANDLES + (size_t)number;

    return (void *)((char *)history->part + index * kind_of(history)->size);
}

/* -------------------------------------------------------------- the callbacks */

void node_handle_told(struct node_handle *handle, const void *object, int status,
                      struct node_handle_counts *counts)
{
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the %s %s is %s", handle->slot->number,
             kind_of(history)->znode_name, handle->path, uvzk_err_name(status));
    if (handle->object != object || handle->closing || handle->slot->closing) {
        recipe_fail(history, "told after the close");
    }
    if (status > 0 || (status == handle->status && !handle->set)) {
        recipe_fail(history, "told %s twice", uvzk_err_name(status));
    }
    handle->status = status;
    handle->set = false;
    counts->told++;
    counts->present += status == 0;
}

static void forget(struct node_handle *handle)
{
    free(handle->object);
    handle->object = NULL;
}

void node_handle_closed(struct node_handle *handle, void *object, int status,
                        struct node_handle_counts *counts)
{
    struct recipe_history *history = handle->slot->history;

    sim_note(history->sim, "client %d: the %s %s is closed with %s", handle->slot->number,
             kind_of(history)->name, handle->path, uvzk_err_name(status));
    if (handle->object != object || !handle->closing || *handle->impl != NULL ||
        status > 0) {
        recipe_fail(history, "a close callback out of order");
    }
    forget(handle);
    handle->next_ms = recipe_soon(history, 500);
    counts->closes++;
}

void node_handles_client_closed(struct recipe_client *client)
{
    EACH_OF(handle, client)
    {
        if (handle->object != NULL && (*handle->impl != NULL || handle->closing)) {
            recipe_fail(client->history, "a %s outlives its client",
                        kind_of(client->history)->name);
        }
        forget(handle); /* closed with its client, without a word */
    }
}

/* ---------------------------------------------------------------- what they do */

void node_handles_client_opened(struct recipe_client *client)
{
    EACH_OF(handle, client)
    {
        handle->next_ms = recipe_soon(client->history, 500);
    }
}

static void check(const struct node_handle *handle, int status)
{
    if (status != 0) {
        recipe_fail(handle->slot->history, "a call is refused with %s",
                    uvzk_err_name(status));
    }
}

static void new_data(struct node_handle *handle)
{
    (void)snprintf(handle->data, sizeof(handle->data), "%d.%u", handle->slot->number,
                   handle->count++);
}

static void open_handle(struct node_handle *handle)
{
    handle->closing = false;
    handle->status = 1;
    handle->set = false;
    new_data(handle);
    check(handle, kind_of(handle->slot->history)->open(handle));
}

static void set_data(struct node_handle *handle)
{
    new_data(handle);
    handle->set = true;
    check(handle, kind_of(handle->slot->history)->set(handle));
}

static void close_handle(struct node_handle *handle)
{
    handle->closing = true;
    check(handle, kind_of(handle->slot->history)->close(handle));
}

static void act(struct node_handle *handle)
{
    struct recipe_history *history = handle->slot->history;
    uint64_t kind = recipe_chance(history, 100);

    handle->next_ms = recipe_soon(history, 700);
    if (handle->object == NULL) {
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

void node_handles_act(struct recipe_client *client, uint64_t now)
{
    EACH_OF(handle, client)
    {
        if (recipe_is_open(client) && now >= handle->next_ms) {
            act(handle);
        }
    }
}

/* ------------------------------------------------------------------- the checks */

bool node_handle_is_of(const struct node_handle *handle, int64_t owner)
{
    const struct recipe_client *slot = handle->slot;

    for (uint32_t i = 0; i < slot->sessions; i++) {
        if (history_transport.session_id(slot->ports[i]) == owner) {
            return true;
        }
    }
    return false;
}

/* Its znode is there, and it has been told so; or, if it shares the path, that another's
 * is. */
static bool is_settled(const struct node_handle *handle)
{
    const struct node_handle_kind *kind = kind_of(handle->slot->history);

    if (handle->object == NULL) {
        return kind->is_right_closed == NULL || kind->is_right_closed(handle);
    }
    if (handle->closing || handle->slot->closing ||
        (kind->is_right != NULL && !kind->is_right(handle))) {
        return false;
    }
    return kind->is_there(handle) ? handle->status == 0 && !handle->set
                                  : handle->shared && handle->status == UVZK_ENODEEXISTS;
}

/* Of those that share a path one has the znode. */
bool node_handles_are_settled(struct recipe_history *history)
{
    unsigned open = 0, have = 0;

    EACH(handle, history)
    {
        if (!is_settled(handle)) {
            return false;
        }
        if (handle->object != NULL && handle->shared) {
            open++;
            have += kind_of(history)->is_there(handle);
        }
    }
    return open == 0 || have == 1;
}

/* ------------------------------------------------------------------- the history */

void node_handles_begin(struct recipe_history *history, uint64_t seed,
                        const char *directory)
{
    history->client_count = 3 + (int)recipe_chance(history, 3);
    strikes_begin(&history->strikes, history->sim, seed, history->timeout_ms);
    strikes_add_named(&history->strikes, directory, false);
    for (int i = 0; i < history->client_count; i++) {
        for (int j = 0; j < NODE_HANDLES; j++) {
            struct node_handle *handle = node_handle_at(history, i, j);
            handle->slot = &history->clients[i];
            handle->shared = j == 1;
            kind_of(history)->name_path(handle);
        }
    }
}

void node_handles_heal(struct recipe_history *history)
{
    recipe_heal(history);
    if (history->failed || node_handles_are_settled(history)) {
        return;
    }
    EACH(handle, history)
    {
        if (handle->object != NULL && !is_settled(handle)) {
            kind_of(history)->complain(handle);
        }
    }
    recipe_fail(history, "nobody has the znode that they share, or one is left");
}

static bool all_are_closed(struct recipe_history *history)
{
    EACH(handle, history)
    {
        if (handle->object != NULL) {
            return false;
        }
    }
    return true;
}

/* The path of the first of them whose znode has not gone; NULL: none. */
static const char *first_left(const struct recipe_history *history)
{
    EACH(handle, history)
    {
        if (!kind_of(history)->is_gone(handle)) {
            return handle->path;
        }
    }
    return NULL;
}

void node_handles_end(struct recipe_history *history)
{
    EACH(handle, history)
    {
        if (handle->object != NULL && !handle->closing && !handle->slot->closing) {
            close_handle(handle);
        }
    }
    if (!recipe_step_until(history, all_are_closed)) {
        recipe_fail(history, "a %s does not close", kind_of(history)->name);
    }
    recipe_await_none_left(history, first_left);
}
